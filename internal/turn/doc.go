// Package turn runs turns: it takes slots, calls models and tools, keeps the
// journal, hears stops and settles. It knows the slot protocol and nothing of
// SQL, HTTP or providers: those come in through the interfaces in store.go and
// ports.go. It imports the standard library, errgroup and package agent only,
// so that all of it runs inside a testing/synctest bubble.
//
// An Engine is one node. Four verbs are all that a door needs: Begin, Follow,
// Stop and Decide. A turn runs in its node's context, never in a request's: who
// asked for it is a follower like everybody else.
//
// What may run, and who may write, is decided by the slot row alone. In memory
// there are only three things: the legs that this node runs (Engine.runs), the
// text of theirs that is not stored yet (journal) and what followers here are
// about to read (tail). Losing all three loses at most a flush interval of text
// and never an answer to "who runs this".
//
// An agent that may ask another has a tool for it that the engine makes itself
// (subagent.go): a call begins a child turn here, in a session of its own, and
// follows its journal. Stops, sweeps and closings of the parent reach the child
// through its row, wherever it runs by then; the call only looks and tells.
package turn
