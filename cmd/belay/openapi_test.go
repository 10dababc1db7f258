package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/outbound"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
)

const ordersDocument = `
openapi: 3.1.0
info: {title: Orders, version: '1'}
servers: [{url: /v1}]
paths:
  /orders/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get: {operationId: get_order, responses: {'200': {description: it}}}
    delete: {operationId: cancel_order, responses: {'200': {description: done}}}
  /slow:
    get: {operationId: slow_report, responses: {'200': {description: it}}}
`

// orders is an API with its document, and what it saw.
type orders struct {
	*httptest.Server
	auth    chan string
	began   chan struct{}
	aborted chan time.Time
}

func newOrders(t *testing.T) *orders {
	t.Helper()
	o := &orders{auth: make(chan string, 100), began: make(chan struct{}, 10), aborted: make(chan time.Time, 10)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, ordersDocument) })
	mux.HandleFunc("GET /v1/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		o.auth <- r.Header.Get("Authorization")
		if r.PathValue("id") == "404" {
			http.Error(w, "no such order", http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, `{"id":%s,"state":"shipped"}`, r.PathValue("id"))
	})
	mux.HandleFunc("GET /v1/slow", func(_ http.ResponseWriter, r *http.Request) {
		o.began <- struct{}{}
		<-r.Context().Done()
		o.aborted <- time.Now()
	})
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

