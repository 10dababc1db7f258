package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
)

func TestTranscriptOfAgents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("owner", "GET", "/agents", "")
	s.do("owner", "POST", "/agents", `{"key":"helper","name":"Helper","config":{"model":"demo","limits":{"max_tool_calls":3},"execution":{"callback_secret":"hush"}}}`)
	s.do("owner", "POST", "/agents", `{"key":"helper","config":{"model":"demo"}}`)
	s.do("owner", "PATCH", "/agents/helper", `{"status":"disabled","config":{"temperature":0.5,"limits":{"max_tool_calls":null,"max_cost_usd":2}}}`)
	s.do("owner", "GET", "/agents/helper", "")
	s.do("owner", "POST", "/agents/helper/publish", "")
	s.do("owner", "GET", "/agents?status=disabled", "")
	s.do("foreign", "GET", "/agents/helper", "")
	s.do("owner", "DELETE", "/agents/helper", "")
	s.do("owner", "DELETE", "/agents/helper", "")
	s.do("owner", "GET", "/agents/helper", "")
	s.do("owner", "GET", "/models", "")
	s.compare("agents")
}

func TestTranscriptOfSharedTools(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const canary = "tool-canary-0123456789"
	s.do("owner", "GET", "/tools", "")
	s.do("owner", "POST", "/tools", `{"key":"crm","source":"mcp","mcp":{"url":"https://crm.example.com/mcp","auth":{"type":"bearer","secret":"crm"}},"secret":"`+canary+`"}`)
	s.do("owner", "POST", "/tools", `{"key":"crm","source":"mcp","mcp":{"url":"https://crm.example.com/mcp"}}`)
	s.do("owner", "POST", "/tools", `{"key":"off","source":"mcp","mcp":{"url":"https://broken.example.com/mcp"}}`)
	s.do("owner", "POST", "/tools?unchecked=true", `{"key":"off","source":"mcp","mcp":{"url":"https://broken.example.com/mcp"}}`)
	s.do("owner", "POST", "/tools/off/check", "")
	s.do("owner", "POST", "/tools/crm/check", "{}")
	s.do("owner", "GET", "/tools", "")
	s.do("owner", "PATCH", "/tools/crm", `{"mcp":{"auth":null},"secret":null}`)
	s.do("owner", "PATCH", "/tools/crm", `{"mcp":{"url":"https://broken.example.com"}}`)
	s.do("owner", "PATCH", "/tools/crm", `{"source":"openapi","mcp":null,"openapi":{"document":"openapi: 3.1.0"},"secret":"`+canary+`"}`)
	s.do("owner", "GET", "/tools/crm", "")
	s.do("foreign", "GET", "/tools/crm", "")
	s.do("foreign", "PATCH", "/tools/crm", `{"secret":"`+canary+`"}`)
	s.do("foreign", "POST", "/tools/crm/check", "")
	s.do("foreign", "DELETE", "/tools/crm", "")
	s.do("foreign", "GET", "/tools", "")
	s.SetSpec("support", agent.Config{Model: "demo", Tools: []agent.ToolRef{{Source: agent.SourceOpenAPI, Key: "crm"}}})
	s.do("owner", "DELETE", "/tools/crm", "")
	s.SetSpec("support", agent.Config{Model: "demo"})
	s.do("owner", "DELETE", "/tools/crm", "")
	s.do("owner", "DELETE", "/tools/crm", "")
	s.do("owner", "GET", "/tools/crm", "")
	s.compare("tools")
	s.close()
	for _, f := range s.tape.Files { // 115
		if _, answer, _ := strings.Cut(string(f.Data), "\n\n"); strings.Contains(answer, canary) {
			t.Errorf("%s answers with the secret", f.Name)
		}
	}
	if strings.Contains(s.log.String(), canary) {
		t.Error("the secret is in the log")
	}
}

