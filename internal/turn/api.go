package turn

import (
	"context"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// Agents resolves what a turn runs.
type Agents interface {
	// Resolve returns the configuration of an agent and its version: nil the
	// newest published one, 0 the draft. agent.ErrNotFound where the project has
	// no such agent; agent.FieldError where the version isn't there or the agent
	// is not active.
	Resolve(ctx context.Context, project, key string, version *int) (agent.Config, int, error)
}

// Submit asks for a turn.
type Submit struct {
	Principal  agent.Principal
	Door       agent.Door
	ID         string         // of the turn, fresh; empty: one is made
	Session    string         // empty: a new one is made
	Agent      string         // key; must be the session's own agent where Session is given and has one
	Version    *int           // nil: the published one; 0: the draft
	History    []agent.Prompt // written before the turn, as what the session had before: roles and texts
	Input      string
	NoInput    bool // the turn has no message of its own, it answers what is there
	Overrides  agent.Overrides
	Metadata   map[string]string
	Noted      map[string]string // metadata of the session, where a new one is made
	Background bool              // queue it; any node runs it
	// AsAgentSays queues it also where that is the agent's default_mode.
	AsAgentSays bool
	// Key and Request make a background turn begin once: sent again with the same
	// key by the same principal, the same request begins nothing. Key empty: each
	// begins a turn. Request is a hash of what the caller sent.
	Key     string
	Request [32]byte
	// CallbackURL is told of a background turn's pauses and its end, signed with
	// CallbackSecret; each that is empty is the agent's own.
	CallbackURL, CallbackSecret string
	// Callbacks are told besides, of any turn.
	Callbacks []agent.Callback
}

// Post is messages for a session without a turn that answers them.
type Post struct {
	Principal agent.Principal
	Door      agent.Door
	Session   string
	Messages  []agent.Prompt // roles and texts
}

// KeepKey is how long an idempotency key stays taken.
const KeepKey = 24 * time.Hour

// StopRequest asks for what runs in a session to be stopped.
type StopRequest struct {
	Principal agent.Principal
	Door      agent.Door
	Session   string        // one of Session and Turn is required
	Turn      string        // binds the stop to this turn: a later one is never hit
	Wait      time.Duration // wait up to so long for the end
	// Index, with Session alone, is for callers who know their turn by its
	// Turn.Index and can't ask the database for its id: only a turn that runs here
	// is found so.
	Index int
	// RunningOnly leaves a turn that waits for a person as it is: agent.BusyError.
	RunningOnly bool
}

// StopStatus is what a stop can say about the end of what it stopped.
type StopStatus string

// The statuses of a stop.
const (
	StopStopping StopStatus = "stopping" // told, not ended
	StopStopped  StopStatus = "stopped"  // ended by a stop
	StopFinished StopStatus = "finished" // ended otherwise
	StopNone     StopStatus = "none"     // nothing was there to stop
)

// StopAnswer is what a stop did. Where it names turns, Cancelled is true if and
// only if they end as cancelled, and that is durable; where nothing ran it says
// that open requests were answered "no".
type StopAnswer struct {
	Session   string
	Cancelled bool
	Turns     []string // told to stop; empty when nothing ran
	Actions   int      // open requests answered "no"
	Status    StopStatus
}

// Done reports whether there is nothing left to wait for.
func (a StopAnswer) Done() bool { return a.Status != StopStopping }

// NotRecordedError is a stop that could not be made durable. It wraps
// agent.ErrStopNotRecorded.
type NotRecordedError struct {
	Told bool // the turn runs here and was told all the same
	Err  error
}

func (e *NotRecordedError) Error() string { return "stop not recorded: " + e.Err.Error() }

func (e *NotRecordedError) Unwrap() []error { return []error{agent.ErrStopNotRecorded, e.Err} }
