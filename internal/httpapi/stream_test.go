package httpapi_test

import (
	"bufio"
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
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
)

// streamRoute serves events of a source as numbered frames; text "end" is the last.
func streamRoute(s httpapi.Streams, source httpapi.Source) httpapi.Route {
	return httpapi.Route{Method: http.MethodGet, Pattern: "/stream", Serve: func(w http.ResponseWriter, r *http.Request) error {
		return s.Serve(w, r, source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
			text := e.Body.(agent.TextDelta).Text
			dst = httpapi.AppendString(httpapi.AppendFrame(dst, e.Seq, "text.delta"), text)
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

// paced yields n events, one each d, and then the last.
func paced(n int, d time.Duration) httpapi.Source {
	return func(ctx context.Context) iter.Seq2[agent.Event, error] {
		return func(yield func(agent.Event, error) bool) {
			for i := range n {
				select {
				case <-time.After(d):
				case <-ctx.Done():
					yield(agent.Event{}, context.Cause(ctx))
					return
				}
				if !yield(emit(int64(i+1), "x"), nil) {
					return
				}
			}
			yield(emit(int64(n+1), "end"), nil)
			<-ctx.Done()
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
	srv, c := serveStream(t, httpapi.Streams{}, paced(5, 10*time.Millisecond), func(s *httptest.Server) { s.EnableHTTP2 = true })
	res := openStream(t, c, srv.URL)
	got, err := httpapitest.ReadSSE(res.Body)
	if err != nil || len(got) != 6 || res.ProtoMajor != 2 {
		t.Errorf("%d events over %s, %v", len(got), res.Proto, err)
	}
}

func TestStreamHeadersKeepProxiesFromBuffering(t *testing.T) {
	t.Parallel()
	silent := func(ctx context.Context) iter.Seq2[agent.Event, error] {
		return func(func(agent.Event, error) bool) { <-ctx.Done() }
	}
	srv, c := serveStream(t, httpapi.Streams{}, silent, nil)
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

// TestWhatIsThereIsWrittenAtOnce: a reader that lags costs writes, not memory or
// order.
func TestWhatIsThereIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var writes atomic.Int64
	srv, c := serveStream(t, httpapi.Streams{}, paced(n, 0), func(s *httptest.Server) {
		h := s.Config.Handler
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(&counting{w, &writes}, r) })
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
	if w := writes.Load(); w > n/2 {
		t.Errorf("%d writes for %d events", w, n)
	}
}

// counting is a middleware's wrapper that has Unwrap only.
type counting struct {
	http.ResponseWriter
	writes *atomic.Int64
}

func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counting) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.ResponseWriter.Write(p)
}

// TestAStalledReaderIsCutOff: it holds no more than what is ahead of it, and
// others go on.
func TestAStalledReaderIsCutOff(t *testing.T) {
	t.Parallel()
	var taken atomic.Int64
	ended := make(chan struct{})
	big := strings.Repeat("x", 8<<10)
	source := func(ctx context.Context) iter.Seq2[agent.Event, error] {
		return func(yield func(agent.Event, error) bool) {
			defer close(ended)
			for i := int64(1); ctx.Err() == nil; i++ {
				taken.Add(1)
				if !yield(emit(i, big), nil) {
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
	for name, fail := range map[string]func(yield func(agent.Event, error) bool){
		"error": func(yield func(agent.Event, error) bool) { yield(agent.Event{}, errors.New("lost")) },
		"panic": func(func(agent.Event, error) bool) { panic("lost") },
		"end":   func(func(agent.Event, error) bool) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := func(context.Context) iter.Seq2[agent.Event, error] {
				return func(yield func(agent.Event, error) bool) {
					if yield(emit(1, "x"), nil) {
						fail(yield)
					}
				}
			}
			srv, c := serveStream(t, httpapi.Streams{}, source, nil)
			got, err := httpapitest.ReadSSE(openStream(t, c, srv.URL).Body)
			if len(got) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d events, then %v: a client must see that the stream was cut", len(got), err)
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
	source := func(ctx context.Context) iter.Seq2[agent.Event, error] {
		return func(yield func(agent.Event, error) bool) {
			for i := int64(1); yield(emit(i, "some words of an answer "), nil); i++ {
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
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		}
	}
}
