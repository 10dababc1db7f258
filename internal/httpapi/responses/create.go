package responses

import (
	"context"
	"errors"
	"net/http"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

// create begins a turn and answers with it, whole or streamed; with a background
// run that it is queued, or streamed. version is what runs where the caller names
// none: nil the published one, 0 the draft.
func (d *door) create(through agent.Door, version *int) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		b, err := d.begun(r, through, version)
		switch {
		case err != nil:
			return err
		case b.stream && b.again:
			return d.stream(w, r, b.out, func(e agent.Event) (bool, error) { return d.lastPause(r.Context(), e) })
		case b.stream:
			return d.stream(w, r, b.out, func(agent.Event) (bool, error) { return true, nil })
		case b.out.turn.Background:
			return d.accepted(w, r, through, b.out, b.again)
		}
		return d.whole(w, r, b.out)
	}
}

// begun is a turn that a request has begun, and how that wants to be answered.
// again: the same request had begun it before.
type begun struct {
	out           *renderer
	stream, again bool
}

// begun begins the turn that a request asks for. The renderer is all of it that
// is kept while it is answered: a stream's stack has to stay small.
func (d *door) begun(r *http.Request, through agent.Door, version *int) (b begun, err error) {
	q, s, err := d.submit(r, through)
	if err != nil {
		return b, err
	}
	s.Door = through
	if s.Version == nil {
		s.Version = version
	}
	t, err := d.begin(r.Context(), s)
	if used, ok := errors.AsType[*agent.UsedKeyError](err); ok {
		b.again = true
		t, err = d.repeated(r.Context(), used)
	}
	b.out, b.stream = newRenderer(t), q.Stream
	return b, err
}

// repeated returns the run that the same request began before.
func (d *door) repeated(ctx context.Context, used *agent.UsedKeyError) (agent.Turn, error) {
	if !used.Same {
		return agent.Turn{}, used
	}
	t, _, err := d.store.Turn(ctx, used.Turn)
	if errors.Is(err, agent.ErrNotFound) {
		return t, &httpapi.Error{Status: http.StatusConflict, Code: "idempotency_key_conflict", Param: keyHeader, Err: used,
			Message: "The run that this request began has been deleted since. Send another key to begin another."}
	}
	httpapi.Note(ctx, t.Session, t.ID)
	return t, err
}

// submit reads a request.
func (d *door) submit(r *http.Request, through agent.Door) (request, turn.Submit, error) {
	var q request
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentRun); err != nil {
		return q, turn.Submit{}, err
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return q, turn.Submit{}, err
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
		CallbackURL: q.CallbackURL, CallbackSecret: q.CallbackSecret,
		Background: q.Background != nil && *q.Background, AsAgentSays: q.Background == nil,
		Key: key, Request: q.hash(through),
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

// whole waits for the turn's end, or its pause, and answers with all of it.
func (d *door) whole(w http.ResponseWriter, r *http.Request, out *renderer) error {
	out.quiet = true
	err := d.wait.Whole(r.Context(), &out.turn, func(e agent.Event) (bool, error) {
		_, err := out.Step(nil, e)
		return out.over(), err
	})
	if err == nil {
		err = httpapi.Failure(&out.turn, out.end)
	}
	if err != nil {
		return err
	}
	if out.end == nil {
		out.turn.Status = agent.StatusWaiting
	}
	return httpapi.WriteJSON(w, http.StatusOK, out.response())
}
