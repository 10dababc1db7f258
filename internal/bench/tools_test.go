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

	"github.com/belayrun/belay/internal/bench"
)

// holder is a node as the bench of tools sees it: each turn is one request to
// the upstream. A deaf one says that nothing was stopped.
type holder struct {
	upstream string
	deaf     bool

	mu    sync.Mutex
	turns map[string]context.CancelFunc
}

func (n *holder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/cancel"):
		n.mu.Lock()
		cancel := n.turns[strings.Split(r.URL.Path, "/")[6]]
		n.mu.Unlock()
		if !n.deaf {
			cancel()
		}
		fmt.Fprintf(w, `{"cancelled":%v,"run_ids":["r"]}`, !n.deaf)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		n.turn(w, r)
	case r.URL.Path == "/readyz":
		fmt.Fprint(w, `{"status":"ready","push":"on"}`)
	}
}

func (n *holder) turn(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Input string }
	var args struct{ ID json.Number }
	_ = json.NewDecoder(r.Body).Decode(&ask)
	_ = json.Unmarshal([]byte(strings.TrimPrefix(ask.Input, "/tool hold ")), &args)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	n.mu.Lock()
	n.turns["c"+args.ID.String()] = cancel
	n.mu.Unlock()
	fmt.Fprintf(w, "event: response.created\ndata: {\"response\":{\"conversation_id\":\"c%s\",\"run_id\":\"r\"}}\n\n", args.ID)
	w.(http.Flusher).Flush()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, n.upstream+"/hold/"+args.ID.String(), nil)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
	fmt.Fprint(w, "event: response.incomplete\ndata: {\"stop_reason\":\"cancelled\"}\n\n")
}

func TestToolsCountsStopsThatEndNothing(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaf %v", deaf), func(t *testing.T) {
			t.Parallel()
			upstream := &bench.Upstream{}
			api := httptest.NewServer(upstream)
			node := httptest.NewServer(&holder{upstream: api.URL, deaf: deaf, turns: map[string]context.CancelFunc{}})
			t.Cleanup(func() {
				node.Close()
				api.Close()
				http.DefaultClient.CloseIdleConnections()
			})
			env := &bench.Env{Versions: map[string]string{}, Say: func(string, ...any) {}, UpstreamURL: api.URL}
			env.Open = func(context.Context, bool) (*bench.Pair, error) {
				return &bench.Pair{URLs: [2]string{node.URL, node.URL}, Close: func() error { return nil }}, nil
			}
			r, err := bench.Tools(t.Context(), env, bench.ToolsOptions{N: 2, Upstream: upstream, NoSandbox: "none here"})
			if err != nil {
				t.Fatal(err)
			}
			if missed := len(r.Misses) > 0; missed != deaf {
				t.Errorf("missed: %q", r.Misses)
			}
			last := r.Rows[len(r.Rows)-1]
			if last.Name != "stops missed" || (*last.Value > 0) != deaf {
				t.Errorf("the last row: %+v", last)
			}
			if i := slices.IndexFunc(r.Rows, func(row bench.Row) bool { return row.N > 0 }); deaf == (r.Rows[0].N == 2) || i < 0 {
				t.Errorf("rows: %+v", r.Rows)
			}
			if !strings.Contains(strings.Join(r.Notes, "\n"), "sandbox not measured, its figures are left out: none here") {
				t.Errorf("notes: %q", r.Notes)
			}
		})
	}
}
