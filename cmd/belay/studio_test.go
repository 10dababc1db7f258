package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
)

// person is a browser of somebody who is signed in.
type person struct {
	t    *testing.T
	c    *cluster
	http *http.Client
}

const testPassword = "a password of a test"

// signIn makes a member and signs him in on a node.
func (c *cluster) signIn(node int, email string, role agent.MemberRole) *person {
	c.t.Helper()
	c.with(func(store *postgres.Store) error {
		_, err := addMember(c.t.Context(), store, agent.Member{Project: c.project, Role: role, User: agent.User{Email: email}}, testPassword)
		return err
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	p := &person{t: c.t, c: c, http: &http.Client{Jar: jar, Transport: httpapitest.NewOracle(c.t, http.DefaultTransport)}}
	if status, out := p.call(node, http.MethodPost, "/auth/sign-in", map[string]any{"email": email, "password": testPassword}); status != http.StatusOK {
		c.t.Fatalf("sign in: %d %v", status, out)
	}
	return p
}

func (p *person) request(ctx context.Context, node int, method, path string, body any) *http.Response {
	p.t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.c.nodes[node].url+"/api"+path, in)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := p.http.Do(req)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

func (p *person) call(node int, method, path string, body any) (status int, out map[string]any) {
	p.t.Helper()
	res := p.request(p.t.Context(), node, method, path, body)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &out); err != nil {
			p.t.Fatalf("%s %s: %v in %q", method, path, err, b)
		}
	}
	return res.StatusCode, out
}

// watch opens the one stream of a browser; its events' data are whole frames.
func (p *person) watch(node int, query string) *stream {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	res := p.request(ctx, node, http.MethodGet, "/stream?"+query, nil)
	s := &stream{t: p.t, cancel: cancel, events: make(chan event, 100_000)}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(s.events)
		defer res.Body.Close()
		readEvents(res.Body, s.events)
	})
	p.t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return s
}

// journal waits for a kind of event in what a browser follows.
func (s *stream) journal(kind string) map[string]any {
	s.t.Helper()
	for {
		if e := s.until("journal").Data["event"].(map[string]any); e["type"] == kind {
			return e["data"].(map[string]any)
		}
	}
}

// 112 and the promise: signed in on node 1, a turn that a program began there is
// followed and stopped through node 2, and everybody is told who it was.
func TestStudioStopsThroughTheOtherNodeWhatAProgramBegan(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	operator := c.signIn(0, "op@x.test", agent.RoleOperator)
	viewer := c.signIn(1, "view@x.test", agent.RoleViewer)
	turn := c.stream(0, "demo", "/slow 6000", nil)
	browser := operator.watch(1, "follow="+turn.conv+":0&states="+turn.conv+"&operations=true")
	browser.until("ready")
	for range 3 {
		browser.journal("text.delta")
	}
	path := "/agents/demo/sessions/" + turn.conv
	if status, out := viewer.call(1, http.MethodPost, path+"/cancel", nil); status != http.StatusForbidden {
		t.Errorf("a viewer stops: %d %v", status, out)
	}
	_, session := viewer.call(1, http.MethodGet, path, nil)
	live, _ := session["run"].(map[string]any)
	want(t, "node", live["node"], "node-1")
	want(t, "door", live["door"], "client")
	asked := time.Now()
	status, out := operator.call(1, http.MethodPost, path+"/cancel?wait_ms=5000", map[string]any{"runId": turn.run})
	c.closed(c.provider.Count(), asked)
	want(t, "status", status, 200)
	want(t, "cancelled", out["cancelled"], true)
	want(t, "runIds", out["runIds"], "["+turn.run+"]")
	want(t, "stopStatus", out["stopStatus"], "stopped")
	want(t, "sender's reason", reason(turn.rest()), "cancelled")
	end := browser.journal("turn.ended")
	want(t, "door of the stop", end["stop"].(map[string]any)["door"], "studio")
	_, detail := viewer.call(0, http.MethodGet, "/runs/"+turn.run, nil)
	run := detail["run"].(map[string]any)
	stop := run["stop"].(map[string]any)
	want(t, "state", run["state"], "cancelled")
	want(t, "who", stop["by"].(map[string]any)["name"], "op@x.test")
	want(t, "which node took it", stop["node"], "node-2")
	if p := stop["path"]; p != "push" && p != "poll" {
		t.Errorf("node 1 heard of it by %v", p)
	}
	calls := detail["calls"].([]any)
	want(t, "calls", len(calls), 1)
	want(t, "the call's status", calls[0].(map[string]any)["status"], "cancelled")
}

