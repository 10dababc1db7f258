package turntest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// Take implements turn.Slots.
func (m *Memory) Take(ctx context.Context, b agent.Begin) (agent.Leg, error) {
	return call(ctx, m, "Take", func() (agent.Leg, error) {
		if t := m.turns[b.Turn.ID]; t != nil {
			return m.retake(t, b)
		}
		if b.Once != nil {
			if err := m.usedKey(*b.Once); err != nil {
				return agent.Leg{}, err
			}
		}
		if err := m.parentRuns(b.Turn.Parent); err != nil {
			return agent.Leg{}, err
		}
		s, err := m.takeable(b)
		if err != nil {
			return agent.Leg{}, err
		}
		if b.MostRuns > 0 && m.runs(b.Session.Project, agent.SlotQueued, agent.SlotRunning) >= b.MostRuns {
			return agent.Leg{}, fmt.Errorf("take slot of session %s: %w", b.Session.ID, agent.ErrRunLimit)
		}
		if b.Node != "" && m.nodes[b.Node].dead() {
			return agent.Leg{}, fmt.Errorf("take slot of session %s: %w", b.Session.ID, agent.ErrNodeDead)
		}
		if err := m.vacate(s, b); err != nil {
			return agent.Leg{}, err
		}
		return m.take(s, b)
	})
}

// retake answers a take that was made already. Where the leg is over since, its
// lease says so at the first look.
func (m *Memory) retake(t *memTurn, b agent.Begin) (agent.Leg, error) {
	s := m.sessions[t.Session]
	leg := agent.Leg{
		Lease:   agent.Lease{Session: s.ID, Turn: t.ID, Node: t.tookNode, Fence: t.took},
		Session: s.Session, Turn: m.readTurn(t), Seq: t.FirstSeq - 1,
	}
	var err error
	leg.Events, err = s.events(func(r memRow) bool {
		return r.Seq == t.FirstSeq || r.Seq == t.FirstSeq+1 && !b.NoInput
	})
	return leg, err
}

func (m *Memory) parentRuns(parent *agent.Lease) error {
	if parent == nil {
		return nil
	}
	s, err := m.running(*parent)
	if err != nil || s.slot.stop != nil {
		return fmt.Errorf("parent %s: %w", parent, agent.ErrParentStopped)
	}
	return nil
}

// takeable returns the session if its slot may be taken; it changes nothing but
// that a new session is made.
func (m *Memory) takeable(b agent.Begin) (*memSession, error) {
	s := m.sessions[b.Session.ID]
	switch {
	case s == nil && !b.New:
		return nil, fmt.Errorf("session %s: %w", b.Session.ID, agent.ErrNotFound)
	case s == nil:
		s = &memSession{Session: b.Session, slot: memSlot{state: agent.SlotIdle}}
		if s.CreatedAt.IsZero() {
			s.CreatedAt = now()
		}
		s.UpdatedAt = s.CreatedAt
	case s.Agent != "" && b.Turn.Agent != "" && s.Agent != b.Turn.Agent:
		return nil, fmt.Errorf("session %s: %w", b.Session.ID, agent.ErrNotFound)
	case s.slot.state == agent.SlotIdle, m.ownerless(s), s.slot.state == agent.SlotWaiting && !b.NoSupersede:
	default:
		return nil, &agent.BusyError{
			Session: s.ID, Turn: s.slot.turn, Stopping: s.slot.stop != nil, Waiting: s.slot.state == agent.SlotWaiting,
		}
	}
	return s, nil
}

// vacate ends what is left in a slot that will be taken, and what earlier turns
// left open.
func (m *Memory) vacate(s *memSession, b agent.Begin) error {
	switch s.slot.state {
	case agent.SlotWaiting:
		at := now()
		stop := &agent.Stop{By: b.Turn.By, Door: b.Turn.Door, Detail: agent.DetailSuperseded, At: at}
		if n := m.nodes[b.Node]; n != nil {
			stop.Node = n.label
		}
		if err := m.endIdle(s, stop, true, new(agent.StopResult)); err != nil {
			return err
		}
	case agent.SlotRunning:
		if err := m.settleForOther(s, new(agent.StopResult)); err != nil {
			return err
		}
	}
	_, err := m.withdrawLeft(s, "", b.Turn.By)
	return err
}

