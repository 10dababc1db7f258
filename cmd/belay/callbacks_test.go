package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
	"github.com/belayrun/belay/internal/metrics"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
)

// hook is a receiver of callbacks.
type hook struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	code  int // that it answers with, 0: 200
	calls []hookCall
}

// hookCall is a request that it had.
type hookCall struct {
	header http.Header
	body   []byte
	doc    map[string]any
	at     time.Time
}

// secret is what the tests' callbacks are signed with.
const hookSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{t: t}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	h.url = srv.URL + "/hook"
	return h
}

// ServeHTTP verifies what it gets with a library that is not ours.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := hookCall{header: r.Header, at: time.Now()}
	c.body, _ = io.ReadAll(r.Body)
	wh, err := standardwebhooks.NewWebhook(hookSecret)
	if err == nil {
		err = wh.Verify(c.body, r.Header)
	}
	if err == nil {
		err = json.Unmarshal(c.body, &c.doc)
	}
	if err != nil {
		h.t.Errorf("callback: %v", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
	if h.code != 0 {
		w.WriteHeader(h.code)
	}
}

func (h *hook) answer(code int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.code = code
}

func (h *hook) had() []hookCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// await waits for so many calls and returns them.
func (h *hook) await(n int) []hookCall {
	h.t.Helper()
	eventually(h.t, fmt.Sprintf("%d callbacks", n), func() bool { return len(h.had()) >= n })
	return h.had()
}

// told queues a background run with a callback and returns its id and that of
// its conversation.
func (c *cluster) told(model, input, url string) (run, conv string) {
	c.t.Helper()
	run = c.queue(0, model, input, map[string]any{"callback_url": url, "callback_secret": hookSecret})
	return run, c.readRun(0, run)["conversation_id"].(string)
}

// plant queues a run as told does, but for the check of its address: as if the
// name had led elsewhere then.
func (c *cluster) plant(model, input, url string) string {
	c.t.Helper()
	run := agent.NewID()
	c.with(func(store *postgres.Store) error {
		cfg, version, err := store.Resolve(c.t.Context(), c.project, model, nil)
		if err != nil {
			return err
		}
		s := agent.Session{ID: agent.NewID(), Project: c.project, Agent: model, Owner: "user:ann", Door: agent.DoorClient}
		_, err = store.Take(c.t.Context(), agent.Begin{
			Session: s, New: true, Input: input,
			Turn:      agent.Turn{ID: run, Session: s.ID, Agent: model, Version: version, Door: agent.DoorClient, By: s.Owner, Background: true, Spec: cfg},
			Callbacks: []agent.Callback{{Kind: agent.CallbackRun, URL: url, Secret: hookSecret}},
		})
		return err
	})
	return run
}

// callbacks lists what was sent of a run, or of all where it is empty.
func (c *cluster) callbacks(node int, query string) []map[string]any {
	c.t.Helper()
	status, a := c.call(node, http.MethodGet, "/agents/callbacks?"+query, nil)
	if status != http.StatusOK {
		c.t.Fatalf("callbacks: %d %v", status, a)
	}
	var out []map[string]any
	for _, d := range a["data"].([]any) {
		out = append(out, d.(map[string]any))
	}
	return out
}

// quiet is how long a test looks whether anything comes that must not.
const quiet = 3 * time.Second

// 106, 110: the callback of a run comes once, signed, and says what became of it.
func TestARunIsToldOnceByASignedCallback(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	c := newCluster(t, 2, "BELAY_OUTBOUND_ALLOW=127.0.0.1")
	run, conv := c.told("demo", "/echo hello there", h.url)
	got := h.await(1)[0]
	want(t, "event", got.doc["event"], agent.EventSucceeded)
	want(t, "run", got.doc["run_id"], run)
	want(t, "conversation", got.doc["conversation_id"], conv)
	want(t, "id", got.doc["id"], got.header.Get("webhook-id"))
	want(t, "text", resultText(got.doc["data"].(map[string]any)), "hello there")
	eventually(t, "the run says so", func() bool { return c.callbackOf(run)["status"] == "delivered" })
	want(t, "attempts", c.callbackOf(run)["attempts"], 1)
	want(t, "signed", c.callbackOf(run)["signed"], true)
	time.Sleep(quiet)
	want(t, "callbacks", len(h.had()), 1)
	for _, d := range c.callbacks(0, "") {
		want(t, "status", d["status"], "delivered")
		want(t, "attempts", d["attempts"], 1)
	}
}

// callbackOf is what a run says of its callback.
func (c *cluster) callbackOf(run string) map[string]any {
	c.t.Helper()
	return c.readRun(1%len(c.nodes), run)["callback"].(map[string]any)
}

// events are what was told of a run, in order.
func (h *hook) events(run string) (out []string) {
	for _, c := range h.had() {
		if c.doc["run_id"] == run {
			out = append(out, strings.TrimPrefix(c.doc["event"].(string), "agent_run."))
		}
	}
	return out
}

// 26, 106: each way a run ends or pauses is told, from whichever node; what it is
// told with is the run as it was then.
func TestEachEndOfARunIsTold(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	c := newCluster(t, 2, "BELAY_OUTBOUND_ALLOW=127.0.0.1", "BELAY_RUNS=1")
	cancel := func(node int, run string) {
		t.Helper()
		status, a := c.call(node, http.MethodPost, "/agents/runs/"+run+"/cancel?wait_ms=5000", nil)
		want(t, "cancel", status, http.StatusOK)
		want(t, "status", a["status"], "canceled")
	}
	tells := func(run string, events ...string) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s is told %v", run, events), func() bool { return len(h.events(run)) >= len(events) })
		want(t, "events", h.events(run), events)
	}
	first, _ := c.told("demo", "/slow 6000", h.url)
	second, _ := c.told("demo", "/slow 6000", h.url)
	c.becomes(0, first, "running")
	c.becomes(0, second, "running")
	queued, _ := c.told("demo", "/echo never", h.url)
	cancel(1, queued)
	tells(queued, "canceled")
	cancel(0, first)
	cancel(1, second)
	tells(first, "canceled")
	tells(second, "canceled")

	call := `/tool add {"a":1,"b":2}`
	canceled, _ := c.told("approve", call, h.url)
	c.becomes(1, canceled, "requires_action")
	tells(canceled, "requires_action")
	cancel(0, canceled)
	tells(canceled, "requires_action", "canceled")

	approved, conv := c.told("approve", call, h.url)
	c.becomes(1, approved, "requires_action")
	_, list := c.call(0, http.MethodGet, "/agents/conversations/"+conv+"/actions", nil)
	id := list["data"].([]any)[0].(map[string]any)["id"].(string)
	status, _ := c.call(1, http.MethodPost, "/agents/actions/"+id+"/decision", map[string]any{"decision": "approve"})
	want(t, "approve", status, http.StatusOK)
	tells(approved, "requires_action", "succeeded")

	superseded, conv := c.told("approve", call, h.url)
	c.becomes(0, superseded, "requires_action")
	c.stream(0, "approve", "/echo instead", map[string]any{"previous_response_id": "resp_" + conv}).rest()
	tells(superseded, "requires_action", "canceled")

	failed, _ := c.told("demo", "/error 400", h.url)
	tells(failed, "failed")
	spec := httpapitest.Load(t).Spec.Components.Schemas["Run"].Value
	for _, call := range h.had() {
		data := call.doc["data"].(map[string]any)
		if err := spec.VisitJSON(data); err != nil {
			t.Errorf("%s: the data is no run: %v", call.doc["event"], err)
		}
		want(t, "status", data["status"], strings.TrimPrefix(call.doc["event"].(string), "agent_run."))
		if data["status"] == "requires_action" && len(data["required_actions"].([]any)) != 1 {
			t.Errorf("what is required? %v", data)
		}
	}
	time.Sleep(quiet)
	want(t, "callbacks", len(h.had()), 10)
}

