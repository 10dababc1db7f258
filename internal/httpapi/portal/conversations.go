package portal

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

func (d *door) list(w http.ResponseWriter, r *http.Request, p agent.Portal) error {
	limit, err := httpapi.QueryInt(r, "limit", 20, 1, 100)
	if err != nil {
		return err
	}
	page, next, err := d.store.Sessions(r.Context(), agent.SessionFilter{
		Project: p.Project, Owner: httpapi.Caller(r.Context()).ID,
		Page: agent.Page{Cursor: r.URL.Query().Get("cursor"), Limit: int(limit)},
	})
	if err != nil {
		return err
	}
	out := ConversationList{Data: make([]Conversation, 0, len(page)), NextCursor: ptr(next)}
	for _, s := range page {
		out.Data = append(out.Data, conversation(s))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func conversation(s agent.SessionInfo) Conversation {
	return Conversation{
		Id: s.ID, Title: s.Title, State: s.StateWord(), RunId: ptr(s.Turn), LastStopReason: ptr(s.Reason),
		CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(),
	}
}

func (d *door) get(w http.ResponseWriter, r *http.Request, _ agent.Portal) error {
	info, err := d.session(r)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, conversation(info))
}

func (d *door) messages(w http.ResponseWriter, r *http.Request, _ agent.Portal) error {
	after, err := httpapi.QueryInt(r, "after", -1, -1, math.MaxInt32)
	if err != nil {
		return err
	}
	limit, err := httpapi.QueryInt(r, "limit", 100, 1, 200)
	if err != nil {
		return err
	}
	info, err := d.session(r)
	if err != nil {
		return err
	}
	events, err := d.store.Messages(r.Context(), info.ID, int(after), int(limit)+1)
	if err != nil {
		return err
	}
	out := MessageList{Data: make([]Message, 0, len(events)), HasMore: len(events) > int(limit)}
	for _, e := range events[:min(len(events), int(limit))] {
		if m, ok := e.Body.(agent.Message); ok {
			out.Data = append(out.Data, Message{
				Index: m.Index, Seq: e.Seq, RunId: e.Turn, Role: string(m.Role), Content: m.Text,
				Status: string(m.Status), StopReason: m.StopReason, CreatedAt: e.At.UTC(),
			})
		}
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// begin begins a conversation, which is its first message.
func (d *door) begin(w http.ResponseWriter, r *http.Request, p agent.Portal) error {
	return d.send(w, r, p, "")
}

func (d *door) say(w http.ResponseWriter, r *http.Request, p agent.Portal) error {
	info, err := d.session(r)
	if err != nil {
		return err
	}
	return d.send(w, r, p, info.ID)
}

// send begins a turn. It belongs to the server: that the page is closed changes
// nothing.
func (d *door) send(w http.ResponseWriter, r *http.Request, p agent.Portal, session string) error {
	var in SayRequest
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	if strings.TrimSpace(in.Content) == "" {
		return httpapi.Invalid("content", "is required: what to say")
	}
	if err := httpapi.MayCost(r.Context(), d.store, p, httpapi.Caller(r.Context()).ID, "content", in.Content); err != nil {
		return err
	}
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	t, err := d.engine.Begin(ctx, turn.Submit{
		Principal: httpapi.Caller(r.Context()), Door: agent.DoorPortal, Session: session, Agent: p.Agent, Input: in.Content,
	})
	if f, ok := errors.AsType[*agent.FieldError](err); ok {
		return &httpapi.Error{Status: http.StatusConflict, Code: "agent_not_available", Err: f, Message: "Nobody answers here at the moment."}
	}
	if err != nil {
		return httpapi.NotFound(err, "agent_not_available", "Nobody answers here any more.")
	}
	httpapi.Note(r.Context(), t.Session, t.ID)
	return httpapi.WriteJSON(w, http.StatusCreated, Sent{ConversationId: t.Session, RunId: t.ID})
}

func (d *door) events(w http.ResponseWriter, r *http.Request, p agent.Portal) error {
	after, err := httpapi.ReadCursor(r)
	if err != nil {
		return err
	}
	info, err := d.session(r)
	if err != nil {
		return err
	}
	source := func(ctx context.Context, idle time.Duration) iter.Seq2[[]agent.Event, error] {
		return d.engine.Watch(ctx, info.ID, after, idle)
	}
	return d.streams.Serve(w, r, source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
		body, show := reduce(e.Body, p.Approvals)
		if !show {
			return dst, false, nil
		}
		e.Body = body
		dst, err := httpapi.AppendEventFrame(dst, e)
		return dst, false, err
	})
}

// stop stops the visitor's turn. The engine finds it: it can tell one that runs
// here even while the database is away.
func (d *door) stop(w http.ResponseWriter, r *http.Request, _ agent.Portal) error {
	in, err := httpapi.ReadStop(r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "id")
	httpapi.Note(r.Context(), id, in.Run)
	ctx, done := httpapi.Detach(r.Context(), in.Wait)
	defer done()
	a, err := d.engine.Stop(ctx, turn.StopRequest{
		Principal: httpapi.Caller(r.Context()), Door: agent.DoorPortal, Session: id, Turn: in.Run, Wait: in.Wait, RunningOnly: true,
	})
	if errors.Is(err, agent.ErrForbidden) {
		err = agent.ErrNotFound // a visitor is not told of others' conversations
	}
	if err != nil {
		return httpapi.NotFound(err, "agent_run_not_found", "There is no such conversation or run.")
	}
	out := StopAnswer{ConversationId: a.Session, Cancelled: a.Cancelled, RunIds: append([]string{}, a.Turns...)}
	if in.Asked {
		out.Done, out.StopStatus = new(a.Done()), new(string(a.Status))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func (d *door) actions(w http.ResponseWriter, r *http.Request, p agent.Portal) error {
	info, err := d.session(r)
	if err != nil {
		return err
	}
	out := ActionList{Data: []Action{}}
	if info.Turn == "" {
		return httpapi.WriteJSON(w, http.StatusOK, out)
	}
	list, err := d.store.Actions(r.Context(), info.Turn)
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.State == agent.ActionOpen {
			out.Data = append(out.Data, action(a, p.Approvals))
		}
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// decide decides a request of the visitor's own conversations.
func (d *door) decide(w http.ResponseWriter, r *http.Request, p agent.Portal) error {
	dec, err := httpapi.ReadDecision(r, chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	_, s, err := d.store.Action(r.Context(), dec.Action)
	if err == nil && !owns(r, s) {
		err = agent.ErrNotFound
	}
	if err != nil {
		return httpapi.NotFound(err, "action_not_found", "There is no such request.")
	}
	httpapi.Note(r.Context(), s.ID, "")
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	dec.Door = agent.DoorPortal
	a, err := d.engine.Decide(ctx, httpapi.Caller(r.Context()), dec)
	if errors.Is(err, agent.ErrForbidden) {
		return &httpapi.Error{Status: http.StatusForbidden, Code: "action_forbidden", Err: err,
			Message: "This is for somebody else to decide."}
	}
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, action(a, p.Approvals))
}

func action(a agent.Action, approvals bool) Action {
	out := Action{
		Id: a.ID, Type: string(a.Type), State: string(a.State), ConversationId: a.Session, RunId: a.Turn, Name: a.Name,
		Answer: ptr(a.Answer), CreatedAt: a.CreatedAt.UTC(),
	}
	if shows(a.Type, approvals) && len(a.Arguments) > 0 {
		out.Arguments = new(json.RawMessage(a.Arguments))
	}
	return out
}

// shows says whether a visitor may read what an action is about.
func shows(t agent.ActionType, approvals bool) bool { return t == agent.ActionQuestion || approvals }
