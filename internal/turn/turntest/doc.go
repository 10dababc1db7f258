// Package turntest is what tests of the turn engine and of its stores share: an
// in-memory store with faults (Memory), the conformance suite that every store
// must pass (RunStore, CheckInterleavings), a scripted model and scripted tools.
//
// Memory follows the same page as the Postgres store (slot-protocol.md); the
// suite is what keeps the two alike.
package turntest
