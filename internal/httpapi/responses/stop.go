package responses

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
	"github.com/belayrun/belay/internal/turn"
)

// stopped is the answer of a stop as OpenAI's clients expect it: the response,
// and what the stop did.
type stopped struct {
	apigen.Response
	Cancelled  bool             `json:"cancelled"`
	RunIds     []string         `json:"run_ids"`
	Done       *bool            `json:"done,omitempty"`
	StopStatus *turn.StopStatus `json:"stop_status,omitempty"`
}

func (d *door) cancelAgentResponse(w http.ResponseWriter, r *http.Request) error {
	in, a, err := d.stop(r, agent.DoorClient)
	if err != nil {
		return err
	}
	out := apigen.StopAnswerOfResponse{
		Id: chi.URLParam(r, "id"), ConversationId: a.Session, Cancelled: a.Cancelled, RunIds: append([]string{}, a.Turns...),
	}
	if in.Asked {
		out.Done, out.StopStatus = new(a.Done()), &a.Status
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func (d *door) cancelResponse(w http.ResponseWriter, r *http.Request) error {
	in, a, err := d.stop(r, agent.DoorResponses)
	if err != nil {
		return err
	}
	given := chi.URLParam(r, "id")
	t, err := d.stoppedTurn(r.Context(), given, a)
	if err != nil {
		return notFound(err)
	}
	out := stopped{Cancelled: a.Cancelled, RunIds: append([]string{}, a.Turns...)}
	if out.Response, err = d.response(r.Context(), newRenderer(t)); err != nil {
		return err
	}
	out.Id = given
	if in.Asked {
		out.Done, out.StopStatus = new(a.Done()), &a.Status
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// stoppedTurn returns the turn to show after a stop: the one that was stopped,
// or else the one that the id means. The stop has looked at the rights.
func (d *door) stoppedTurn(ctx context.Context, given string, a turn.StopAnswer) (agent.Turn, error) {
	if len(a.Turns) > 0 {
		given = "run_" + a.Turns[0]
	}
	t, s, err := d.resolve(ctx, given)
	if err == nil && t.ID == "" {
		t, err = d.store.LatestTurn(ctx, s.ID)
	}
	httpapi.Note(ctx, a.Session, t.ID)
	return t, err
}

// stop stops what an id means, a run first. Both are tried on the engine, with
// no look into the database before: what runs here must be told even while
// that is away.
func (d *door) stop(r *http.Request, through agent.Door) (httpapi.StopInput, turn.StopAnswer, error) {
	in, err := httpapi.ReadStop(r)
	if err != nil {
		return in, turn.StopAnswer{}, err
	}
	prefix, id := httpapi.SplitID(chi.URLParam(r, "id"))
	ctx, done := httpapi.Detach(r.Context(), in.Wait)
	defer done()
	q := turn.StopRequest{Principal: httpapi.Caller(r.Context()), Door: through, Turn: id, Wait: in.Wait}
	a, err := turn.StopAnswer{}, agent.ErrNotFound
	if in.Run == "" || in.Run == id {
		a, err = d.engine.Stop(ctx, q)
	}
	if prefix != "run" && mayBeSession(err) {
		q.Session, q.Turn = id, in.Run
		a, err = d.engine.Stop(ctx, q)
	}
	if err != nil {
		return in, a, notFound(err)
	}
	httpapi.Note(r.Context(), a.Session, "")
	return in, a, nil
}

// mayBeSession reports whether an id that was tried as a run's may be that of a
// session: there is no such run, or nobody can tell and none runs here.
func mayBeSession(err error) bool {
	if e, ok := errors.AsType[*turn.NotRecordedError](err); ok {
		return !e.Told
	}
	return errors.Is(err, agent.ErrNotFound)
}
