package client

import (
	"net/http"
	"slices"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

func (d *door) listAudit(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermOperationsView); err != nil {
		return err
	}
	limit, err := httpapi.QueryInt(r, "limit", 20, 1, 100)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := agent.AuditFilter{
		Project: p.Project, Action: agent.AuditAction(q.Get("action")), By: q.Get("by"),
		Session: q.Get("conversation_id"), Turn: httpapi.RunID(q.Get("run_id")),
		Page: agent.Page{Cursor: q.Get("cursor"), Limit: int(limit)},
	}
	if f.Action != "" && !slices.Contains(agent.AuditActions, f.Action) {
		return httpapi.Invalid("action", "must be one of %v", agent.AuditActions)
	}
	list, next, err := d.store.Audit(r.Context(), f)
	if err != nil {
		return err
	}
	out := apigen.AuditList{Data: make([]apigen.AuditEntry, 0, len(list)), NextCursor: ptr(next)}
	for _, e := range list {
		out.Data = append(out.Data, apigen.AuditEntry{
			Object: "audit.entry", Id: e.ID, At: e.At.UTC(), Action: e.Action, By: e.By, Door: string(e.Door), Node: e.Node,
			Address: ptr(e.Address), ConversationId: ptr(e.Session), RunId: ptr(e.Turn), Subject: ptr(e.Subject), Detail: ptr(e.Detail),
		})
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}
