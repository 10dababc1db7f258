package httpapitest

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/belayrun/belay/internal/agent"
)

// Sessions pages by number of sessions seen.
func (w *World) Sessions(_ context.Context, f agent.SessionFilter) ([]agent.SessionInfo, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from, err := strconv.Atoi(cmp.Or(f.Page.Cursor, "0"))
	if err != nil || from < 0 {
		return nil, "", &agent.FieldError{Field: "cursor", Message: "must be a cursor from the page before"}
	}
	var all []agent.SessionInfo
	for _, s := range w.sessions {
		if s.Project == f.Project && (f.Owner == "" || f.Owner == s.Owner) && (f.Agent == "" || f.Agent == s.Agent) {
			all = append(all, w.info(s))
		}
	}
	slices.SortFunc(all, func(a, b agent.SessionInfo) int { return cmp.Compare(b.ID, a.ID) })
	all = all[min(from, len(all)):]
	if len(all) > f.Page.Limit {
		return all[:f.Page.Limit], strconv.Itoa(from + f.Page.Limit), w.down
	}
	return all, "", w.down
}

func (w *World) info(s *session) agent.SessionInfo {
	info := agent.SessionInfo{Session: s.Session, State: s.state, Turn: s.turn}
	if t := w.latest(s.ID); t != nil {
		info.Last, info.Reason = t.Status, t.StopReason
	}
	return info
}

func (w *World) latest(id string) *agent.Turn {
	var newest *agent.Turn
	for _, t := range w.turns {
		if t.Session == id && (newest == nil || t.FirstSeq > newest.FirstSeq) {
			newest = t
		}
	}
	return newest
}

// Session returns a session.
func (w *World) Session(_ context.Context, id string) (agent.SessionInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[id]
	if w.down != nil {
		return agent.SessionInfo{}, w.down
	}
	if s == nil {
		return agent.SessionInfo{}, agent.ErrNotFound
	}
	return w.info(s), nil
}

// DeleteSession deletes a session.
func (w *World) DeleteSession(_ context.Context, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.sessions[id]; s != nil && s.turn != "" {
		return &agent.BusyError{Session: id, Turn: s.turn}
	}
	delete(w.sessions, id)
	return w.down
}

