package main

import (
	"net/http"
	"syscall"
	"testing"

	"github.com/belayrun/belay/internal/agent"
)

const askDrink = `/tool ask_user {"question":"Tea or coffee?","options":["tea","coffee"]}`

// asked runs a turn until it waits for an answer, and returns the question.
func (c *cluster) asked(node int, input string, extra map[string]any) (*stream, map[string]any) {
	c.t.Helper()
	s := c.stream(node, "ask", input, extra)
	end := s.rest()
	r, _ := end.Data["response"].(map[string]any)
	actions, _ := r["required_actions"].([]any)
	if end.Type != "response.incomplete" || r["stop_reason"] != "paused" || len(actions) != 1 {
		c.t.Fatalf("%s: %v", end.Type, r)
	}
	return s, actions[0].(map[string]any)
}

// answer decides an action through a node.
func (c *cluster) answer(node int, action any, body map[string]any) (int, map[string]any) {
	c.t.Helper()
	return c.call(node, http.MethodPost, "/agents/actions/"+action.(string)+"/decision", body)
}

// ended returns a turn's response once its conversation is idle.
func (c *cluster) ended(node int, s *stream) map[string]any {
	c.t.Helper()
	c.idle(node, s.conv)
	_, r := c.call(node, http.MethodGet, "/responses/resp_"+s.run, nil)
	return r
}

func (c *cluster) idle(node int, conv string) {
	c.t.Helper()
	eventually(c.t, "the conversation is idle", func() bool {
		_, a := c.call(node, http.MethodGet, "/agents/conversations/"+conv, nil)
		return a["state"] == "idle"
	})
}

// open counts the requests of a conversation that nobody has decided.
func (c *cluster) open(node int, conv string) (n int) {
	c.t.Helper()
	_, a := c.call(node, http.MethodGet, "/agents/conversations/"+conv+"/actions", nil)
	for _, x := range a["data"].([]any) {
		if x.(map[string]any)["state"] == "open" {
			n++
		}
	}
	return n
}

// A question pauses its turn, is answered through the other node, once, by one of
// its options, and the turn goes on with the answer.
func TestAQuestionIsAnsweredThroughTheOtherNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, q := c.asked(0, askDrink, nil)
	want(t, "type", q["type"], "question")
	want(t, "question", q["arguments"].(map[string]any)["question"], "Tea or coffee?")
	want(t, "model calls", c.provider.Count(), 1)
	other := c.newToken("other", agent.PermAgentRun, agent.PermAgentView)
	res := c.request(t.Context(), c.nodes[1].url, other, http.MethodPost, "/agents/actions/"+q["id"].(string)+"/decision", map[string]any{"decision": "answer", "answer": "tea"})
	res.Body.Close()
	want(t, "somebody else answers", res.StatusCode, http.StatusForbidden)
	status, a := c.answer(1, q["id"], map[string]any{"decision": "answer", "answer": "milk"})
	want(t, "not an option", status, http.StatusBadRequest)
	want(t, "param", a["error"].(map[string]any)["param"], "answer")
	status, _ = c.answer(1, q["id"], map[string]any{"decision": "approve"})
	want(t, "approved", status, http.StatusBadRequest)
	for range 2 { // 95
		status, a = c.answer(1, q["id"], map[string]any{"decision": "answer", "answer": "tea"})
		want(t, "answered", status, http.StatusOK)
		want(t, "state", a["state"], "approved")
	}
	status, _ = c.answer(0, q["id"], map[string]any{"decision": "answer", "answer": "coffee"})
	want(t, "answered otherwise", status, http.StatusConflict)
	want(t, "status", c.ended(0, s)["status"], "completed")
	r := c.provider.Requests()
	m := r[len(r)-1].Messages
	want(t, "the model reads", m[len(m)-1].Content, "tea")
	want(t, "model calls", c.provider.Count(), 2)
	c.whole()
}

