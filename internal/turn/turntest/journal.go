package turntest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

// Append implements turn.Journal.
func (m *Memory) Append(ctx context.Context, batches []agent.Batch) ([]bool, error) {
	return call(ctx, m, "Append", func() ([]bool, error) {
		stored := make([]bool, len(batches))
		for i, b := range batches {
			if s, err := m.running(b.Lease); err == nil {
				s.store(b.Lease.Fence, b.Rows)
				stored[i] = true
			}
		}
		return stored, nil
	})
}

// Record implements turn.Journal.
func (m *Memory) Record(ctx context.Context, l agent.Lease, rows []agent.Row, open []agent.Action) error {
	return m.exec(ctx, "Record", func() error {
		s, err := m.running(l)
		if err != nil {
			return err
		}
		if s.slot.stop != nil {
			return new(*s.slot.stop)
		}
		s.store(l.Fence, rows)
		for _, a := range open {
			m.openAction(l, a)
		}
		return nil
	})
}

func (m *Memory) openAction(l agent.Lease, a agent.Action) {
	if m.actions[a.ID] != nil {
		return
	}
	a.Session, a.Turn, a.State, a.CreatedAt = l.Session, l.Turn, agent.ActionOpen, now()
	if a.Lasts > 0 {
		a.ExpiresAt = a.CreatedAt.Add(a.Lasts)
	}
	a.Lasts = 0
	a.Arguments = bytes.Clone(a.Arguments)
	m.actions[a.ID] = &memAction{Action: a, arrived: m.arrival()}
}

// Look implements turn.Journal.
func (m *Memory) Look(ctx context.Context, l agent.Lease) (*agent.Stop, error) {
	return call(ctx, m, "Look", func() (*agent.Stop, error) {
		s, err := m.running(l)
		if err != nil || s.slot.stop == nil {
			return nil, err
		}
		return new(*s.slot.stop), nil
	})
}

// Events implements turn.Reader.
func (m *Memory) Events(ctx context.Context, session string, after int64, limit int) ([]agent.Event, error) {
	return call(ctx, m, "Events", func() ([]agent.Event, error) {
		return m.eventsAfter(session, after, limit)
	})
}

// eventsAfter returns the events above a number, of at most limit rows; a
// negative limit is none.
func (m *Memory) eventsAfter(session string, after int64, limit int) ([]agent.Event, error) {
	s := m.sessions[session]
	if s == nil {
		return nil, nil
	}
	from, _ := slices.BinarySearchFunc(s.rows, after, func(r memRow, after int64) int {
		if r.Last <= after {
			return -1
		}
		return 1
	})
	rows := s.rows[from:]
	if limit >= 0 && limit < len(rows) {
		rows = rows[:limit]
	}
	var events []agent.Event
	var err error
	for _, r := range rows {
		if events, err = r.Unpack(events, session); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(events, func(e agent.Event) bool { return e.Seq <= after }), nil
}

// News implements turn.Reader.
func (m *Memory) News(ctx context.Context, cursors map[string]int64) ([]agent.Event, error) {
	return call(ctx, m, "News", func() ([]agent.Event, error) {
		var out []agent.Event
		for _, id := range slices.Sorted(maps.Keys(cursors)) {
			events, err := m.eventsAfter(id, cursors[id], -1)
			if err != nil {
				return nil, err
			}
			out = append(out, events...)
		}
		return out, nil
	})
}

// Transcript implements turn.Reader.
func (m *Memory) Transcript(ctx context.Context, session string) ([]agent.Event, error) {
	return call(ctx, m, "Transcript", func() ([]agent.Event, error) {
		s := m.sessions[session]
		if s == nil {
			return nil, nil
		}
		return s.events(func(r memRow) bool {
			return r.Kind != agent.KindTextDelta && r.Kind != agent.KindReasoningDelta && r.Kind != agent.KindToolOutput
		})
	})
}

// Turn implements turn.Turns.
func (m *Memory) Turn(ctx context.Context, id string) (agent.Turn, agent.Session, error) {
	var session agent.Session
	t, err := call(ctx, m, "Turn", func() (agent.Turn, error) {
		t := m.turns[id]
		if t == nil {
			return agent.Turn{}, fmt.Errorf("turn %s: %w", id, agent.ErrNotFound)
		}
		session = m.sessions[t.Session].Session
		return m.readTurn(t), nil
	})
	if err != nil {
		return agent.Turn{}, agent.Session{}, err
	}
	return t, session, nil
}

// readTurn copies a turn; one in a slot shows the stop that the slot holds.
func (m *Memory) readTurn(t *memTurn) agent.Turn {
	out := t.Turn
	out.Metadata = maps.Clone(t.Metadata)
	out.Usage = t.total()
	s := m.sessions[t.Session]
	if s == nil || s.slot.turn != t.ID {
		return out
	}
	if s.slot.stop != nil {
		out.Stop = new(*s.slot.stop)
	}
	if s.slot.state == agent.SlotRunning {
		out.Worked += now().Sub(s.slot.taken)
	}
	return out
}

// Actions implements turn.Turns.
func (m *Memory) Actions(ctx context.Context, turn string) ([]agent.Action, error) {
	return call(ctx, m, "Actions", func() ([]agent.Action, error) {
		var out []agent.Action
		for _, a := range m.turnActions(turn) {
			out = append(out, a.Action)
		}
		return out, nil
	})
}

// Action implements turn.Turns.
func (m *Memory) Action(ctx context.Context, id string) (agent.Action, agent.Session, error) {
	var session agent.Session
	a, err := call(ctx, m, "Action", func() (agent.Action, error) {
		a := m.actions[id]
		if a == nil {
			return agent.Action{}, fmt.Errorf("action %s: %w", id, agent.ErrNotFound)
		}
		session = m.sessions[a.Session].Session
		return a.Action, nil
	})
	if err != nil {
		return agent.Action{}, agent.Session{}, err
	}
	return a, session, nil
}

// Journal returns every event of a session, for tests to look at.
func (m *Memory) Journal(session string) []agent.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	events, err := m.eventsAfter(session, 0, -1)
	if err != nil {
		panic(err)
	}
	return events
}

// SlotView is a slot as a test sees it.
type SlotView struct {
	State agent.SlotState
	Lease agent.Lease // Node and Turn are empty where the slot names none
	Seq   int64
	Stop  *agent.Stop
}

// Slot returns the slot of a session; the zero SlotView where there is none.
func (m *Memory) Slot(session string) SlotView {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		return SlotView{}
	}
	v := SlotView{State: s.slot.state, Lease: s.lease(), Seq: s.last()}
	if s.slot.stop != nil {
		v.Stop = new(*s.slot.stop)
	}
	return v
}

// Usage returns the usage rows of a turn, by call.
func (m *Memory) Usage(turn string) []agent.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.turns[turn]; t != nil {
		return slices.Clone(t.usage)
	}
	return nil
}
