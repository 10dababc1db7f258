package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/a2a"
	"github.com/belayrun/belay/internal/httpapi/assistants"
	"github.com/belayrun/belay/internal/httpapi/chat"
	"github.com/belayrun/belay/internal/httpapi/client"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
	"github.com/belayrun/belay/internal/httpapi/responses"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a World behind the real router.
type site struct {
	*httpapitest.World
	t    *testing.T
	url  string
	http *http.Client
	tape txtar.Archive
	log  *bytes.Buffer

	close func() // of the server, so that the log is whole
}

func routes(w *httpapitest.World, s httpapi.Streams) []httpapi.Route {
	agents, _ := a2aRoutes(w, s)
	return slices.Concat(
		client.Routes(client.Config{Engine: w, Store: w, Tools: w, Streams: s}),
		responses.Routes(responses.Config{Engine: w, Ceiling: w, Store: w, Streams: s}),
		chat.Routes(chat.Config{Engine: w, Ceiling: w, Store: w, Streams: s}),
		assistants.Routes(assistants.Config{Engine: w, Ceiling: w, Store: w, Streams: s}),
		agents)
}

func a2aRoutes(w *httpapitest.World, s httpapi.Streams) (client, open []httpapi.Route) {
	return a2a.Routes(a2a.Config{Engine: w, Watcher: w, Store: w, Streams: s, CheckURL: checkURL})
}

// checkURL refuses what is not on the internet, without asking it.
func checkURL(_ context.Context, url string) error {
	if !strings.HasPrefix(url, "https://") || strings.Contains(url, "//127.") {
		return errors.New("the address is not allowed")
	}
	return nil
}

func newSite(t *testing.T, change ...func(*httpapi.Config)) *site {
	t.Helper()
	w := httpapitest.NewWorld()
	s := &site{World: w, t: t, log: &bytes.Buffer{}}
	_, open := a2aRoutes(w, httpapi.Streams{})
	cfg := httpapi.Config{
		Auth: w, InvalidToken: httpapitest.ErrBadToken, Client: routes(w, httpapi.Streams{}), Open: open,
		Log: slog.New(slog.NewJSONHandler(s.log, nil)),
	}
	for _, c := range change {
		c(&cfg)
	}
	srv := httptest.NewServer(httpapi.New(cfg))
	tr := &http.Transport{}
	s.close = func() { tr.CloseIdleConnections(); srv.Close() }
	t.Cleanup(s.close)
	s.url, s.http = srv.URL, &http.Client{Transport: httpapitest.NewOracle(t, tr), Timeout: 20 * time.Second}
	return s
}

// answer is a whole answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request; path is below the prefix unless it begins with "//".
func (s *site) send(token, method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	url := s.url + httpapitest.Prefix + path
	if rest, ok := strings.CutPrefix(path, "/"); ok && strings.HasPrefix(rest, "/") {
		url = s.url + rest
	}
	var rd io.Reader
	if body != "" {
		rd = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, rd)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("X-Request-Id", "req-1")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.http.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

// do sends a request, reads the answer whole and writes both on the tape.
func (s *site) do(token, method, path, body string, headers ...string) answer {
	s.t.Helper()
	return s.record(s.send(token, method, path, body, headers...), token, method, path, body, headers...)
}

func (s *site) record(res *http.Response, token, method, path, body string, headers ...string) answer {
	s.t.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: read answer: %v", method, path, err)
	}
	a := answer{res.StatusCode, res.Header, string(b)}
	var out strings.Builder
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&out, "%s: %s\n", headers[i], headers[i+1])
	}
	if body != "" {
		fmt.Fprintf(&out, "%.400s\n", body)
	}
	fmt.Fprintf(&out, "\n%s\n", res.Status)
	for _, name := range []string{"Allow", "Content-Type", "Location", "Retry-After", "Www-Authenticate", "X-Should-Retry"} {
		if v := res.Header.Values(name); len(v) > 0 {
			fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(v, ", "))
		}
	}
	fmt.Fprintf(&out, "\n%s\n", strings.TrimRight(a.body, "\n"))
	s.tape.Files = append(s.tape.Files, txtar.File{
		Name: fmt.Sprintf("%02d %s %s (%s)", len(s.tape.Files)+1, method, path, token), Data: []byte(out.String()),
	})
	return a
}

// compare holds the tape to testdata/name.txtar.
func (s *site) compare(name string) {
	s.t.Helper()
	file := filepath.Join("testdata", name+".txtar")
	got := txtar.Format(&s.tape)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		s.t.Errorf("%s: the transcript is another (run with -update to take it):\n%s", file, firstDifference(string(want), string(got)))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("want %d lines, got %d", len(w), len(g))
}

// field returns a field of a JSON document, dotted.
func (a answer) field(t *testing.T, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// answered lets every turn answer at once, with reasoning, a tool and two texts.
func (s *site) answered() {
	s.Began = func(t agent.Turn) {
		call := agent.Call{ID: "call_1", Name: "lookup", Arguments: json.RawMessage(`{"q":"x"}`)}
		s.Append(t.ID,
			agent.ReasoningDelta{Text: "Let me "}, agent.ReasoningDelta{Text: "look."},
			agent.TextDelta{Text: "One "}, agent.TextDelta{Text: "moment."},
			agent.Message{Index: t.Index, Role: agent.RoleAssistant, Text: "One moment.", Reasoning: "Let me look.", Calls: []agent.Call{call}, Status: agent.StatusCompleted},
			agent.ToolStarted{CallID: "call_1", Name: "lookup", Source: "crm", Arguments: call.Arguments, Abortable: true},
			agent.ToolOutput{CallID: "call_1", Text: "…"},
			agent.ToolFinished{CallID: "call_1", Name: "lookup", Outcome: agent.ToolSuccess, Output: `{"found": 1}`, DurationMS: 7},
			agent.TextDelta{Text: "It is "}, agent.TextDelta{Text: "<b>\"größer\"</b>\n"},
			agent.Message{Index: t.Index + 1, Role: agent.RoleAssistant, Text: "It is <b>\"größer\"</b>\n", Status: agent.StatusCompleted},
			agent.TurnEnded{Status: agent.StatusCompleted, Usage: agent.Tokens{Input: 12, CachedInput: 2, Output: 45, Reasoning: 5, CostUSD: 0.01},
				Tools: []agent.ToolDone{{CallID: "call_1", Name: "lookup", Outcome: agent.ToolSuccess}}})
	}
}

const (
	session1 = "5e0000000000000000000001"
	turn1    = "7a0000000000000000000002"
)

func newLog(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }
