package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/bench"
)

// relay is a node as a bench sees it, without a cluster behind it: it calls the
// model for each turn and passes its chunks on.
type relay struct {
	model string
	drop  func(n int) bool // chunks that are lost on the way

	mu    sync.Mutex
	turns map[string]context.CancelFunc
}

func (n *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/cancel"):
		n.mu.Lock()
		cancel := n.turns[strings.Split(r.URL.Path, "/")[6]]
		n.mu.Unlock()
		cancel()
		fmt.Fprint(w, `{"cancelled":true,"run_ids":["r"]}`)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		n.turn(w, r)
	case r.URL.Path == "/readyz":
		fmt.Fprint(w, `{"status":"ready","push":"on"}`)
	case r.URL.Path == "/metrics":
		fmt.Fprint(w, "# HELP x\ngo_memstats_heap_inuse_bytes 1.5e+06\nbelay_flush_seconds_count{result=\"ok\"} 2\nbelay_flush_seconds_count{result=\"error\"} 1\n")
	}
}

func (n *relay) turn(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Input string }
	_ = json.NewDecoder(r.Body).Decode(&ask)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	id := strings.ReplaceAll(ask.Input, " ", "-")
	n.mu.Lock()
	n.turns[id] = cancel
	n.mu.Unlock()
	emit := func(event, data string) {
		fmt.Fprintf(w, "id: 1\nevent: %s\ndata: %s\n\n", event, data)
		w.(http.Flusher).Flush()
	}
	emit("response.created", `{"response":{"conversation_id":"`+id+`","run_id":"r"}}`)
	body := `{"messages":[{"role":"user","content":"` + ask.Input + `"}]}`
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, n.model+"/chat/completions", strings.NewReader(body))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		emit("response.failed", `{}`)
		return
	}
	defer resp.Body.Close()
	var kept strings.Builder
	status, reason := n.pass(resp, &kept, emit)
	emit("response."+status, `{"response":{`+reason+`"text":"`+kept.String()+`"}}`)
}

// pass passes the chunks on until the model has ended or the turn is stopped.
func (n *relay) pass(resp *http.Response, kept *strings.Builder, emit func(event, data string)) (status, reason string) {
	count := 0
	buf := make([]byte, 0, 64<<10)
	for {
		b := make([]byte, 4<<10)
		m, err := resp.Body.Read(b)
		buf = append(buf, b[:m]...)
		for {
			event, rest, ok := strings.Cut(string(buf), "\n\n")
			if !ok {
				break
			}
			buf = []byte(rest)
			if event == "data: [DONE]" {
				return "completed", ""
			}
			_, text, _ := strings.Cut(event, `"content":"`)
			text, _, ok = strings.Cut(text, `"`)
			if count++; ok && (n.drop == nil || !n.drop(count)) {
				kept.WriteString(text)
				emit("response.output_text.delta", `{"delta":"`+text+`"}`)
			}
		}
		if err != nil {
			return "incomplete", `"stop_reason":"cancelled",`
		}
	}
}

func env(t *testing.T, drop func(int) bool) *bench.Env {
	t.Helper()
	e := &bench.Env{Agent: "a", Model: bench.NewModel(50), Versions: map[string]string{}, Say: func(string, ...any) {}}
	model := httptest.NewServer(e.Model)
	node := httptest.NewServer(&relay{model: model.URL, drop: drop, turns: map[string]context.CancelFunc{}})
	e.ModelURL = model.URL
	e.Open = func(context.Context, bool) (*bench.Pair, error) {
		return &bench.Pair{URLs: [2]string{node.URL, node.URL}, Close: func() error { return nil }}, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { e.Model.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		node.Close()
		model.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return e
}

func row(t *testing.T, r *bench.Report, name string) bench.Row {
	t.Helper()
	i := slices.IndexFunc(r.Rows, func(r bench.Row) bool { return strings.HasPrefix(r.Name, name) })
	if i < 0 {
		t.Fatalf("no row %q", name)
	}
	return r.Rows[i]
}

func TestEveryStopIsTimedAtTheProvider(t *testing.T) {
	e := env(t, nil)
	r, err := bench.Stop(t.Context(), e, bench.StopOptions{N: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stop to provider closed, same node", "stop to provider closed, other node, push on", "stop to terminal event, same node", "stop to its answer, same node"} {
		if got := row(t, r, name); got.N != 3 || *got.P50 <= 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(r.Misses) > 0 || *row(t, r, "stops missed").Value != 0 {
		t.Errorf("missed: %q", r.Misses)
	}
	if row(t, r, "model alone").N == 0 {
		t.Error("the model alone was not measured")
	}
}

func TestFirstTextIsComparedWithTheModel(t *testing.T) {
	r, err := bench.Start(t.Context(), env(t, nil), bench.StartOptions{N: 5})
	if err != nil {
		t.Fatal(err)
	}
	if row(t, r, "first text through Belay").N != 5 || row(t, r, "first text of the model alone").N != 5 || row(t, r, "added by Belay").P50 == nil {
		t.Errorf("got %+v", r.Rows)
	}
}

func load(t *testing.T, drop func(int) bool) *bench.Report {
	t.Helper()
	r, err := bench.Load(t.Context(), env(t, drop), bench.LoadOptions{Turns: []int{30}, Rate: 50, Window: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLoadAccountsForEveryEvent(t *testing.T) {
	r := load(t, nil)
	for _, name := range []string{"30 turns: stops missed", "30 turns: turns that lost"} {
		if got := row(t, r, name); *got.Value != 0 {
			t.Errorf("%s: %v %q", name, *got.Value, r.Misses)
		}
	}
	if got := row(t, r, "30 turns: stop to provider closed"); got.N != 30 {
		t.Errorf("got %+v", got)
	}
	if got := row(t, r, "30 turns: model to follower"); got.N == 0 {
		t.Error("no event's age was looked at")
	}
	if got := row(t, r, "30 turns: events delivered"); *got.Value <= 0 {
		t.Errorf("got %+v", got)
	}
}

func TestLoadSeesALostEvent(t *testing.T) {
	r := load(t, func(n int) bool { return n == 10 })
	if got := row(t, r, "30 turns: turns that lost"); *got.Value != 30 || got.Verdict != bench.Over {
		t.Errorf("got %+v", got)
	}
	if len(r.Misses) == 0 {
		t.Error("nothing says what was lost")
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	e := env(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	e.Say = func(format string, _ ...any) {
		if strings.Contains(format, "of streaming") {
			cancel()
		}
	}
	if _, err := bench.Load(ctx, e, bench.LoadOptions{Turns: []int{5}, Rate: 50, Window: time.Hour}); err == nil {
		t.Error("a run that was cut short gave a report")
	}
}

func TestTheModelRefusesWhatWasNotAnnounced(t *testing.T) {
	e := env(t, nil)
	resp, err := http.Post(e.ModelURL+"/chat/completions", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("got %s", resp.Status)
	}
}
