package turntest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/belayrun/belay/internal/agent"
)

// hints is the push side of a Memory.
type hints struct {
	mu        sync.Mutex
	drop      bool
	listeners []*listener
}

type listener struct {
	wake  chan struct{}
	queue []agent.Hint // under hints.mu
}

// DropHints makes every hint from now on get lost without an error, until it is
// called with false.
func (m *Memory) DropHints(drop bool) {
	m.hints.mu.Lock()
	defer m.hints.mu.Unlock()
	m.hints.drop = drop
}

// Notify implements turn.Hints.
func (m *Memory) Notify(ctx context.Context, hints ...agent.Hint) error {
	if err := m.faults.before(ctx, "Notify"); err != nil {
		return err
	}
	for _, h := range hints {
		m.hints.send(h)
	}
	return m.faults.after("Notify")
}

func (s *hints) send(h agent.Hint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drop {
		return
	}
	for _, l := range s.listeners {
		l.queue = append(l.queue, h)
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// Listen implements turn.Hints. It returns the cause of ctx.
func (m *Memory) Listen(ctx context.Context, on func(agent.Hint), up func(bool)) error {
	if err := m.faults.before(ctx, "Listen"); err != nil {
		return err
	}
	l := &listener{wake: make(chan struct{}, 1)}
	m.hints.add(l)
	defer m.hints.remove(l)
	up(true)
	for {
		select {
		case <-ctx.Done():
			up(false)
			return fmt.Errorf("listen: %w", context.Cause(ctx))
		case <-l.wake:
		}
		for _, h := range m.hints.take(l) {
			on(h)
		}
	}
}

func (s *hints) add(l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, l)
}

func (s *hints) remove(l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = slices.DeleteFunc(s.listeners, func(x *listener) bool { return x == l })
}

func (s *hints) take(l *listener) []agent.Hint {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := l.queue
	l.queue = nil
	return q
}
