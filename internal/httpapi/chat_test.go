package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
)

const chatPath = "/chat/completions"

func TestTranscriptOfChatCompletions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", chatPath, `{"model":"support","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"One"},
		{"role":"assistant","content":null,"refusal":null,"annotations":[]},{"role":"assistant","content":"Two"},
		{"role":"user","content":[{"type":"text","text":"Three"},{"type":"text","text":"four"}]}],
		"max_tokens":9,"temperature":0.2,"seed":1,"user":"u","n":1,"tools":[],"response_format":{"type":"text"},"metadata":{"a":"b"}}`)
	s.do("owner", "POST", chatPath, `{"model":"support","conversation_id":"`+session1+`","version":0,"messages":[{"role":"tool"},{"role":"user","content":"More"},{"role":"assistant","content":"!"}]}`)
	s.do("owner", "POST", chatPath, `{"model":"support","stream":true,"messages":[{"role":"user","content":"Hello"}]}`)
	s.do("owner", "POST", chatPath, `{"model":"support","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hello"}]}`)
	s.do("owner", "GET", "/agents/conversations/"+session1+"/messages?limit=5", "")
	s.compare("chat")
	got := s.Submits()
	want := []agent.Prompt{
		{Role: agent.RoleSystem, Text: "Be brief."}, {Role: agent.RoleUser, Text: "One"}, {Role: agent.RoleAssistant}, {Role: agent.RoleAssistant, Text: "Two"},
	}
	if !reflect.DeepEqual(got[0].History, want) || got[0].Input != "Three\nfour" || *got[0].Overrides.MaxOutputTokens != 9 {
		t.Errorf("asked for %+v", got[0])
	}
	if got[1].History != nil || got[1].Input != "More" || got[1].Session != session1 || *got[1].Version != 0 || got[0].Version != nil {
		t.Errorf("asked for %+v", got[1])
	}
}

// The stop comes from another client, by the conversation that the first chunk
// names.
func TestTranscriptOfAStopOfAChatCompletion(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Began = func(tn agent.Turn) { s.Append(tn.ID, agent.TextDelta{Text: "Half an ans"}) }
	const ask = `{"model":"support","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hello"}]}`
	res := s.send("owner", "POST", chatPath, ask)
	head := waitFor(t, res.Body, "Half an ans")
	first, _, _ := strings.Cut(head[strings.Index(head, "data: ")+len("data: "):], "\n")
	var chunk struct {
		ID string `json:"conversation_id"`
	}
	if err := json.Unmarshal([]byte(first), &chunk); err != nil || chunk.ID != session1 {
		t.Errorf("the first chunk is %s: %v", first, err)
	}
	s.do("owner", "POST", chatPath, `{"model":"support","conversation_id":"`+session1+`","messages":[{"role":"user","content":"Too early"}]}`)
	s.do("admin", "POST", "/agents/conversations/"+chunk.ID+"/cancel?wait_ms=10", "")
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(head), res.Body), res.Body}
	s.record(res, "owner", "POST", chatPath, ask)
	s.do("owner", "POST", "/agents/conversations/"+chunk.ID+"/cancel", "")
	s.do("owner", "GET", "/agents/conversations/"+chunk.ID+"/messages", "")
	s.compare("chat_stop")
}

func TestTranscriptOfChatCompletionsThatEndOtherwise(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const ask = `{"model":"support","messages":[{"role":"user","content":"Hello"}]}`
	stream := strings.Replace(ask, "{", `{"stream":true,`, 1)
	half := func(tn agent.Turn, end agent.TurnEnded) {
		s.Append(tn.ID, agent.TextDelta{Text: "Half"},
			agent.Message{Index: tn.Index, Role: agent.RoleAssistant, Text: "Half", Status: agent.StatusIncomplete, StopReason: "limit"}, end)
	}
	s.Began = func(tn agent.Turn) {
		half(tn, agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonLimit, StopDetail: "max_output_tokens"})
	}
	s.do("owner", "POST", chatPath, ask)
	s.do("owner", "POST", chatPath, stream)
	for _, code := range []string{agent.CodeModelAuth, agent.CodeTimeout} {
		s.Began = func(tn agent.Turn) {
			half(tn, agent.TurnEnded{Status: agent.StatusFailed, Error: &agent.Failure{Code: code, Message: "It went wrong: " + code + "."}})
		}
		s.do("owner", "POST", chatPath, ask)
		s.do("owner", "POST", chatPath, stream)
	}
	args := json.RawMessage(`{"amount":5}`)
	s.Began = func(tn agent.Turn) {
		s.Append(tn.ID,
			agent.Message{Index: tn.Index, Role: agent.RoleAssistant, Text: "May I?", Calls: []agent.Call{{ID: "call_9", Name: "refund", Arguments: args}},
				Status: agent.StatusCompleted, Usage: &agent.Usage{Tokens: agent.Tokens{Input: 3, Output: 2}, At: httpapitest.Epoch}},
			agent.ActionRequested{ActionID: "ac1", CallID: "call_9", Type: agent.ActionApproval, Name: "refund", Arguments: args},
			agent.TurnPaused{Actions: []string{"ac1"}})
	}
	s.do("owner", "POST", chatPath, ask)
	s.do("owner", "POST", chatPath, stream)
	s.compare("chat_ends")
}

func TestTranscriptOfRefusedChatCompletions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	const hello = `[{"role":"user","content":"Hello"}]`
	s.do("owner", "POST", chatPath, `{"model":"support","messages":`+hello+`}`)
	for _, more := range []string{
		`"n":2`, `"tools":[{"type":"function"}]`, `"functions":[{}]`, `"tool_choice":"required"`, `"tool_choice":{"type":"function"}`, `"function_call":{"name":"f"}`,
		`"modalities":["audio"]`, `"stop":"x"`, `"logprobs":true`, `"top_logprobs":2`, `"logit_bias":{"1":2}`, `"presence_penalty":1`, `"frequency_penalty":-1`,
		`"response_format":{"type":"json_object"}`, `"max_tokens":0`, `"max_completion_tokens":0`, `"temperature":3`, `"top_p":2`, `"version":-1`, `"audio":{}`,
		`"metadata":{"":"x"}`,
	} {
		s.do("owner", "POST", chatPath, fmt.Sprintf(`{"model":"support","messages":%s,%s}`, hello, more))
	}
	for _, messages := range []string{
		`[]`, `"Hello"`, `[{"role":"tool","content":"x","tool_call_id":"c"}]`, `[{"role":"tool","content":"x"},{"role":"user","content":"x"}]`,
		`[{"role":"assistant","content":"x"}]`, `[{"role":"user","content":" "}]`, `[{"role":"user"}]`, `[{"role":"user","content":1}]`,
		`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]`,
		`[{"role":"assistant","tool_calls":[{"id":"c"}]},{"role":"user","content":"x"}]`,
	} {
		s.do("owner", "POST", chatPath, `{"model":"support","messages":`+messages+`}`)
	}
	s.do("owner", "POST", chatPath, `{"messages":`+hello+`}`)
	s.do("owner", "POST", chatPath, `{"model":"nobody","messages":`+hello+`}`)
	s.do("owner", "POST", chatPath, `{"model":"support","version":9,"messages":`+hello+`}`)
	in := func(id string) string {
		return `{"model":"support","conversation_id":"` + id + `","messages":` + hello + `}`
	}
	s.do("owner", "POST", chatPath, in("nothing"))
	s.do("foreign", "POST", chatPath, in(session1))
	s.do("other", "POST", chatPath, in(session1))
	s.do("owner", "POST", chatPath, `{"model":"support","conversation_id":"`+session1+`","messages":[{"role":"system","content":"x"}]}`)
	s.do("weak", "POST", chatPath, in(session1))
	s.do("", "POST", chatPath, in(session1))
	s.compare("chat_refused")
	if n := len(s.Submits()); n != 3 {
		t.Errorf("%d turns were asked for, want 3: one that began, and two that only the engine can refuse", n)
	}
}

func TestACeilingEndsAChatCompletionWith504(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.SetSpec("support", agent.Config{Model: "demo", Execution: agent.Execution{SyncTimeoutSeconds: 1}})
	a := s.do("owner", "POST", chatPath, `{"model":"support","messages":[{"role":"user","content":"Hello"}]}`)
	if a.status != http.StatusGatewayTimeout || a.field(t, "error.code") != "timeout" || a.header.Get("X-Should-Retry") != "false" || s.Timeouts() != 1 {
		t.Errorf("%d %s, %d timeouts", a.status, a.body, s.Timeouts())
	}
}
