package studio_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/studio"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func TestTheTranscriptOfSigningIn(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(c *studio.Config) { c.Hint = &studio.Hint{Email: "demo@test.example", Password: "a demo"} })
	b.record("nobody", "GET", "/auth/hint", "")
	b.record("nobody", "GET", "/auth/me", "")
	b.record("nobody", "POST", "/auth/sign-in", `{"email":"who@test.example","password":"x"}`)
	b.record("nobody", "POST", "/auth/sign-in", `{"email":"viewer@test.example","password":"x"}`)
	b.record("nobody", "POST", "/auth/sign-in", `{"email":"viewer@test.example"}`)
	b.record("nobody", "POST", "/auth/sign-in", `{"email":" Viewer@TEST.example ","password":"`+password+`"}`, "X-Forwarded-Proto", "https")
	b.record("viewer", "GET", "/auth/me", "")
	b.record("viewer", "POST", "/auth/password", `{"current":"`+password+`","new":"short"}`)
	b.record("viewer", "POST", "/auth/password", `{"current":"`+password+`","new":"another password"}`)
	b.record("viewer", "POST", "/auth/sign-out", "", "Origin", "http://evil.test")
	b.record("viewer", "POST", "/auth/sign-out", "")
	b.record("viewer", "GET", "/auth/me", "")
	b.compare("sign-in")
}

func TestTheTranscriptOfAnAgent(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const config = `{"model":"m","execution":{"callback_url":"http://x.test/cb","callback_secret":"canary"}}`
	b.record("builder", "POST", "/agents/validate", `{"id":"New","name":"`+strings.Repeat("x", 201)+`","config":{"model":"gone","temperature":9,"limits":{"max_cost_usd":-1},
		"tools":[{"source":"mcp","key":"crm"},{"source":"agent","key":"a","agent":{"agent":"nobody"}},{"source":"openapi","key":"o","openapi":{"document_url":"x","auth":{"type":"bearer","secret":"none"}}}]}}`)
	b.record("builder", "POST", "/agents/validate", `{"config":{"model":3}}`)
	b.record("builder", "POST", "/agents/validate", `{"config":"m"}`)
	b.record("builder", "POST", "/agents", `{"id":"new","name":"New","config":`+config+`}`)
	b.record("builder", "POST", "/agents", `{"id":"new","config":{"model":"m"}}`)
	b.record("builder", "POST", "/agents", `{"id":"runs","config":{"model":"m"}}`)
	b.record("builder", "POST", "/agents/new/publish", "")
	changed := b.record("builder", "PATCH", "/agents/new", `{"config":{"model":"m","instructions":"Be brief."}}`)
	b.record("builder", "PATCH", "/agents/new", `{"name":"Newer","expectedUpdatedAt":"2020-01-01T00:00:00Z"}`)
	b.must("builder", "PATCH", "/agents/new", fmt.Sprintf(`{"name":"Newer","expectedUpdatedAt":%q}`, changed.field(t, "updatedAt")))
	b.record("builder", "POST", "/agents/new/publish", "")
	b.record("builder", "GET", "/agents/new/versions", "")
	b.record("builder", "GET", "/agents/new/versions/1", "")
	b.record("builder", "POST", "/agents/new/publish", `{"version":1}`)
	b.record("builder", "POST", "/agents/new/publish", `{"version":9}`)
	b.record("builder", "GET", "/agents?status=active", "")
	b.record("builder", "PATCH", "/agents/new", `{"callbackSecret":""}`)
	b.record("builder", "DELETE", "/agents/new", "")
	b.record("builder", "GET", "/agents/new", "")
	b.compare("agent")
	if got := string(txtar.Format(&b.tape)); strings.Count(got, "canary") != 1 {
		t.Error("the callback's secret is answered")
	}
}

