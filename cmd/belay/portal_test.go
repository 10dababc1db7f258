package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

const (
	portalAPI  = "/api/portal/v1/help"
	siteSecret = "0123456789abcdef0123456789abcdef"
)

// showing declares a portal that shows an agent, changed by change.
func (c *cluster) showing(key string, change func(*agent.Portal)) {
	c.t.Helper()
	p := agent.Portal{
		Project: c.project, Slug: "help", Agent: key, Title: "Help", Welcome: "Ask us.",
		Origins: []string{"https://shop.example"}, Secret: siteSecret,
	}
	if change != nil {
		change(&p)
	}
	c.with(func(s *postgres.Store) error { return s.PutPortal(c.t.Context(), p) })
}

// visit sends a request to a portal as a visitor.
func (c *cluster) visit(node int, token, method, path string, body any, headers ...string) (int, http.Header, map[string]any) {
	c.t.Helper()
	var b bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&b).Encode(body); err != nil {
			c.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.nodes[node].url+portalAPI+path, &b)
	if err != nil {
		c.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var out map[string]any
	_ = json.NewDecoder(res.Body).Decode(&out) // some answers have no body
	return res.StatusCode, res.Header, out
}

// visitor is let in anonymously.
func (c *cluster) visitor(node int) string {
	c.t.Helper()
	status, _, a := c.visit(node, "", http.MethodPost, "/visitors", nil)
	want(c.t, "let in", status, http.StatusCreated)
	return a["token"].(string)
}

// rests waits until a visitor's conversation is idle.
func (c *cluster) rests(node int, token, conv string) {
	c.t.Helper()
	eventually(c.t, "the conversation is idle", func() bool {
		_, _, a := c.visit(node, token, http.MethodGet, "/conversations/"+conv, nil)
		return a["state"] == "idle"
	})
}

// watchAs follows a visitor's conversation.
func (c *cluster) watchAs(node int, token, conv string) *stream {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.nodes[node].url+portalAPI+"/conversations/"+conv+"/events", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	s := &stream{t: c.t, cancel: func() { res.Body.Close() }, events: make(chan event, 10_000), conv: conv}
	var wg sync.WaitGroup
	wg.Go(func() { readEvents(res.Body, s.events) })
	c.t.Cleanup(func() {
		s.cancel()
		wg.Wait()
	})
	return s
}

// A visitor writes through one node, sees the answer through the other and stops
// it there; what was written stays, and it goes on from there.
func TestAVisitorStopsItsTurnThroughTheOtherNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.showing("demo", nil)
	token := c.visitor(0)
	status, _, sent := c.visit(0, token, http.MethodPost, "/conversations", map[string]any{"content": "/slow 300"})
	want(t, "sent", status, http.StatusCreated)
	conv := sent["conversation_id"].(string)
	s := c.watchAs(1, token, conv)
	s.until("text.delta")
	status, _, busy := c.visit(1, token, http.MethodPost, "/conversations/"+conv+"/messages", map[string]any{"content": "and?"})
	want(t, "a message meanwhile", status, http.StatusConflict)
	want(t, "run_id", busy["error"].(map[string]any)["run_id"], sent["run_id"])
	status, _, a := c.visit(1, token, http.MethodPost, "/conversations/"+conv+"/cancel", map[string]any{"run_id": sent["run_id"], "wait_ms": 2000})
	want(t, "stopped", status, http.StatusOK)
	want(t, "cancelled", a["cancelled"], true)
	want(t, "stop_status", a["stop_status"], "stopped")
	end := s.until("turn.ended")
	want(t, "stop_reason", end.Data["data"].(map[string]any)["stop_reason"], "cancelled")
	_, _, m := c.visit(0, token, http.MethodGet, "/conversations/"+conv+"/messages", nil)
	answer := m["data"].([]any)[1].(map[string]any)
	want(t, "status", answer["status"], "incomplete")
	if answer["content"] == "" {
		t.Error("nothing is kept")
	}
	status, _, _ = c.visit(1, token, http.MethodPost, "/conversations/"+conv+"/messages", map[string]any{"content": "go on"})
	want(t, "the next message", status, http.StatusCreated)
	c.rests(0, token, conv)
	status, _, a = c.visit(0, token, http.MethodPost, "/conversations/"+conv+"/cancel?wait_ms=0", nil)
	want(t, "nothing runs", status, http.StatusOK)
	want(t, "cancelled", a["cancelled"], false)
	c.whole()
}

