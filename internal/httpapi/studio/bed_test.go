package studio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/tools/txtar"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
	"github.com/belayrun/belay/internal/httpapi/studio"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	project   = "000000000000000000000000"
	elsewhere = "111111111111111111111111"
	password  = "a password of a test"
)

// bed is a node on a database of its own, and people who are signed in on it:
// owner, builder, operator and viewer of one project, and stranger, who owns
// another.
type bed struct {
	*postgres.Store
	t      *testing.T
	url    string
	db     string
	model  *turntest.Model
	people map[string]*http.Client
	log    *lockedBuffer
	tape   txtar.Archive
}

func newBed(t *testing.T, change ...func(*studio.Config)) *bed {
	t.Helper()
	b := &bed{t: t, db: pgtest.DB(t), model: turntest.NewModel(t), people: map[string]*http.Client{}, log: &lockedBuffer{}}
	sealer, err := access.NewSealer(access.NewKey())
	b.check(err)
	b.Store, err = postgres.Open(t.Context(), postgres.Config{URL: b.db, Sealer: sealer})
	b.check(err)
	t.Cleanup(b.Close)
	b.exec("INSERT INTO projects (id, key) VALUES ($1, 'elsewhere')", elsewhere)
	b.addAgents()
	ask := turntest.InstantTool("pay", "paid")
	ask.Asks = agent.ActionApproval
	engine := turn.New(turn.Config{
		Store: b.Store, Hints: b.Store, Agents: b.Store, Models: turntest.Models{"m": b.model}, Tools: turntest.Toolbox{ask}, Label: "node-1",
	})
	b.run(engine)
	cfg := studio.Config{
		Engine: engine, Store: b.Store, Tools: opened{}, Access: access.NewSignIns(b.Store, access.NewPasswords(), access.Recall{}), SignInLife: time.Hour,
		NewToken: access.NewToken, NewPassword: access.NewPassword, Node: "node-1",
		Functions: []agent.ToolSpec{{Name: "clock", Description: "Tells the time."}},
	}
	for _, f := range change {
		f(&cfg)
	}
	srv := httptest.NewServer(httpapi.New(httpapi.Config{
		Auth: access.New(access.Config{Lookup: b.Store}), InvalidToken: access.ErrInvalidToken, Studio: studio.New(cfg),
		Log: slog.New(slog.NewJSONHandler(b.log, nil)),
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	b.url = srv.URL
	for _, role := range agent.MemberRoles {
		b.join(string(role), project, role)
	}
	b.join("stranger", elsewhere, agent.RoleOwner)
	b.people["nobody"] = b.browser()
	return b
}

// opened offers one tool of every shared tool, but of one at y.test.
type opened struct{}

func (opened) OpenTool(_ context.Context, t agent.SharedTool) ([]agent.ToolSpec, error) {
	if t.MCP != nil && t.MCP.URL == "http://y.test" {
		return nil, &agent.FieldError{Field: "mcp", Message: "it does not answer"}
	}
	return []agent.ToolSpec{{Name: "look_up", Description: "Looks up."}}, nil
}

// run runs the engine until the test is over.
func (b *bed) run(e *turn.Engine) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		<-done
	})
	b.eventually("the engine is ready", func() bool { return e.Ready() == nil })
}

func (b *bed) addAgents() {
	for _, p := range []string{project, elsewhere} {
		b.check(b.PutModel(b.t.Context(), agent.Model{Project: p, Key: "m", BaseURL: "http://model.test", Model: "m", Pricing: agent.Pricing{Input: 1}}))
		_, err := b.CreateAgent(b.t.Context(), agent.Agent{Project: p, Key: "helper", Name: "Helper", Active: true, Draft: agent.Config{Model: "m", Tools: []agent.ToolRef{{Source: agent.SourceFunction, Key: "shop"}}}})
		b.check(err)
		_, err = b.Publish(b.t.Context(), p, "helper", agent.Actor{By: "test"})
		b.check(err)
	}
}

func (b *bed) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	b.check(err)
	tr := &http.Transport{}
	b.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: httpapitest.NewOracle(b.t, tr), Timeout: 30 * time.Second}
}

// join makes a member and signs him in.
func (b *bed) join(name, project string, role agent.MemberRole) {
	b.t.Helper()
	hash, err := access.NewPasswords().Hash(b.t.Context(), password)
	b.check(err)
	m := agent.Member{Project: project, Role: role, User: agent.User{ID: agent.NewID(), Email: name + "@test.example", Name: strings.ToUpper(name[:1]) + name[1:]}}
	_, _, err = b.AddMember(b.t.Context(), m, hash)
	b.check(err)
	b.people[name] = b.browser()
	if a := b.do(name, "POST", "/auth/sign-in", signIn(name, password)); a.status != http.StatusOK {
		b.t.Fatalf("sign in %s: %d %s", name, a.status, a.body)
	}
}

