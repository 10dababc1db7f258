package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors to branch on.
var (
	// ErrNotFound: there is no such thing in the caller's project.
	ErrNotFound = errors.New("not found")
	// ErrForbidden: it is there, and the caller may not.
	ErrForbidden = errors.New("not permitted")
	// ErrLeaseLost: the leg is no longer this node's; write nothing more for it.
	ErrLeaseLost = errors.New("lease lost")
	// ErrNodeDead: this node was declared dead; it must go on under a new id.
	ErrNodeDead = errors.New("node declared dead")
	// ErrParentStopped: the parent of a child turn is stopping or gone.
	ErrParentStopped = errors.New("parent stopped")
	// ErrDraining: this node takes no new turns.
	ErrDraining = errors.New("node is draining")
	// ErrStopNotRecorded: a stop could not be made durable.
	ErrStopNotRecorded = errors.New("stop not recorded")
	// ErrUnconfirmed: wrapped by a tool that cannot say whether what it started is dead.
	ErrUnconfirmed = errors.New("end not confirmed")
	// ErrUnavailable: the database cannot be reached now; try again.
	ErrUnavailable = errors.New("database unavailable")
	// ErrGoOn: a leg would pause, but nothing is open any more. Nothing was
	// written, the lease holds and the leg goes on.
	ErrGoOn = errors.New("nothing is open any more: the leg goes on")
	// ErrExists: a thing of that key is there already.
	ErrExists = errors.New("already exists")
	// ErrNoSecretKey: nothing to seal a secret with, or to open one that is stored.
	ErrNoSecretKey = errors.New("set BELAY_SECRET_KEY to store secrets or read stored ones")
	// ErrChanged: somebody else changed it since it was read; nothing was written.
	ErrChanged = errors.New("changed meanwhile")
	// ErrRunLimit: the project has as many background runs as it may.
	ErrRunLimit = errors.New("too many background runs")
	// ErrNoBackground: the agent takes no background runs.
	ErrNoBackground = errors.New("background runs are disabled for the agent")
	// ErrKeyInline: an idempotency key goes with background runs only.
	ErrKeyInline = errors.New("an idempotency key goes with a background run only")
	// ErrNotSignedIn: nobody is, or no longer.
	ErrNotSignedIn = errors.New("not signed in")
	// ErrBadCredentials: there is no such name, or the password is another.
	ErrBadCredentials = errors.New("name and password do not go together")
	// ErrNoProject: who would sign in is a member of nothing.
	ErrNoProject = errors.New("a member of no project")
	// ErrLastOwner: nobody would own the project any more.
	ErrLastOwner = errors.New("the last owner of the project")
)

// BusyError refuses a turn: the session has one already.
type BusyError struct {
	Session, Turn string
	Stopping      bool // a stop is asked for: the slot will be free soon
	Waiting       bool // it waits for a person, and a new message may not supersede it
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %s already runs turn %s", e.Session, e.Turn)
}

// UsedKeyError says that an idempotency key began a turn before.
type UsedKeyError struct {
	Turn string
	Same bool // it was the same request
}

func (e *UsedKeyError) Error() string {
	return fmt.Sprintf("the key began turn %s, by the same request: %t", e.Turn, e.Same)
}

// DecidedError refuses a second, different decision about an action.
type DecidedError struct{ Action Action }

func (e *DecidedError) Error() string {
	return fmt.Sprintf("action %s is already %s", e.Action.ID, e.Action.State)
}

// InUseError refuses to delete a thing that others need.
type InUseError struct {
	By []string // kind and key of each, sorted: agent support
}

func (e *InUseError) Error() string { return "in use by " + strings.Join(e.By, ", ") }

// ThrottledError refuses to sign in because too many attempts have failed.
type ThrottledError struct{ Over time.Duration } // how long still

func (e *ThrottledError) Error() string { return "too many attempts to sign in failed" }

// FieldError is bad input: it names the field, in the caller's own notation,
// and says what would be right.
type FieldError struct {
	Field   string // dotted, with indexes: tools[2].timeout_ms
	Message string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Message }
