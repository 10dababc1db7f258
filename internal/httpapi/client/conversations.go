package client

import (
	"errors"
	"net/http"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

func (d *door) listConversations(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	limit, err := httpapi.QueryInt(r, "limit", 20, 1, 100)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := agent.SessionFilter{
		Project: p.Project, Owner: p.ID, Agent: q.Get("agent"),
		Page: agent.Page{Cursor: q.Get("cursor"), Limit: int(limit)},
	}
	if p.Can(agent.PermSessionViewOthers) || p.Can(agent.PermSessionManageOthers) {
		f.Owner = ""
	}
	list, next, err := d.store.Sessions(r.Context(), f)
	if err != nil {
		return err
	}
	out := apigen.ConversationList{Data: make([]apigen.Conversation, 0, len(list)), NextCursor: ptr(next)}
	for _, s := range list {
		out.Data = append(out.Data, conversationOut(s))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func conversationOut(s agent.SessionInfo) apigen.Conversation {
	return apigen.Conversation{
		Object: "conversation", Id: s.ID, Agent: s.Agent, Owner: s.Owner, Door: string(s.Door), Title: s.Title,
		State: apigen.ConversationState(s.StateWord()), RunId: ptr(s.Turn),
		LastStatus: ptr(string(s.Last)), LastStopReason: ptr(s.Reason),
		CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(),
	}
}

func (d *door) getConversation(w http.ResponseWriter, r *http.Request) error {
	info, err := d.viewed(r)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, conversationOut(info))
}

func (d *door) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	info, err := d.session(r, agent.Principal.MayAct)
	if err == nil {
		err = d.store.DeleteSession(r.Context(), info.ID)
	}
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (d *door) listMessages(w http.ResponseWriter, r *http.Request) error {
	after, err := httpapi.QueryInt(r, "after", -1, -1, 1<<31-1)
	if err != nil {
		return err
	}
	limit, err := httpapi.QueryInt(r, "limit", 100, 1, 200)
	if err != nil {
		return err
	}
	info, err := d.viewed(r)
	if err != nil {
		return err
	}
	events, err := d.store.Messages(r.Context(), info.ID, int(after), int(limit)+1)
	if err != nil {
		return err
	}
	out := apigen.MessageList{Data: make([]apigen.Message, 0, len(events)), HasMore: len(events) > int(limit)}
	for _, e := range events[:min(len(events), int(limit))] {
		if m, ok := e.Body.(agent.Message); ok {
			out.Data = append(out.Data, messageOut(e, m))
		}
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func messageOut(e agent.Event, m agent.Message) apigen.Message {
	return apigen.Message{
		Id: httpapi.MessageID(e.Session, m.Index), Index: m.Index, Seq: e.Seq, RunId: e.Run(), Role: m.Role, Content: m.Text,
		Reasoning: m.Reasoning, Calls: m.Calls, Status: m.Status, StopReason: m.StopReason, Usage: m.Usage, CreatedAt: e.At.UTC(),
	}
}
