package turntest

import (
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
			return m.stopLate(s, t, stop.By, withdraw)
		}
		stop.At = now()
		approvals := slices.ContainsFunc(m.open(turn), func(a *memAction) bool { return a.Type == agent.ActionApproval })
		if s.slot.state == agent.SlotWaiting && !withdraw && approvals {
			return agent.StopResult{}, nil
		}
		res, err := m.stop(s, &stop, withdraw)
		if err == nil && withdraw {
			var n int
			n, err = m.withdrawLeft(s, "", stop.By)
			res.Actions += n
		}
		return res, err
	})
}

// stopLate answers a stop of a turn that has left its slot.
func (m *Memory) stopLate(s *memSession, t *memTurn, by string, withdraw bool) (res agent.StopResult, err error) {
	res = agent.StopResult{Cancelled: t.StopReason == agent.ReasonCancelled, Ended: true}
	if !res.Cancelled {
		return res, nil
	}
	res.Turns = []string{t.ID}
	if withdraw {
		res.Actions, err = m.withdrawLeft(s, t.ID, by)
	}
	return res, err
}

// Withdraw implements turn.Stops.
func (m *Memory) Withdraw(ctx context.Context, session, turn, by string) (int, error) {
	return call(ctx, m, "Withdraw", func() (int, error) {
		s := m.sessions[session]
		if s == nil {
			return 0, fmt.Errorf("session %s: %w", session, agent.ErrNotFound)
		}
		return m.withdrawLeft(s, turn, by)
	})
}

// withdrawLeft answers "no" what turns that have ended left open in a session;
// only those of turn where it is named.
func (m *Memory) withdrawLeft(s *memSession, turn, by string) (int, error) {
	n := 0
	for _, a := range m.sessionActions(s.ID) {
		if a.State != agent.ActionOpen || a.Turn == s.slot.turn || turn != "" && a.Turn != turn {
			continue
		}
		a.State, a.DecidedBy, a.DecidedAt = agent.ActionWithdrawn, by, now()
		if _, err := m.decided(s, a); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// stop stops the turn in a slot, whatever state it is in, and all below it.
func (m *Memory) stop(s *memSession, stop *agent.Stop, withdraw bool) (agent.StopResult, error) {
	t := m.turns[s.slot.turn]
	res := agent.StopResult{Cancelled: true, Turns: []string{t.ID}}
	if s.slot.state != agent.SlotRunning {
		res.Ended = true
		return res, m.endIdle(s, stop, withdraw, &res)
	}
	res.Actions = m.withdraw(t.ID, stop.By, withdraw)
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

// endIdle stops a turn that waits or is queued: nobody owns its slot. What it does
// below the turn is added to res.
func (m *Memory) endIdle(s *memSession, stop *agent.Stop, withdraw bool, res *agent.StopResult) error {
	res.Actions += m.withdraw(s.slot.turn, stop.By, withdraw)
	return m.endIdleAs(s, agent.Outcome{Kind: agent.Stopped, Detail: stop.Detail, Stop: stop}, res)
}

func (m *Memory) endIdleAs(s *memSession, o agent.Outcome, res *agent.StopResult) error {
	t := m.turns[s.slot.turn]
	s.slot.fence++
	events := m.untold(s, t, o)
	seq := s.slot.seq + int64(len(events))
	events = append(events, agent.LastWords(s.lease(), seq, o, nil, t.total(), s.toolsDone(t.ID), nil, now())...)
	if err := s.write(events); err != nil {
		return err
	}
	m.closeLeg(s, t, o)
	return m.stopChildren(t, parentStop(t, o), res)
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
