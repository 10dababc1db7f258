package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
)

// TestBadInputNamesTheField: on every route and every field, what is wrong is a
// 400 that names it, and nothing is done.
func TestBadInputNamesTheField(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	ask := func(fields string) string { return `{"model":"support","input":"Hello",` + fields + `}` }
	input := func(item string) string { return `{"model":"support","input":` + item + `}` }
	config := func(fields string) string { return `{"key":"k","config":{"model":"demo",` + fields + `}}` }
	patch := func(fields string) string { return `{"config":{` + fields + `}}` }
	tool := func(fields string) string { return `{"key":"t",` + fields + `}` }
	s.do("owner", "POST", "/tools", `{"key":"crm","source":"mcp","mcp":{"url":"http://x"}}`)
	conv := "/agents/conversations/" + session1
	type row struct{ method, path, body, param string }
	rows := []row{
		{"GET", "/agents?status=maybe", "", "status"},
		{"GET", "/agents/conversations?limit=0", "", "limit"},
		{"GET", "/agents/conversations?limit=101", "", "limit"},
		{"GET", "/agents/conversations?limit=ten", "", "limit"},
		{"GET", "/agents/conversations?cursor=%21", "", "cursor"},
		{"GET", "/agents/runs?status=cancelled", "", "status"},
		{"GET", "/agents/runs?limit=0", "", "limit"},
		{"GET", "/agents/runs?cursor=%21", "", "cursor"},
		{"GET", conv + "/messages?after=-2", "", "after"},
		{"GET", conv + "/messages?limit=201", "", "limit"},
		{"GET", conv + "/events?after=-1", "", "after"},
		{"GET", conv + "/events?after=99999999999999999999", "", "after"},
		{"GET", conv + "/events?limit=1001", "", "limit"},
		{"GET", "/responses/resp_" + session1 + "?stream=yes", "", "stream"},
		{"GET", "/responses/resp_" + session1 + "?starting_after=3", "", "starting_after"},
		{"GET", "/responses/resp_" + session1 + "?stream=true&starting_after=-1", "", "starting_after"},
		{"GET", "/responses/resp_" + session1 + "?stream=true&starting_after=x", "", "starting_after"},

		{"POST", "/agents", `{"config":{"model":"demo"}}`, "key"},
		{"POST", "/agents", `{"key":"Bad Key","config":{"model":"demo"}}`, "key"},
		{"POST", "/agents", `{"key":"responses","config":{"model":"demo"}}`, "key"},
		{"POST", "/agents", `{"key":7,"config":{"model":"demo"}}`, "key"},
		{"POST", "/agents", `{"key":"k","name":"` + strings.Repeat("x", 201) + `","config":{"model":"demo"}}`, "name"},
		{"POST", "/agents", `{"key":"k","status":"on","config":{"model":"demo"}}`, "status"},
		{"POST", "/agents", `{"key":"k"}`, "config.model"},
		{"POST", "/agents", `{"key":"k","config":[]}`, "config"},
		{"POST", "/agents", `{"key":"k","config":{"model":"demo"},"colour":"red"}`, "colour"},
		{"POST", "/agents", config(`"modle":"x"`), "config.modle"},
		{"POST", "/agents", config(`"Model":"x"`), "config.Model"},
		{"POST", "/agents", config(`"temperature":"hot"`), "config.temperature"},
		{"POST", "/agents", config(`"temperature":2.5`), "config.temperature"},
		{"POST", "/agents", config(`"top_p":-0.1`), "config.top_p"},
		{"POST", "/agents", config(`"max_output_tokens":-1`), "config.max_output_tokens"},
		{"POST", "/agents", config(`"max_output_tokens":1.5`), "config.max_output_tokens"},
		{"POST", "/agents", config(`"fallback_models":["demo",3]`), "config.fallback_models[1]"},
		{"POST", "/agents", config(`"fallback_models":["NO"]`), "config.fallback_models[0]"},
		{"POST", "/agents", config(`"tools":[{"source":"shell","key":"t"}]`), "config.tools[0].source"},
		{"POST", "/agents", config(`"tools":[{"source":"function","key":"t","timeout_ms":-1}]`), "config.tools[0].timeout_ms"},
		{"POST", "/agents", config(`"tools":[{"source":"function","key":"t","extra":1}]`), "config.tools[0].extra"},
		{"POST", "/agents", config(`"tools":[null]`), "config.tools[0]"},
		{"POST", "/agents", config(`"approvals":{"exec":"often"}`), "config.approvals.exec"},
		{"POST", "/agents", config(`"approvals":{"no tool":"always"}`), "config.approvals.no tool"},
		{"POST", "/agents", config(`"execution":{"action_expiry_seconds":31536001}`), "config.execution.action_expiry_seconds"},
		{"POST", "/agents", config(`"limits":{"max_tool_calls":-1}`), "config.limits.max_tool_calls"},
		{"POST", "/agents", config(`"limits":{"max_parallel_tools":65}`), "config.limits.max_parallel_tools"},
		{"POST", "/agents", config(`"limits":{"max_wall_clock_ms":"1s"}`), "config.limits.max_wall_clock_ms"},
		{"POST", "/agents", config(`"limits":{"max_cost_usd":-1}`), "config.limits.max_cost_usd"},
		{"POST", "/agents", config(`"limits":{"max_cost_usd":1e999}`), "config.limits.max_cost_usd"},
		{"POST", "/agents", config(`"limits":{"max_total_output_tokens":-2}`), "config.limits.max_total_output_tokens"},
		{"POST", "/agents", config(`"execution":{"sync_timeout_seconds":3601}`), "config.execution.sync_timeout_seconds"},
		{"POST", "/agents", config(`"execution":{"background_enabled":"no"}`), "config.execution.background_enabled"},
		{"POST", "/agents", config(`"execution":{"default_mode":"later"}`), "config.execution.default_mode"},
		{"POST", "/agents", config(`"execution":{"callback_url":"ftp://x"}`), "config.execution.callback_url"},
		{"POST", "/agents", config(`"execution":{"background_max_duration_minutes":-1}`), "config.execution.background_max_duration_minutes"},
		{"POST", "/agents", config(`"execution":{"background_max_duration_minutes":43201}`), "config.execution.background_max_duration_minutes"},
		{"PATCH", "/agents/support", `{"key":"other"}`, "key"},
		{"PATCH", "/agents/support", `{"status":"gone"}`, "status"},
		{"PATCH", "/agents/support", `{"config":7}`, "config"},
		{"PATCH", "/agents/support", patch(`"model":null`), "config.model"},
		{"PATCH", "/agents/support", patch(`"temperature":9`), "config.temperature"},
		{"PATCH", "/agents/support", patch(`"limits":{"max_tools":1}`), "config.limits.max_tools"},
		{"POST", "/agents/support/publish", `{"version":3}`, "version"},

		{"POST", "/tools", `{"source":"mcp","mcp":{"url":"http://x"}}`, "key"},
		{"POST", "/tools", `{"key":"Bad Key","source":"mcp","mcp":{"url":"http://x"}}`, "key"},
		{"POST", "/tools", tool(`"source":"sandbox"`), "source"},
		{"POST", "/tools", tool(`"source":"mcp"`), "mcp"},
		{"POST", "/tools", tool(`"source":"openapi","openapi":{}`), "openapi.document"},
		{"POST", "/tools", tool(`"source":"openapi","openapi":{"document":"x"},"mcp":{"url":"http://x"}`), "mcp"},
		{"POST", "/tools", tool(`"source":"mcp","mcp":{"url":"ftp://x"}`), "mcp.url"},
		{"POST", "/tools", tool(`"source":"mcp","mcp":{"url":"http://x","auth":{"type":"magic","secret":"t"}}`), "mcp.auth.type"},
		{"POST", "/tools", tool(`"source":"mcp","mcp":{"url":"http://broken"}`), "mcp"},
		{"POST", "/tools", tool(`"source":"mcp","mcp":{"url":"http://x"},"secret":""`), "secret"},
		{"POST", "/tools", tool(`"source":"mcp","mcp":{"url":"http://x"},"secret":"` + strings.Repeat("x", 65537) + `"`), "secret"},
		{"POST", "/tools", tool(`"source":"mcp","mcp":{"url":"http://x"},"name":"x"`), "name"},
		{"POST", "/tools?unchecked=maybe", tool(`"source":"mcp","mcp":{"url":"http://x"}`), "unchecked"},
		{"PATCH", "/tools/crm", `{"key":"other"}`, "key"},
		{"PATCH", "/tools/crm", `{"source":null}`, "source"},
		{"PATCH", "/tools/crm", `{"mcp":null}`, "mcp"},
		{"PATCH", "/tools/crm", `{"mcp":7}`, "mcp"},
		{"PATCH", "/tools/crm", `{"mcp":{"urls":"x"}}`, "mcp.urls"},
		{"PATCH", "/tools/crm", `{"secret":7}`, "secret"},
		{"PATCH", "/tools/crm", `{"secret":""}`, "secret"},
		{"PATCH", "/tools/crm", `{"mcp":{"url":"http://broken"}}`, "mcp"},
		{"POST", "/tools/crm/check", `{"deep":true}`, "deep"},

		{"POST", "/responses", `{"input":"Hello"}`, "model"},
		{"POST", "/responses", `{"model":"support"}`, "input"},
		{"POST", "/responses", `{"model":"support","input":null}`, "input"},
		{"POST", "/responses", `{"model":["support"],"input":"x"}`, "model"},
		{"POST", "/responses", input(`""`), "input"},
		{"POST", "/responses", input(`" \n\t"`), "input"},
		{"POST", "/responses", input(`7`), "input"},
		{"POST", "/responses", input(`{}`), "input"},
		{"POST", "/responses", input(`[]`), "input"},
		{"POST", "/responses", input(`["x"]`), "input[0]"},
		{"POST", "/responses", input(`[{"role":"user","content":"x"},{"role":"system","content":"y"}]`), "input[1].role"},
		{"POST", "/responses", input(`[{"role":"developer","content":"y"}]`), "input[0].role"},
		{"POST", "/responses", input(`[{"role":"assistant","content":"y"}]`), "input[0].role"},
		{"POST", "/responses", input(`[{"content":"y"}]`), "input[0].role"},
		{"POST", "/responses", input(`[{"role":"user"}]`), "input[0].content"},
		{"POST", "/responses", input(`[{"role":"user","content":7}]`), "input[0].content"},
		{"POST", "/responses", input(`[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]`), "input[0].content[0].type"},
		{"POST", "/responses", input(`[{"role":"user","content":[{"type":"input_text","text":7}]}]`), "input[0].content[0].text"},
		{"POST", "/responses", input(`[{"role":"user","content":[{"type":"input_text","text":"x","more":1}]}]`), "input[0].content[0].more"},
		{"POST", "/responses", input(`[{"role":"user","content":"x","name":"me"}]`), "input[0].name"},
		{"POST", "/responses", input(`[{"type":"function_call_output","call_id":"c","output":"x"}]`), "input[0].type"},
		{"POST", "/responses", ask(`"stream":"yes"`), "stream"},
		{"POST", "/responses", ask(`"version":-1`), "version"},
		{"POST", "/responses", ask(`"version":9`), "version"},
		{"POST", "/responses", ask(`"version":"4"`), "version"},
		{"POST", "/responses", ask(`"temperature":3`), "temperature"},
		{"POST", "/responses", ask(`"top_p":1.1`), "top_p"},
		{"POST", "/responses", ask(`"max_output_tokens":0`), "max_output_tokens"},
		{"POST", "/responses", ask(`"instructions":7`), "instructions"},
		{"POST", "/responses", ask(`"metadata":{"a":1}`), "metadata.a"},
		{"POST", "/responses", ask(`"metadata":{"a":null}`), "metadata.a"},
		{"POST", "/responses", ask(`"metadata":"x"`), "metadata"},
		{"POST", "/responses", ask(`"metadata":{"a":"` + strings.Repeat("x", 513) + `"}`), "metadata"},
		{"POST", "/responses", ask(`"background":"yes"`), "background"},
		{"POST", "/responses", ask(`"tools":[{"type":"web_search"}]`), "tools"},
		{"POST", "/responses", ask(`"tool_choice":"required"`), "tool_choice"},
		{"POST", "/responses", ask(`"tool_choice":{"type":"function"}`), "tool_choice"},
		{"POST", "/responses", ask(`"text":{"format":{"type":"json_object"}}`), "text.format"},
		{"POST", "/responses", ask(`"text":{"format":{"type":"json_schema","name":"x","schema":{}}}`), "text.format"},
		{"POST", "/responses", ask(`"text":{"formats":1}`), "text.formats"},
		{"POST", "/responses", ask(`"previous_response_id":7`), "previous_response_id"},
		{"POST", "/responses", ask(`"conversation":7`), "conversation"},
		{"POST", "/responses", ask(`"conversation":""`), "conversation"},
		{"POST", "/responses", ask(`"conversation":{"id":"x","more":1}`), "conversation.more"},
		{"POST", "/responses", ask(`"conversation":"other","previous_response_id":"resp_` + session1 + `"`), "conversation"},
		{"POST", "/responses", ask(`"max_tool_calls":3`), "max_tool_calls"},
		{"POST", "/responses", ask(`"prompt":{"id":"p"}`), "prompt"},

		{"GET", "/agents/actions?state=denied", "", "state"},
		{"GET", "/agents/actions?limit=101", "", "limit"},
		{"GET", "/agents/actions?cursor=!", "", "cursor"},
		{"POST", "/agents/actions/ac1/decision", `{"decision":"maybe"}`, "decision"},
		{"POST", "/agents/actions/ac1/decision", `{}`, "decision"},
		{"POST", "/agents/actions/ac1/decision", `{"decision":"answer"}`, "answer"},
		{"POST", "/agents/actions/ac1/decision", `{"decision":"approve","answer":"x"}`, "answer"},
		{"POST", "/agents/actions/ac1/decision", `{"decision":"reject","arguments":{}}`, "arguments"},
		{"POST", "/agents/actions/ac1/decision", `{"decision":"approve","arguments":[1]}`, "arguments"},
		{"POST", "/agents/actions/ac1/decision", `{"decision":"approve","by":"me"}`, "by"},
	}
	for _, stop := range []string{conv + "/cancel", "/agents/responses/resp_" + session1 + "/cancel", "/responses/resp_" + session1 + "/cancel", "/agents/runs/run_" + turn1 + "/cancel"} {
		rows = append(rows,
			row{"POST", stop + "?wait_ms=20001", "", "wait_ms"}, row{"POST", stop + "?wait_ms=-1", "", "wait_ms"},
			row{"POST", stop + "?wait_ms=soon", "", "wait_ms"}, row{"POST", stop, `{"wait_ms":20001}`, "wait_ms"},
			row{"POST", stop, `{"wait_ms":1.5}`, "wait_ms"}, row{"POST", stop, `{"run_id":7}`, "run_id"},
			row{"POST", stop, `{"run_id":"run_"}`, "run_id"}, row{"POST", stop, `{"reason":"x"}`, "reason"})
	}
	rows = append(rows, row{"POST", "/agents/runs/run_" + turn1 + "/cancel", `{"run_id":"another"}`, "run_id"})
	for _, r := range rows {
		a := s.do("owner", r.method, r.path, r.body)
		if a.status != http.StatusBadRequest || a.field(t, "error.param") != r.param || a.field(t, "error.code") != "invalid_request" {
			t.Errorf("%s %s %.120s\n%d %s, want a 400 about %s", r.method, r.path, r.body, a.status, a.body, r.param)
		}
		if msg, _ := a.field(t, "error.message").(string); !strings.HasPrefix(msg, r.param+": ") {
			t.Errorf("%s %s %.120s: message %q", r.method, r.path, r.body, msg)
		}
	}
	if n := len(s.Submits()); n != 2 { // the first, and the one of a version that is not there
		t.Errorf("%d turns were asked for", n)
	}
	if n := len(s.Stops()); n != 0 {
		t.Errorf("%d stops were asked for", n)
	}
}

