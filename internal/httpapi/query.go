package httpapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// QueryInt reads a whole number from the query: def where it is not given, an
// error that names it where it is no number from lo to hi.
func QueryInt(r *http.Request, name string, def, lo, hi int64) (int64, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return def, nil
	}
	return parseInt(name, s, lo, hi)
}

// HeaderInt is QueryInt for a header.
func HeaderInt(r *http.Request, name string, def, lo, hi int64) (int64, error) {
	s := r.Header.Get(name)
	if s == "" {
		return def, nil
	}
	return parseInt(name, s, lo, hi)
}

// ReadCursor reads the number of the last event that who follows a session has:
// after in the query, or Last-Event-ID, which goes before it.
func ReadCursor(r *http.Request) (int64, error) {
	after, err := QueryInt(r, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return 0, err
	}
	return HeaderInt(r, "Last-Event-ID", after, 0, math.MaxInt64)
}

func parseInt(name, s string, lo, hi int64) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < lo || n > hi {
		return 0, Invalid(name, "must be a whole number from %d to %d", lo, hi)
	}
	return n, nil
}

// QueryBool reads true or false from the query; not given is false.
func QueryBool(r *http.Request, name string) (bool, error) {
	switch r.URL.Query().Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, Invalid(name, "must be true or false")
}

// maxWait is the most that wait_ms may be.
const maxWait = 20_000

// StopInput is what a stop route takes beside its path.
type StopInput struct {
	Run   string // bare id of the turn it is bound to, empty: whichever runs
	Wait  time.Duration
	Asked bool // wait_ms was given: the answer tells the end as well
}

// ReadStop reads the query and the body of a stop, which may be empty. wait_ms
// may be in either; the body goes first.
func ReadStop(r *http.Request) (StopInput, error) {
	var body apigen.StopRequest
	if err := ReadOptionalJSON(r, &body); err != nil {
		return StopInput{}, err
	}
	return StopOf(r, body.RunId, body.WaitMs)
}

// StopOf is ReadStop for a body that was read already.
func StopOf(r *http.Request, run *string, wait *int) (StopInput, error) {
	ms, err := QueryInt(r, "wait_ms", -1, 0, maxWait)
	if err != nil {
		return StopInput{}, err
	}
	if wait != nil {
		if ms = int64(*wait); ms < 0 || ms > maxWait {
			return StopInput{}, Invalid("wait_ms", "must be a whole number from 0 to %d", maxWait)
		}
	}
	in := StopInput{Asked: ms >= 0, Wait: time.Duration(max(ms, 0)) * time.Millisecond}
	if run != nil {
		if in.Run = RunID(*run); in.Run == "" {
			return StopInput{}, Invalid("run_id", "must be the id of a run")
		}
	}
	return in, nil
}

// RunID returns a run's bare id from any of its forms: bare, run_… and resp_….
func RunID(s string) string {
	_, id := SplitID(s)
	return id
}

// SplitID splits an id of a run or response into its prefix (run, resp or
// empty) and the bare id.
func SplitID(s string) (prefix, id string) {
	for _, p := range []string{"run", "resp"} {
		if len(s) > len(p) && s[:len(p)+1] == p+"_" {
			return p, s[len(p)+1:]
		}
	}
	return "", s
}

// MessageID is the id of a message of a conversation.
func MessageID(session string, index int) string { return fmt.Sprintf("msg_%s_%d", session, index) }

// lastWords is how long a verb may take once its client has gone.
const lastWords = 30 * time.Second

// Detach returns a context that a client's going does not end: what was asked
// for is done. It is bounded by wait and a time to be served in.
func Detach(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), wait+lastWords)
}