// What can't be a callback is refused before anything is begun.
func TestACallbackIsCheckedWhenTheRunIsSubmitted(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for name, b := range map[string]struct {
		extra map[string]any
		param string
	}{
		"loopback":       {map[string]any{"callback_url": "http://127.0.0.1/hook"}, "callback_url"},
		"mapped":         {map[string]any{"callback_url": "http://[::ffff:10.0.0.1]/hook"}, "callback_url"},
		"a private name": {map[string]any{"callback_url": "https://localhost/hook"}, "callback_url"},
		"metadata":       {map[string]any{"callback_url": "http://169.254.169.254/latest"}, "callback_url"},
		"decimal":        {map[string]any{"callback_url": "http://2130706433/"}, "callback_url"},
		"no URL":         {map[string]any{"callback_url": "hook"}, "callback_url"},
		"secret alone":   {map[string]any{"callback_secret": "s"}, "callback_secret"},
		"foreground":     {map[string]any{"callback_url": "https://example.com", "background": false}, "callback_url"},
	} {
		body := map[string]any{"model": "demo", "input": "/echo x", "background": true}
		maps.Copy(body, b.extra)
		status, a := c.call(0, http.MethodPost, "/agents/responses", body)
		e, _ := a["error"].(map[string]any)
		if status != http.StatusBadRequest || e["code"] != "invalid_callback" || e["param"] != b.param {
			t.Errorf("%s: %d %v", name, status, a)
		}
	}
	_, list := c.call(0, http.MethodGet, "/agents/conversations", nil)
	want(t, "conversations", len(list["data"].([]any)), 0)
	run := c.queue(0, "demo", "/echo x", map[string]any{"callback_url": "https://does-not-resolve.invalid/hook"})
	want(t, "a name that does not resolve passes", c.readRun(0, run)["callback"].(map[string]any)["signed"], false)
}

