package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
	"github.com/belayrun/belay/internal/manifest"
	"github.com/belayrun/belay/internal/openai/openaitest"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
)

// asBelay makes this test binary be belay: nodes are child processes that can
// be killed and frozen, and have the race detector in them.
const asBelay = "BELAY_TEST_IS_BELAY"

func TestMain(m *testing.M) {
	if os.Getenv(asBelay) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := execute(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, "belay:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	pgtest.Main(m)
}

// patience is how long a test waits for what must come; a promise is tested
// with the promise's own limit instead.
const patience = 30 * time.Second

// cluster is a database, a strict scripted provider and nodes as processes.
type cluster struct {
	t        *testing.T
	url      string // of the database
	key      string
	provider *openaitest.Provider
	model    *httptest.Server
	project  string
	http     *http.Client // holds every exchange to api/client.yaml
	token    string       // may do everything
	nodes    []*process
	sandbox  string // directory of its nodes' workspaces
}

// process is one node.
type process struct {
	t    *testing.T
	name string
	url  string
	cmd  *exec.Cmd
	out  *lines
	dead chan struct{} // closed when the process was waited for
}

// newCluster starts n nodes on one fresh database, with an agent "demo" that
// answers by directives (see openaitest) and some with tools.
func newCluster(t *testing.T, n int, env ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, url: pgtest.DB(t), key: access.NewKey(), provider: openaitest.New(), sandbox: t.TempDir()}
	c.model = httptest.NewServer(c.provider)
	t.Cleanup(func() {
		c.model.CloseClientConnections()
		c.model.Close()
	})
	c.http = &http.Client{Transport: httpapitest.NewOracle(t, http.DefaultTransport)}
	c.seed()
	c.token = c.newToken("test", agent.Permissions...)
	for i := range n {
		c.start(fmt.Sprintf("node-%d", i+1), c.url, env...)
	}
	for _, p := range c.nodes {
		p.ready()
	}
	return c
}

func (c *cluster) seed() {
	c.t.Helper()
	c.with(func(store *postgres.Store) (err error) {
		if c.project, err = store.Project(c.t.Context(), "default"); err != nil {
			return err
		}
		return applyDemo(c.t.Context(), store, c.project, c.model.URL+"/v1", "http://127.0.0.1:8090")
	})
}

// with opens the store for a moment.
func (c *cluster) with(f func(*postgres.Store) error) {
	c.t.Helper()
	sealer, err := access.NewSealer(c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	store, err := postgres.Open(c.t.Context(), postgres.Config{URL: c.url, Sealer: sealer})
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	if err := f(store); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) newToken(name string, perms ...agent.Permission) (token string) {
	c.t.Helper()
	c.with(func(store *postgres.Store) (err error) {
		token, err = createToken(c.t.Context(), store, agent.Token{Project: c.project, Name: name, Permissions: perms})
		return err
	})
	return token
}

// start starts a node against a database URL, which may lead through a proxy.
func (c *cluster) start(name, database string, env ...string) *process {
	c.t.Helper()
	p := &process{t: c.t, name: name, out: newLines(), dead: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], "serve", "--addr", "127.0.0.1:0", "--node", name)
	p.cmd.Env = append(os.Environ(), asBelay+"=1", "BELAY_DATABASE_URL="+database, "BELAY_SECRET_KEY="+c.key, "BELAY_LOG_LEVEL=info", "BELAY_SANDBOX_DIR="+c.sandbox, "GORACE=halt_on_error=1")
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in ProcessState
		close(p.dead)
	}()
	c.nodes = append(c.nodes, p)
	c.t.Cleanup(p.kill)
	p.url = "http://" + p.out.field(c.t, p, "serving", "addr")
	return p
}

// ready waits until the node takes requests.
func (p *process) ready() {
	p.t.Helper()
	eventually(p.t, p.name+" is ready", func() bool {
		res, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the node as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.dead
	if p.t.Failed() {
		p.t.Logf("%s said:\n%s", p.name, p.out)
	} else if strings.Contains(p.out.String(), "DATA RACE") {
		p.t.Errorf("%s: %s", p.name, p.out)
	}
}

// lines keeps what a process prints.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func newLines() *lines { return &lines{} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// field waits for a log line with a message and returns one of its fields.
func (l *lines) field(t *testing.T, p *process, msg, field string) (value string) {
	t.Helper()
	eventually(t, p.name+" says "+msg, func() bool {
		select {
		case <-p.dead:
			t.Fatalf("%s ended: %s", p.name, l)
		default:
		}
		for line := range strings.Lines(l.String()) {
			var m map[string]any
			if json.Unmarshal([]byte(line), &m) == nil && m["msg"] == msg {
				value, _ = m[field].(string)
				return value != ""
			}
		}
		return false
	})
	return value
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// call makes a request with the cluster's token and decodes the answer.
func (c *cluster) call(node int, method, path string, body any) (status int, out map[string]any) {
	c.t.Helper()
	res := c.request(c.t.Context(), c.nodes[node].url, c.token, method, path, body)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &out); err != nil {
			c.t.Fatalf("%s %s: %v in %q", method, path, err, b)
		}
	}
	return res.StatusCode, out
}

const prefix = "/api/client/v1"

func (c *cluster) request(ctx context.Context, base, token, method, path string, body any) *http.Response {
	c.t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+prefix+path, in)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

// event is one server-sent event.
type event struct {
	Type string
	ID   string
	Data map[string]any
	At   time.Time
}

// stream is a response that is being streamed.
type stream struct {
	t      *testing.T
	cancel context.CancelFunc
	conv   string // conversation id
	run    string
	events chan event
	seen   []event
}

// follow reads server-sent events until the body ends.
func (c *cluster) follow(node int, method, path string, body any) *stream {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	res := c.request(ctx, c.nodes[node].url, c.token, method, path, body)
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		cancel()
		c.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, b)
	}
	s := &stream{t: c.t, cancel: cancel, events: make(chan event, 100_000)}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(s.events)
		defer res.Body.Close()
		readEvents(res.Body, s.events)
	})
	c.t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return s
}