// TestAToolThatOthersChangeIsNotOverwritten: a change that came in between is
// merged with, and one that never stops coming is told.
func TestAToolThatOthersChangeIsNotOverwritten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("owner", "POST", "/tools", `{"key":"crm","source":"mcp","mcp":{"url":"https://a.example.com"}}`)
	change := func(tool agent.SharedTool) {
		now, err := s.Tool(t.Context(), tool.Project, "crm")
		if err == nil {
			now.MCP = &agent.MCPSource{URL: now.MCP.URL, Auth: &agent.ToolAuth{Type: "bearer", Secret: "other"}}
			_, err = s.ReplaceTool(t.Context(), now)
		}
		if err != nil {
			t.Error(err)
		}
	}
	s.Opened = func(tool agent.SharedTool) { s.Opened = nil; change(tool) }
	a := s.do("owner", "PATCH", "/tools/crm", `{"mcp":{"url":"https://b.example.com"}}`)
	if a.status != http.StatusOK || a.field(t, "mcp.url") != "https://b.example.com" || a.field(t, "mcp.auth.secret") != "other" {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.Opened = change
	a = s.do("owner", "PATCH", "/tools/crm", `{"mcp":{"url":"https://c.example.com"}}`)
	if a.status != http.StatusConflict || a.field(t, "error.code") != "changed" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestTranscriptOfWholeResponses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/agents/responses", `{"model":"support","input":"Hello","metadata":{"a":"b"},"temperature":0.2,"store":true,"include":[],"truncation":"auto"}`)
	s.do("owner", "POST", "/responses", `{"model":"support","input":[{"role":"user","content":"More"},{"type":"message","role":"user","content":[{"type":"input_text","text":"of"},{"type":"input_text","text":"it"}]}],"previous_response_id":"resp_`+session1+`"}`)
	s.do("owner", "POST", "/responses", `{"model":"support","input":"And","version":4,"conversation":{"id":"`+session1+`"}}`)
	s.do("owner", "GET", "/responses/resp_"+session1, "")
	s.do("owner", "GET", "/responses/run_"+turn1, "")
	s.do("owner", "GET", "/responses/resp_"+turn1+"/input_items", "")
	s.do("owner", "DELETE", "/responses/run_"+turn1, "")
	s.do("owner", "DELETE", "/responses/resp_"+session1, "")
	s.do("owner", "DELETE", "/responses/resp_"+session1, "")
	s.do("owner", "GET", "/responses/resp_"+session1, "")
	s.compare("whole")
	if got := s.Submits()[1].Input; got != "More\n\nof\nit" {
		t.Errorf("input %q", got)
	}
}

func TestTranscriptOfStreams(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello","stream":true}`)
	s.do("owner", "GET", "/responses/run_"+turn1+"?stream=true&starting_after=20", "")
	s.do("owner", "GET", "/responses/resp_"+session1+"?stream=true&starting_after=9000", "")
	s.DropDeltas(session1)
	s.do("owner", "GET", "/responses/resp_"+session1+"?stream=true", "")
	s.compare("stream")
}

func TestTranscriptOfConversations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	s.do("other", "POST", "/responses", `{"model":"support","input":"Hello from another"}`)
	s.do("owner", "GET", "/agents/conversations", "")
	s.do("admin", "GET", "/agents/conversations?limit=1&agent=support", "")
	s.do("admin", "GET", "/agents/conversations?limit=1&cursor=1", "")
	s.do("owner", "GET", "/agents/conversations/"+session1, "")
	s.do("owner", "GET", "/agents/conversations/"+session1+"/messages?limit=2", "")
	s.do("owner", "GET", "/agents/conversations/"+session1+"/messages?after=1", "")
	s.do("owner", "GET", "/agents/conversations/"+session1+"/events?limit=3", "")
	s.do("owner", "GET", "/agents/conversations/"+session1+"/events?after=3", "")
	s.do("owner", "GET", "/agents/conversations/"+session1+"/actions", "")
	s.do("owner", "POST", "/agents/conversations/"+session1+"/cancel", "")
	s.do("owner", "DELETE", "/agents/conversations/"+session1, "")
	s.do("owner", "DELETE", "/agents/conversations/"+session1, "")
	s.do("owner", "GET", "/agents/conversations/"+session1, "")
	s.compare("conversations")
}

// waitFor reads a stream until it has shown a word.
func waitFor(t *testing.T, r io.Reader, word string) string {
	t.Helper()
	var seen strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(seen.String(), word) {
		n, err := r.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			t.Fatalf("the stream ended with %v before %q: %s", err, word, seen.String())
		}
	}
	return seen.String()
}

func TestTranscriptOfAStop(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Began = func(tn agent.Turn) { s.Append(tn.ID, agent.TextDelta{Text: "Half an ans"}) }
	const ask = `{"model":"support","input":"Hello","stream":true}`
	res := s.send("owner", "POST", "/agents/responses", ask)
	head := waitFor(t, res.Body, "Half an ans")

	s.do("owner", "GET", "/responses/run_"+turn1, "")
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Too early","previous_response_id":"resp_`+session1+`"}`)
	s.do("owner", "GET", "/agents/conversations/"+session1, "")
	s.do("owner", "POST", "/agents/responses/resp_"+session1+"/cancel", "")
	s.do("owner", "POST", "/responses/run_"+turn1+"/cancel?wait_ms=10", "")
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(head), res.Body), res.Body}
	s.record(res, "owner", "POST", "/agents/responses", ask)
	s.do("owner", "POST", "/responses/resp_"+session1+"/cancel", `{"wait_ms":0,"run_id":"run_`+turn1+`"}`)
	s.do("owner", "POST", "/agents/conversations/"+session1+"/cancel", `{"wait_ms":5}`)
	s.do("owner", "GET", "/responses/resp_"+session1, "")
	s.compare("stop")
}

