package httpapitest

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/belayrun/belay/internal/agent"
)

// Tell makes a turn a background run with a callback, and a delivery of it.
func (w *World) Tell(d agent.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.turns[d.Turn]
	c := d.Callback
	t.Background, t.Callback = true, &agent.Callback{Kind: agent.CallbackRun, URL: c.URL, Signed: c.Signed, Status: d.Status, Attempts: d.Attempts}
	d.ID, d.Project, d.Session = w.id("de"), w.sessions[t.Session].Project, t.Session
	w.sent = slices.Insert(w.sent, 0, d)
}

// Audited adds an entry to the audit log of project p1.
func (w *World) Audited(e agent.AuditEntry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.ID, e.Project = strconv.Itoa(len(w.audit)+1), "p1"
	w.audit = slices.Insert(w.audit, 0, e)
}

// paged pages by number of things seen.
func paged[T any](list []T, p agent.Page) ([]T, string, error) {
	from, err := strconv.Atoi(cmp.Or(p.Cursor, "0"))
	if err != nil || from < 0 {
		return nil, "", &agent.FieldError{Field: "cursor", Message: "must be a cursor from the page before"}
	}
	list = list[min(from, len(list)):]
	if len(list) > p.Limit {
		return list[:p.Limit], strconv.Itoa(from + p.Limit), nil
	}
	return list, "", nil
}

// Deliveries returns a page of what was told.
func (w *World) Deliveries(_ context.Context, f agent.DeliveryFilter) ([]agent.Delivery, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down != nil {
		return nil, "", w.down
	}
	var out []agent.Delivery
	for _, d := range w.sent {
		if d.Project == f.Project && (f.Owner == "" || w.sessions[d.Session].Owner == f.Owner) &&
			(f.Turn == "" || d.Turn == f.Turn) && (f.Status == "" || d.Status == f.Status) {
			out = append(out, d)
		}
	}
	return paged(out, f.Page)
}

// Redeliver makes a run's newest delivery pending again.
func (w *World) Redeliver(_ context.Context, turn string, _ agent.Actor) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.sent, func(d agent.Delivery) bool { return d.Turn == turn })
	if i < 0 {
		return agent.ErrNotFound
	}
	w.sent[i].Status, w.sent[i].Attempts, w.sent[i].Error = agent.CallbackPending, 0, ""
	w.turns[turn].Callback.Status, w.turns[turn].Callback.Attempts = agent.CallbackPending, 0
	return w.down
}

// Audit returns a page of the audit log.
func (w *World) Audit(_ context.Context, f agent.AuditFilter) ([]agent.AuditEntry, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down != nil {
		return nil, "", w.down
	}
	var out []agent.AuditEntry
	for _, e := range w.audit {
		if e.Project == f.Project && (f.Action == "" || e.Action == f.Action) && (f.By == "" || e.By == f.By) &&
			(f.Session == "" || e.Session == f.Session) && (f.Turn == "" || e.Turn == f.Turn) {
			out = append(out, e)
		}
	}
	return paged(out, f.Page)
}
