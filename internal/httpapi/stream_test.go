package httpapi_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
	"github.com/belayrun/belay/internal/turn"
)

// streamRoute serves events of a source as numbered frames; text "end" is the last.
func streamRoute(s httpapi.Streams, source httpapi.Source) httpapi.Route {
	return httpapi.Route{Method: http.MethodGet, Pattern: "/stream", Serve: func(w http.ResponseWriter, r *http.Request) error {
		return s.Serve(w, r, source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
			dst = httpapi.AppendFrame(dst, e.Seq, "text.delta")
			delta, ok := e.Body.(agent.TextDelta)
			if !ok {
				return dst, false, errors.New("no text")
			}
			text := delta.Text
			dst = httpapi.AppendString(dst, text)
			return append(dst, httpapi.FrameEnd...), text == "end", nil
		})
	}}
}

func emit(seq int64, text string) agent.Event {
	return agent.Event{Seq: seq, Body: agent.TextDelta{Text: text}}
}

// serveStream starts a server with one stream; change may make it another kind.
func serveStream(t *testing.T, s httpapi.Streams, source httpapi.Source, change func(*httptest.Server)) (*httptest.Server, *http.Client) {
	t.Helper()
	cfg := httpapi.Config{
		Auth: httpapitest.NewWorld(), InvalidToken: httpapitest.ErrBadToken,
		Client: []httpapi.Route{streamRoute(s, source)}, Log: slog.New(slog.DiscardHandler),
	}
	srv := httptest.NewUnstartedServer(httpapi.New(cfg))
	if change != nil {
		change(srv)
	}
	if srv.EnableHTTP2 {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	c := srv.Client()
	t.Cleanup(func() { c.CloseIdleConnections(); srv.Close() })
	return srv, c
}

func openStream(t *testing.T, c *http.Client, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+httpapitest.Prefix+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer owner")
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

type batches = iter.Seq2[[]agent.Event, error]

// quiet waits for d and tells of silence, as an engine does. false: there is no
// more to wait for, and who reads knows.
func quiet(ctx context.Context, d, idle time.Duration, yield func([]agent.Event, error) bool) bool {
	over := time.After(d)
	for {
		select {
		case <-over:
			return true
		case <-time.After(idle):
			if !yield(nil, nil) {
				return false
			}
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return false
		}
	}
}

// paced yields n events, one each d, and then the last.
func paced(n int, d time.Duration) httpapi.Source {
	return func(ctx context.Context, idle time.Duration) batches {
		return func(yield func([]agent.Event, error) bool) {
			for i := range n {
				if !quiet(ctx, d, idle, yield) || !yield([]agent.Event{emit(int64(i+1), "x")}, nil) {
					return
				}
			}
			if yield([]agent.Event{emit(int64(n+1), "end"), emit(int64(n+2), "beyond the end")}, nil) {
				panic("read on after the end")
			}
		}
	}
}

func TestStreamsSurviveAServersWriteTimeout(t *testing.T) {
	t.Parallel()
	srv, c := serveStream(t, httpapi.Streams{}, paced(12, 50*time.Millisecond), func(s *httptest.Server) { s.Config.WriteTimeout = 200 * time.Millisecond })
	got, err := httpapitest.ReadSSE(openStream(t, c, srv.URL).Body)
	if err != nil || len(got) != 13 {
		t.Errorf("%d events, %v", len(got), err)
	}
}

func TestStreamsWorkOverHTTP2(t *testing.T) {
	t.Parallel()
	srv, c := serveStream(t, httpapi.Streams{}, paced(5, 10*time.Millisecond), overHTTP2)
	res := openStream(t, c, srv.URL)
	got, err := httpapitest.ReadSSE(res.Body)
	if err != nil || len(got) != 6 || res.ProtoMajor != 2 {
		t.Errorf("%d events over %s, %v", len(got), res.Proto, err)
	}
}

func overHTTP2(s *httptest.Server) { s.EnableHTTP2 = true }

// TestSilenceIsNoLateWrite: the deadline is a write's. One that passes while
// there is nothing to write cuts nobody.
func TestSilenceIsNoLateWrite(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*httptest.Server){"HTTP/1.1": nil, "HTTP/2": overHTTP2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, c := serveStream(t, httpapi.Streams{Write: 50 * time.Millisecond}, paced(3, 300*time.Millisecond), change)
			got, err := httpapitest.ReadSSE(openStream(t, c, srv.URL).Body)
			if err != nil || len(got) != 4 {
				t.Errorf("%d events, %v", len(got), err)
			}
		})
	}
}