// run runs a belay command against the cluster's database and key.
func (c *cluster) run(stdin string, env []string, args ...string) (string, error) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "stdin")
	if err := os.WriteFile(file, []byte(stdin), 0o600); err != nil {
		c.t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		c.t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.CommandContext(c.t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asBelay+"=1", "BELAY_DATABASE_URL="+c.url, "BELAY_SECRET_KEY="+c.key)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = in
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const loopback = "BELAY_OUTBOUND_ALLOW=127.0.0.1"

const ordersTool = `kind: tool
key: orders
source: openapi
openapi:
  document_url: %[1]s/openapi.yaml
  auth: {type: bearer, secret: orders}
secret: %[2]s
---
kind: agent
key: clerk
config:
  model: demo
  tools:
    - {source: openapi, key: orders, names: [get_order, slow_report], timeout_ms: 60000}
`

// 47, 48, 50, 115: a tool of an OpenAPI document is called, and a stop through
// the other node closes its request; its secret is in no log and no row.
func TestStopInTheMiddleOfAnOpenAPICall(t *testing.T) {
	t.Parallel()
	const canary = "tool-canary-0123456789"
	api := newOrders(t)
	c := newCluster(t, 2, "BELAY_LOG_LEVEL=debug", loopback)
	file := fmt.Sprintf(ordersTool, api.URL, canary)
	for _, want := range []string{"created", "unchanged"} {
		if out, err := c.run(file, []string{loopback}, "apply", "-f", "-"); err != nil || strings.Count(out, want) != 2 {
			t.Fatalf("apply: %v\n%s", err, out)
		}
	}

	s := c.stream(0, "clerk", "/tool get_order {\"id\": 7}\n/tool get_order {\"id\": 404}\n/tool get_order {\"id\": \"x\"}", nil)
	want(t, "last event", s.rest().Type, "response.completed")
	results := fmt.Sprint(c.finished(0, s.conv))
	for _, w := range []string{"success {\"id\":7,\"state\":\"shipped\"}", "error error: 404 Not Found: no such order", "error error: the arguments do not match"} {
		if !strings.Contains(results, w) {
			t.Errorf("no %q in %s", w, results)
		}
	}
	want(t, "Authorization", <-api.auth, "Bearer "+canary)

	for through := range 2 {
		s = c.stream(0, "clerk", "/tool slow_report {}", map[string]any{"previous_response_id": "resp_" + s.conv})
		<-api.began
		asked := time.Now()
		a := c.stop(through, s.conv, map[string]any{"wait_ms": 5000})
		want(t, "stop_status", a["stop_status"], "stopped")
		at := <-api.aborted
		t.Logf("through node %d the upstream saw the abort after %v", through+1, at.Sub(asked))
		if d := at.Sub(asked); d > promise {
			t.Errorf("the upstream's connection was closed %v after the stop", d)
		}
		want(t, "reason", reason(s.rest()), "cancelled")
		done := c.finished(1, s.conv)
		if last := done[len(done)-1]; !strings.HasPrefix(last, "aborted ") {
			t.Errorf("the call: %s", last)
		}
	}
	next := c.stream(1, "clerk", "/fast 3", map[string]any{"previous_response_id": "resp_" + s.conv})
	want(t, "after the stop", next.rest().Type, "response.completed") // a strict provider took the history
	c.whole()
	for name, text := range map[string]string{"first log": c.nodes[0].out.String(), "second log": c.nodes[1].out.String(), "database": c.dump()} {
		if strings.Contains(text, canary) {
			t.Errorf("the secret is in the %s", name)
		}
	}
}

// finished are the outcomes of a conversation's tool calls with what they gave.
func (c *cluster) finished(node int, conv string) (out []string) {
	c.t.Helper()
	_, a := c.call(node, http.MethodGet, "/agents/conversations/"+conv+"/events?limit=500", nil)
	for _, e := range a["data"].([]any) {
		if e := e.(map[string]any); e["type"] == "tool.finished" {
			d := e["data"].(map[string]any)
			out = append(out, fmt.Sprint(d["outcome"], " ", d["output"]))
		}
	}
	return out
}

// 114: what is not allowed is not reached, neither by apply nor by a turn.
func TestToolsDoNotReachPrivateAddresses(t *testing.T) {
	t.Parallel()
	api := newOrders(t)
	c := newCluster(t, 1)
	file := fmt.Sprintf(ordersTool, api.URL, "s")
	out, err := c.run(file, nil, "apply", "-f", "-")
	if err == nil || !strings.Contains(out, "document 1, line 5, column 17: openapi.document_url: can't be used: 127.0.0.1: the address is not allowed: it is a loopback address") {
		t.Errorf("apply: %v\n%s", err, out)
	}
	inline := fmt.Sprintf("kind: agent\nkey: clerk\nconfig:\n  model: demo\n  tools:\n    - source: openapi\n      key: orders\n      openapi:\n        base_url: %s/v1\n        document: |%s",
		api.URL, strings.ReplaceAll(ordersDocument, "\n", "\n          "))
	if out, err := c.run(inline, nil, "apply", "-f", "-"); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	s := c.stream(0, "clerk", "/tool get_order {\"id\": 7}", nil)
	want(t, "last event", s.rest().Type, "response.completed")
	want(t, "the call", c.finished(0, s.conv), "[error error: 127.0.0.1: the address is not allowed: it is a loopback address]")
	if len(api.auth) != 0 {
		t.Error("the API was reached")
	}
}

// What can't be used is told by apply, and nothing is written.
func TestApplyTellsToolsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	api := newOrders(t)
	c := newCluster(t, 1)
	good := fmt.Sprintf(ordersTool, api.URL, "s")
	for _, tc := range []struct{ old, new, want string }{
		{"/openapi.yaml", "/nothing", "line 5, column 17: openapi.document_url: can't be used: it was answered with 404 Not Found"},
		{"/openapi.yaml", "/v1/orders/1", "openapi.document_url: can't be used: it is no OpenAPI 3 document"},
		{"get_order", "get_ordr", "document 2, line 14, column 46: config.tools[0].names[0]: the document has no operation \"get_ordr\"; it has get_order"},
		{"secret: s\n", "", "openapi.auth.secret: no secret is kept by a shared tool \"orders\""},
		{"secret: orders", "secret: gone", "openapi.auth.secret"},
		{"key: orders, names", "key: order, names", "config.tools[0].key: there is no shared tool \"order\""},
	} {
		out, err := c.run(strings.Replace(good, tc.old, tc.new, 1), []string{loopback}, "apply", "-f", "-")
		if err == nil || !strings.Contains(out, tc.want) {
			t.Errorf("%s: %v\n%s", tc.new, err, out)
		}
	}
	c.with(func(store *postgres.Store) error {
		list, err := store.Tools(t.Context(), c.project)
		if len(list) != 0 {
			t.Errorf("written: %+v", list)
		}
		return err
	})
}