// A browser goes on where it was when its node is gone, through another one.
func TestABrowserGoesOnThroughAnotherNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	owner := c.signIn(0, "owner@x.test", agent.RoleOwner)
	_, session := owner.call(1, http.MethodPost, "/agents/demo/sessions", nil)
	id := session["id"].(string)
	path := "/agents/demo/sessions/" + id
	first := owner.watch(0, "follow="+id+":0")
	first.until("ready")
	status, begun := owner.call(1, http.MethodPost, path+"/messages", map[string]any{"content": "/slow 400"})
	want(t, "begun", status, 202)
	var text strings.Builder
	read := func(s *stream, n int) (last string, ended bool) {
		for range n {
			e := s.until("journal")
			j := e.Data["event"].(map[string]any)
			last = e.ID
			switch j["type"] {
			case "text.delta":
				text.WriteString(j["data"].(map[string]any)["text"].(string))
			case "turn.ended":
				return last, true
			}
		}
		return last, false
	}
	last, _ := read(first, 12)
	c.nodes[0].signal(syscall.SIGKILL)
	second := owner.watch(1, "follow="+last)
	second.until("ready")
	if status, busy := owner.call(1, http.MethodPost, path+"/messages", map[string]any{"content": "x"}); status != http.StatusConflict {
		t.Errorf("busy: %d %v", status, busy)
	} else {
		want(t, "the turn in the way", busy["error"].(map[string]any)["run_id"], begun["runId"])
	}
	read(second, 5)
	if status, out := owner.call(1, http.MethodPost, path+"/cancel?wait_ms=5000", nil); status != 200 || out["stopStatus"] != "stopped" {
		t.Errorf("stop: %d %v", status, out)
	}
	read(second, 1000)
	_, page := owner.call(1, http.MethodGet, path+"/transcript", nil)
	data := page["data"].([]any)
	kept := data[len(data)-2].(map[string]any)["data"].(map[string]any)
	want(t, "kept", kept["content"], text.String())
	want(t, "kept reason", kept["stop_reason"], "cancelled")
}

// 91, 93: an approval that survives a stop, and a restart of the cluster, is in
// the inbox still; who may decide it is told so.
func TestAnApprovalIsInTheInboxUntilItIsDecided(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	builder := c.signIn(0, "builder@x.test", agent.RoleBuilder)
	operator := c.signIn(1, "op@x.test", agent.RoleOperator)
	_, session := builder.call(0, http.MethodPost, "/agents/approve/sessions", nil)
	path := "/agents/approve/sessions/" + session["id"].(string)
	inbox := operator.watch(1, "")
	inbox.until("inbox")
	builder.call(0, http.MethodPost, path+"/messages", map[string]any{"content": `/tool add {"a":1,"b":2}`})
	for inbox.until("inbox").Data["open"] != 1.0 {
	}
	_, out := builder.call(0, http.MethodPost, path+"/cancel?wait_ms=2000", nil)
	want(t, "a stop without the right", out["cancelled"], false)
	_, list := operator.call(1, http.MethodGet, "/actions", nil)
	a := list["data"].([]any)[0].(map[string]any)
	want(t, "mayDecide", a["mayDecide"], true)
	_, mine := builder.call(0, http.MethodGet, "/actions", nil)
	want(t, "mayDecide of the builder", mine["data"].([]any)[0].(map[string]any)["mayDecide"], false)
	for node, name := range []string{"builder", "operator"} {
		who := []*person{builder, operator}[node]
		status, out := who.call(node, http.MethodPost, "/actions/"+a["id"].(string)+"/decision", map[string]any{"decision": "reject", "comment": "no"})
		if wantStatus := []int{403, 200}[node]; status != wantStatus {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	eventually(t, "the turn has gone on and ended", func() bool {
		_, s := builder.call(0, http.MethodGet, path, nil)
		return s["state"] == "idle" && s["lastStatus"] == "completed"
	})
}

// With the database away a stop still reaches the turn of this node, and says
// that it is not recorded.
func TestStudioStopsWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 0)
	proxy := pgtest.NewProxy(t, c.url)
	c.start("node-1", proxy.URL()).ready()
	owner := c.signIn(0, "owner@x.test", agent.RoleOwner)
	turn := c.stream(0, "demo", "/slow 6000", nil)
	turn.until("response.output_text.delta")
	owner.call(0, http.MethodGet, "/auth/me", nil)
	proxy.Cut()
	asked := time.Now()
	status, out := owner.call(0, http.MethodPost, "/agents/demo/sessions/"+turn.conv+"/cancel", nil)
	c.closed(c.provider.Count(), asked)
	want(t, "status", status, 503)
	e := out["error"].(map[string]any)
	want(t, "code", e["code"], "stop_not_recorded")
	want(t, "told", e["told"], true)
}