func TestStreamHeadersKeepProxiesFromBuffering(t *testing.T) {
	t.Parallel()
	srv, c := serveStream(t, httpapi.Streams{}, paced(1, time.Hour), nil)
	res := openStream(t, c, srv.URL) // before any event
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestASilentStreamPings(t *testing.T) {
	t.Parallel()
	srv, c := serveStream(t, httpapi.Streams{Ping: 30 * time.Millisecond}, paced(1, time.Second), nil)
	b, err := io.ReadAll(openStream(t, c, srv.URL).Body)
	if n := strings.Count(string(b), ": ping\n\n"); err != nil || n < 3 {
		t.Errorf("%d pings, %v: %q", n, err, b)
	}
}

// TestPingsGoOnWhereEventsSayNothing: proxies want to hear something all the same.
func TestPingsGoOnWhereEventsSayNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &sink{head: http.Header{}}
		err := httpapi.Streams{Ping: 15 * time.Second}.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), paced(60, time.Second),
			func(dst []byte, e agent.Event) ([]byte, bool, error) { return dst, e.Seq == 61, nil })
		if got := w.body.String(); err != nil || got != ":\n\n"+strings.Repeat(": ping\n\n", 4) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestWhatIsThereIsWrittenAtOnce: a reader that lags costs writes, not memory or
// order.
func TestWhatIsThereIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var writes, most atomic.Int64
	source := func(context.Context, time.Duration) batches {
		return func(yield func([]agent.Event, error) bool) {
			var all []agent.Event
			for i := range n {
				all = append(all, emit(int64(i+1), "x"))
			}
			_ = yield(all, nil) && yield([]agent.Event{emit(n+1, "end")}, nil)
		}
	}
	srv, c := serveStream(t, httpapi.Streams{}, source, func(s *httptest.Server) {
		h := s.Config.Handler
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(&counting{w, &writes, &most}, r) })
	})
	got, err := httpapitest.ReadSSE(openStream(t, c, srv.URL).Body)
	if err != nil || len(got) != n+1 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	for i, e := range got {
		if e.ID != fmt.Sprint(i+1) {
			t.Fatalf("event %d has id %s", i+1, e.ID)
		}
	}
	if w := writes.Load(); w > n/200 {
		t.Errorf("%d writes for %d events", w, n)
	}
	if m := most.Load(); m > 17<<10 {
		t.Errorf("%d bytes in a write", m)
	}
}

// counting is a middleware's wrapper that has Unwrap only.
type counting struct {
	http.ResponseWriter
	writes, most *atomic.Int64
}

func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counting) Write(p []byte) (int, error) {
	c.writes.Add(1)
	c.most.Store(max(c.most.Load(), int64(len(p))))
	return c.ResponseWriter.Write(p)
}

// TestAStalledReaderIsCutOff: it holds no more than what is ahead of it, and
// others go on.
func TestAStalledReaderIsCutOff(t *testing.T) {
	t.Parallel()
	var taken atomic.Int64
	ended := make(chan struct{})
	big := strings.Repeat("x", 8<<10)
	source := func(ctx context.Context, _ time.Duration) batches {
		return func(yield func([]agent.Event, error) bool) {
			defer close(ended)
			for i := int64(1); ctx.Err() == nil; i++ {
				taken.Add(1)
				if !yield([]agent.Event{emit(i, big)}, nil) {
					return
				}
			}
		}
	}
	srv, _ := serveStream(t, httpapi.Streams{Write: 200 * time.Millisecond}, source, nil)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer owner\r\n\r\n", httpapitest.Prefix)
	select {
	case <-ended:
	case <-time.After(15 * time.Second):
		t.Fatalf("still reading the source after %d events", taken.Load())
	}
	if n := taken.Load(); n > 4000 { // what the kernel's buffers take, and little more
		t.Errorf("%d events were read for a client that takes none", n)
	}
	b, _ := io.ReadAll(bufio.NewReader(conn))
	if strings.HasSuffix(string(b), "0\r\n\r\n") {
		t.Error("the body ends as if it was whole")
	}
}

func TestASourcesErrorCutsTheStream(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(yield func([]agent.Event, error) bool){
		"error": func(yield func([]agent.Event, error) bool) { yield(nil, errors.New("lost")) },
		"panic": func(func([]agent.Event, error) bool) { panic("lost") },
		"end":   func(func([]agent.Event, error) bool) {},
		"render": func(yield func([]agent.Event, error) bool) {
			yield([]agent.Event{{Seq: 2, Body: agent.TurnEnded{}}}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := func(context.Context, time.Duration) batches {
				return func(yield func([]agent.Event, error) bool) {
					if yield([]agent.Event{emit(1, "x")}, nil) {
						fail(yield)
					}
				}
			}
			s := newSite(t, func(cfg *httpapi.Config) { cfg.Client = []httpapi.Route{streamRoute(httpapi.Streams{}, source)} })
			s.http.Transport = s.http.Transport.(*httpapitest.Oracle).Next // the document has no such route
			res := s.send("owner", "GET", "/stream", "")
			got, err := httpapitest.ReadSSE(res.Body)
			res.Body.Close()
			if len(got) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d events, then %v: a client must see that the stream was cut", len(got), err)
			}
			s.close()
			if log := s.log.String(); !strings.Contains(log, `"error":"`) || (name == "error" || name == "panic") && !strings.Contains(log, "lost") {
				t.Errorf("the log does not say why: %s", log)
			}
		})
	}
}