// A run's callback is its agent's where it names none, signed with the agent's
// secret, which nothing shows.
func TestAnAgentsCallbackIsThatOfItsRuns(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	c := newCluster(t, 1, "BELAY_OUTBOUND_ALLOW=127.0.0.1")
	config := map[string]any{"model": "demo", "execution": map[string]any{"callback_url": h.url, "callback_secret": hookSecret}}
	status, _ := c.call(0, http.MethodPost, "/agents", map[string]any{"key": "teller", "config": config})
	want(t, "made", status, http.StatusCreated)
	status, _ = c.call(0, http.MethodPost, "/agents/teller/publish", nil)
	want(t, "published", status, http.StatusOK)
	run := c.queue(0, "teller", "/echo x", nil)
	want(t, "run", h.await(1)[0].doc["run_id"], run)
	if s := c.dump(); strings.Contains(s, hookSecret) {
		t.Error("the secret is stored as it is")
	}
}

// 108: a receiver that is down is tried until it is up again; every attempt is
// signed anew and has the same id and body.
func TestACallbackIsTriedUntilItsReceiverIsUp(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.answer(http.StatusInternalServerError)
	c := newCluster(t, 2, "BELAY_OUTBOUND_ALLOW=127.0.0.1", "BELAY_CALLBACK_DELAYS=1s,1s,1s,1s,1s,1s,1s,1s,1s")
	run, _ := c.told("demo", "hello", h.url)
	h.await(3)
	h.answer(http.StatusNoContent)
	eventually(t, "it is delivered", func() bool { return c.callbacks(1, "run_id="+run)[0]["status"] == "delivered" })
	calls := h.had()
	for _, call := range calls {
		want(t, "id", call.header.Get("webhook-id"), calls[0].header.Get("webhook-id"))
		want(t, "body", string(call.body), string(calls[0].body))
	}
	want(t, "attempts", c.callbacks(0, "")[0]["attempts"], len(calls))
	time.Sleep(quiet)
	want(t, "calls", len(h.had()), len(calls))
}

// One that was given up is listed and can be sent again, under its id.
func TestADeadCallbackIsListedAndRedelivered(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.answer(http.StatusTeapot)
	c := newCluster(t, 1, "BELAY_OUTBOUND_ALLOW=127.0.0.1", "BELAY_CALLBACK_DELAYS=200ms")
	run, _ := c.told("demo", "hello", h.url)
	eventually(t, "it is given up", func() bool { return len(c.callbacks(0, "status=dead")) == 1 })
	dead := c.callbacks(0, "status=dead")[0]
	want(t, "error", dead["error"], "answered 418")
	want(t, "attempts", dead["attempts"], 2)
	h.answer(http.StatusOK)
	status, a := c.call(0, http.MethodPost, "/agents/runs/"+run+"/callback/redeliver", nil)
	want(t, "status", status, http.StatusAccepted)
	want(t, "callback", a["status"], "pending")
	calls := h.await(3)
	want(t, "id", calls[2].header.Get("webhook-id"), calls[0].header.Get("webhook-id"))
	eventually(t, "it is delivered", func() bool { return len(c.callbacks(0, "status=delivered")) == 1 })
	_, log := c.call(0, http.MethodGet, "/agents/audit?action=callback.redelivered", nil)
	want(t, "audited", len(log["data"].([]any)), 1)
}