func TestUserCommands(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	run := func(stdin string, args ...string) (string, string, error) {
		var out, errs bytes.Buffer
		root := newRoot(&out, &errs)
		root.SetIn(strings.NewReader(stdin))
		root.SetArgs(append(args, "--database-url", c.url))
		err := root.ExecuteContext(t.Context())
		return strings.TrimSpace(out.String()), errs.String(), err
	}
	password, _, err := run("", "user", "create", "--email", "Ann@x.test", "--role", "owner", "--name", "Ann")
	if err != nil || agent.CheckPassword("", password) != nil {
		t.Fatalf("%q, %v", password, err)
	}
	signIn := func(password string) int {
		body := fmt.Sprintf(`{"email":"ann@x.test","password":%q}`, password)
		res, err := http.Post(c.nodes[0].url+"/api/auth/sign-in", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	want(t, "sign in", signIn(password), 200)
	for _, bad := range [][]string{
		{"user", "create", "--email", "ann@x.test"},
		{"user", "create", "--email", "ann"},
		{"user", "create", "--email", "bob@x.test", "--role", "king"},
		{"user", "role", "--email", "ann@x.test", "--role", "viewer"}, // the last owner
		{"user", "remove", "--email", "ann@x.test"},
		{"user", "password", "--email", "nobody@x.test"},
	} {
		if out, _, err := run("", bad...); err == nil {
			t.Errorf("%v: %q", bad, out)
		}
	}
	if _, _, err := run("short\n", "user", "create", "--email", "bob@x.test", "--password-stdin"); err == nil {
		t.Error("a short password is taken")
	}
	if out, _, err := run("bob's long password\n", "user", "create", "--email", "bob@x.test", "--role", "builder", "--password-stdin"); err != nil || out != "" {
		t.Errorf("%q, %v", out, err)
	}
	if _, _, err := run("", "user", "role", "--email", "bob@x.test", "--role", "owner"); err != nil {
		t.Error(err)
	}
	list, _, err := run("", "user", "list")
	if err != nil || !strings.Contains(list, "ann@x.test  owner  Ann") || !strings.Contains(list, "bob@x.test  owner") || strings.Contains(list, password) {
		t.Errorf("%s, %v", list, err)
	}
	next, _, err := run("", "user", "password", "--email", "ann@x.test")
	if err != nil || next == password {
		t.Errorf("%q, %v", next, err)
	}
	want(t, "the old password", signIn(password), 401)
	want(t, "the new password", signIn(next), 200)
	if _, _, err := run("", "user", "remove", "--email", "ann@x.test"); err != nil {
		t.Error(err)
	}
	want(t, "who was removed", signIn(next), 403)
}
