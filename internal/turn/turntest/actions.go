package turntest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

// someActions returns the actions that are meant, in the order they were opened.
func (m *Memory) someActions(meant func(*memAction) bool) []*memAction {
	var out []*memAction
	for _, a := range m.actions {
		if meant(a) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b *memAction) int { return cmp.Compare(a.arrived, b.arrived) })
	return out
}

func (m *Memory) turnActions(turn string) []*memAction {
	return m.someActions(func(a *memAction) bool { return a.Turn == turn })
}

func (m *Memory) sessionActions(session string) []*memAction {
	return m.someActions(func(a *memAction) bool { return a.Session == session })
}

func (m *Memory) open(turn string) []*memAction {
	return m.someActions(func(a *memAction) bool { return a.Turn == turn && a.State == agent.ActionOpen })
}

// withdraw answers the open questions of a turn "no", and approvals too where
// that is so.
func (m *Memory) withdraw(turn, by string, approvals bool) int {
	n := 0
	for _, a := range m.open(turn) {
		if approvals || a.Type == agent.ActionQuestion {
			a.State, a.DecidedBy, a.DecidedAt = agent.ActionWithdrawn, by, now()
			n++
		}
	}
	return n
}

// overdue reports whether an action has expired, and nobody has said so.
func (a *memAction) overdue() bool {
	return a.State == agent.ActionOpen && !a.ExpiresAt.IsZero() && !now().Before(a.ExpiresAt)
}

// Decide implements turn.Actions.
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
		if a.overdue() && d.State != agent.ActionExpired {
			if _, err := m.expire(s, a); err != nil {
				return agent.Action{}, err
			}
			return agent.Action{}, &agent.DecidedError{Action: a.Action}
		}
		var err error
		queued, err = m.decide(s, a, d)
		return a.Action, err
	})
	return a, queued && err == nil, err
}

// decide decides an open action.
func (m *Memory) decide(s *memSession, a *memAction, d agent.Decision) (queued bool, err error) {
	mine, goesOn := s.slot.turn == a.Turn, d.State == agent.ActionApproved
	if goesOn && (mine && s.slot.stop != nil || !mine && s.slot.state != agent.SlotIdle) {
		return false, &agent.BusyError{
			Session: s.ID, Turn: s.slot.turn, Stopping: s.slot.stop != nil, Waiting: s.slot.state == agent.SlotWaiting,
		}
	}
	asked := a.Arguments
	a.State, a.DecidedBy, a.DecidedAt, a.Answer = d.State, d.By, now(), d.Answer
	if d.Arguments != nil {
		a.Arguments = bytes.Clone(d.Arguments)
	}
	queued, err = m.decided(s, a)
	if err != nil || !goesOn || mine {
		return queued, err
	}
	return true, m.continueCall(s, a, asked, d.Door)
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
	s.slot.state, s.slot.goesOn = agent.SlotQueued, true
	m.queue(s, m.turns[a.Turn])
	m.turns[a.Turn].Status = agent.StatusQueued
	return true, nil
}

// continueCall queues the turn that goes on with an approved call whose own turn
// was stopped, and gives it the action.
func (m *Memory) continueCall(s *memSession, a *memAction, asked []byte, door agent.Door) error {
	sl := &s.slot
	t := &memTurn{Turn: agent.Continue(m.turns[a.Turn].Turn, a.DecidedBy, door)}
	t.FirstSeq, t.Index, t.CreatedAt = sl.seq+1, sl.messages+1, now()
	a.Turn, a.CallID = t.ID, "call_"+agent.NewID()
	m.turns[t.ID] = t
	sl.fence++
	sl.state, sl.turn, sl.depth, sl.goesOn = agent.SlotQueued, t.ID, t.Depth, true
	m.queue(s, t)
	s.UpdatedAt = t.CreatedAt
	return s.write(numbered(s.ID, t.ID, sl.seq, t.FirstWords(a.Action, asked)...))
}

// Expire implements turn.Expirer.
func (m *Memory) Expire(ctx context.Context) (agent.Expired, bool, error) {
	x, err := call(ctx, m, "Expire", func() (x agent.Expired, err error) {
		for _, a := range m.someActions((*memAction).overdue) {
			if x.Session != "" && a.Session != x.Session {
				continue
			}
			queued, err := m.expire(m.sessions[a.Session], a)
			if err != nil {
				return x, err
			}
			x.Session, x.Actions, x.Queued = a.Session, append(x.Actions, a.ID), x.Queued || queued
		}
		return x, nil
	})
	return x, err == nil && len(x.Actions) > 0, err
}

func (m *Memory) expire(s *memSession, a *memAction) (queued bool, err error) {
	return m.decide(s, a, agent.Decision{State: agent.ActionExpired})
}
