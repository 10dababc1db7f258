package responses

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

// settling is how long the answer of a turn that was ended for the ceiling may
// take to come.
const settling = 20 * time.Second

// create begins a turn and answers with it, whole or streamed. version is what
// runs where the caller names none: nil the published one, 0 the draft.
func (d *door) create(through agent.Door, version *int) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		out, stream, err := d.begun(r, through, version)
		if err != nil {
			return err
		}
		if stream {
			return d.stream(w, r, out, func(agent.Event) (bool, error) { return true, nil })
		}
		return d.whole(w, r, out)
	}
}

// begun begins the turn that a request asks for. The renderer is all of it that
// is kept while it is answered: a stream's stack has to stay small.
func (d *door) begun(r *http.Request, through agent.Door, version *int) (out *renderer, stream bool, err error) {
	q, s, err := d.submit(r)
	if err != nil {
		return nil, false, err
	}
	s.Door = through
	if s.Version == nil {
		s.Version = version
	}
	t, err := d.begin(r.Context(), s)
	if err != nil {
		return nil, false, err
	}
	return newRenderer(t), q.Stream, nil
}

// submit reads a request.
func (d *door) submit(r *http.Request) (request, turn.Submit, error) {
	var q request
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentRun); err != nil {
		return q, turn.Submit{}, err
	}
	if r.Header.Get("Idempotency-Key") != "" {
		return q, turn.Submit{}, &httpapi.Error{Status: http.StatusBadRequest, Code: "idempotency_key_sync_not_supported",
			Message: "The header Idempotency-Key goes with background runs only."}
	}
	if err := httpapi.ReadJSON(r, &q); err != nil {
		return q, turn.Submit{}, err
	}
	if err := q.check(); err != nil {
		return q, turn.Submit{}, err
	}
	text, err := q.text()
	if err != nil {
		return q, turn.Submit{}, err
	}
	session, err := d.continued(r.Context(), p, &q)
	return q, turn.Submit{
		Principal: p, Session: session, Agent: q.Model, Version: q.Version,
		Input: text, Overrides: q.overrides(), Metadata: q.Metadata,
	}, err
}

// continued returns the session that the request goes on with, empty for a new
// one. It never makes a new one where the caller named one.
func (d *door) continued(ctx context.Context, p agent.Principal, q *request) (string, error) {
	conversation, err := q.conversation()
	if err != nil {
		return "", err
	}
	previous, err := d.previous(ctx, p, q)
	if err != nil || conversation == "" {
		return previous, err
	}
	if previous != "" && previous != conversation {
		return "", httpapi.Invalid("conversation", "is not the one of previous_response_id: give one of the two")
	}
	info, err := d.store.Session(ctx, conversation)
	if err == nil {
		err = mayContinue(p, info.Session, q.Model)
	}
	if errors.Is(err, agent.ErrNotFound) {
		return "", &httpapi.Error{Status: http.StatusNotFound, Code: "agent_session_not_found", Param: "conversation", Err: err,
			Message: "There is no such conversation with this agent."}
	}
	return info.ID, err
}

// previous returns the session of previous_response_id.
func (d *door) previous(ctx context.Context, p agent.Principal, q *request) (string, error) {
	if q.PreviousResponseID == "" {
		return "", nil
	}
	var s agent.Session
	err := agent.ErrNotFound
	if prefix, _ := httpapi.SplitID(q.PreviousResponseID); prefix != "" {
		_, s, err = d.resolve(ctx, q.PreviousResponseID)
	}
	if err == nil {
		err = mayContinue(p, s, q.Model)
	}
	if errors.Is(err, agent.ErrNotFound) {
		return "", &httpapi.Error{Status: http.StatusNotFound, Code: "previous_response_not_found", Param: "previous_response_id", Err: err,
			Message: "There is no such response of this agent."}
	}
	return s.ID, err
}