// A visitor sees nothing of others, nor of what is behind the chat; to others and
// to other sites it is not there.
func TestAVisitorSeesItsOwnAndNothingBehindIt(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.showing("shown", nil)
	c.with(func(s *postgres.Store) error {
		_, err := s.Apply(t.Context(), c.project, agent.Declared{Agents: []agent.Agent{{Key: "shown", Active: true, Draft: agent.Config{
			Model: "demo", Instructions: "canary-instructions", Tools: []agent.ToolRef{{Source: agent.SourceFunction, Key: "tools", Names: []string{"add"}}},
		}}}}, "test")
		return err
	})
	mine, theirs := c.visitor(0), c.visitor(0)
	_, _, sent := c.visit(0, mine, http.MethodPost, "/conversations", map[string]any{"content": `/tool add {"a":4711,"b":1}`})
	conv := sent["conversation_id"].(string)
	s := c.watchAs(0, mine, conv)
	var all strings.Builder
	for e := range s.events {
		b, _ := json.Marshal(e.Data)
		all.Write(b)
		if e.Type == "turn.ended" {
			break
		}
	}
	if !strings.Contains(all.String(), `"tool.finished"`) {
		t.Fatalf("no tool ran: %s", all.String())
	}
	for _, secret := range []string{"canary", "node-1", "usage", "cost", "arguments\":{", "visitor:"} {
		if strings.Contains(strings.ReplaceAll(all.String(), `/tool add {\"a\":4711,\"b\":1}`, ""), secret) {
			t.Errorf("the visitor reads %q in %s", secret, all.String())
		}
	}
	for _, path := range []string{"", "/messages", "/events", "/actions"} {
		status, _, a := c.visit(0, theirs, http.MethodGet, "/conversations/"+conv+path, nil)
		want(t, "another visitor reads "+path, status, http.StatusNotFound)
		_, _, b := c.visit(0, theirs, http.MethodGet, "/conversations/000000000000000000000000"+path, nil)
		want(t, "and can't tell", a["error"].(map[string]any)["message"], b["error"].(map[string]any)["message"])
	}
	status, _, _ := c.visit(0, theirs, http.MethodPost, "/conversations/"+conv+"/cancel", nil)
	want(t, "another visitor stops it", status, http.StatusNotFound)
	status, _, _ = c.visit(0, theirs, http.MethodPost, "/conversations/"+conv+"/messages", map[string]any{"content": "x"})
	want(t, "another visitor writes in it", status, http.StatusNotFound)
	_, _, list := c.visit(0, theirs, http.MethodGet, "/conversations", nil)
	want(t, "another visitor's list", len(list["data"].([]any)), 0)
	for _, token := range []string{"", "x", c.token, mine + "x"} {
		status, _, _ := c.visit(0, token, http.MethodGet, "/conversations", nil)
		want(t, "without a visitor's token", status, http.StatusUnauthorized)
	}
	res := c.request(t.Context(), c.nodes[0].url, mine, http.MethodGet, "/agents", nil)
	res.Body.Close()
	want(t, "a visitor at the client API", res.StatusCode, http.StatusUnauthorized)
}

// 91: a stop where a question is open and nothing runs is refused, the question
// stays and can be answered; so can it be passed over by a new message.
func TestAVisitorAnswersOrPassesOverAQuestion(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.showing("ask", nil)
	token := c.visitor(0)
	waits := func() (conv string, action map[string]any) {
		_, _, sent := c.visit(0, token, http.MethodPost, "/conversations", map[string]any{"content": askDrink})
		conv = sent["conversation_id"].(string)
		eventually(t, "the question", func() bool {
			_, _, a := c.visit(1, token, http.MethodGet, "/conversations/"+conv, nil)
			return a["state"] == "requires_action"
		})
		_, _, a := c.visit(1, token, http.MethodGet, "/conversations/"+conv+"/actions", nil)
		return conv, a["data"].([]any)[0].(map[string]any)
	}
	conv, q := waits()
	status, _, a := c.visit(1, token, http.MethodPost, "/conversations/"+conv+"/cancel", nil)
	want(t, "a stop", status, http.StatusConflict)
	want(t, "code", a["error"].(map[string]any)["code"], "action_pending")
	status, _, _ = c.visit(0, c.visitor(0), http.MethodPost, "/actions/"+q["id"].(string)+"/decision", map[string]any{"decision": "answer", "answer": "tea"})
	want(t, "another visitor answers", status, http.StatusNotFound)
	status, _, a = c.visit(1, token, http.MethodPost, "/actions/"+q["id"].(string)+"/decision", map[string]any{"decision": "answer", "answer": "tea"})
	want(t, "answered", status, http.StatusOK)
	want(t, "state", a["state"], "approved")
	c.rests(0, token, conv)
	conv, q = waits()
	status, _, _ = c.visit(1, token, http.MethodPost, "/conversations/"+conv+"/messages", map[string]any{"content": "never mind"})
	want(t, "a new message", status, http.StatusCreated)
	status, _, a = c.visit(0, token, http.MethodPost, "/actions/"+q["id"].(string)+"/decision", map[string]any{"decision": "answer", "answer": "tea"})
	want(t, "answered too late", status, http.StatusConflict)
	want(t, "state", a["error"].(map[string]any)["code"], "action_already_decided")
	c.rests(0, token, conv)
	c.whole()
}