// A document is read from a file beside the manifest's, stored whole, and never
// looked for by a node; what is wrong in it is told with the file's name.
func TestApplyReadsADocumentFromAFile(t *testing.T) {
	t.Parallel()
	api := newOrders(t)
	c := newCluster(t, 1, loopback)
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("agents.yaml", strings.Replace(fmt.Sprintf(ordersTool, api.URL, "s"), "document_url: "+api.URL+"/openapi.yaml",
		"document_file: ./orders.yaml\n  base_url: "+api.URL+"/v1", 1))
	apply := func() (string, error) {
		return c.run("", []string{loopback}, "apply", "-f", filepath.Join(dir, "agents.yaml"))
	}
	const at = "agents.yaml: document 1, line 5, column 18: openapi.document_file: ./orders.yaml: "
	if out, err := apply(); err == nil || !strings.Contains(out, at+"can't be opened: no such file or directory") {
		t.Errorf("without the file: %v\n%s", err, out)
	}
	write("orders.yaml", "openapi: 3.1.0\npaths: {/orders: [}\n")
	if out, err := apply(); err == nil || !strings.Contains(out, at+"can't be used: it is no OpenAPI document: ") || !strings.Contains(out, "line 2") {
		t.Errorf("with a broken file: %v\n%s", err, out)
	}
	write("orders.yaml", ordersDocument)
	for _, want := range []string{"created", "unchanged"} {
		if out, err := apply(); err != nil || strings.Count(out, want) != 2 {
			t.Fatalf("apply: %v\n%s", err, out)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s := c.stream(0, "clerk", "/tool get_order {\"id\": 7}", nil)
	s.rest()
	want(t, "the call", c.finished(0, s.conv), `[success {"id":7,"state":"shipped"}]`)
	body := map[string]any{"key": "files", "source": "openapi", "openapi": map[string]any{"document_file": "/etc/passwd"}}
	status, a := c.call(0, http.MethodPost, "/tools", body)
	want(t, "a file by the API", fmt.Sprint(status, " ", a["error"].(map[string]any)["param"]), "400 openapi.document_file")
}

// shelf is one shared tool and its secret.
type shelf struct{ tool agent.SharedTool }

func (s shelf) Tool(context.Context, string, string) (agent.SharedTool, error) {
	return s.tool, nil
}

func (s shelf) Secret(context.Context, string, string) (string, error) { return s.tool.Secret, nil }

// 114: a redirect is followed, to allowed addresses only, and a secret stays
// with the origin that it is for.
func TestASecretDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	const canary = "tool-canary-0123456789"
	seen := make(chan string, 10)
	away := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- fmt.Sprint(r.Header) }))
	t.Cleanup(away.Close)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/orders/1":
			http.Redirect(w, r, away.URL, http.StatusTemporaryRedirect)
		case "/v1/orders/2":
			http.Redirect(w, r, "/v1/orders/3", http.StatusFound)
		case "/v1/orders/3":
			seen <- fmt.Sprint(r.Header)
		default:
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		}
	}))
	t.Cleanup(api.Close)
	guard, err := (&settings{OutboundAllow: " 127.0.0.0/8 ,"}).guard()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guard.Transport().CloseIdleConnections)
	for _, auth := range []agent.ToolAuth{{Type: "bearer"}, {Type: "basic", Username: "u"}, {Type: "header", Header: "X-Api-Key"}} {
		auth.Secret = "orders"
		box := toolbox(shelf{agent.SharedTool{Source: "openapi", Secret: canary, OpenAPI: &agent.OpenAPISource{
			Document: ordersDocument, BaseURL: api.URL + "/v1", Auth: &auth,
		}}}, nil, guard, nil, nil)
		tools, err := box.Open(t.Context(), agent.Session{}, []agent.ToolRef{{Source: "openapi", Key: "orders", Names: []string{"get_order"}}})
		if err != nil {
			t.Fatal(err)
		}
		for id, carried := range map[int]bool{1: false, 2: true} {
			if _, err := tools[0].Call(t.Context(), fmt.Appendf(nil, `{"id":%d}`, id)); err != nil {
				t.Fatal(err)
			}
			got := <-seen
			name := cmp.Or(auth.Header, "Authorization")
			if strings.Contains(got, name) != carried || !carried && strings.Contains(got, canary) {
				t.Errorf("%s to order %d: %s", auth.Type, id, got)
			}
		}
		_, err = tools[0].Call(t.Context(), []byte(`{"id":4}`))
		if !errors.Is(err, outbound.ErrRefused) || strings.Contains(err.Error(), canary) {
			t.Errorf("to the metadata address: %v", err)
		}
	}
}

func TestASecretOutlivesTheRotationOfItsKey(t *testing.T) {
	t.Parallel()
	url, before, after := pgtest.DB(t), access.NewKey(), access.NewKey()
	open := func(keys ...string) *postgres.Store {
		sealer, err := access.NewSealer(keys...)
		if err != nil {
			t.Fatal(err)
		}
		s, err := postgres.Open(t.Context(), postgres.Config{URL: url, Sealer: sealer})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	s := open(before)
	project, err := s.Project(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	put := func(s *postgres.Store) {
		x := agent.SharedTool{Project: project, Key: "pets", Source: agent.SourceOpenAPI, Secret: "s1"}
		if err := s.PutTool(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	secret := func(s *postgres.Store) string {
		got, err := s.Secret(t.Context(), project, "pets")
		if err != nil {
			return "error"
		}
		return got
	}
	put(s)
	rotated, alone := open(after, before), open(after)
	want(t, "with both keys", secret(rotated), "s1")
	want(t, "without the old one", secret(alone), "error")
	put(rotated)
	want(t, "sealed anew", secret(alone), "s1")
}