// TestAFailedEventTakesNoneWithIt: what came before it in the batch is sent, and
// nothing of it.
func TestAFailedEventTakesNoneWithIt(t *testing.T) {
	t.Parallel()
	w := &sink{head: http.Header{}}
	source := func(context.Context, time.Duration) batches {
		return func(yield func([]agent.Event, error) bool) {
			yield([]agent.Event{emit(1, "a"), emit(2, "b"), emit(3, "c")}, nil)
		}
	}
	lost := errors.New("lost")
	err := httpapi.Streams{}.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
		dst = fmt.Appendf(dst, "%d;", e.Seq)
		if e.Seq == 3 {
			return nil, false, lost
		}
		return dst, false, nil
	})
	if !errors.Is(err, lost) || w.body.String() != ":\n\n1;2;" {
		t.Errorf("%q, %v", w.body.String(), err)
	}
}

// sink is a writer that notes the deadline of each write, and may fail.
type sink struct {
	head     http.Header
	body     strings.Builder
	deadline time.Time
	set      int
	left     []time.Duration // at each write
	flushErr error
}

func (s *sink) Header() http.Header { return s.head }
func (s *sink) WriteHeader(int)     {}
func (s *sink) FlushError() error   { return s.flushErr }

func (s *sink) SetWriteDeadline(at time.Time) error {
	s.deadline, s.set = at, s.set+1
	return nil
}

func (s *sink) Write(b []byte) (int, error) {
	s.left = append(s.left, time.Until(s.deadline))
	return s.body.Write(b)
}

// TestEachWriteHasADeadline: but it is not set for each.
func TestEachWriteHasADeadline(t *testing.T) {
	t.Parallel()
	for _, write := range []time.Duration{0, 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			w := &sink{head: http.Header{}}
			if err := streamRoute(httpapi.Streams{Write: write}, paced(1000, 20*time.Millisecond)).Serve(w, httptest.NewRequest(http.MethodGet, "/", nil)); err != nil {
				t.Fatal(err)
			}
			write := cmp.Or(write, 15*time.Second)
			slack := min(write/2, time.Second)
			for i, left := range w.left {
				if left > write || left <= write-slack {
					t.Fatalf("write %d of %d has %v left of %v", i, len(w.left), left, write)
				}
			}
			if most := int(20*time.Second/slack) + 2; len(w.left) != 1002 || w.set > most {
				t.Errorf("%d writes, %d deadlines, want at most %d", len(w.left), w.set, most)
			}
		})
	}
}

// TestAFlushThatFailsEndsTheStream, though the router is in between.
func TestAFlushThatFailsEndsTheStream(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *httpapi.Config) {
		cfg.Client = []httpapi.Route{streamRoute(httpapi.Streams{}, paced(1000, time.Hour))}
		h := httpapi.New(*cfg)
		w := &sink{head: http.Header{}, flushErr: errors.New("gone")}
		r := httptest.NewRequest(http.MethodGet, httpapitest.Prefix+"/stream", nil)
		r.Header.Set("Authorization", "Bearer owner")
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("recovered %v", p)
			}
		}()
		h.ServeHTTP(w, r)
	})
	if !strings.Contains(s.log.String(), "gone") {
		t.Errorf("log %s", s.log)
	}
}

// TestALeavingClientIsNoticedInSilence: nothing has to be written for that.
func TestALeavingClientIsNoticedInSilence(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*httptest.Server){"HTTP/1.1": nil, "HTTP/2": overHTTP2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan error, 1)
			w := httpapitest.NewWorld()
			begun, err := w.Begin(t.Context(), turn.Submit{Principal: agent.Principal{ID: "token:owner", Project: "p1"}, Agent: "support", Input: "Hello"})
			if err != nil {
				t.Fatal(err)
			}
			srv, c := serveStream(t, httpapi.Streams{}, func(ctx context.Context, idle time.Duration) batches {
				return w.Watch(ctx, begun.Session, 2, idle)
			}, func(s *httptest.Server) {
				h := s.Config.Handler
				s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer func() { ended <- nil }() // where it is aborted too
					h.ServeHTTP(w, r)
				})
				if change != nil {
					change(s)
				}
			})
			openStream(t, c, srv.URL).Body.Close()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("still served")
			}
		})
	}
}

