package turn_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// quietStore keeps nothing of what is appended: it measures the engine alone.
type quietStore struct{ turn.Store }

func (quietStore) Append(_ context.Context, b []agent.Batch) ([]bool, error) {
	ok := make([]bool, len(b))
	for i := range ok {
		ok[i] = true
	}
	return ok, nil
}

// node runs one engine in real time; the returned function ends it.
func node(tb testing.TB, m turn.Model, conf ...func(*turn.Config)) (*turn.Engine, func()) {
	mem := turntest.NewMemory(turntest.Times{})
	c := turn.Config{
		Store: quietStore{mem}, Models: turntest.Models{"m": m}, Agents: turntest.Agents{"a": {Model: "m"}},
		Times: turn.Times{Drain: time.Millisecond},
	}
	for _, f := range conf {
		f(&c)
	}
	e := turn.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := e.Run(ctx); err != nil {
			tb.Error(err)
		}
	})
	return e, func() { cancel(); wg.Wait() }
}

// BenchmarkEngineDelta is one delta of a model through journal and tail to one
// follower that keeps up.
func BenchmarkEngineDelta(b *testing.B) {
	b.ReportAllocs()
	const step = 32
	seen := make(chan struct{}, 1)
	var steps []turntest.Step
	for i := range b.N {
		if i%step == 0 {
			steps = append(steps, turntest.Until(seen))
		}
		steps = append(steps, turntest.Text("word "))
	}
	e, end := node(b, turntest.NewModel(b).Reply(append(steps, turntest.Finish(agent.FinishStop))...))
	defer end()
	tn, err := e.Begin(b.Context(), turn.Submit{Principal: alice, Agent: "a", Input: "x"})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	seen <- struct{}{}
	n := 0
	for ev, err := range e.Follow(b.Context(), tn.Session, tn.FirstSeq-1) {
		if err != nil {
			b.Fatal(err)
		}
		if ev.Kind() == agent.KindTextDelta {
			if n++; n%step == 0 {
				seen <- struct{}{}
			}
		}
		if ev.Ends() {
			break
		}
	}
	b.StopTimer()
	if n != b.N {
		b.Fatalf("%d of %d deltas", n, b.N)
	}
}

// Target: 2,000 turns that stream at 20 events/s on one node, less than 60 KiB each.
func BenchmarkMemoryOfAStreamingTurn(b *testing.B) {
	const turns, target = 2000, 60 << 10
	for _, followed := range []bool{false, true} {
		name := "alone"
		if followed {
			name = "followed"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				per := memoryOf(b, turns, followed)
				b.ReportMetric(float64(per), "B/turn")
				if per > target {
					b.Errorf("%d bytes a turn, target %d", per, target)
				}
			}
		})
	}
}

func memoryOf(b *testing.B, turns int, followed bool) uint64 {
	b.Helper()
	var steps []turntest.Step
	for range 400 {
		steps = append(steps, turntest.Pause(50*time.Millisecond), turntest.Text("word "))
	}
	e, end := node(b, turntest.NewModel(b).Always(append(steps, turntest.Block())...))
	before := inUse()
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for range turns {
		tn, err := e.Begin(ctx, turn.Submit{Principal: alice, Agent: "a", Input: "x"})
		if err != nil {
			b.Fatal(err)
		}
		if followed {
			wg.Go(func() {
				for range e.Follow(ctx, tn.Session, 0) {
				}
			})
		}
	}
	time.Sleep(8 * time.Second)
	after := inUse()
	cancel()
	wg.Wait()
	end()
	return (after - before) / uint64(turns)
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