// A turn that is stopped from the other side of the table: who, when and how
// long is told everywhere.
func TestTheTranscriptOfASession(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.model.Reply(turntest.Text("Some "), turntest.Text("words."), turntest.Block())
	session := b.session("owner", "helper")
	b.record("owner", "POST", session+"/messages", `{"content":""}`)
	b.record("owner", "POST", session+"/messages", `{"content":"x","draft":true,"version":1}`)
	b.record("operator", "POST", session+"/messages", `{"content":"x","draft":true}`)
	run := b.say("owner", session, "hello")
	b.stream("owner", "follow="+idOf(session)+":0").until("text", event(session, "text.delta"))
	b.record("operator", "POST", session+"/messages", `{"content":"x"}`)
	b.record("builder", "POST", session+"/cancel", "")
	b.record("stranger", "POST", session+"/cancel", "")
	b.record("stranger", "POST", "/runs/"+run+"/cancel", "")
	b.record("operator", "POST", "/agents/other/sessions/"+idOf(session)+"/cancel", "")
	b.record("operator", "POST", session+"/cancel", `{"waitMs":-1}`)
	b.record("operator", "POST", session+"/cancel", `{"run_id":"000000000000000000000001"}`)
	b.record("owner", "GET", session, "")
	b.record("operator", "POST", session+"/cancel?wait_ms=10000", `{"runId":"`+run+`"}`)
	b.record("operator", "POST", session+"/cancel", `{"wait_ms":0}`)
	b.record("operator", "POST", "/runs/"+run+"/cancel", "")
	b.record("viewer", "GET", session+"/transcript", "")
	b.record("viewer", "GET", session+"/transcript?limit=2&before=4", "")
	b.record("viewer", "GET", session+"/events?limit=2", "")
	b.record("viewer", "GET", session+"/runs", "")
	b.record("viewer", "GET", "/runs/"+run, "")
	b.record("viewer", "GET", "/sessions?state=idle&stopReason=cancelled&door=studio", "")
	b.record("viewer", "GET", "/sessions?state=lost", "")
	b.record("viewer", "GET", "/sessions?owner=me", "")
	b.record("viewer", "GET", "/runs?background=any&state=cancelled", "")
	b.record("owner", "DELETE", session, "")
	b.record("owner", "GET", session, "")
	b.compare("session")
}

// 91, 92, 95: an open approval is in the inbox of who may decide it, is decided
// once, and a stop answers it "no".
func TestTheTranscriptOfAnApproval(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	session, action := b.waiting("builder")
	b.record("builder", "GET", "/actions/"+action, "")
	b.record("builder", "POST", "/actions/"+action+"/decision", `{"decision":"approve"}`)
	b.record("stranger", "POST", "/actions/"+action+"/decision", `{"decision":"approve"}`)
	b.record("operator", "POST", "/actions/"+action+"/decision", `{"decision":"answer","answer":"x"}`)
	b.model.Reply(turntest.Text("Paid."))
	b.record("operator", "POST", "/actions/"+action+"/decision", `{"decision":"approve","arguments":{"sum":8},"comment":"Fine."}`)
	b.must("operator", "POST", "/actions/"+action+"/decision", `{"decision":"approve","comment":"Fine."}`)
	b.record("owner", "POST", "/actions/"+action+"/decision", `{"decision":"reject"}`)
	b.state(session, "idle")
	b.record("viewer", "GET", "/actions?state=closed", "")
	session, action = b.waiting("builder")
	b.record("builder", "POST", session+"/cancel", "") // without the right the approval stays
	b.record("operator", "GET", "/actions", "")
	b.record("operator", "POST", session+"/cancel", "")
	b.record("operator", "GET", "/actions/"+action, "")
	b.record("viewer", "GET", "/actions?state=some", "")
	b.record("operator", "GET", "/audit", "")
	b.record("operator", "GET", "/audit?action=agent.published", "")
	b.record("operator", "GET", "/audit?action=x", "")
	b.compare("approval")
}

