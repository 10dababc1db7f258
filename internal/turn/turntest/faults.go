package turntest

import (
	"context"
	"fmt"
	"sync"

	"github.com/belayrun/belay/internal/agent"
)

// faults are the switches of a Memory; they have a lock of their own, so that a
// hook may call the store.
type faults struct {
	mu     sync.Mutex
	fail   func(string) error
	lose   func(string) error
	blocks map[string]*block
}

type block struct {
	open    chan struct{}
	arrived chan struct{} // one token when somebody is held
}

// Fail sets a hook that is asked before each call, by the name of the method; its
// error is returned and nothing happens. Nil takes the hook away. Whatever it
// returns should wrap agent.ErrUnavailable, as a store's errors do.
func (m *Memory) Fail(hook func(method string) error) {
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	m.faults.fail = hook
}

// FailAfter is Fail for the reply: the call has its effect, then the hook's error
// is returned in place of the result. It is a commit whose end is unknown.
func (m *Memory) FailAfter(hook func(method string) error) {
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	m.faults.lose = hook
}

// Block holds every call of a method before its effect until Release of the
// returned Gate, or until the call's own context ends: that call then fails with
// an error that wraps agent.ErrUnavailable and has no effect.
func (m *Memory) Block(method string) *Gate {
	b := &block{open: make(chan struct{}), arrived: make(chan struct{}, 1)}
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	if m.faults.blocks == nil {
		m.faults.blocks = map[string]*block{}
	}
	m.faults.blocks[method] = b
	return &Gate{m: m, method: method, b: b}
}

// Gate is a blocked method.
type Gate struct {
	m      *Memory
	method string
	b      *block
	once   sync.Once
}

// Arrived has a token once a call is held at the gate.
func (g *Gate) Arrived() <-chan struct{} { return g.b.arrived }

// Release lets all calls through, now and later. It may be called twice.
func (g *Gate) Release() {
	g.once.Do(func() {
		g.m.faults.mu.Lock()
		defer g.m.faults.mu.Unlock()
		if g.m.faults.blocks[g.method] == g.b {
			delete(g.m.faults.blocks, g.method)
		}
		close(g.b.open)
	})
}

// KillNode declares a node dead now, as another node would after its lease.
func (m *Memory) KillNode(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.die(id)
}

func (f *faults) before(ctx context.Context, method string) error {
	f.mu.Lock()
	hook, b := f.fail, f.blocks[method]
	f.mu.Unlock()
	if b != nil {
		select {
		case b.arrived <- struct{}{}:
		default:
		}
		select {
		case <-b.open:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w: %w", method, agent.ErrUnavailable, context.Cause(ctx))
	}
	if hook != nil {
		return hook(method)
	}
	return nil
}

func (f *faults) after(method string) error {
	f.mu.Lock()
	hook := f.lose
	f.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(method)
}