// TestBadBodies: every route with a body refuses what is not one JSON object.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, route := range []struct {
		method, path string
		optional     bool
	}{
		{"POST", "/agents", false}, {"PATCH", "/agents/support", false}, {"POST", "/agents/support/publish", true},
		{"POST", "/responses", false}, {"POST", "/agents/responses", false},
		{"POST", "/tools", false}, {"PATCH", "/tools/crm", false}, {"POST", "/tools/crm/check", true},
		{"POST", "/agents/conversations/x/cancel", true}, {"POST", "/responses/x/cancel", true}, {"POST", "/agents/responses/x/cancel", true},
		{"POST", "/agents/runs/x/cancel", true},
		{"POST", "/agents/actions/x/decision", false},
	} {
		for _, body := range []string{"", " \n", "{", "[]", `"x"`, "null", "{} {}", "{}x", "{'a':1}", "\xff", `{"a":1,}`} {
			a := s.do("owner", route.method, route.path, body)
			if route.optional && strings.TrimSpace(body) == "" {
				if a.status == http.StatusBadRequest {
					t.Errorf("%s %s without a body: %s", route.method, route.path, a.body)
				}
				continue
			}
			if a.status != http.StatusBadRequest || a.field(t, "error.code") != "invalid_request" || !strings.HasPrefix(fmt.Sprint(a.field(t, "error.message")), "The body ") {
				t.Errorf("%s %s %q: %d %s", route.method, route.path, body, a.status, a.body)
			}
		}
	}
}

