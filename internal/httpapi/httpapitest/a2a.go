package httpapitest

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// TurnAt returns the turn of a session whose first message has an index.
func (w *World) TurnAt(_ context.Context, id string, index int) (agent.Turn, agent.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down != nil {
		return agent.Turn{}, agent.Session{}, w.down
	}
	for _, t := range w.turns {
		if t.Session == id && t.Index == index && w.sessions[id] != nil {
			return w.asRead(t), w.sessions[id].Session, nil
		}
	}
	return agent.Turn{}, agent.Session{}, agent.ErrNotFound
}

// asRead returns a turn with the stop that it was asked for.
func (w *World) asRead(t *agent.Turn) agent.Turn {
	out := *t
	for _, e := range w.sessions[t.Session].events {
		if b, ok := e.Body.(agent.TurnStopping); ok && e.Turn == t.ID {
			out.Stop = &agent.Stop{By: b.By, Door: b.Door, Node: b.Node, At: Epoch}
		}
	}
	return out
}

// TurnStates pages by number of turns seen.
func (w *World) TurnStates(_ context.Context, f agent.TurnFilter) ([]agent.TurnState, string, int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from, err := strconv.Atoi(cmp.Or(f.Page.Cursor, "0"))
	if err != nil || from < 0 {
		return nil, "", 0, &agent.FieldError{Field: "cursor", Message: "must be a cursor from the page before"}
	}
	var all []agent.TurnState
	for _, t := range w.turns {
		s, x := w.sessions[t.Session], agent.TurnState{Turn: w.asRead(t), Word: string(t.Status), Since: Epoch}
		switch {
		case x.Turn.Stop != nil:
			x.Word = "cancelled"
		case t.Status == agent.StatusIncomplete:
			x.Word = "limit"
		}
		if s != nil && s.Project == f.Project && s.Agent == f.Agent && (f.Owner == "" || f.Owner == s.Owner) && (f.Session == "" || f.Session == s.ID) &&
			(len(f.States) == 0 || slices.Contains(f.States, x.Word)) && !x.Since.Before(f.Since) {
			x.Session = s.Session
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b agent.TurnState) int { return cmp.Compare(b.Turn.ID, a.Turn.ID) })
	total := len(all)
	if all = all[min(from, total):]; len(all) > f.Page.Limit {
		return all[:f.Page.Limit], strconv.Itoa(from + f.Page.Limit), total, w.down
	}
	return all, "", total, w.down
}

// Receive keeps a receipt, or returns the one that is kept.
func (w *World) Receive(_ context.Context, r agent.Receipt) (agent.Receipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, had := range w.receipts {
		if had.Project == r.Project && had.Agent == r.Agent && had.Sender == r.Sender && had.ID == r.ID {
			return had, w.down
		}
	}
	w.receipts = append(w.receipts, r)
	return r, w.down
}

// BindReceipt needs to do nothing: receipts here outlive sessions.
func (w *World) BindReceipt(context.Context, agent.Receipt) error { return nil }

// DropReceipt forgets a receipt.
func (w *World) DropReceipt(_ context.Context, r agent.Receipt) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.receipts = slices.DeleteFunc(w.receipts, func(had agent.Receipt) bool { return had.Turn == r.Turn && had.ID == r.ID && had.Action == r.Action })
	return nil
}

// Receipts returns those of a turn.
func (w *World) Receipts(_ context.Context, turn string) ([]agent.Receipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []agent.Receipt
	for _, r := range w.receipts {
		if r.Turn == turn {
			out = append(out, r)
		}
	}
	return out, w.down
}

// PutCallback makes or replaces a callback of a turn.
func (w *World) PutCallback(ctx context.Context, turn string, c agent.Callback) error {
	if err := w.DeleteCallback(ctx, turn, c.Kind, c.Name); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pushes[turn] = append(w.pushes[turn], c)
	return w.down
}

// Callbacks returns a turn's callbacks.
func (w *World) Callbacks(_ context.Context, turn string, _ agent.CallbackKind) ([]agent.Callback, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.pushes[turn]), w.down
}

// DeleteCallback deletes a callback.
func (w *World) DeleteCallback(_ context.Context, turn string, _ agent.CallbackKind, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pushes[turn] = slices.DeleteFunc(w.pushes[turn], func(c agent.Callback) bool { return c.Name == name })
	return w.down
}

// Show makes a portal, or changes it.
func (w *World) Show(p agent.Portal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.Project = "p1"
	w.portals[p.Slug] = p
}

// Portal returns a portal.
func (w *World) Portal(_ context.Context, slug string) (agent.Portal, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.portals[slug]
	if !ok {
		return p, agent.ErrNotFound
	}
	return p, w.down
}

// MeterVisitor counts a portal's messages, and never forgets one.
func (w *World) MeterVisitor(_ context.Context, p agent.Portal, _ string) (bool, time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meter[p.Slug]++
	return w.meter[p.Slug] <= p.Limits.WithDefaults().VisitorPerMinute, time.Second, w.down
}

// VisitorSpend is a cent for each message so far.
func (w *World) VisitorSpend(_ context.Context, _, prefix, _ string) (one, all float64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.meter[prefix[len("visitor:"):len(prefix)-1]]
	return float64(n) / 100, float64(n) / 100, w.down
}
