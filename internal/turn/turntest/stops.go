package turntest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

// FindTurn implements turn.Finder.
func (m *Memory) FindTurn(ctx context.Context, turn string) (agent.Found, error) {
	return call(ctx, m, "FindTurn", func() (agent.Found, error) {
		t := m.turns[turn]
		if t == nil {
			return agent.Found{}, fmt.Errorf("turn %s: %w", turn, agent.ErrNotFound)
		}
		s := m.sessions[t.Session]
		if s.slot.turn != turn {
			return agent.Found{Session: s.Session, Lease: agent.Lease{Session: s.ID}, State: agent.SlotIdle}, nil
		}
		return agent.Found{Session: s.Session, Lease: s.lease(), State: s.slot.state}, nil
	})
}

// Find implements turn.Finder.
func (m *Memory) Find(ctx context.Context, session string) (agent.Found, error) {
	return call(ctx, m, "Find", func() (agent.Found, error) {
		s := m.sessions[session]
		if s == nil {
			return agent.Found{}, fmt.Errorf("session %s: %w", session, agent.ErrNotFound)
		}
		return agent.Found{Session: s.Session, Lease: s.lease(), State: s.slot.state}, nil
	})
}

// Stop implements turn.Stops.
func (m *Memory) Stop(ctx context.Context, session, turn string, stop agent.Stop, withdraw bool) (agent.StopResult, error) {
	return call(ctx, m, "Stop", func() (agent.StopResult, error) {
		s, t := m.sessions[session], m.turns[turn]
		if s == nil || t == nil || t.Session != session {
			return agent.StopResult{}, fmt.Errorf("turn %s of session %s: %w", turn, session, agent.ErrNotFound)
		}
		if s.slot.turn != turn {
			return reread(t), nil
		}
		stop.At = now()
		if s.slot.state == agent.SlotWaiting && !withdraw {
			return agent.StopResult{}, nil
		}
		return m.stop(s, &stop, withdraw)
	})
}

// reread answers a stop of a turn that has left its slot.
func reread(t *memTurn) agent.StopResult {
	res := agent.StopResult{Cancelled: t.StopReason == agent.ReasonCancelled, Ended: true}
	if res.Cancelled {
		res.Turns = []string{t.ID}
	}
	return res
}

// stop stops the turn in a slot, whatever state it is in, and all below it.
func (m *Memory) stop(s *memSession, stop *agent.Stop, withdraw bool) (agent.StopResult, error) {
	t := m.turns[s.slot.turn]
	res := agent.StopResult{Cancelled: true, Turns: []string{t.ID}}
	if s.slot.state != agent.SlotRunning {
		res.Ended = true
		return res, m.endIdle(s, stop, withdraw, &res)
	}
	if withdraw {
		res.Actions = m.withdraw(t.ID, stop.By)
	}
	if s.slot.stop == nil {
		s.slot.stop = stop
	}
	if m.ownerless(s) {
		res.Ended = true
		return res, m.settleForOther(s, &res)
	}
	res.Notify = []string{s.slot.node}
	return res, m.stopChildren(t, below(stop), &res)
}

// endIdle ends a turn that waits or is queued: nobody owns its slot. What it does
// below the turn is added to res.
func (m *Memory) endIdle(s *memSession, stop *agent.Stop, withdraw bool, res *agent.StopResult) error {
	t := m.turns[s.slot.turn]
	if withdraw {
		res.Actions += m.withdraw(t.ID, stop.By)
	}
	o := agent.Outcome{Kind: agent.Stopped, Detail: stop.Detail, Stop: stop}
	s.slot.fence++
	events := m.untold(s, t, o)
	seq := s.slot.seq + int64(len(events))
	events = append(events, agent.LastWords(s.lease(), seq, o, nil, t.total(), s.toolsDone(t.ID), nil, now())...)
	if err := s.write(events); err != nil {
		return err
	}
	m.closeLeg(s, t, o)
	return m.stopChildren(t, below(stop), res)
}

// stopChildren stops every live turn below t, parents before children, and adds
// what it did to res.
func (m *Memory) stopChildren(t *memTurn, stop *agent.Stop, res *agent.StopResult) error {
	for _, s := range m.children(t.ID) {
		r, err := m.stop(s, new(*stop), true)
		if err != nil {
			return err
		}
		res.Turns, res.Notify = append(res.Turns, r.Turns...), append(res.Notify, r.Notify...)
		res.Actions += r.Actions
	}
	return nil
}