func readEvents(r io.Reader, out chan<- event) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 8<<20)
	var e event
	for in.Scan() {
		name, value, _ := strings.Cut(in.Text(), ": ")
		switch name {
		case "event":
			e.Type = value
		case "id":
			e.ID = value
		case "data":
			_ = json.Unmarshal([]byte(value), &e.Data)
		case "":
			if e.Type != "" {
				e.At = time.Now()
				out <- e
			}
			e = event{}
		}
	}
}

// until returns the next event of a type.
func (s *stream) until(kind string) event {
	s.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				s.t.Fatalf("the stream ended before %s; it had %d events", kind, len(s.seen))
			}
			s.seen = append(s.seen, e)
			if e.Type == kind {
				return e
			}
		case <-timeout:
			s.t.Fatalf("no %s; the stream had %d events", kind, len(s.seen))
		}
	}
}

// rest reads the stream to its end and returns the last event.
func (s *stream) rest() event {
	s.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				if len(s.seen) == 0 {
					s.t.Fatal("the stream had no events")
				}
				return s.seen[len(s.seen)-1]
			}
			s.seen = append(s.seen, e)
		case <-timeout:
			s.t.Fatalf("the stream does not end; it had %d events", len(s.seen))
		}
	}
}

// text is what the stream's deltas say so far.
func (s *stream) text() string {
	var b strings.Builder
	for _, e := range s.seen {
		if e.Type == "response.output_text.delta" {
			b.WriteString(e.Data["delta"].(string))
		}
	}
	return b.String()
}

// stream begins a turn on a node and returns once its first event is there.
func (c *cluster) stream(node int, model, input string, extra map[string]any) *stream {
	c.t.Helper()
	body := map[string]any{"model": model, "input": input, "stream": true}
	maps.Copy(body, extra)
	s := c.follow(node, http.MethodPost, "/agents/responses", body)
	r := s.until("response.created").Data["response"].(map[string]any)
	s.conv, s.run = r["conversation_id"].(string), r["run_id"].(string)
	return s
}

// stop stops a conversation through a node.
func (c *cluster) stop(node int, conv string, body any) map[string]any {
	c.t.Helper()
	status, a := c.call(node, http.MethodPost, "/agents/conversations/"+conv+"/cancel", body)
	if status != http.StatusOK {
		c.t.Fatalf("stop: %d %v", status, a)
	}
	return a
}

// messages returns a conversation's messages.
func (c *cluster) messages(node int, conv string) []map[string]any {
	c.t.Helper()
	status, a := c.call(node, http.MethodGet, "/agents/conversations/"+conv+"/messages", nil)
	if status != http.StatusOK {
		c.t.Fatalf("messages: %d %v", status, a)
	}
	var out []map[string]any
	for _, m := range a["data"].([]any) {
		out = append(out, m.(map[string]any))
	}
	return out
}

// declareModel applies a model that leads to the cluster's provider.
func (c *cluster) declareModel(key, more string) {
	c.t.Helper()
	c.declare(fmt.Sprintf("kind: model\nkey: %s\nbase_url: %s/v1\nmodel: m\n%s\n", key, c.model.URL, more))
}

// declare applies a manifest.
func (c *cluster) declare(file string) {
	c.t.Helper()
	m, err := manifest.Parse("test", strings.NewReader(file), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.with(func(store *postgres.Store) error {
		_, err := manifest.Apply(c.t.Context(), store, c.project, m, false)
		return err
	})
}

// dump returns every row of every table as text.
func (c *cluster) dump() string {
	c.t.Helper()
	db, err := pgx.Connect(c.t.Context(), c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close(context.Background())
	rows, err := db.Query(c.t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
	if err != nil {
		c.t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		c.t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range tables {
		rows, err := db.Query(c.t.Context(), "SELECT t::text FROM "+pgx.Identifier{name}.Sanitize()+" t")
		if err != nil {
			c.t.Fatal(err)
		}
		text, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			c.t.Fatal(err)
		}
		all.WriteString(strings.Join(text, "\n"))
	}
	return all.String()
}
