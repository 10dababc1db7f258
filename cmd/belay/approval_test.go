package main

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/belayrun/belay/internal/agent"
)

// as is the same cluster, seen by who holds another token.
func (c *cluster) as(token string) *cluster {
	o := *c
	o.token = token
	return &o
}

// careful makes an agent that asks a person before it adds, by a rule of its own.
func (c *cluster) careful(more map[string]any) {
	c.t.Helper()
	config := map[string]any{
		"model":     "demo",
		"tools":     []map[string]any{{"source": "function", "key": "tools"}},
		"approvals": map[string]string{"add": "always"},
	}
	maps.Copy(config, more)
	c.agent("careful", config)
}

// inbox returns the ids of the open requests that a principal sees.
func (c *cluster) inbox(node int) (ids []string) {
	c.t.Helper()
	status, a := c.call(node, http.MethodGet, "/agents/actions?state=open", nil)
	if status != http.StatusOK {
		c.t.Fatalf("inbox: %d %v", status, a)
	}
	for _, x := range a["data"].([]any) {
		ids = append(ids, x.(map[string]any)["id"].(string))
	}
	return ids
}

// outlived begins a turn that asks for approvals beside a tool that runs, and stops
// it as its owner, who may approve nothing: it returns the conversation and the
// requests, the oldest first.
func (c *cluster) outlived(owner *cluster, calls ...string) (s *stream, ids []string) {
	c.t.Helper()
	s = owner.stream(0, "careful", strings.Join(calls, "\n")+"\n"+`/tool wait {"seconds":300}`, nil)
	eventually(c.t, "the requests are open", func() bool { return owner.open(1, s.conv) == len(calls) })
	a := owner.stop(1, s.conv, map[string]any{"wait_ms": 10000})
	want(c.t, "cancelled", a["cancelled"], true)
	want(c.t, "stop_status", a["stop_status"], "stopped")
	want(c.t, "run_ids", fmt.Sprint(a["run_ids"]), fmt.Sprint([]string{s.run}))
	want(c.t, "open after the stop", owner.open(0, s.conv), len(calls))
	_, list := owner.call(0, http.MethodGet, "/agents/conversations/"+s.conv+"/actions", nil)
	for _, x := range list["data"].([]any) {
		ids = append(ids, x.(map[string]any)["id"].(string))
	}
	return s, ids
}

// 91, 95: what a stop has left is approved through the other node, with edited
// arguments, and pressed again and again: a new turn runs the call once.
func TestAnApprovalOutlivesAStopAndGoesOnInANewTurn(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.careful(nil)
	owner := c.as(c.newToken("owner", agent.PermAgentRun, agent.PermAgentView))
	boss := c.as(c.newToken("boss", agent.PermAgentApprove))
	stranger := c.as(c.newToken("stranger", agent.PermAgentRun))
	s, ids := c.outlived(owner, `/tool add {"a":1,"b":2}`)
	calls := c.provider.Count()
	want(t, "the boss's inbox", fmt.Sprint(boss.inbox(1)), fmt.Sprint(ids))
	want(t, "the owner's inbox", fmt.Sprint(owner.inbox(0)), fmt.Sprint(ids))
	want(t, "a stranger's inbox", len(stranger.inbox(0)), 0)
	status, _ := owner.answer(1, ids[0], map[string]any{"decision": "approve"})
	want(t, "the owner approves", status, http.StatusForbidden)

	yes := map[string]any{"decision": "approve", "arguments": map[string]any{"a": 40, "b": 2}}
	var wg sync.WaitGroup
	runs := make([]any, 6)
	for i := range runs {
		wg.Go(func() {
			status, a := boss.answer(i%2, ids[0], yes)
			if status != http.StatusOK {
				t.Errorf("approved: %d %v", status, a)
			}
			runs[i] = a["run_id"]
		})
	}
	wg.Wait()
	for _, r := range runs {
		want(t, "run", r, runs[0])
	}
	if runs[0] == s.run {
		t.Error("the stopped run goes on")
	}
	status, _ = boss.answer(0, ids[0], map[string]any{"decision": "reject"})
	want(t, "rejected after it was approved", status, http.StatusConflict)
	c.idle(1, s.conv)
	_, r := c.call(0, http.MethodGet, "/responses/resp_"+fmt.Sprint(runs[0]), nil)
	want(t, "status", r["status"], "completed")
	want(t, "model calls", c.provider.Count(), calls+1) // and the strict provider took the history
	last := c.provider.Requests()[calls].Messages
	want(t, "the model reads", last[len(last)-1].Content, "42")
	n := 0
	for _, e := range c.journal(0, s.conv) {
		if d, _ := e["data"].(map[string]any); e["type"] == "tool.started" && d["name"] == "add" {
			n++
		}
	}
	want(t, "starts", n, 1)
	want(t, "the boss's inbox", len(boss.inbox(0)), 0)
	_, old := c.call(0, http.MethodGet, "/responses/resp_"+s.run, nil)
	want(t, "the stopped run", old["stop_reason"], "cancelled")
	next := owner.stream(0, "careful", "/echo on we go", map[string]any{"previous_response_id": "resp_" + s.conv})
	want(t, "next message", next.rest().Type, "response.completed")
	c.whole()
}

