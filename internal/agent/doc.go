// Package agent is Belay's vocabulary: sessions, turns, slots, leases, stops,
// outcomes and events, and the few pure rules about them that every other
// package must agree on. It imports the standard library only and does no I/O.
//
// One noun per thing. Synonyms that a foreign API uses for them (run, thread,
// task, conversation) live in the door that speaks that API.
package agent