// TestNullIsAsIfNotThere: clients send null for what they leave out.
func TestNullIsAsIfNotThere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	a := s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello","stream":null,"previous_response_id":null,"conversation":null,
		"version":null,"metadata":null,"instructions":null,"temperature":null,"top_p":null,"max_output_tokens":null,"background":null,
		"tools":null,"tool_choice":null,"text":null,"reasoning":null,"user":null}`)
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if v := s.Submits()[0].Version; v == nil || *v != 0 {
		t.Errorf("version %v, want the draft", v)
	}
}

func TestOverridesReachTheTurn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	a := s.do("owner", "POST", "/agents/responses", `{"model":"support","input":"Hello","instructions":"Be brief.","temperature":0,"top_p":0.5,"max_output_tokens":7,"version":2}`)
	q := s.Submits()[0]
	if *q.Overrides.Instructions != "Be brief." || *q.Overrides.Temperature != 0 || *q.Overrides.TopP != 0.5 || *q.Overrides.MaxOutputTokens != 7 || *q.Version != 2 {
		t.Errorf("%+v", q)
	}
	if a.field(t, "temperature") != 0.0 || a.field(t, "max_output_tokens") != 7.0 || a.field(t, "version") != 2.0 || a.field(t, "instructions") != nil {
		t.Errorf("%s", a.body)
	}
	if q.Door != agent.DoorClient || q.Principal.ID != "token:owner" {
		t.Errorf("%+v", q)
	}
}