// Of several that a stop has left each goes on after the other; one may be
// rejected, and a stop of who may approve closes what is left.
func TestSeveralApprovalsOutliveAStop(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.careful(nil)
	owner := c.as(c.newToken("owner", agent.PermAgentRun, agent.PermAgentView))
	boss := c.as(c.newToken("boss", agent.PermAgentApprove, agent.PermSessionManageOthers))
	three := []string{`/tool add {"a":1,"b":2}`, `/tool add {"a":3,"b":4}`, `/tool add {"a":5,"b":6}`}
	s, ids := c.outlived(owner, three...)
	status, first := boss.answer(0, ids[0], map[string]any{"decision": "approve"})
	want(t, "approved", status, http.StatusOK)
	// Whether the new turn has ended by now or not: it is 409, or goes on after it.
	status, second := boss.answer(1, ids[1], map[string]any{"decision": "approve"})
	if status == http.StatusConflict {
		e := second["error"].(map[string]any)
		want(t, "code", e["code"], "agent_run_conflict")
		want(t, "run_id", e["run_id"], first["run_id"])
		c.idle(0, s.conv)
		status, second = boss.answer(1, ids[1], map[string]any{"decision": "approve"})
	}
	want(t, "approved too", status, http.StatusOK)
	if second["run_id"] == first["run_id"] {
		t.Error("both are of one run")
	}
	c.idle(1, s.conv)
	a := owner.stop(0, s.conv, nil)
	want(t, "stopped by the owner", a["cancelled"], false)
	want(t, "open", c.open(1, s.conv), 1)
	a = boss.stop(0, s.conv, nil)
	want(t, "stopped by the boss", a["cancelled"], true)
	want(t, "run_ids", len(a["run_ids"].([]any)), 0)
	status, _ = boss.answer(0, ids[2], map[string]any{"decision": "approve"})
	want(t, "approved after the stop", status, http.StatusConflict)

	s, ids = c.outlived(owner, three[:2]...)
	calls := c.provider.Count()
	status, _ = boss.answer(1, ids[0], map[string]any{"decision": "reject"})
	want(t, "rejected", status, http.StatusOK)
	want(t, "state", c.state(0, s.conv), "idle")
	want(t, "model calls", c.provider.Count(), calls)
	next := owner.stream(1, "careful", "/echo never mind", map[string]any{"previous_response_id": "resp_" + s.conv})
	want(t, "next message", next.rest().Type, "response.completed")
	status, _ = boss.answer(0, ids[1], map[string]any{"decision": "approve"})
	want(t, "approved after a new message", status, http.StatusConflict)
	status, _ = boss.call(0, http.MethodDelete, "/agents/conversations/"+s.conv, nil)
	want(t, "deleted", status, http.StatusNoContent)
	status, _ = boss.answer(0, ids[1], map[string]any{"decision": "approve"})
	want(t, "approved after it was deleted", status, http.StatusNotFound)
	c.whole()
}

// Nobody decides in time: the turn goes on by itself, on a node that did not ask,
// and the tool never runs.
func TestARequestExpires(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.careful(map[string]any{"execution": map[string]any{"action_expiry_seconds": 2}})
	s := c.stream(0, "careful", `/tool add {"a":1,"b":2}`, nil)
	actions := s.rest().Data["response"].(map[string]any)["required_actions"].([]any)
	id := actions[0].(map[string]any)["id"]
	c.nodes[0].kill()
	_, list := c.call(1, http.MethodGet, "/agents/conversations/"+s.conv+"/actions", nil)
	a := list["data"].([]any)[0].(map[string]any)
	if a["expires_at"] == nil || a["expires_at"].(string) <= a["created_at"].(string) {
		t.Errorf("expires at %v, asked at %v", a["expires_at"], a["created_at"])
	}
	r := c.ended(1, s)
	want(t, "status", r["status"], "completed")
	status, e := c.answer(1, id, map[string]any{"decision": "approve"})
	want(t, "approved late", status, http.StatusConflict)
	want(t, "code", e["error"].(map[string]any)["code"], "action_already_decided")
	_, list = c.call(1, http.MethodGet, "/agents/conversations/"+s.conv+"/actions", nil)
	a = list["data"].([]any)[0].(map[string]any)
	want(t, "state", a["state"], "expired")
	want(t, "decided_by", a["decided_by"], nil)
	last := c.provider.Requests()
	m := last[len(last)-1].Messages
	want(t, "the model reads", m[len(m)-1].Content, "Nobody approved this call in time, so it was not made.")
	want(t, "tools run", len(c.those(1, s.conv, "tool.started")), 0)
	c.whole()
}