func (m *Memory) take(s *memSession, b agent.Begin) (agent.Leg, error) {
	m.sessions[s.ID] = s
	at := now()
	t := &memTurn{Turn: b.Turn, took: s.slot.fence + 1, tookNode: b.Node}
	s.Agent = cmp.Or(s.Agent, b.Turn.Agent)
	s.slot.fence = t.took
	if _, err := s.post(agent.HistoryID(t.ID), b.History); err != nil {
		return agent.Leg{}, err
	}
	t.Session, t.FirstSeq, t.Index = s.ID, s.slot.seq+1, s.slot.messages
	var bodies []agent.Body
	if !b.NoInput {
		bodies = append(bodies, agent.Message{Index: t.Index, Role: agent.RoleUser, Text: b.Input, Status: agent.StatusCompleted})
		t.Index++
	}
	t.Status, t.CreatedAt = agent.StatusQueued, at
	t.Metadata = maps.Clone(b.Turn.Metadata)
	for _, c := range b.Callbacks {
		if c.Kind == agent.CallbackRun {
			t.Callback = &agent.Callback{Kind: c.Kind, URL: c.URL, Signed: c.Secret != "", Status: agent.CallbackPending}
		}
	}
	if t.Parent != nil {
		t.Parent = new(*b.Turn.Parent)
	}
	sl := &s.slot
	sl.state, sl.turn, sl.node, sl.depth, sl.stop = agent.SlotQueued, t.ID, b.Node, t.Depth, nil
	m.queue(s, t)
	sl.goesOn = false
	if o := b.Once; o != nil {
		m.keys[memKey{o.Project, o.Principal, o.Key}] = memUse{o.Request, t.ID, at.Add(o.Keep)}
	}
	if b.Node != "" {
		sl.state, sl.taken, sl.expires = agent.SlotRunning, at, time.Time{}
		t.Status, t.StartedAt = agent.StatusRunning, at
	}
	m.turns[t.ID] = t
	leg := agent.Leg{Seq: sl.seq}
	leg.Events = numbered(s.ID, t.ID, sl.seq, append(bodies, agent.TurnStarted{
		Agent: t.Agent, Version: t.Version, Model: t.Spec.Model, Door: t.Door, By: t.By,
		Index: t.Index, Background: t.Background,
	})...)
	err := s.write(leg.Events)
	s.UpdatedAt = at
	leg.Lease, leg.Session, leg.Turn = s.lease(), s.Session, m.readTurn(t)
	return leg, err
}

// Post implements turn.Poster.
func (m *Memory) Post(ctx context.Context, p agent.Posting) ([]agent.Event, error) {
	return call(ctx, m, "Post", func() ([]agent.Event, error) {
		b := agent.Begin{Session: agent.Session{ID: p.Session}, Turn: agent.Turn{By: p.By, Door: p.Door}}
		s := m.sessions[p.Session]
		if s == nil {
			return nil, fmt.Errorf("session %s: %w", p.Session, agent.ErrNotFound)
		}
		before, err := s.events(func(r memRow) bool { return r.Turn == p.ID })
		if err != nil || len(before) > 0 {
			return before, err
		}
		if _, err := m.takeable(b); err != nil {
			return nil, err
		}
		if err := m.vacate(s, b); err != nil {
			return nil, err
		}
		return s.post(p.ID, p.Messages)
	})
}

// post writes messages that no turn writes.
func (s *memSession) post(id string, messages []agent.Prompt) ([]agent.Event, error) {
	bodies := make([]agent.Body, len(messages))
	for i, m := range messages {
		bodies[i] = agent.Message{Index: s.slot.messages + i, Role: m.Role, Text: m.Text, Status: agent.StatusCompleted}
	}
	events := numbered(s.ID, id, s.slot.seq, bodies...)
	return events, s.write(events)
}