// 93: every node is killed while the question is open; it is answered afterwards.
func TestAQuestionOutlivesEveryNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, q := c.asked(0, `/tool ask_user {"question":"Where to?"}`, nil)
	c.nodes[0].kill()
	c.nodes[1].signal(syscall.SIGTERM)
	<-c.nodes[1].dead
	c.nodes = nil
	for _, name := range []string{"node-1", "node-3"} {
		c.start(name, c.url).ready()
	}
	want(t, "open", c.open(0, s.conv), 1)
	status, _ := c.answer(1, q["id"], map[string]any{"decision": "answer", "answer": "To the sea."})
	want(t, "answered", status, http.StatusOK)
	want(t, "status", c.ended(0, s)["status"], "completed")
	r := c.provider.Requests()
	m := r[len(r)-1].Messages
	want(t, "the model reads", m[len(m)-1].Content, "To the sea.")
	c.whole()
}

// 91: a stop by the session's owner, who may approve nothing, ends the turn with
// its question; nothing is open after it and the next message is accepted.
func TestAStopEndsAnOpenQuestion(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.token = c.newToken("owner", agent.PermAgentRun, agent.PermAgentView)
	s, q := c.asked(0, askDrink, nil)
	a := c.stop(1, s.conv, map[string]any{"wait_ms": 2000})
	want(t, "cancelled", a["cancelled"], true)
	want(t, "stop_status", a["stop_status"], "stopped")
	want(t, "open", c.open(0, s.conv), 0)
	status, _ := c.answer(0, q["id"], map[string]any{"decision": "answer", "answer": "tea"})
	want(t, "answered after the stop", status, http.StatusConflict)
	want(t, "stop_reason", c.ended(1, s)["stop_reason"], "cancelled")
	want(t, "model calls", c.provider.Count(), 1)
	end := c.stream(1, "ask", "/echo on we go", map[string]any{"previous_response_id": "resp_" + s.conv}).rest()
	want(t, "next message", end.Type, "response.completed")
	c.whole()
}

func TestANewMessageSupersedesAQuestion(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, q := c.asked(0, askDrink, nil)
	next := c.stream(1, "ask", "/echo never mind", map[string]any{"previous_response_id": "resp_" + s.conv})
	want(t, "next message", next.rest().Type, "response.completed")
	status, _ := c.answer(0, q["id"], map[string]any{"decision": "answer", "answer": "tea"})
	want(t, "answered late", status, http.StatusConflict)
	want(t, "stop_detail", c.ended(0, s)["stop_detail"], "superseded")
	want(t, "model calls", c.provider.Count(), 2)
	c.whole()
}

// A question that can't be asked is the model's mistake, and nobody is bothered.
func TestABadQuestionIsNotAsked(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for _, arguments := range []string{`{}`, `{"question":"Which?","options":[]," x":1}`, `{"question":"Which?","allow_free_text":false}`} {
		s := c.stream(0, "ask", "/tool ask_user "+arguments, nil)
		want(t, arguments, s.rest().Type, "response.completed")
		want(t, "open", c.open(0, s.conv), 0)
	}
	s := c.stream(0, "approve", `/tool add {"a":"one"}`, nil)
	want(t, "an approval with bad arguments", s.rest().Type, "response.completed")
	s = c.stream(0, "approve", `/tool add {"a":1,"b":2}`, nil)
	actions := s.rest().Data["response"].(map[string]any)["required_actions"].([]any)
	id := actions[0].(map[string]any)["id"]
	status, a := c.answer(0, id, map[string]any{"decision": "approve", "arguments": map[string]any{"a": "x", "b": 2}})
	want(t, "edited so that they don't fit", status, http.StatusBadRequest)
	want(t, "param", a["error"].(map[string]any)["param"], "arguments")
	status, _ = c.answer(0, id, map[string]any{"decision": "approve", "arguments": map[string]any{"a": 40, "b": 2}})
	want(t, "edited", status, http.StatusOK)
	c.idle(0, s.conv)
	r := c.provider.Requests()
	m := r[len(r)-1].Messages
	want(t, "the model reads", m[len(m)-1].Content, "42")
	c.whole()
}