func signIn(name, password string) string {
	return fmt.Sprintf(`{"email":%q,"password":%q}`, name+"@test.example", password)
}

func (b *bed) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) exec(sql string, args ...any) {
	b.t.Helper()
	conn, err := pgx.Connect(b.t.Context(), b.db)
	b.check(err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(b.t.Context(), sql, args...)
	b.check(err)
}

func (b *bed) eventually(what string, f func() bool) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if f() {
			return
		}
	}
	b.t.Fatalf("never: %s", what)
}

// answer is a whole answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// field returns a field of an answer, dotted; a number is an index of a list.
func (a answer) field(t *testing.T, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i := int(name[0] - '0')
			if i >= len(x) {
				t.Fatalf("no %s in %s", path, a.body)
			}
			v = x[i]
		default:
			t.Fatalf("no %s in %s", path, a.body)
		}
	}
	return v
}

func (b *bed) request(ctx context.Context, who, method, path, body string, headers ...string) *http.Response {
	b.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.url+httpapi.StudioPrefix+path, in)
	b.check(err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.people[who].Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

// do makes a request and reads the answer.
func (b *bed) do(who, method, path, body string, headers ...string) answer {
	b.t.Helper()
	res := b.request(b.t.Context(), who, method, path, body, headers...)
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	b.check(err)
	return answer{res.StatusCode, res.Header, string(out)}
}

// must is do for what has to succeed.
func (b *bed) must(who, method, path, body string) answer {
	b.t.Helper()
	a := b.do(who, method, path, body)
	if a.status >= 300 {
		b.t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	return a
}

// session begins a session with an agent and returns its path.
func (b *bed) session(who, key string) string {
	b.t.Helper()
	return "/agents/" + key + "/sessions/" + b.must(who, "POST", "/agents/"+key+"/sessions", "").field(b.t, "id").(string)
}

// say sends a message and returns the turn.
func (b *bed) say(who, session, text string) string {
	b.t.Helper()
	return b.must(who, "POST", session+"/messages", fmt.Sprintf(`{"content":%q}`, text)).field(b.t, "runId").(string)
}

// state waits until a session is in a state.
func (b *bed) state(session, state string) {
	b.t.Helper()
	b.eventually(session+" is "+state, func() bool { return b.must("owner", "GET", session, "").field(b.t, "state") == state })
}

// record is do that writes both on the tape.
func (b *bed) record(who, method, path, body string, headers ...string) answer {
	b.t.Helper()
	a := b.do(who, method, path, body, headers...)
	var out strings.Builder
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&out, "%s: %s\n", headers[i], headers[i+1])
	}
	fmt.Fprintf(&out, "%s\n\n%d %s\n", body, a.status, http.StatusText(a.status))
	for _, name := range []string{"Content-Type", "Location", "Retry-After", "Set-Cookie", "X-Should-Retry"} {
		if v := a.header.Values(name); len(v) > 0 {
			fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(v, ", "))
		}
	}
	fmt.Fprintf(&out, "\n%s\n", strings.TrimRight(a.body, "\n"))
	b.tape.Files = append(b.tape.Files, txtar.File{Name: fmt.Sprintf("%02d %s %s (%s)", len(b.tape.Files)+1, method, path, who), Data: []byte(out.String())})
	return a
}

var (
	ids     = regexp.MustCompile(`\b[0-9a-f]{24}\b`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ages    = regexp.MustCompile(`"(\w*(?:[aA]ge|took|latency|firstToken|duration)Ms|latency_ms|first_token_ms|duration_ms)":\d+`)
	secrets = regexp.MustCompile(`belay_session=[\w-]+|belay_[0-9a-f]{6,}|"password":"[\w]{5}(-\w{5}){3}"`)
)

// compare holds the tape to testdata/name.txtar: ids are numbered, and what is
// never the same twice is left out.
func (b *bed) compare(name string) {
	b.t.Helper()
	file := filepath.Join("testdata", name+".txtar")
	got := txtar.Format(&b.tape)
	known := map[string]string{project: project}
	got = ids.ReplaceAllFunc(got, func(id []byte) []byte {
		if known[string(id)] == "" {
			known[string(id)] = fmt.Sprintf("id%d", len(known))
		}
		return []byte(known[string(id)])
	})
	got = times.ReplaceAll(got, []byte("TIME"))
	got = ages.ReplaceAll(got, []byte(`"$1":0`))
	got = secrets.ReplaceAll(got, []byte("SECRET"))
	if *update {
		b.check(os.MkdirAll("testdata", 0o755))
		b.check(os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	b.check(err)
	if !bytes.Equal(got, want) {
		w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
		for i := range min(len(w), len(g)) {
			if w[i] != g[i] {
				b.t.Fatalf("%s line %d (run with -update to take it)\nwant %s\ngot  %s", file, i+1, w[i], g[i])
			}
		}
		b.t.Fatalf("%s: want %d lines, got %d", file, len(w), len(g))
	}
}