// Everything is restarted while an approval is open; it is edited and approved
// afterwards, through a node that never saw its turn.
func TestAnApprovalOutlivesEveryNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.stream(0, "approve", `/tool add {"a":1,"b":2}`, nil)
	actions := s.rest().Data["response"].(map[string]any)["required_actions"].([]any)
	id := actions[0].(map[string]any)["id"]
	c.nodes[0].kill()
	c.nodes[1].signal(syscall.SIGTERM)
	<-c.nodes[1].dead
	c.nodes = nil
	for _, name := range []string{"node-3", "node-4"} {
		c.start(name, c.url).ready()
	}
	want(t, "inbox", fmt.Sprint(c.inbox(0)), fmt.Sprint([]any{id}))
	yes := map[string]any{"decision": "approve", "arguments": map[string]any{"a": 40, "b": 2}}
	for i := range 2 { // 95: pressed on both
		status, _ := c.answer(i, id, yes)
		want(t, "approved", status, http.StatusOK)
	}
	want(t, "status", c.ended(1, s)["status"], "completed")
	r := c.provider.Requests()
	m := r[len(r)-1].Messages
	want(t, "the model reads", m[len(m)-1].Content, "42")
	want(t, "starts", len(c.those(0, s.conv, "tool.started")), 1)
	c.whole()
}

// 95, 98: the node that runs an approved call is killed: the call is unconfirmed,
// and runs nowhere again, however often approve is pressed.
func TestAnApprovedCallRunsOnceThoughItsNodeDies(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.careful(map[string]any{"approvals": map[string]string{"wait": "always"}})
	s := c.stream(0, "careful", `/tool wait {"seconds":300}`, nil)
	id := s.rest().Data["response"].(map[string]any)["required_actions"].([]any)[0].(map[string]any)["id"]
	yes := map[string]any{"decision": "approve"}
	status, _ := c.answer(1, id, yes)
	want(t, "approved", status, http.StatusOK)
	eventually(t, "the tool runs", func() bool { return len(c.those(1, s.conv, "tool.started")) == 1 })
	for _, p := range c.nodes {
		p.kill()
	}
	c.nodes = nil
	c.start("node-3", c.url).ready()
	status, _ = c.answer(0, id, yes)
	want(t, "approved again", status, http.StatusOK)
	r := c.ended(0, s)
	want(t, "status", r["status"], "failed")
	done := c.toolsFinished(s.conv)
	if len(done) != 1 || done[0]["outcome"] != "unconfirmed" {
		t.Errorf("tools %v", done)
	}
	status, _ = c.answer(0, id, yes)
	want(t, "approved for the third time", status, http.StatusOK)
	want(t, "starts", len(c.those(0, s.conv, "tool.started")), 1)
	want(t, "model calls", c.provider.Count(), 1)
	c.whole()
}

// A rule by a tool's name holds for each kind of source, goes before the source's
// own approval, and is told at once where there is no such tool.
func TestAnAgentsRulesByToolName(t *testing.T) {
	t.Parallel()
	api := newOrders(t)
	c := newCluster(t, 1, loopback)
	const clerk = `
  tools:
    - {source: openapi, key: orders}
    - {source: sandbox, key: shell, approval: always}
    - {source: memory, key: mind}
    - {source: agent, key: demo, agent: {agent: demo}}
    - {source: function, key: tools, names: [clock, add], approval: always}
    - {source: question, key: user}
`
	const rules = `
  approvals: {cancel_order: always, exec: always, list_files: never, remember: always, ask_demo: always, clock: never, ask_user: never}
`
	file := strings.Split(fmt.Sprintf(ordersTool, api.URL, "s"), "\n  tools:")[0] + clerk
	out, err := c.run(file+"  approvals: {delete_order: always}\n", []string{loopback}, "apply", "-f", "-")
	if known := "config.approvals.delete_order: the agent has no tool of that name"; err == nil || !strings.Contains(out, known) {
		t.Errorf("apply: %v, want %s\n%s", err, known, out)
	}
	if out, err := c.run(file+rules, []string{loopback}, "apply", "-f", "-"); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	for call, asks := range map[string]string{
		`get_order {"id":7}`:             "",
		`cancel_order {"id":7}`:          "approval",
		`exec {"command":"true"}`:        "approval",
		`list_files {}`:                  "",
		`read_file {"path":"x"}`:         "approval", // the source's own
		`remember {"text":"tea"}`:        "approval",
		`recall {"query":"tea"}`:         "",
		`ask_demo {"message":"/fast 1"}`: "approval",
		`clock {}`:                       "",
		`add {"a":1,"b":2}`:              "approval",
		`ask_user {"question":"Why?"}`:   "question",
	} {
		s := c.stream(0, "clerk", "/tool "+call, nil)
		r, _ := s.rest().Data["response"].(map[string]any)
		got := ""
		if actions, _ := r["required_actions"].([]any); len(actions) == 1 {
			got = actions[0].(map[string]any)["type"].(string)
		}
		want(t, call, got, asks)
		if asks != "" {
			c.stop(0, s.conv, nil)
		}
		c.idle(0, s.conv)
	}
	c.whole()
}