// Messages returns message events.
func (w *World) Messages(_ context.Context, id string, after, limit int) ([]agent.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []agent.Event
	for _, e := range w.sessions[id].events {
		if m, ok := e.Body.(agent.Message); ok && m.Index > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, w.down
}

// MessagesBefore returns message events, newest first.
func (w *World) MessagesBefore(_ context.Context, id string, before, limit int) ([]agent.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []agent.Event
	for _, e := range slices.Backward(w.sessions[id].events) {
		if m, ok := e.Body.(agent.Message); ok && m.Index < before && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, w.down
}

// CreateSession makes a session with messages in it.
func (w *World) CreateSession(_ context.Context, s agent.Session, messages []agent.Prompt) (agent.SessionInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down != nil {
		return agent.SessionInfo{}, w.down
	}
	s.ID, s.CreatedAt, s.UpdatedAt = w.id("5e"), Epoch, Epoch
	made := &session{Session: s, state: agent.SlotIdle}
	w.sessions[s.ID] = made
	w.post(made, messages)
	return w.info(made), nil
}

// SetMetadata replaces a session's metadata.
func (w *World) SetMetadata(_ context.Context, id string, metadata map[string]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sessions[id] == nil {
		return agent.ErrNotFound
	}
	w.sessions[id].Metadata = metadata
	return w.down
}

// TurnsAfter returns a session's turns that begin after a number.
func (w *World) TurnsAfter(_ context.Context, id string, seq int64, limit int) ([]agent.Turn, error) {
	list := w.turnsOf(id, func(t *agent.Turn) bool { return t.FirstSeq > seq })
	return list[:min(limit, len(list))], w.down
}

// TurnsBefore returns those that begin before it, newest first.
func (w *World) TurnsBefore(_ context.Context, id string, seq int64, limit int) ([]agent.Turn, error) {
	list := w.turnsOf(id, func(t *agent.Turn) bool { return t.FirstSeq < seq })
	slices.Reverse(list)
	return list[:min(limit, len(list))], w.down
}

func (w *World) turnsOf(id string, keep func(*agent.Turn) bool) []agent.Turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []agent.Turn
	for _, t := range w.turns {
		if t.Session == id && keep(t) {
			out = append(out, *t)
		}
	}
	slices.SortFunc(out, func(a, b agent.Turn) int { return cmp.Compare(a.FirstSeq, b.FirstSeq) })
	return out
}

// LatestTurn returns a session's newest turn.
func (w *World) LatestTurn(_ context.Context, id string) (agent.Turn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.latest(id); t != nil {
		return *t, w.down
	}
	return agent.Turn{}, agent.ErrNotFound
}

// Turn returns a turn and its session.
func (w *World) Turn(_ context.Context, id string) (agent.Turn, agent.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down != nil {
		return agent.Turn{}, agent.Session{}, w.down
	}
	t := w.turns[id]
	if t == nil || w.sessions[t.Session] == nil {
		return agent.Turn{}, agent.Session{}, agent.ErrNotFound
	}
	return *t, w.sessions[t.Session].Session, nil
}

// Actions returns a turn's actions.
func (w *World) Actions(_ context.Context, id string) ([]agent.Action, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []agent.Action
	for _, a := range w.actions {
		if a.Turn == id {
			out = append(out, a)
		}
	}
	return out, w.down
}

// Runs returns the background runs of a filter, newest first.
func (w *World) Runs(_ context.Context, f agent.RunFilter) ([]agent.Turn, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []agent.Turn
	for _, t := range w.turns {
		s := w.sessions[t.Session]
		if t.Background && s.Project == f.Project && (f.Owner == "" || f.Owner == s.Owner) && (f.Agent == "" || f.Agent == t.Agent) &&
			(f.Session == "" || f.Session == t.Session) && (f.Status == "" || f.Status == t.RunStatus()) {
			all = append(all, *t)
		}
	}
	slices.SortFunc(all, func(a, b agent.Turn) int { return cmp.Compare(b.ID, a.ID) })
	from, err := strconv.Atoi(cmp.Or(f.Page.Cursor, "0"))
	if err != nil || from < 0 {
		return nil, "", &agent.FieldError{Field: "cursor", Message: "must be a cursor from the page before"}
	}
	all = all[min(from, len(all)):]
	if len(all) > f.Page.Limit {
		return all[:f.Page.Limit], strconv.Itoa(from + f.Page.Limit), w.down
	}
	return all, "", w.down
}

// SessionActions returns the actions of a session's newest turn, and open ones.
func (w *World) SessionActions(_ context.Context, session string) ([]agent.Action, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []agent.Action
	for _, a := range w.actions {
		if a.Session == session && (a.State == agent.ActionOpen || a.Turn == w.latest(session).ID) {
			out = append(out, a)
		}
	}
	return out, w.down
}

// OpenActions pages by number of actions seen.
func (w *World) OpenActions(_ context.Context, f agent.ActionFilter) ([]agent.Action, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from, err := strconv.Atoi(cmp.Or(f.Page.Cursor, "0"))
	if err != nil || from < 0 {
		return nil, "", &agent.FieldError{Field: "cursor", Message: "must be a cursor from the page before"}
	}
	var all []agent.Action
	for _, a := range slices.Backward(w.actions) {
		s := w.sessions[a.Session]
		mine := f.Others || s.Owner == f.Owner || f.Approvals && a.Type == agent.ActionApproval
		if s.Project == f.Project && a.State == agent.ActionOpen && mine {
			all = append(all, a)
		}
	}
	all = all[min(from, len(all)):]
	if len(all) > f.Page.Limit {
		return all[:f.Page.Limit], strconv.Itoa(from + f.Page.Limit), w.down
	}
	return all, "", w.down
}

// Agents returns a project's agents by key.
func (w *World) Agents(_ context.Context, project, status string) ([]agent.Agent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []agent.Agent
	for _, a := range w.agents {
		if a.Project == project && (status == "" || a.Active == (status == "active")) {
			out = append(out, *a)
		}
	}
	slices.SortFunc(out, func(a, b agent.Agent) int { return cmp.Compare(a.Key, b.Key) })
	return out, w.down
}

// Agent returns an agent.
func (w *World) Agent(_ context.Context, project, key string) (agent.Agent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.agents[project+"/"+key]
	if a == nil {
		return agent.Agent{}, agent.ErrNotFound
	}
	return *a, w.down
}

// CreateAgent makes an agent.
func (w *World) CreateAgent(_ context.Context, a agent.Agent) (agent.Agent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.agents[a.Project+"/"+a.Key] != nil {
		return agent.Agent{}, agent.ErrExists
	}
	a.CreatedAt, a.UpdatedAt = Epoch, Epoch
	w.agents[a.Project+"/"+a.Key] = &a
	return a, w.down
}

// UpdateAgent changes an agent.
func (w *World) UpdateAgent(_ context.Context, project, key string, fn func(*agent.Agent) error) (agent.Agent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.agents[project+"/"+key]
	if a == nil {
		return agent.Agent{}, agent.ErrNotFound
	}
	changed := *a
	if err := fn(&changed); err != nil {
		return agent.Agent{}, err
	}
	*a = changed
	return changed, w.down
}

// DeleteAgent deletes an agent.
func (w *World) DeleteAgent(_ context.Context, project, key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.agents, project+"/"+key)
	return w.down
}

// Publish counts versions.
func (w *World) Publish(_ context.Context, project, key string, _ agent.Actor) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.agents[project+"/"+key]
	if a == nil {
		return 0, agent.ErrNotFound
	}
	a.Published++
	return a.Published, w.down
}
