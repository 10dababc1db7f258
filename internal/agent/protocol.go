package agent

import "time"

// Begin is what a take writes: the turn and its user message.
type Begin struct {
	// Session to take the slot of. With New set it is made first, in the same
	// transaction, if it is not there yet.
	Session Session
	New     bool
	Turn    Turn // ID, Agent, Version, Door, By, Background, Metadata, Spec; Parent and Depth for a child
	// History is written before the turn, as what its session had before: roles
	// and texts.
	History []Prompt
	Input   string
	// NoInput: the turn has no message of its own, it answers what is there.
	NoInput bool
	// Callbacks are told of the turn's pauses and its end.
	Callbacks []Callback
	Address   string // of the caller on the network, for the audit log
	// Node takes the slot running; empty: the turn is queued.
	Node string
	// NoSupersede refuses (BusyError, Waiting) where a turn waits for a
	// person, instead of ending that turn.
	NoSupersede bool
	// Once makes a request that is sent again begin nothing: *UsedKeyError. Nil:
	// each begins a turn.
	Once *Once
	// MostRuns refuses (ErrRunLimit) a background turn where the project has so
	// many queued or running; 0: no bound. One that waits for a person is none.
	MostRuns int
}

// Once names a request for good: who sent it, under which key, and what it asked
// for.
type Once struct {
	Project   string
	Principal string
	Key       string
	Request   [32]byte      // hash of what was asked for
	Keep      time.Duration // how long the key stays taken
}

// Leg is a leg of a turn that a node may now run.
type Leg struct {
	Lease   Lease
	Session Session
	Turn    Turn
	Seq     int64 // the last number used before Events
	// Events are those that the taking transaction wrote, in order.
	Events []Event
	// Queued is how long it was queued before it was claimed.
	Queued time.Duration
}

// Posting is messages that come to a session without a turn that answers them.
type Posting struct {
	ID       string // of NewPostID: the same one again is the same posting
	Session  string
	By       string
	Door     Door
	Messages []Prompt // roles and texts
}

// StopResult is what became of a stop once it is durable.
type StopResult struct {
	Cancelled bool     // the turn ends, or has ended, as cancelled
	Turns     []string // told to stop, or ended by it
	Actions   int      // open requests that were withdrawn
	Ended     bool     // the turn is over already
	Notify    []string // nodes to hint
}

// Found is a turn in a session's slot.
type Found struct {
	Session Session
	Lease   Lease // Turn is empty when the slot is idle
	State   SlotState
}

// Asked is a stop that a row holds.
type Asked struct {
	Lease Lease
	Stop  Stop
	Age   time.Duration // since it was written, by the database's clock
}

// Swept is a leg that somebody else than its owner closed, or a queued turn that
// was ended.
type Swept struct {
	Lease   Lease // as its owner held it; no node: it was queued
	Outcome OutcomeKind
}

// Batch is what one flush stores for one leg.
type Batch struct {
	Lease Lease
	Rows  []Row
}

// Expired is what was open for too long in one session.
type Expired struct {
	Session string
	Actions []string
	Queued  bool // the turn waits for nothing more, and goes on
}

// Decision is a person's word on an action.
type Decision struct {
	Action    string
	Type      ActionType  // what it is a word on; empty: either
	State     ActionState // approved, denied or expired
	By        string
	Door      Door   // it came through; empty: that of the action's turn
	Address   string // of the caller on the network, for the audit log
	Answer    string
	Arguments []byte // edited arguments of an approval, nil: as asked
}

// HintKind is what a hint is about.
type HintKind string

// The hints. A hint only ever says where to look: the row is the truth.
const (
	HintStop  HintKind = "stop"  // Subject: node id
	HintEnd   HintKind = "end"   // Subject: session id
	HintQueue HintKind = "queue" // no subject
)

// Hint is a word from another node.
type Hint struct {
	Kind    HintKind
	Subject string
}
