package httpapi

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// settling is how long the end of a turn that was ended for the ceiling may take
// to come.
const settling = 20 * time.Second

// Follower follows sessions; turn.Engine is one.
type Follower interface {
	// Follow yields a session's events numbered above after: those that are there,
	// then those that come, until ctx ends.
	Follow(ctx context.Context, session string, after int64) iter.Seq2[agent.Event, error]
}

// Ceiling ends turns that somebody waited for long enough; turn.Engine is one.
type Ceiling interface {
	// Timeout ends a turn that runs on this node as failed with code timeout. It
	// does not wait for the end, which comes through Follow.
	Timeout(session, turn string)
}

// Waiting is how a door waits for a whole turn. Both are required.
type Waiting struct {
	Follower
	Ceiling
}

// Whole hands a turn's events to over, from its first to the one of which over
// says that it is the last, and ends the turn where that takes longer than its
// agent's synchronous limit. The caller's going ends the waiting only.
//
// Errors are to be answered as they are: 504 with code timeout where the end has
// not come in spite of that, else response_interrupted, or ctx's own.
func (w Waiting) Whole(ctx context.Context, t *agent.Turn, over func(agent.Event) (bool, error)) error {
	after, err := w.Await(ctx, t, Before(t), t.Spec.Execution.SyncTimeout(), over)
	if errors.Is(err, ErrCeiling) {
		w.Timeout(t.Session, t.ID)
		if _, err = w.Await(ctx, t, after, settling, over); errors.Is(err, ErrCeiling) {
			return timedOut(t, "The answer took longer than the agent's synchronous limit. The turn has been told to end.")
		}
	}
	if err != nil {
		return interrupted(t, err)
	}
	return nil
}

// ErrCeiling: the time to wait for a turn is over. The turn goes on.
var ErrCeiling = errors.New("the synchronous ceiling was reached")

// Await hands the events of the turn's session numbered above after to over until
// over says that one is the last; ErrCeiling after most. It returns the number of
// the last event that over has seen.
func (w Waiting) Await(ctx context.Context, t *agent.Turn, after int64, most time.Duration, over func(agent.Event) (bool, error)) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, ErrCeiling)
	defer cancel()
	for e, err := range w.Follow(ctx, t.Session, after) {
		if cause := context.Cause(ctx); cause != nil {
			return after, cause
		}
		if err != nil {
			return after, err
		}
		after = e.Seq
		if last, err := over(e); last || err != nil {
			return after, err
		}
	}
	return after, errors.New("the journal ended without a word")
}

// Before returns the number that a turn's events come after.
func Before(t *agent.Turn) int64 { return max(0, t.FirstSeq-1) }

// interrupted says of a turn that has begun that its end is not known here. It
// must not be asked for again: that would be a second turn.
func interrupted(t *agent.Turn, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{
		Status: http.StatusInternalServerError, Code: "response_interrupted", NoRetry: true, Err: err,
		Message: "The turn has begun, but its end can't be followed here. Read it with GET /responses/run_" + t.ID + ".",
		Fields:  Fields{Conversation: t.Session, Run: t.ID},
	}
}

func timedOut(t *agent.Turn, message string) error {
	return &Error{
		Status: http.StatusGatewayTimeout, Code: agent.CodeTimeout, Message: message,
		Fields: Fields{Conversation: t.Session, Run: t.ID, SideEffects: new(true), Retryable: new(false)},
	}
}

// Failure returns what a failed turn is as an answer to a request that waited
// for it; nil where it did not fail, or has not ended.
func Failure(t *agent.Turn, end *agent.TurnEnded) error {
	if end == nil || end.Status != agent.StatusFailed {
		return nil
	}
	f := agent.Failure{Code: agent.CodeAgentError, Message: "The turn failed."}
	if end.Error != nil {
		f = *end.Error
	}
	out := &Error{
		Status: http.StatusInternalServerError, Code: f.Code, Message: f.Message, NoRetry: true, Err: &f,
		Fields: Fields{Conversation: t.Session, Run: t.ID},
	}
	switch f.Code {
	case agent.CodeTimeout:
		return timedOut(t, f.Message)
	case agent.CodeModelError, agent.CodeModelAuth, agent.CodeModelDenied, agent.CodeModelIdle:
		out.Status = http.StatusBadGateway
	case agent.CodeModelMissing:
		out.Status = http.StatusConflict
	}
	return out
}