func mayContinue(p agent.Principal, s agent.Session, key string) error {
	if err := p.MayAct(s); err != nil {
		return err
	}
	if s.Agent != key {
		return agent.ErrNotFound
	}
	return nil
}

// begin begins the turn, even if the client goes meanwhile.
func (d *door) begin(ctx context.Context, s turn.Submit) (agent.Turn, error) {
	detached, done := httpapi.Detach(ctx, 0)
	defer done()
	t, err := d.engine.Begin(detached, s)
	if errors.Is(err, agent.ErrNotFound) {
		return t, &httpapi.Error{Status: http.StatusNotFound, Code: "agent_not_found", Param: "model", Message: "There is no such agent.", Err: err}
	}
	httpapi.Note(ctx, t.Session, t.ID)
	return t, err
}

// whole waits for the turn's end, or its pause, and answers with all of it. The
// client's going ends the waiting only.
func (d *door) whole(w http.ResponseWriter, r *http.Request, out *renderer) error {
	out.quiet = true
	t := &out.turn
	after, err := d.await(r.Context(), out, before(t), t.Spec.Execution.SyncTimeout())
	if errors.Is(err, errCeiling) {
		d.ceiling.Timeout(t.Session, t.ID)
		if _, err = d.await(r.Context(), out, after, settling); errors.Is(err, errCeiling) {
			return timedOut(t, "The answer took longer than the agent's synchronous limit. The turn has been told to end.")
		}
	}
	if err != nil {
		return interrupted(t, err)
	}
	if err := failure(t, out.end); err != nil {
		return err
	}
	if out.end == nil {
		out.turn.Status = agent.StatusWaiting
	}
	return httpapi.WriteJSON(w, http.StatusOK, out.response())
}

var errCeiling = errors.New("the synchronous ceiling was reached")

// await renders the turn's events until it ends or pauses; errCeiling after d.
// It returns the number of the last event it has seen.
func (d *door) await(ctx context.Context, out *renderer, after int64, most time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errCeiling)
	defer cancel()
	for e, err := range d.engine.Follow(ctx, out.turn.Session, after) {
		if cause := context.Cause(ctx); cause != nil {
			return after, cause
		}
		if err != nil {
			return after, err
		}
		after = e.Seq
		if _, err := out.Step(nil, e); err != nil {
			return after, err
		}
		if out.over() {
			return after, nil
		}
	}
	return after, errors.New("the journal ended without a word")
}

// before returns the number that a turn's events come after.
func before(t *agent.Turn) int64 { return max(0, t.FirstSeq-1) }

// interrupted says of a turn that has begun that its end is not known here. It
// must not be asked for again: that would be a second turn.
func interrupted(t *agent.Turn, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &httpapi.Error{
		Status: http.StatusInternalServerError, Code: "response_interrupted", NoRetry: true, Err: err,
		Message: "The turn has begun, but its end can't be followed here. Read it with GET /responses/run_" + t.ID + ".",
		Fields:  httpapi.Fields{Conversation: t.Session, Run: t.ID},
	}
}

func timedOut(t *agent.Turn, message string) error {
	return &httpapi.Error{
		Status: http.StatusGatewayTimeout, Code: agent.CodeTimeout, Message: message,
		Fields: httpapi.Fields{Conversation: t.Session, Run: t.ID, SideEffects: new(true), Retryable: new(false)},
	}
}

// failure returns what a failed turn is as an answer to a request that waited
// for it, nil for one that did not fail.
func failure(t *agent.Turn, end *agent.TurnEnded) error {
	if end == nil || end.Status != agent.StatusFailed {
		return nil
	}
	f := agent.Failure{Code: agent.CodeAgentError, Message: "The turn failed."}
	if end.Error != nil {
		f = *end.Error
	}
	out := &httpapi.Error{
		Status: http.StatusInternalServerError, Code: f.Code, Message: f.Message, NoRetry: true, Err: &f,
		Fields: httpapi.Fields{Conversation: t.Session, Run: t.ID},
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
