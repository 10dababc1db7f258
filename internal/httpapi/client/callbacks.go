package client

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// redeliver has the newest event of a run's callback sent again.
func (d *door) redeliver(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadOptionalJSON(r, new(apigen.Empty)); err != nil {
		return err
	}
	p, id := httpapi.Caller(r.Context()), httpapi.RunID(chi.URLParam(r, "id"))
	t, s, err := d.store.Turn(r.Context(), id)
	if err == nil {
		err = p.MayAct(s)
	}
	if err == nil && !t.Background {
		err = agent.ErrNotFound
	}
	if err != nil {
		return httpapi.NotFound(err, "agent_run_not_found", "There is no such run.")
	}
	httpapi.Note(r.Context(), s.ID, t.ID)
	err = d.store.Redeliver(r.Context(), t.ID, actor(p))
	if errors.Is(err, agent.ErrNotFound) {
		return &httpapi.Error{Status: http.StatusConflict, Code: "agent_run_no_callback", Err: err,
			Message: "The run has no callback, or has nothing to tell yet.", Fields: httpapi.Fields{Run: t.ID}}
	}
	if err == nil {
		t, _, err = d.store.Turn(r.Context(), t.ID)
	}
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusAccepted, httpapi.RunCallback(t))
}

func (d *door) listCallbacks(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	limit, err := httpapi.QueryInt(r, "limit", 20, 1, 100)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := agent.DeliveryFilter{
		Project: p.Project, Owner: p.ID, Turn: httpapi.RunID(q.Get("run_id")), Status: agent.CallbackStatus(q.Get("status")),
		Page: agent.Page{Cursor: q.Get("cursor"), Limit: int(limit)},
	}
	statuses := []agent.CallbackStatus{"", agent.CallbackPending, agent.CallbackDelivered, agent.CallbackDead}
	if !slices.Contains(statuses, f.Status) {
		return httpapi.Invalid("status", "must be pending, delivered or dead")
	}
	if p.Can(agent.PermSessionViewOthers) || p.Can(agent.PermSessionManageOthers) {
		f.Owner = ""
	}
	list, next, err := d.store.Deliveries(r.Context(), f)
	if err != nil {
		return err
	}
	out := apigen.CallbackList{Data: make([]apigen.Callback, 0, len(list)), NextCursor: ptr(next)}
	for _, c := range list {
		out.Data = append(out.Data, callbackOut(c))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func callbackOut(d agent.Delivery) apigen.Callback {
	return apigen.Callback{
		Object: "callback", Id: d.EventID(), Event: d.Event, RunId: "run_" + d.Turn, ConversationId: d.Session,
		Url: d.Callback.URL, Signed: d.Callback.Signed, Status: d.Status, Attempts: d.Attempts, Error: ptr(d.Error),
		CreatedAt: d.CreatedAt.Unix(), TriedAt: unix(d.TriedAt), CompletedAt: unix(d.EndedAt),
	}
}

// unix returns nil for the zero time.
func unix(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.Unix())
}