// queue gives a turn its place in the queue.
func (m *Memory) queue(s *memSession, t *memTurn) {
	s.slot.queued, s.slot.queuedAt, s.slot.expires = m.arrival(), now(), time.Time{}
	if t.Background {
		s.slot.expires = now().Add(t.Spec.Execution.MaxDuration())
	}
}

// Claim implements turn.Slots.
func (m *Memory) Claim(ctx context.Context, node string, most int) (agent.Leg, bool, error) {
	type claimed struct {
		leg agent.Leg
		ok  bool
	}
	c, err := call(ctx, m, "Claim", func() (claimed, error) {
		if m.nodes[node].dead() {
			return claimed{}, fmt.Errorf("claim: %w", agent.ErrNodeDead)
		}
		s := m.nextQueued(most)
		if s == nil {
			return claimed{}, nil
		}
		t := m.turns[s.slot.turn]
		s.slot.state, s.slot.node, s.slot.taken = agent.SlotRunning, node, now()
		s.slot.expires = time.Time{}
		s.slot.fence++
		t.Status = agent.StatusRunning
		if t.StartedAt.IsZero() {
			t.StartedAt = s.slot.taken
		}
		waited := s.slot.taken.Sub(s.slot.queuedAt)
		return claimed{agent.Leg{Lease: s.lease(), Session: s.Session, Turn: m.readTurn(t), Seq: s.slot.seq, Queued: waited}, true}, nil
	})
	return c.leg, c.ok, err
}

// nextQueued returns the session to claim next, nil for none: a turn that has
// run before goes first, then the project with the fewest runs.
func (m *Memory) nextQueued(most int) *memSession {
	var best *memSession
	for _, s := range m.sessions {
		full := most > 0 && m.turns[s.slot.turn] != nil && m.turns[s.slot.turn].Background && m.runs(s.Project, agent.SlotRunning) >= most
		if s.slot.state == agent.SlotQueued && !full && (best == nil || m.before(s, best)) {
			best = s
		}
	}
	return best
}