func TestTheTranscriptOfAProject(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.record("builder", "POST", "/tokens", `{"name":"ci","permissions":["agent.view","agent.approve"]}`)
	b.record("builder", "POST", "/tokens", `{"name":"ci","permissions":["agent.fly"]}`)
	b.record("builder", "POST", "/tokens", `{"name":" ","permissions":["agent.view"]}`)
	b.record("builder", "POST", "/tokens", `{"name":"ci","permissions":["agent.view"],"expiresAt":"2020-01-01T00:00:00Z"}`)
	token := b.record("builder", "POST", "/tokens", `{"name":"ci","permissions":["agent.view"]}`)
	b.record("builder", "DELETE", "/tokens/"+token.field(t, "token.id").(string), "")
	b.record("builder", "GET", "/tokens", "")
	member := b.record("owner", "POST", "/members", `{"email":"New@test.example","name":"New","role":"viewer"}`)
	b.record("owner", "POST", "/members", `{"email":"new@test.example","role":"viewer"}`)
	b.record("owner", "POST", "/members", `{"email":"nobody","role":"viewer"}`)
	b.record("owner", "POST", "/members", `{"email":"a@b","role":"king"}`)
	stranger := b.record("owner", "POST", "/members", `{"email":"stranger@test.example","role":"viewer"}`)
	b.record("owner", "POST", "/members/"+stranger.field(t, "member.userId").(string)+"/password", "")
	b.record("owner", "PATCH", "/members/"+member.field(t, "member.userId").(string), `{"role":"operator"}`)
	b.record("owner", "PATCH", "/members/nobody", `{"role":"operator"}`)
	owner := b.must("owner", "GET", "/auth/me", "").field(t, "user.id").(string)
	b.record("owner", "PATCH", "/members/"+strings.TrimPrefix(owner, "user:"), `{"role":"viewer"}`)
	b.record("owner", "DELETE", "/members/"+strings.TrimPrefix(owner, "user:"), "")
	b.record("owner", "GET", "/members", "")
	b.record("owner", "POST", "/models", `{"key":"k","config":{"base_url":"ftp://x","model":"m"}}`)
	b.record("owner", "POST", "/models", `{"key":"k","config":{"base_url":"http://x.test","model":"m","pricing":{"input":1}},"apiKey":"canary"}`)
	b.record("owner", "POST", "/models", `{"key":"k","config":{"base_url":"http://x.test","model":"m"}}`)
	b.record("owner", "PUT", "/models/k", `{"config":{"base_url":"http://x.test","model":"n"}}`)
	b.record("owner", "PUT", "/models/k", `{"config":{"base_url":"http://x.test","model":"n","api_key_env":"KEY"},"apiKey":"x"}`)
	b.record("owner", "PUT", "/models/k", `{"config":{"base_url":"http://x.test","model":"n"},"apiKey":""}`)
	b.record("owner", "PUT", "/models/none", `{"config":{"base_url":"http://x.test","model":"n"}}`)
	b.record("owner", "DELETE", "/models/m", "")
	b.record("owner", "POST", "/tools", `{"key":"crm","config":{"source":"mcp","mcp":{"url":"http://x.test"}},"secret":"canary"}`)
	b.record("owner", "PUT", "/tools/crm", `{"config":{"source":"mcp","mcp":{"url":"nowhere"}}}`)
	b.record("owner", "POST", "/tools/crm/check", "")
	b.record("owner", "PUT", "/tools/crm", `{"config":{"source":"mcp","mcp":{"url":"http://y.test"}},"secret":""}`)
	b.record("owner", "PUT", "/tools/crm?unchecked=true", `{"config":{"source":"mcp","mcp":{"url":"http://y.test"}},"secret":""}`)
	b.record("owner", "GET", "/tools", "")
	b.record("owner", "GET", "/usage?from=yesterday", "")
	b.record("owner", "GET", "/usage?groupBy=hour", "")
	b.record("owner", "GET", "/usage?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "")
	b.compare("project")
	for i, f := range b.tape.Files {
		if strings.Count(string(f.Data), "canary") > 1 || !strings.Contains(f.Name, "POST") && strings.Contains(string(f.Data), "canary") {
			t.Errorf("%d %s: a secret is answered", i, f.Name)
		}
	}
	if strings.Contains(b.log.String(), "canary") || strings.Contains(b.log.String(), password) {
		t.Error("a secret is in the log")
	}
}

func TestFiguresAreOfTheProjectAlone(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.model.Reply(turntest.Text("yes"), turntest.Used(100, 10)).Reply(turntest.Text("no"), turntest.Block())
	session := b.session("owner", "helper")
	b.say("owner", session, "hello")
	b.state(session, "idle")
	run := b.say("owner", session, "again")
	b.state(session, "running")
	ops := b.must("operator", "GET", "/operations", "")
	for path, want := range map[string]any{"counts.running": 1.0, "nodes.0.name": "node-1", "nodes.0.state": "alive", "slots.0.runId": run, "slots.0.node": "node-1", "slots.0.mayAct": true} {
		if got := ops.field(t, path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
	if got := b.must("stranger", "GET", "/operations", "").field(t, "counts.running"); got != 0.0 {
		t.Errorf("a stranger sees %v turns", got)
	}
	b.must("owner", "POST", session+"/cancel?wait_ms=10000", "")
	usage := b.must("owner", "GET", "/usage?groupBy=day,status,agent,model", "")
	for path, want := range map[string]any{
		"total.calls": 2.0, "total.cancelledCalls": 1.0, "data.0.status": "cancelled", "data.0.estimatedCalls": 1.0,
		"data.1.status": "ok", "data.1.inputTokens": 100.0, "data.1.agentId": "helper", "data.1.model": "m",
	} {
		if got := usage.field(t, path); got != want {
			t.Errorf("%s = %v, want %v: %s", path, got, want, usage.body)
		}
	}
	if got := b.must("owner", "GET", "/usage?groupBy=model&agentId=other", "").field(t, "total.calls"); got != 0.0 {
		t.Errorf("calls of another agent: %v", got)
	}
	outcomes := b.must("owner", "GET", "/usage/outcomes", "").body
	for _, want := range []string{`"outcome":"cancelled","turns":1`, `"outcome":"completed","turns":1`} {
		if !strings.Contains(outcomes, want) {
			t.Errorf("no %s in %s", want, outcomes)
		}
	}
	latency := b.must("owner", "GET", "/operations/stop-latency", "")
	if latency.field(t, "series.0.path") != "same_node" || latency.field(t, "series.0.count") != 1.0 || latency.field(t, "series.0.maxMs").(float64) > 10_000 {
		t.Errorf("latency: %s", latency.body)
	}
	if got := b.must("stranger", "GET", "/operations/stop-latency", "").field(t, "series.0.count"); got != 0.0 {
		t.Errorf("a stranger sees %v stops", got)
	}
}

// A member of two projects sees the one that he looks at.
func TestAMemberOfTwoProjectsChoosesOne(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must("owner", "POST", "/members", `{"email":"stranger@test.example","role":"viewer"}`)
	session := b.session("owner", "helper")
	if a := b.do("stranger", "GET", session, ""); a.status != http.StatusNotFound {
		t.Errorf("before: %d", a.status)
	}
	me := b.must("stranger", "POST", "/auth/project", `{"projectId":"`+project+`"}`)
	if me.field(t, "project.key") != "default" || me.field(t, "project.role") != "viewer" || len(me.field(t, "projects").([]any)) != 2 {
		t.Errorf("me: %s", me.body)
	}
	b.must("stranger", "GET", session, "")
	if a := b.do("stranger", "POST", session+"/cancel", ""); a.status != http.StatusForbidden {
		t.Errorf("a viewer stops: %d", a.status)
	}
	user := strings.TrimPrefix(me.field(t, "user.id").(string), "user:")
	b.must("owner", "DELETE", "/members/"+user, "")
	if got := b.must("stranger", "GET", "/auth/me", "").field(t, "project.key"); got != "elsewhere" {
		t.Errorf("who was removed looks at %v", got)
	}
	// What he did keeps his name.
	if got := b.must("owner", "GET", "/actors?ids=user:"+user, "").field(t, "data.0.name"); got != "Stranger" {
		t.Errorf("named %v", got)
	}
}

// A new password ends the other sign-ins, and a role that changes counts at once.
func TestRightsChangeAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.people["phone"] = b.browser()
	b.must("phone", "POST", "/auth/sign-in", signIn("viewer", password))
	b.must("viewer", "POST", "/auth/password", `{"current":"`+password+`","new":"another password"}`)
	if a := b.do("phone", "GET", "/auth/me", ""); a.status != http.StatusUnauthorized {
		t.Errorf("the other sign-in lives: %d", a.status)
	}
	me := b.must("viewer", "GET", "/auth/me", "")
	if a := b.do("viewer", "GET", "/tokens", ""); a.status != http.StatusForbidden {
		t.Errorf("a viewer reads tokens: %d", a.status)
	}
	b.must("owner", "PATCH", "/members/"+strings.TrimPrefix(me.field(t, "user.id").(string), "user:"), `{"role":"builder"}`)
	b.must("viewer", "GET", "/tokens", "")
	if got := b.must("viewer", "GET", "/auth/me", "").field(t, "permissions").([]any); len(got) != len(agent.RoleBuilder.Permissions()) {
		t.Errorf("permissions: %v", got)
	}
}

// Too many wrong passwords are refused without being looked at, for names that
// are there and for those that are not, and the right one too.
func TestSignInIsThrottled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, name := range []string{"viewer", "unknown"} {
		for i := range 10 {
			if a := b.do("nobody", "POST", "/auth/sign-in", signIn(name, "wrong")); a.status != http.StatusUnauthorized {
				t.Fatalf("%s, attempt %d: %d %s", name, i+1, a.status, a.body)
			}
		}
		a := b.do("nobody", "POST", "/auth/sign-in", signIn(name, password))
		if a.status != http.StatusTooManyRequests || a.field(t, "error.code") != "sign_in_throttled" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	b.must("nobody", "POST", "/auth/sign-in", signIn("owner", password)) // others are let in
	b.exec("UPDATE sign_in_failures SET since = since - interval '16 minutes'")
	b.must("nobody", "POST", "/auth/sign-in", signIn("viewer", password))
}