func TestFollowersComeAndGo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Began = func(agent.Turn) {}
	head := s.send("owner", "POST", "/responses", `{"model":"support","input":"Hello","stream":true}`)
	waitFor(t, head.Body, "response.in_progress")
	var wg sync.WaitGroup
	for i := range 100 {
		path := "/responses/run_" + turn1 + "?stream=true"
		if i%2 == 0 {
			path = "/agents/conversations/" + session1 + "/events"
		}
		res := s.send("owner", "GET", path, "", "Accept", "text/event-stream")
		wg.Go(func() {
			defer res.Body.Close()
			if i%3 == 0 {
				return
			}
			buf := make([]byte, 512)
			for {
				n, err := res.Body.Read(buf)
				if err != nil || strings.Contains(string(buf[:n]), "bye") {
					return
				}
			}
		})
	}
	for range 20 {
		s.Append(turn1, agent.TextDelta{Text: "word "})
	}
	s.Append(turn1, agent.TextDelta{Text: "bye"}, agent.TurnEnded{Status: agent.StatusCompleted})
	wg.Wait()
	head.Body.Close()
}

// TestConversationStreamResumes: replay above the cursor, then live, across
// turns; Last-Event-ID goes before after.
func TestConversationStreamResumes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	events := "/agents/conversations/" + session1 + "/events"
	for _, c := range []struct {
		path    string
		headers []string
	}{
		{events + "?after=12", nil}, {events, []string{"Last-Event-ID", "12"}}, {events + "?after=3", []string{"Last-Event-ID", "12"}},
	} {
		res := s.send("owner", "GET", c.path, "", append(c.headers, "Accept", "text/event-stream")...)
		got := waitFor(t, res.Body, "turn.ended")
		if first := strings.Index(got, "id: "); first < 0 || !strings.HasPrefix(got[first:], "id: 13\n") {
			t.Errorf("%s %v begins with %.200q", c.path, c.headers, got)
		}
		s.do("owner", "POST", "/responses", `{"model":"support","input":"More","previous_response_id":"resp_`+session1+`"}`)
		waitFor(t, res.Body, "turn.started")
		res.Body.Close()
	}
	a := s.do("owner", "GET", events, "", "Accept", "text/event-stream", "Last-Event-ID", "x")
	if a.status != http.StatusBadRequest || a.field(t, "error.param") != "Last-Event-ID" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestResumeAtEveryNumber: over the wire, what comes above N is the rest.
func TestResumeAtEveryNumber(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	all, err := httpapitest.ReadSSE(strings.NewReader(s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello","stream":true}`).body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range all {
		a := s.do("owner", "GET", fmt.Sprintf("/responses/run_%s?stream=true&starting_after=%d", turn1, n), "")
		got, err := httpapitest.ReadSSE(strings.NewReader(a.body))
		want := all[min(n+1, len(all)-1):]
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("above %d: %d events, want %d", n, len(got), len(want))
		}
	}
}

// TestAClosedConnectionStopsNothing: neither a whole answer's nor a stream's.
func TestAClosedConnectionStopsNothing(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		s := newSite(t)
		began := make(chan struct{})
		s.Began = func(agent.Turn) { close(began) }
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+httpapitest.Prefix+"/responses",
			strings.NewReader(fmt.Sprintf(`{"model":"support","input":"Hello","stream":%t}`, stream)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer owner")
		go func() { <-began; cancel() }()
		if res, err := s.http.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		s.Append(turn1, agent.TextDelta{Text: "Still here."},
			agent.Message{Index: 1, Role: agent.RoleAssistant, Text: "Still here.", Status: agent.StatusCompleted},
			agent.TurnEnded{Status: agent.StatusCompleted})
		a := s.do("owner", "GET", "/responses/run_"+turn1, "")
		if a.field(t, "status") != "completed" || len(s.Stops()) != 0 || s.Timeouts() != 0 {
			t.Errorf("stream %v: %s", stream, a.body)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	source := func(context.Context, time.Duration) batches {
		return func(yield func([]agent.Event, error) bool) {
			batch := make([]agent.Event, 32)
			for i := int64(1); ; {
				for j := range batch {
					batch[j], i = emit(i, "some words of an answer "), i+1
				}
				if !yield(batch, nil) {
					return
				}
			}
		}
	}
	h := streamRoute(httpapi.Streams{}, source)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = h.Serve(w, r) }))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	b.ReportAllocs()
	for b.Loop() {
		for !bytes.HasPrefix(lines.Bytes(), []byte("data: ")) {
			if !lines.Scan() {
				b.Fatal(lines.Err())
			}
		}
		lines.Scan()
	}
}
