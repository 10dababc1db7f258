package responses

import (
	"context"
	"errors"
	"math"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// page is how many rows of the journal are read at once.
const page = 500

// get reads or follows a response.
func (d *door) get(w http.ResponseWriter, r *http.Request) error {
	stream, err := httpapi.QueryBool(r, "stream")
	if err != nil {
		return err
	}
	after, err := httpapi.QueryInt(r, "starting_after", -1, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	if after >= 0 && !stream {
		return httpapi.Invalid("starting_after", "goes with stream=true only")
	}
	out, err := d.found(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	if stream {
		out.after = after
		return d.stream(w, r, out, func(e agent.Event) (bool, error) { return d.lastPause(r.Context(), e) })
	}
	return d.read(w, r, out)
}

// read answers with a response as it is now.
func (d *door) read(w http.ResponseWriter, r *http.Request, out *renderer) error {
	whole, err := d.response(r.Context(), out)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, whole)
}

// found returns a renderer of the turn that an id means.
func (d *door) found(ctx context.Context, given string) (*renderer, error) {
	t, err := d.find(ctx, given)
	if err != nil {
		return nil, err
	}
	return newRenderer(t), nil
}

// response renders a turn as the journal has it now. The turn was read before
// the journal, which so is never behind it.
func (d *door) response(ctx context.Context, out *renderer) (apigen.Response, error) {
	return response(ctx, d.store, out, math.MaxInt64)
}

// response renders a turn as it was when the journal's event of number last was
// its newest.
func response(ctx context.Context, journal Journal, out *renderer, last int64) (apigen.Response, error) {
	out.quiet = true
	for after, more := httpapi.Before(&out.turn), true; more; {
		events, err := journal.Events(ctx, out.turn.Session, after, page)
		if err != nil {
			return apigen.Response{}, err
		}
		more = len(events) > 0
		for _, e := range events {
			if e.Seq > last {
				return out.response(), nil
			}
			if _, err := out.Step(nil, e); err != nil {
				return apigen.Response{}, err
			}
			after, more = e.Seq, more && out.end == nil
		}
	}
	whole := out.response()
	if out.turn.Background {
		whole.Run = new(summary(out.turn))
	}
	return whole, nil
}

// inputItems answers with the user's message of a turn.
func (d *door) inputItems(w http.ResponseWriter, r *http.Request) error {
	t, err := d.find(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	events, err := d.store.Events(r.Context(), t.Session, httpapi.Before(&t), 1)
	if err != nil {
		return err
	}
	out := apigen.InputItemList{Object: "list", Data: []apigen.InputItem{}}
	for _, e := range events {
		if m, ok := e.Body.(agent.Message); ok && e.Turn == t.ID {
			id := httpapi.MessageID(t.Session, m.Index)
			out.FirstId, out.LastId = &id, &id
			out.Data = append(out.Data, apigen.InputItem{
				Id: id, Type: "message", Role: "user", Status: "completed",
				Content: []apigen.InputText{{Type: "input_text", Text: m.Text}},
			})
		}
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// remove deletes a conversation by the id of its responses.
func (d *door) remove(w http.ResponseWriter, r *http.Request) error {
	given := chi.URLParam(r, "id")
	t, s, err := d.resolve(r.Context(), given)
	if err == nil {
		err = httpapi.Caller(r.Context()).MayAct(s)
	}
	if err == nil && t.ID != "" {
		err = httpapi.Invalid("id", "is that of a run, which is a part of its conversation: delete resp_%s", s.ID)
	}
	if err == nil {
		httpapi.Note(r.Context(), s.ID, "")
		err = d.store.DeleteSession(r.Context(), s.ID)
	}
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, apigen.ResponseDeleted{Id: given, Object: "response.deleted", Deleted: true})
}

// models lists agents as models.
func (d *door) models(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentView); err != nil && !p.Can(agent.PermAgentRun) {
		return err
	}
	list, err := d.store.Agents(r.Context(), p.Project, "active")
	if err != nil {
		return err
	}
	out := apigen.ModelList{Object: "list", Data: make([]apigen.Model, 0, len(list))}
	for _, a := range list {
		out.Data = append(out.Data, apigen.Model{Id: a.Key, Object: "model", Created: a.CreatedAt.Unix(), OwnedBy: "belay"})
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}