func (m *Memory) before(a, b *memSession) bool {
	first := func(s *memSession) int {
		if s.slot.goesOn {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(first(a), first(b)),
		cmp.Compare(m.runs(a.Project, agent.SlotRunning), m.runs(b.Project, agent.SlotRunning)),
		cmp.Compare(a.slot.queued, b.slot.queued)) < 0
}

// runs counts a project's background runs in some states.
func (m *Memory) runs(project string, states ...agent.SlotState) int {
	n := 0
	for _, s := range m.sessions {
		if s.Project == project && s.slot.turn != "" && slices.Contains(states, s.slot.state) && m.turns[s.slot.turn].Background {
			n++
		}
	}
	return n
}

// Used implements turn.Turns.
func (m *Memory) Used(ctx context.Context, o agent.Once) error {
	return m.exec(ctx, "Used", func() error { return m.usedKey(o) })
}

func (m *Memory) usedKey(o agent.Once) error {
	u, ok := m.keys[memKey{o.Project, o.Principal, o.Key}]
	if !ok || !u.expires.After(now()) {
		return nil
	}
	return &agent.UsedKeyError{Turn: u.turn, Same: u.request == o.Request}
}

// Settle implements turn.Slots.
func (m *Memory) Settle(ctx context.Context, l agent.Lease, c agent.Closing) (agent.Closed, error) {
	return call(ctx, m, "Settle", func() (agent.Closed, error) {
		s, err := m.running(l)
		if err != nil {
			if t := m.turns[l.Turn]; t != nil && t.Session == l.Session && t.closed == l.Fence && l.Fence > 0 {
				return t.closing, nil
			}
			return agent.Closed{}, err
		}
		t := m.turns[l.Turn]
		stop := s.slot.stop
		if stop == nil && c.Stop != nil {
			stop = new(*c.Stop)
			stop.At = now()
		}
		open := m.open(t.ID)
		o, ok := agent.Decide(stop, len(open), c.End)
		if !ok {
			return agent.Closed{}, fmt.Errorf("settle %s: %w", l, agent.ErrGoOn)
		}
		return m.settle(s, t, o, c)
	})
}

func (m *Memory) settle(s *memSession, t *memTurn, o agent.Outcome, c agent.Closing) (agent.Closed, error) {
	l := s.lease()
	s.store(l.Fence, c.Rows)
	s.slot.seq = max(c.Seq, s.last())
	t.addUsage(c.Usage)
	decided := m.untold(s, t, o)
	words := agent.LastWords(l, s.slot.seq+int64(len(decided)), o, c.Draft, t.total(), c.Tools, ids(m.open(t.ID)), now())
	events := append(decided, words...)
	if err := s.write(events); err != nil {
		return agent.Closed{}, err
	}
	m.closeLeg(s, t, o)
	var below agent.StopResult
	err := m.stopChildren(t, parentStop(t, o), &below)
	t.closed = l.Fence
	t.closing = agent.Closed{Outcome: o, Events: events, Notify: below.Notify}
	return t.closing, err
}

// untold returns action.decided events for decisions that came while the leg
// ran, about what earlier turns had left open too: only its owner knew the next
// number then. An end that is no pause withdraws what is still open; a stop but
// questions, it has its say about approvals itself.
func (m *Memory) untold(s *memSession, t *memTurn, o agent.Outcome) []agent.Event {
	if o.Kind != agent.Waiting {
		by := ""
		if o.Stop != nil {
			by = o.Stop.By
		}
		m.withdraw(t.ID, by, o.Kind != agent.Stopped)
	}
	var out []agent.Event
	for _, a := range m.sessionActions(s.ID) {
		if a.State == agent.ActionOpen || a.told {
			continue
		}
		a.told = true
		if !s.told(a.ID) {
			out = append(out, numbered(s.ID, a.Turn, s.slot.seq+int64(len(out)), agent.ActionDecided{ActionID: a.ID, State: a.State, By: a.DecidedBy})...)
		}
	}
	return out
}

// told reports whether the journal has the decision of an action: the owner may
// have written it.
func (s *memSession) told(action string) bool {
	events, _ := s.events(func(r memRow) bool { return r.Kind == agent.KindActionDecided })
	return slices.ContainsFunc(events, func(e agent.Event) bool {
		d, ok := e.Body.(agent.ActionDecided)
		return ok && d.ActionID == action
	})
}

// closeLeg writes how a leg closed into the slot and the turn.
func (m *Memory) closeLeg(s *memSession, t *memTurn, o agent.Outcome) {
	at := now()
	t.Status, t.StopReason, t.Usage = o.Status(), o.StopReason(), t.total()
	if s.slot.state == agent.SlotRunning {
		t.Worked += at.Sub(s.slot.taken)
	}
	s.slot.expires = time.Time{}
	s.slot.node, s.slot.stop, s.slot.state = "", nil, agent.SlotWaiting
	s.UpdatedAt = at
	if o.Kind == agent.Waiting {
		return
	}
	t.StopDetail, t.Stop, t.Error, t.EndedAt = o.Detail, o.Stop, o.Failure, at
	s.slot.state, s.slot.turn = agent.SlotIdle, ""
}

// addUsage inserts rows; a call that has one keeps it.
func (t *memTurn) addUsage(rows []agent.Usage) {
	for _, u := range rows {
		i, found := slices.BinarySearchFunc(t.usage, u.Call, func(a agent.Usage, call int) int { return a.Call - call })
		if !found {
			t.usage = slices.Insert(t.usage, i, u)
		}
	}
}

func (t *memTurn) total() agent.Tokens {
	var sum agent.Tokens
	for _, u := range t.usage {
		sum = sum.Add(u.Tokens)
	}
	return sum
}

func ids(actions []*memAction) []string {
	var out []string
	for _, a := range actions {
		out = append(out, a.ID)
	}
	return out
}
