package agent

import (
	"fmt"
	"time"
)

// SlotState is the state of a session's one run slot.
type SlotState string

// The states of a slot. A waiting slot belongs to a turn that waits for a
// person: nothing runs and no node holds it.
const (
	SlotIdle    SlotState = "idle"
	SlotQueued  SlotState = "queued"
	SlotRunning SlotState = "running"
	SlotWaiting SlotState = "waiting"
)

// Lease is a node's right to run one leg of a turn: from take or claim until
// that (turn, fence) is closed. Fence only grows within a session, so a lease
// names its leg for ever. The zero Lease names nothing.
type Lease struct {
	Session string
	Turn    string
	Node    string // the node id it was taken under; a node that was declared dead goes on under another
	Fence   int64
}

func (l Lease) String() string {
	return fmt.Sprintf("session %s turn %s fence %d", l.Session, l.Turn, l.Fence)
}

// Door names the API dialect that a turn or a stop came through.
type Door string

// The doors.
const (
	DoorClient     Door = "client"
	DoorResponses  Door = "responses"
	DoorAssistants Door = "assistants"
	DoorChat       Door = "chat"
	DoorA2A        Door = "a2a"
	DoorStudio     Door = "studio"
	DoorPortal     Door = "portal"
	DoorCLI        Door = "cli" // a command line on the database itself
)

// Stop says who asked for a turn to be stopped, when and from where. It is the
// cancel cause of the turn's context, so it is an error; the cause, never
// context.Canceled, tells why a turn's work ended.
type Stop struct {
	By     string    `json:"by"`               // principal id
	Door   Door      `json:"door"`             //
	Node   string    `json:"node"`             // label of the node that took the request
	Detail string    `json:"detail,omitempty"` // one of the Detail constants; empty for a person's stop
	At     time.Time `json:"at"`               // the database's clock once it is recorded
	// Address is where the caller is on the network: for the audit log alone.
	Address string `json:"-"`
}

// Error makes a Stop usable as a context's cancel cause.
func (s *Stop) Error() string { return fmt.Sprintf("stopped by %s (%s)", s.By, s.Door) }

// Details of stops that no person asked for directly.
const (
	DetailParentStopped = "parent_stopped"
	DetailParentLost    = "parent_lost"
	DetailSuperseded    = "superseded"
	// DetailParentGaveUp: the call of a sub-agent took longer than it may, and its
	// parent goes on without it.
	DetailParentGaveUp = "parent_gave_up"
)
