package turntest

import (
	"errors"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
)

// CheckInvariants returns what in the store breaks the protocol's promises, nil
// when nothing does. It may be called at any time, also while turns run.
func (m *Memory) CheckInvariants() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, s := range m.byID() {
		if err := m.checkSlot(s); err != nil {
			errs = append(errs, fmt.Errorf("session %s: %w", s.ID, err))
		}
		if err := m.checkJournal(s); err != nil {
			errs = append(errs, fmt.Errorf("session %s: %w", s.ID, err))
		}
	}
	for _, t := range m.turns {
		if err := m.checkTurn(t); err != nil {
			errs = append(errs, fmt.Errorf("turn %s: %w", t.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (m *Memory) checkSlot(s *memSession) error {
	sl := s.slot
	switch {
	case (sl.state == agent.SlotIdle) != (sl.turn == ""):
		return fmt.Errorf("%s slot names turn %q", sl.state, sl.turn)
	case (sl.state == agent.SlotRunning) != (sl.node != ""):
		return fmt.Errorf("%s slot names node %q", sl.state, sl.node)
	case sl.node != "" && m.nodes[sl.node] == nil:
		return fmt.Errorf("slot names a node that was never there: %s", sl.node)
	case sl.stop != nil && sl.state != agent.SlotRunning:
		return fmt.Errorf("%s slot holds a stop", sl.state)
	case sl.state == agent.SlotIdle:
		return nil
	}
	t := m.turns[sl.turn]
	if t == nil || t.Session != s.ID {
		return fmt.Errorf("slot names a turn that is not the session's: %s", sl.turn)
	}
	if sl.state == agent.SlotWaiting && len(m.open(t.ID)) == 0 {
		return fmt.Errorf("turn %s waits for nothing", t.ID)
	}
	if string(t.Status) != string(sl.state) {
		return fmt.Errorf("slot is %s, its turn %s is %s", sl.state, t.ID, t.Status)
	}
	return nil
}

// checkJournal looks at the numbers, and at the ends of legs and turns.
func (m *Memory) checkJournal(s *memSession) error {
	ended, paused := map[string]bool{}, map[int64]bool{}
	for i, r := range s.rows {
		if i > 0 {
			if err := follows(s.rows[i-1], r); err != nil {
				return err
			}
		}
		switch {
		case ended[r.Turn] && r.Kind != agent.KindActionDecided:
			return fmt.Errorf("event %d (%s) of turn %s comes after its end", r.Seq, r.Kind, r.Turn)
		case r.Kind == agent.KindTurnPaused && paused[r.fence]:
			return fmt.Errorf("second turn.paused under fence %d: event %d", r.fence, r.Seq)
		case m.turns[r.Turn] == nil && agent.Event{Turn: r.Turn}.Run() != "":
			return fmt.Errorf("event %d names turn %s, which is not there", r.Seq, r.Turn)
		}
		ended[r.Turn] = ended[r.Turn] || r.Kind == agent.KindTurnEnded
		paused[r.fence] = paused[r.fence] || r.Kind == agent.KindTurnPaused
	}
	for _, t := range m.turns {
		if t.Session == s.ID && ended[t.ID] != t.Status.Final() {
			return fmt.Errorf("turn %s is %s, turn.ended in the journal: %v", t.ID, t.Status, ended[t.ID])
		}
	}
	return nil
}

func follows(a, b memRow) error {
	switch {
	case b.Seq <= a.Last:
		return fmt.Errorf("event %d follows %d", b.Seq, a.Last)
	case b.fence < a.fence:
		return fmt.Errorf("event %d of fence %d follows one of fence %d", b.Seq, b.fence, a.fence)
	}
	return nil
}

func (m *Memory) checkTurn(t *memTurn) error {
	s := m.sessions[t.Session]
	cancelled := t.StopReason == agent.ReasonCancelled
	switch {
	case t.Status.Final() == (s.slot.turn == t.ID):
		return fmt.Errorf("%s, and the slot holds turn %q", t.Status, s.slot.turn)
	case t.Status.Final() && cancelled != (t.Turn.Stop != nil):
		return fmt.Errorf("stop reason %q, recorded stop %v", t.StopReason, t.Turn.Stop)
	case t.Status.Final() == t.EndedAt.IsZero():
		return fmt.Errorf("%s, ended at %v", t.Status, t.EndedAt)
	}
	if !t.Status.Final() {
		return m.checkParent(t)
	}
	return m.checkCalls(s, t)
}

// checkParent: no turn lives on below one that has ended, but to wind down.
func (m *Memory) checkParent(t *memTurn) error {
	if t.Parent == nil {
		return nil
	}
	s, p := m.sessions[t.Session], m.turns[t.Parent.Turn]
	if p.Status.Final() && s.slot.stop == nil {
		return fmt.Errorf("%s, its parent %s has ended and nobody stopped it", t.Status, p.ID)
	}
	return nil
}

// checkCalls: each call of an ended turn that was started has one result.
func (m *Memory) checkCalls(s *memSession, t *memTurn) error {
	events, err := s.events(func(r memRow) bool { return r.Turn == t.ID })
	if err != nil {
		return err
	}
	results := map[string]int{}
	for _, e := range events {
		switch b := e.Body.(type) {
		case agent.ToolStarted:
			results[b.CallID] += 0
		case agent.ToolFinished:
			results[b.CallID]++
		}
	}
	for call, n := range results {
		if n != 1 {
			return fmt.Errorf("call %s has %d results", call, n)
		}
	}
	return nil
}