// 107: the node that settled a run is killed before it has told anybody. Another
// tells it, once.
func TestACallbackIsDeliveredAfterTheNodeThatSettledItWasKilled(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	c := newCluster(t, 0)
	db, err := pgx.Connect(t.Context(), c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	env := "BELAY_OUTBOUND_ALLOW=127.0.0.1"
	for round := range 5 {
		c.start(fmt.Sprintf("first-%d", round), c.url, env).ready()
		first := c.nodes[len(c.nodes)-1]
		before := len(h.had())
		run := c.plant("demo", "hello", h.url)
		pending := func() (n int) {
			const q = "SELECT count(*) FROM deliveries d JOIN river_job j ON j.args->>'delivery' = d.id WHERE d.turn_id = $1"
			if err := db.QueryRow(t.Context(), q, run).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for end := time.Now().Add(patience); pending() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the run does not end")
			}
		}
		first.kill()
		var state string
		if err := db.QueryRow(t.Context(), "SELECT state::text FROM river_job WHERE args->>'delivery' IN (SELECT id FROM deliveries WHERE turn_id = $1)", run).Scan(&state); err != nil {
			t.Fatal(err)
		}
		if state != "available" || len(h.had()) != before {
			continue // it was quicker than the kill: that is not the case here
		}
		c.start("second", c.url, env).ready()
		got := h.await(before + 1)[before]
		want(t, "run", got.doc["run_id"], "run_"+run)
		want(t, "event", got.doc["event"], agent.EventSucceeded)
		time.Sleep(quiet)
		want(t, "callbacks", len(h.had()), before+1)
		return
	}
	t.Error("no node could be killed between settle and delivery")
}

// 114: an address that is private when it is connected to gets nothing, whatever
// it was when it was given.
func TestACallbackThatLeadsToAPrivateAddressIsNotSent(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	c := newCluster(t, 1, "BELAY_CALLBACK_DELAYS=200ms") // nothing is allowed
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		run := c.plant("demo", "hello", strings.Replace(h.url, "127.0.0.1", host, 1))
		eventually(t, "it is given up", func() bool { return len(c.callbacks(0, "status=dead&run_id="+run)) == 1 })
		want(t, "error", c.callbacks(0, "run_id="+run)[0]["error"], "the address is not public, so nothing was sent")
	}
	want(t, "callbacks", len(h.had()), 0)
}

// 101: it all works behind a pooler in transaction mode.
func TestCallbacksBehindPgbouncer(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.answer(http.StatusBadGateway)
	c := newCluster(t, 0)
	through := bouncer(t, c.url)
	for _, name := range []string{"node-1", "node-2"} {
		c.start(name, through, "BELAY_PUSH=off", "BELAY_OUTBOUND_ALLOW=127.0.0.1", "BELAY_CALLBACK_DELAYS=1s,1s,1s,1s,1s,1s,1s,1s", "BELAY_RETAIN_DELTAS=1ms").ready()
	}
	run, _ := c.told("demo", "hello", h.url)
	h.await(2)
	h.answer(http.StatusOK)
	eventually(t, "it is delivered", func() bool { return c.callbacks(0, "run_id="+run)[0]["status"] == "delivered" })
	for _, p := range c.nodes {
		for line := range strings.SplitSeq(p.out.String(), "\n") {
			if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, "prepared statement") {
				t.Errorf("%s: %s", p.name, line)
			}
		}
	}
}

// What a node's jobs start ends with them, and they end when they are told to.
func TestJobsEndWithAllThatTheyStarted(t *testing.T) {
	c := &cluster{t: t, url: pgtest.DB(t)}
	store, err := postgres.Open(t.Context(), postgres.Config{URL: c.url})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := &settings{}
	guard, err := s.guard()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	for range 2 {
		j, err := newJobs(s, store, guard, metrics.New(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		j.run(ctx)
		cancel()
	}
	store.Close()
	goleak.VerifyNone(t, before)
}

// A node that begins just as the database goes stays, and its jobs begin when the
// database is back.
func TestJobsWaitForADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	direct := pgtest.DB(t)
	proxy := pgtest.NewProxy(t, direct)
	store, err := postgres.Open(t.Context(), postgres.Config{URL: proxy.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := &settings{}
	guard, err := s.guard()
	if err != nil {
		t.Fatal(err)
	}
	j, err := newJobs(s, store, guard, metrics.New(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		j.run(ctx)
	}()
	select {
	case <-over:
		t.Fatal("the jobs ended with the database")
	case <-time.After(time.Second):
	}
	proxy.Restore()
	db, err := pgx.Connect(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	eventually(t, "a job was worked", func() bool {
		var n int
		err := db.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE state = 'completed'").Scan(&n)
		return err == nil && n > 0
	})
	cancel()
	<-over
}