// children returns the sessions whose slot holds a child of a turn.
func (m *Memory) children(turn string) []*memSession {
	var out []*memSession
	for _, s := range m.sessions {
		if s.slot.turn == "" {
			continue
		}
		if p := m.turns[s.slot.turn].Parent; p != nil && p.Turn == turn {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, bySlot)
	return out
}

func bySlot(a, b *memSession) int {
	return cmp.Or(cmp.Compare(a.slot.depth, b.slot.depth), cmp.Compare(a.ID, b.ID))
}

// below is a stop as the children of the stopped turn get it. Why the first
// parent went is what all below it are told.
func below(s *agent.Stop) *agent.Stop {
	c := *s
	c.At = now()
	if c.Detail != agent.DetailParentLost {
		c.Detail = agent.DetailParentStopped
	}
	return &c
}

// parentStop is the stop that the children of a turn get when it closed so.
func parentStop(t *memTurn, o agent.Outcome) *agent.Stop {
	if o.Stop != nil {
		return below(o.Stop)
	}
	return &agent.Stop{By: t.By, Door: t.Door, Detail: agent.DetailParentLost, At: now()}
}

// Asked implements turn.Stops.
func (m *Memory) Asked(ctx context.Context, node string) ([]agent.Asked, error) {
	return call(ctx, m, "Asked", func() ([]agent.Asked, error) {
		var out []agent.Asked
		for _, s := range m.byID() {
			if s.slot.state == agent.SlotRunning && s.slot.node == node && s.slot.stop != nil {
				out = append(out, agent.Asked{Lease: s.lease(), Stop: *s.slot.stop, Age: now().Sub(s.slot.stop.At)})
			}
		}
		return out, nil
	})
}

func (m *Memory) byID() []*memSession {
	return slices.SortedFunc(maps.Values(m.sessions), func(a, b *memSession) int { return cmp.Compare(a.ID, b.ID) })
}

// turnActions returns the actions of a turn in the order they were opened.
func (m *Memory) turnActions(turn string) []*memAction {
	var out []*memAction
	for _, a := range m.actions {
		if a.Turn == turn {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b *memAction) int { return cmp.Compare(a.arrived, b.arrived) })
	return out
}

func (m *Memory) open(turn string) []*memAction {
	return slices.DeleteFunc(m.turnActions(turn), func(a *memAction) bool { return a.State != agent.ActionOpen })
}

// withdraw answers the open actions of a turn "no".
func (m *Memory) withdraw(turn, by string) int {
	open := m.open(turn)
	for _, a := range open {
		a.State, a.DecidedBy, a.DecidedAt = agent.ActionWithdrawn, by, now()
	}
	return len(open)
}

// Decide implements turn.Turns.
func (m *Memory) Decide(ctx context.Context, d agent.Decision) (agent.Action, bool, error) {
	var queued bool
	a, err := call(ctx, m, "Decide", func() (agent.Action, error) {
		a := m.actions[d.Action]
		if a == nil {
			return agent.Action{}, fmt.Errorf("action %s: %w", d.Action, agent.ErrNotFound)
		}
		s := m.sessions[a.Session]
		if a.State != agent.ActionOpen {
			if a.State != d.State || a.DecidedBy != d.By || a.Answer != d.Answer {
				return agent.Action{}, &agent.DecidedError{Action: a.Action}
			}
			queued = s.slot.turn == a.Turn && s.slot.state == agent.SlotQueued
			return a.Action, nil
		}
		a.State, a.DecidedBy, a.DecidedAt, a.Answer = d.State, d.By, now(), d.Answer
		if d.Arguments != nil {
			a.Arguments = bytes.Clone(d.Arguments)
		}
		var err error
		queued, err = m.decided(s, a)
		return a.Action, err
	})
	return a, queued && err == nil, err
}

// decided writes a decision into the journal, where nobody owns the slot, and
// queues the turn once it waits for nothing more.
func (m *Memory) decided(s *memSession, a *memAction) (queued bool, err error) {
	if s.slot.state == agent.SlotRunning {
		return false, nil
	}
	a.told = true
	event := numbered(s.ID, a.Turn, s.slot.seq, agent.ActionDecided{ActionID: a.ID, State: a.State, By: a.DecidedBy})
	if err := s.write(event); err != nil {
		return false, err
	}
	if s.slot.state != agent.SlotWaiting || s.slot.turn != a.Turn || len(m.open(a.Turn)) > 0 {
		return false, nil
	}
	s.slot.state, s.slot.queued = agent.SlotQueued, m.arrival()
	m.turns[a.Turn].Status = agent.StatusQueued
	return true, nil
}