func TestTranscriptOfAPause(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	args := json.RawMessage(`{"amount":5}`)
	call := agent.Call{ID: "call_9", Name: "refund", Arguments: args}
	s.Began = func(tn agent.Turn) {
		s.Append(tn.ID,
			agent.Message{Index: tn.Index, Role: agent.RoleAssistant, Calls: []agent.Call{call}, Status: agent.StatusCompleted, Usage: &agent.Usage{Tokens: agent.Tokens{Input: 3, Output: 2}, At: httpapitest.Epoch}},
			agent.ActionRequested{ActionID: "ac1", CallID: "call_9", Type: agent.ActionApproval, Name: "refund", Arguments: args},
			agent.TurnPaused{Actions: []string{"ac1"}})
	}
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Refund me","stream":true}`)
	s.do("owner", "GET", "/responses/run_"+turn1, "")
	s.do("owner", "GET", "/responses/run_"+turn1+"?stream=true&starting_after=1", "")
	s.do("owner", "GET", "/agents/conversations/"+session1, "")
	s.do("owner", "GET", "/agents/conversations/"+session1+"/actions", "")
	for _, who := range []string{"owner", "weak", "foreign"} {
		s.do(who, "GET", "/agents/actions?state=open&limit=1", "")
	}
	s.do("weak", "POST", "/agents/actions/ac1/decision", `{"decision":"approve"}`)
	s.do("foreign", "POST", "/agents/actions/ac1/decision", `{"decision":"approve"}`)
	s.do("owner", "POST", "/agents/actions/ac1/decision", `{"decision":"approve","arguments":{"amount":4},"comment":"fine"}`)
	s.do("owner", "POST", "/agents/actions/ac1/decision", `{"decision":"approve","comment":"fine"}`)
	s.do("owner", "POST", "/agents/actions/ac1/decision", `{"decision":"reject"}`)
	s.Append(turn1,
		agent.ToolStarted{CallID: "call_9", Name: "refund", Source: "shop", Arguments: json.RawMessage(`{"amount":4}`)},
		agent.ToolFinished{CallID: "call_9", Name: "refund", Outcome: agent.ToolUnconfirmed, Output: "unknown"},
		agent.TextDelta{Text: "Done."},
		agent.Message{Index: 2, Role: agent.RoleAssistant, Text: "Done.", Status: agent.StatusCompleted},
		agent.TurnEnded{Status: agent.StatusCompleted})
	s.do("owner", "GET", "/responses/run_"+turn1+"?stream=true", "")
	s.do("owner", "GET", "/responses/run_"+turn1+"?stream=true&starting_after=2", "")
	s.compare("pause")
}

func TestTranscriptOfFailedTurns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, code := range []string{
		agent.CodeModelError, agent.CodeModelAuth, agent.CodeModelDenied, agent.CodeModelIdle,
		agent.CodeModelMissing, agent.CodeTimeout, agent.CodeAgentError, agent.CodeShutdown, agent.CodeWorkerLost,
	} {
		s.Began = func(tn agent.Turn) {
			s.Append(tn.ID, agent.TextDelta{Text: "Half"},
				agent.Message{Index: tn.Index, Role: agent.RoleAssistant, Text: "Half", Status: agent.StatusIncomplete, StopReason: "failed"},
				agent.TurnEnded{Status: agent.StatusFailed, Error: &agent.Failure{Code: code, Message: "It went wrong: " + code + "."}})
		}
		s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	}
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello","stream":true}`)
	s.compare("failed")
}

func TestTranscriptOfLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, limit := range []string{"max_tool_calls", "max_total_output_tokens"} {
		s.Began = func(tn agent.Turn) {
			s.Append(tn.ID, agent.TextDelta{Text: "Half"},
				agent.Message{Index: tn.Index, Role: agent.RoleAssistant, Text: "Half", Status: agent.StatusIncomplete, StopReason: "limit"},
				agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonLimit, StopDetail: limit})
		}
		s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	}
	s.compare("limits")
}

func TestTranscriptOfErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	s.do("", "GET", "/agents", "")
	s.do("belay_secretsecret", "GET", "/agents", "")
	s.do("owner", "GET", "//nowhere", "")
	s.do("owner", "PUT", "/agents", "")
	s.do("weak", "GET", "/agents", "")
	s.do("weak", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	s.do("other", "GET", "/responses/resp_"+session1, "")
	s.do("other", "POST", "/responses", `{"model":"support","input":"Hello","previous_response_id":"resp_`+session1+`"}`)
	s.do("owner", "POST", "/responses", `{"model":"nobody","input":"Hello"}`)
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello","version":9}`)
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`, "Idempotency-Key", "k")
	for _, id := range []string{"resp_nothing", "run_" + session1, session1, "x"} {
		s.do("owner", "POST", "/responses", fmt.Sprintf(`{"model":"support","input":"Hello","previous_response_id":"%s"}`, id))
	}
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello","conversation":"nothing"}`)
	s.Break(agent.ErrUnavailable)
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	s.do("owner", "POST", "/agents/conversations/"+session1+"/cancel", "")
	s.do("owner", "POST", "/responses/resp_"+session1+"/cancel", "")
	s.do("owner", "POST", "/responses/run_"+turn1+"/cancel", "")
	s.Break(agent.ErrDraining)
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	s.Break(fmt.Errorf("secret detail of the database"))
	s.do("owner", "GET", "/agents/conversations/"+session1, "")
	s.compare("errors")
}

// TestForeignIsUnknown: what belongs to another project is answered with the
// same bytes as what does not exist, and nothing is done.
func TestForeignIsUnknown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	const none = "5effffffffffffffffffffff"
	for _, c := range []struct{ method, path, code string }{
		{"GET", "/agents/conversations/%s", "agent_session_not_found"},
		{"GET", "/agents/conversations/%s/messages", "agent_session_not_found"},
		{"GET", "/agents/conversations/%s/events", "agent_session_not_found"},
		{"GET", "/agents/conversations/%s/actions", "agent_session_not_found"},
		{"DELETE", "/agents/conversations/%s", ""},
		{"POST", "/agents/conversations/%s/cancel", "agent_run_not_found"},
		{"POST", "/agents/responses/%s/cancel", "agent_run_not_found"},
		{"POST", "/responses/%s/cancel", "agent_run_not_found"},
		{"GET", "/responses/%s", "agent_run_not_found"},
		{"GET", "/responses/%s?stream=true", "agent_run_not_found"},
		{"GET", "/responses/%s/input_items", "agent_run_not_found"},
		{"DELETE", "/responses/%s", ""},
	} {
		for _, id := range []string{session1, turn1} {
			foreign := s.do("foreign", c.method, fmt.Sprintf(c.path, id), "")
			unknown := s.do("foreign", c.method, fmt.Sprintf(c.path, none), "")
			if foreign.status != unknown.status || strings.ReplaceAll(foreign.body, id, none) != unknown.body {
				t.Errorf("%s %s: foreign %d %s, unknown %d %s", c.method, c.path, foreign.status, foreign.body, unknown.status, unknown.body)
			}
			if c.code != "" && foreign.field(t, "error.code") != c.code {
				t.Errorf("%s %s: %s, want %s", c.method, c.path, foreign.body, c.code)
			}
		}
	}
	if a := s.do("owner", "GET", "/responses/resp_"+session1, ""); a.status != http.StatusOK {
		t.Errorf("after all of it the owner reads %d", a.status)
	}
	if a := s.do("other", "POST", "/responses/resp_"+session1+"/cancel", ""); a.status != http.StatusForbidden || a.field(t, "error.code") != "agent_session_forbidden" {
		t.Errorf("another of the project stops: %d %s", a.status, a.body)
	}
}

func TestTheCeilingEndsTheTurn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.SetSpec("support", agent.Config{Model: "demo", Execution: agent.Execution{SyncTimeoutSeconds: 1}})
	began := time.Now()
	a := s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`)
	if a.status != http.StatusGatewayTimeout || a.field(t, "error.side_effects_possible") != true || a.field(t, "error.retryable") != false {
		t.Errorf("%d %s", a.status, a.body)
	}
	if d := time.Since(began); d < time.Second || d > 5*time.Second {
		t.Errorf("after %v", d)
	}
	if a.header.Get("X-Should-Retry") != "false" || s.Timeouts() != 1 {
		t.Errorf("headers %v, %d timeouts", a.header, s.Timeouts())
	}
}
