package client

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
	"github.com/belayrun/belay/internal/turn"
)

// cancel stops what runs in a conversation. The engine looks at the rights: it
// can tell a turn that runs here even while the database is away.
func (d *door) cancel(w http.ResponseWriter, r *http.Request) error {
	in, err := httpapi.ReadStop(r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "id")
	httpapi.Note(r.Context(), id, in.Run)
	ctx, done := httpapi.Detach(r.Context(), in.Wait)
	defer done()
	a, err := d.engine.Stop(ctx, turn.StopRequest{
		Principal: httpapi.Caller(r.Context()), Door: agent.DoorClient, Session: id, Turn: in.Run, Wait: in.Wait,
	})
	if err != nil {
		return httpapi.NotFound(err, "agent_run_not_found", "There is no such conversation or run.")
	}
	out := apigen.StopAnswer{ConversationId: a.Session, Cancelled: a.Cancelled, RunIds: append([]string{}, a.Turns...)}
	if in.Asked {
		out.Done, out.StopStatus = new(a.Done()), &a.Status
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func (d *door) listActions(w http.ResponseWriter, r *http.Request) error {
	info, err := d.viewed(r)
	if err != nil {
		return err
	}
	actions, err := d.store.SessionActions(r.Context(), info.ID)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, apigen.ActionList{Data: actionsOut(actions)})
}

func actionsOut(actions []agent.Action) []apigen.Action {
	out := make([]apigen.Action, 0, len(actions))
	for _, a := range actions {
		out = append(out, actionOut(a))
	}
	return out
}

// listOpenActions is the inbox: what waits for this person, or for any who may.
func (d *door) listOpenActions(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	limit, err := httpapi.QueryInt(r, "limit", 20, 1, 100)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if s := q.Get("state"); s != "" && s != string(agent.ActionOpen) {
		return httpapi.Invalid("state", "must be open: decided ones are with their conversations")
	}
	list, next, err := d.store.OpenActions(r.Context(), agent.ActionFilter{
		Project: p.Project, Owner: p.ID, Approvals: p.Can(agent.PermAgentApprove),
		Others: p.Can(agent.PermSessionViewOthers) || p.Can(agent.PermSessionManageOthers),
		Page:   agent.Page{Cursor: q.Get("cursor"), Limit: int(limit)},
	})
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, apigen.ActionPage{Data: actionsOut(list), NextCursor: ptr(next)})
}

func (d *door) decide(w http.ResponseWriter, r *http.Request) error {
	dec, err := httpapi.ReadDecision(r, chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	dec.Door = agent.DoorClient
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	a, err := d.engine.Decide(ctx, httpapi.Caller(r.Context()), dec)
	if errors.Is(err, agent.ErrForbidden) {
		return &httpapi.Error{Status: http.StatusForbidden, Code: "action_forbidden", Err: err,
			Message: "You may not decide this: an approval needs agent.approve, a question its conversation."}
	}
	if err != nil {
		return httpapi.NotFound(err, "action_not_found", "There is no such action.")
	}
	httpapi.Note(r.Context(), a.Session, a.Turn)
	return httpapi.WriteJSON(w, http.StatusOK, actionOut(a))
}

func actionOut(a agent.Action) apigen.Action {
	out := apigen.Action{
		Object: "action", Id: a.ID, Type: a.Type, State: a.State, ConversationId: a.Session, RunId: a.Turn, CallId: a.CallID,
		Name: a.Name, Arguments: a.Arguments, Answer: ptr(a.Answer), DecidedBy: ptr(a.DecidedBy), CreatedAt: a.CreatedAt.UTC(),
	}
	if len(out.Arguments) == 0 {
		out.Arguments = json.RawMessage("null")
	}
	out.DecidedAt, out.ExpiresAt = instant(a.DecidedAt), instant(a.ExpiresAt)
	return out
}

// instant is null for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC().Truncate(time.Millisecond))
}
