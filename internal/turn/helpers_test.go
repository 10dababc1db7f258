package turn_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

var errAway = fmt.Errorf("cut off: %w", agent.ErrUnavailable)

// away is a fault hook: these methods fail, all where none is named.
func away(methods ...string) func(string) error {
	return func(m string) error {
		if len(methods) == 0 || slices.Contains(methods, m) {
			return errAway
		}
		return nil
	}
}

// once is a fault hook that fails the n-th call of a method only, from 1.
func once(method string, n int) func(string) error {
	var mu sync.Mutex
	return func(m string) error {
		if m != method {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if n--; n == 0 {
			return errAway
		}
		return nil
	}
}

// withTools gives the agent "tools" these tools.
func withTools(tools ...*turntest.Tool) func(*turn.Config) {
	return func(c *turn.Config) { c.Tools = turntest.Toolbox(tools) }
}

// withAgent sets what the agent "tools" is.
func withAgent(f func(*agent.Config)) func(*turn.Config) {
	return func(c *turn.Config) {
		agents := c.Agents.(turntest.Agents)
		a := agents["tools"]
		f(&a)
		agents["tools"] = a
	}
}

func noPush(c *turn.Config) { c.Hints = nil }

// of returns the events of one turn.
func of(events []agent.Event, tn agent.Turn) []agent.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e agent.Event) bool { return e.Turn != tn.ID })
}

// bodies returns the bodies of one type, in order.
func bodies[T agent.Body](events []agent.Event) []T {
	var out []T
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// ended is how a turn ended in the store: exactly once.
func (c *cluster) ended(tn agent.Turn) agent.TurnEnded {
	c.t.Helper()
	ends := bodies[agent.TurnEnded](of(c.mem.Journal(tn.Session), tn))
	if len(ends) != 1 {
		c.t.Fatalf("turn %s has %d ends", tn.ID, len(ends))
	}
	return ends[0]
}

// until waits until ok, for at most d.
func (c *cluster) until(d time.Duration, what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(d); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("not within %v: %s", d, what)
		}
	}
}

// follow collects what a node shows of a session until the returned function is
// called, which waits for the stream to end.
func (c *cluster) follow(n int, session string, after int64) func() []agent.Event {
	ctx, cancel := context.WithCancel(context.Background())
	var out []agent.Event
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range c.nodes[n].Follow(ctx, session, after) {
			if err != nil {
				return
			}
			out = append(out, e)
		}
	}()
	return func() []agent.Event {
		cancel()
		<-done
		return out
	}
}

// tool begins a turn of the agent "tools".
func (c *cluster) tool(n int) agent.Turn {
	c.t.Helper()
	return c.begin(n, turn.Submit{Agent: "tools"})
}

// node returns the id under which a turn's leg runs.
func (c *cluster) node(tn agent.Turn) string { return c.mem.Slot(tn.Session).Lease.Node }

func sameSeqs(t *testing.T, what string, got, want []agent.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d events, want %d", what, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i].Seq != want[i].Seq || got[i].Kind() != want[i].Kind() {
			t.Errorf("%s: event %d is %d %s, want %d %s", what, i, got[i].Seq, got[i].Kind(), want[i].Seq, want[i].Kind())
			return
		}
	}
}

// gapless holds the numbers of one leg's events to their contract.
func gapless(t *testing.T, events []agent.Event) {
	t.Helper()
	for i := 1; i < len(events); i++ {
		if events[i].Seq != events[i-1].Seq+1 {
			t.Errorf("number %d (%s) after %d", events[i].Seq, events[i].Kind(), events[i-1].Seq)
		}
	}
}
