package httpapi_test

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/client"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
	"github.com/belayrun/belay/internal/httpapi/responses"
	"github.com/belayrun/belay/internal/turn"
)

// fountain is an engine of one turn that all follow. It costs next to nothing.
type fountain struct {
	*httpapitest.World
	events []agent.Event // what there will be
	mu     sync.Mutex
	shown  int
	wake   chan struct{}
}

func (f *fountain) show() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown++
	close(f.wake)
	f.wake = make(chan struct{})
}

func (f *fountain) Watch(ctx context.Context, _ string, _ int64, _ time.Duration) iter.Seq2[[]agent.Event, error] {
	return func(yield func([]agent.Event, error) bool) {
		for at := 0; ; {
			f.mu.Lock()
			batch, wake := f.events[at:f.shown], f.wake
			f.mu.Unlock()
			if at += len(batch); len(batch) > 0 {
				if !yield(batch, nil) {
					return
				}
				continue
			}
			select {
			case <-wake:
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

// tap is a client that takes all at once.
type tap struct {
	head             http.Header
	flushed          *sync.WaitGroup
	writes, deadline *atomic.Int64
}

func (t *tap) Header() http.Header { return t.head }
func (t *tap) WriteHeader(int)     {}
func (t *tap) FlushError() error   { t.flushed.Done(); return nil }

func (t *tap) Write(b []byte) (int, error) {
	t.writes.Add(1)
	return len(b), nil
}

func (t *tap) SetWriteDeadline(time.Time) error {
	t.deadline.Add(1)
	return nil
}

// BenchmarkStreams is of turns with 1,000 followers and 200 deltas, one at a
// time: what an event costs each, and what an open stream holds.
func BenchmarkStreams(b *testing.B) {
	b.Run("responses", func(b *testing.B) { benchmarkStreams(b, "/responses/run_"+turn1+"?stream=true") })
	b.Run("client", func(b *testing.B) { benchmarkStreams(b, "/agents/conversations/"+session1+"/events") })
}

func benchmarkStreams(b *testing.B, path string) {
	const streams, deltas = 1000, 200
	f := &fountain{World: httpapitest.NewWorld(), wake: make(chan struct{})}
	p, _ := f.Authenticate(b.Context(), "Bearer owner")
	tn, err := f.Begin(b.Context(), turn.Submit{Principal: p, Agent: "support", Input: "Hello"})
	if err != nil {
		b.Fatal(err)
	}
	add := func(body agent.Body) {
		f.events = append(f.events, agent.Event{Session: tn.Session, Turn: tn.ID, Seq: int64(len(f.events) + 1), Body: body, At: httpapitest.Epoch})
	}
	add(agent.TurnStarted{Index: 1})
	for range deltas {
		add(agent.TextDelta{Text: "a few words "})
	}
	h := httpapi.New(httpapi.Config{
		Auth: f, InvalidToken: httpapitest.ErrBadToken, Log: slog.New(slog.DiscardHandler),
		Client: append(client.Routes(client.Config{Engine: f, Store: f}), responses.Routes(responses.Config{Engine: f, Ceiling: f, Store: f})...),
	})
	var flushed, open sync.WaitGroup
	var writes, deadlines atomic.Int64
	var heap, stack uint64
	var goroutines int
	for b.Loop() {
		b.StopTimer()
		f.shown = 0
		heap0, stack0 := memory()
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(b.Context())
		flushed.Add(streams)
		for range streams {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, httpapitest.Prefix+path, nil)
			r.Header.Set("Authorization", "Bearer owner")
			r.Header.Set("Accept", "text/event-stream")
			w := &tap{http.Header{}, &flushed, &writes, &deadlines}
			open.Go(func() { h.ServeHTTP(w, r) })
		}
		flushed.Wait()
		writes.Store(0)
		deadlines.Store(0)
		b.StartTimer()
		for range f.events {
			flushed.Add(streams)
			f.show()
			flushed.Wait()
		}
		b.StopTimer()
		heap, stack = memory()
		heap, stack, goroutines = heap-heap0, stack-stack0, runtime.NumGoroutine()-before
		cancel()
		open.Wait()
		b.StartTimer()
	}
	n := float64(streams * len(f.events))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n/float64(b.N), "ns/event")
	b.ReportMetric(float64(writes.Load())/n, "writes/event")
	b.ReportMetric(float64(deadlines.Load())/n, "deadlines/event")
	b.ReportMetric(float64(heap)/streams, "heap-B/stream")
	b.ReportMetric(float64(stack)/streams, "stack-B/stream")
	b.ReportMetric(float64(goroutines)/streams, "goroutines/stream")
	b.ReportAllocs()
}

// memory returns what is held on the heap and in stacks.
func memory() (heap, stack uint64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.StackInuse
}