// An approval is the project's to decide, unless the portal lets visitors.
func TestAVisitorApprovesOnlyWhereThePortalLetsIt(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.showing("approve", nil)
	token := c.visitor(0)
	_, _, sent := c.visit(0, token, http.MethodPost, "/conversations", map[string]any{"content": `/tool add {"a":1,"b":2}`})
	conv := sent["conversation_id"].(string)
	var q map[string]any
	eventually(t, "the approval", func() bool {
		_, _, a := c.visit(0, token, http.MethodGet, "/conversations/"+conv+"/actions", nil)
		list := a["data"].([]any)
		if len(list) > 0 {
			q = list[0].(map[string]any)
		}
		return len(list) > 0
	})
	want(t, "arguments", q["arguments"], nil)
	decide := func() int {
		status, _, _ := c.visit(0, token, http.MethodPost, "/actions/"+q["id"].(string)+"/decision", map[string]any{"decision": "approve"})
		return status
	}
	want(t, "approved by a visitor", decide(), http.StatusForbidden)
	c.showing("approve", func(p *agent.Portal) { p.Approvals = true })
	_, _, a := c.visit(0, token, http.MethodGet, "/conversations/"+conv+"/actions", nil)
	want(t, "arguments now", a["data"].([]any)[0].(map[string]any)["arguments"].(map[string]any)["a"], 1.0)
	want(t, "approved by a visitor who may", decide(), http.StatusOK)
}

// Pages of the portal's sites may call it, others may not read its answers.
func TestOnlyThePortalsSitesMayEmbedIt(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.showing("demo", nil)
	for origin, allowed := range map[string]string{"https://shop.example": "https://shop.example", "https://evil.example": "", "null": "", "": ""} {
		for _, method := range []string{http.MethodOptions, http.MethodPost} {
			_, h, _ := c.visit(0, "", method, "/visitors", nil, "Origin", origin)
			want(t, method+" from "+origin, h.Get("Access-Control-Allow-Origin"), allowed)
			want(t, "credentials", h.Get("Access-Control-Allow-Credentials"), "")
		}
	}
	status, h, _ := c.visit(0, "", http.MethodOptions, "/conversations/x/messages", nil, "Origin", "https://shop.example")
	want(t, "preflight", status, http.StatusNoContent)
	if !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("%v", h)
	}
	_, h, _ = c.visit(0, "bad", http.MethodGet, "/conversations", nil, "Origin", "https://shop.example")
	want(t, "an error can be read too", h.Get("Access-Control-Allow-Origin"), "https://shop.example")
	c.showing("demo", func(p *agent.Portal) { p.Paused = true })
	status, _, _ = c.visit(0, "", http.MethodGet, "/config", nil)
	want(t, "a paused portal", status, http.StatusNotFound)
}

// A visitor whom the site names has its conversations in any browser.
func TestASiteNamesItsVisitor(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.showing("demo", func(p *agent.Portal) { p.Anonymous = new(false) })
	status, _, a := c.visit(0, "", http.MethodPost, "/visitors", nil)
	want(t, "nameless", status, http.StatusBadRequest)
	want(t, "param", a["error"].(map[string]any)["param"], "token")
	named, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "u-7", "name": "Ada", "exp": time.Now().Add(time.Hour).Unix()}).SignedString([]byte(siteSecret))
	if err != nil {
		t.Fatal(err)
	}
	enter := func(node int) string {
		status, _, a := c.visit(node, "", http.MethodPost, "/visitors", map[string]any{"token": named})
		want(t, "let in", status, http.StatusCreated)
		want(t, "name", a["name"], "Ada")
		return a["token"].(string)
	}
	_, _, sent := c.visit(0, enter(0), http.MethodPost, "/conversations", map[string]any{"content": "hello"})
	_, _, list := c.visit(1, enter(1), http.MethodGet, "/conversations", nil)
	want(t, "conversation", list["data"].([]any)[0].(map[string]any)["id"], sent["conversation_id"])
}

// Messages have a length, visitors a rate and portals a price.
func TestLimitsOfVisitorsHold(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.showing("demo", func(p *agent.Portal) {
		p.Limits = agent.PortalLimits{MessageChars: 5, VisitorPerMinute: 2, VisitorUSDPerDay: 0.000001}
	})
	say := func(token, content string) (int, http.Header, any) {
		status, h, a := c.visit(0, token, http.MethodPost, "/conversations", map[string]any{"content": content})
		e, _ := a["error"].(map[string]any)
		return status, h, e["code"]
	}
	token := c.visitor(0)
	status, _, _ := say(token, "größer")
	want(t, "six letters", status, http.StatusBadRequest)
	status, _, _ = say(token, "größe")
	want(t, "five letters", status, http.StatusCreated)
	eventually(t, "it has its price", func() bool {
		status, h, code := say(token, "again")
		return status == http.StatusTooManyRequests && h.Get("Retry-After") != "" && code == "portal_spend_limit"
	})
	c.showing("demo", func(p *agent.Portal) { p.Limits = agent.PortalLimits{VisitorPerMinute: 1} })
	token = c.visitor(0)
	eventually(t, "too many in a minute", func() bool {
		status, _, code := say(token, "again")
		return status == http.StatusTooManyRequests && code == "portal_rate_limit"
	})
}
