package studio

import (
	"errors"
	"net/http"
	"slices"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

func (d *door) listAudit(w http.ResponseWriter, r *http.Request) error {
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := agent.AuditFilter{
		Project: httpapi.Caller(r.Context()).Project, Action: agent.AuditAction(q.Get("action")), By: q.Get("by"),
		Session: q.Get("sessionId"), Turn: httpapi.RunID(q.Get("runId")), Page: page,
	}
	if f.Action != "" && !slices.Contains(agent.AuditActions, f.Action) {
		return httpapi.Invalid("action", "must be one of %v", agent.AuditActions)
	}
	list, next, err := d.store.Audit(r.Context(), f)
	if err != nil {
		return err
	}
	var ids []string
	for _, e := range list {
		ids = append(ids, e.By)
	}
	known, err := d.named(r.Context(), ids)
	if err != nil {
		return err
	}
	out := wire.AuditList{Data: make([]wire.AuditEntry, 0, len(list)), NextCursor: ptr(next)}
	for _, e := range list {
		out.Data = append(out.Data, wire.AuditEntry{
			Id: e.ID, At: e.At.UTC(), Action: string(e.Action), By: known.actor(e.By), Door: string(e.Door), Node: e.Node,
			Address: ptr(e.Address), SessionId: ptr(e.Session), RunId: ptr(e.Turn), Subject: ptr(e.Subject), Detail: ptr(e.Detail),
		})
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// redeliver has the newest event of a run's callback sent again.
func (d *door) redeliver(w http.ResponseWriter, r *http.Request) error {
	v, err := d.run(r)
	if err != nil {
		return err
	}
	p := httpapi.Caller(r.Context())
	if err := p.MayAct(v.Of); err != nil {
		return noRun(err)
	}
	err = d.store.Redeliver(r.Context(), v.ID, actor(p))
	if errors.Is(err, agent.ErrNotFound) {
		return &httpapi.Error{Status: http.StatusConflict, Code: "agent_run_no_callback", Err: err,
			Message: "The run has no callback, or has nothing to tell yet.", Fields: httpapi.Fields{Run: v.ID}}
	}
	if err != nil {
		return err
	}
	return d.getRun(w, r)
}

func callbackOut(t agent.Turn) *wire.RunCallback {
	c := t.Callback
	if c == nil {
		return nil
	}
	return &wire.RunCallback{Url: c.URL, Status: string(c.Status), Attempts: c.Attempts, Signed: c.Signed}
}
