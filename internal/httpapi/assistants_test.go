package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
)

const (
	thread1 = "thread_" + session1
	runBody = `{"assistant_id":"asst_support"}`
)

func TestTranscriptOfAssistants(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("owner", "POST", "/assistants", `{"key":"helper","model":"demo","name":"Helper","instructions":"Help.","temperature":0.5,"tools":[],"metadata":{},"response_format":"auto"}`)
	s.do("owner", "POST", "/assistants", `{"key":"helper","model":"demo"}`)
	s.do("owner", "POST", "/assistants/asst_helper", `{"name":"Other","instructions":null,"top_p":0.1}`)
	s.do("owner", "GET", "/assistants/asst_helper", "")
	s.do("owner", "GET", "/assistants?limit=1", "")
	s.do("owner", "GET", "/assistants?limit=1&after=asst_support", "")
	s.do("owner", "GET", "/assistants?limit=1&order=asc&before=asst_support", "")
	s.do("owner", "GET", "/assistants?after=asst_nobody", "")
	s.do("foreign", "GET", "/assistants/asst_helper", "")
	s.do("foreign", "POST", "/assistants/asst_helper", `{"name":"Mine"}`)
	for _, body := range []string{
		`{"model":"demo","tools":[{"type":"code_interpreter"}]}`, `{"model":"demo","tool_resources":{"file_search":{}}}`, `{"model":"demo","metadata":{"a":"b"}}`,
		`{"model":"demo","description":"x"}`, `{"model":"demo","response_format":{"type":"json_object"}}`, `{"name":"x"}`, `{"model":"demo","key":"A"}`,
		`{"model":"demo","temperature":9}`, `{"model":"demo","file_ids":[]}`,
	} {
		s.do("owner", "POST", "/assistants", body)
	}
	s.do("weak", "POST", "/assistants", `{"model":"demo"}`)
	s.do("weak", "GET", "/assistants", "")
	s.do("owner", "DELETE", "/assistants/asst_helper", "")
	s.do("owner", "DELETE", "/assistants/asst_helper", "")
	s.do("owner", "GET", "/assistants/asst_helper", "")
	s.compare("assistants")
}

func TestTranscriptOfThreads(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("owner", "POST", "/threads", "")
	s.do("owner", "POST", "/threads", `{"messages":[{"role":"user","content":"One"},{"role":"assistant","content":[{"type":"text","text":"Two"},{"type":"text","text":"three"}]}],"metadata":{"a":"b"}}`)
	const id = "/threads/thread_5e0000000000000000000002"
	s.do("owner", "GET", id, "")
	s.do("owner", "POST", id, `{"metadata":{"c":"d"}}`)
	s.do("owner", "POST", id, `{}`)
	s.do("owner", "POST", id+"/messages", `{"role":"user","content":"Four","attachments":[],"metadata":{}}`)
	for _, q := range []string{"", "?limit=2", "?limit=2&after=msg_5e0000000000000000000002_1", "?order=asc&limit=2", "?order=asc&limit=1&before=msg_5e0000000000000000000002_2", "?before=msg_5e0000000000000000000002_0&after=msg_5e0000000000000000000002_2", "?limit=1&before=msg_5e0000000000000000000002_0"} {
		s.do("owner", "GET", id+"/messages"+q, "")
	}
	s.do("owner", "GET", id+"/messages/msg_5e0000000000000000000002_1", "")
	s.do("owner", "GET", id+"/messages/msg_5e0000000000000000000002_9", "")
	s.do("owner", "GET", id+"/messages?after=msg_"+session1+"_0", "")
	s.do("owner", "GET", id+"/messages?limit=0", "")
	s.do("owner", "GET", id+"/messages?order=up", "")
	s.do("owner", "POST", id+"/messages/msg_5e0000000000000000000002_1", `{"metadata":{"a":"b"}}`)
	s.do("owner", "DELETE", id+"/messages/msg_5e0000000000000000000002_1", "")
	for _, body := range []string{
		`{"role":"system","content":"x"}`, `{"role":"user","content":" "}`, `{"role":"user"}`, `{"role":"user","content":{}}`,
		`{"role":"user","content":[{"type":"image_file","image_file":{"file_id":"f"}}]}`, `{"role":"user","content":"x","attachments":[{"file_id":"f"}]}`,
		`{"role":"user","content":"x","metadata":{"a":"b"}}`, `{"role":"user","content":"x","file_ids":[]}`,
	} {
		s.do("owner", "POST", id+"/messages", body)
	}
	s.do("owner", "POST", "/threads", `{"messages":[{"role":"user","content":"x"},{"role":"tool","content":"x"}]}`)
	s.do("owner", "POST", "/threads", `{"tool_resources":{"code_interpreter":{}}}`)
	s.do("owner", "POST", id, `{"metadata":{"":"x"}}`)
	s.do("weak", "POST", "/threads", "")
	s.do("other", "GET", id, "")
	s.do("other", "POST", id+"/messages", `{"role":"user","content":"Mine"}`)
	s.do("owner", "DELETE", id, "")
	s.do("owner", "DELETE", id, "")
	s.do("owner", "GET", id, "")
	s.compare("threads")
}

func TestTranscriptOfRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/threads", `{"messages":[{"role":"user","content":"Hello"}]}`)
	const runs = "/threads/" + thread1 + "/runs"
	s.do("owner", "POST", runs, `{"assistant_id":"asst_support","instructions":"Sing.","additional_instructions":"Loudly.","metadata":{"a":"b"},"max_completion_tokens":99,
		"temperature":0.3,"truncation_strategy":{"type":"auto","last_messages":null},"response_format":"auto","tool_choice":"auto","parallel_tool_calls":true,"tools":[]}`)
	s.do("owner", "POST", runs, `{"assistant_id":"support","additional_messages":[{"role":"user","content":"More"}],"stream":true}`)
	s.do("owner", "GET", runs, "")
	s.do("owner", "GET", runs+"?order=asc&limit=1", "")
	s.do("owner", "GET", runs+"?order=asc&after=run_7a0000000000000000000002", "")
	s.do("owner", "GET", runs+"/run_7a0000000000000000000002", "")
	s.do("owner", "GET", runs+"/run_7a0000000000000000000002/steps", "")
	s.do("owner", "GET", "/threads/"+thread1+"/messages?order=asc", "")
	s.do("owner", "POST", runs+"/run_7a0000000000000000000002", `{"metadata":{"a":"c"}}`)
	s.do("owner", "POST", runs+"/run_7a0000000000000000000002/submit_tool_outputs", `{"tool_outputs":[]}`)
	s.do("owner", "POST", "/threads/runs", `{"assistant_id":"asst_support","thread":{"messages":[{"role":"user","content":"Hello"}],"metadata":{"a":"b"}}}`)
	s.do("owner", "POST", "/threads/runs", `{"assistant_id":"asst_support","thread":{"messages":[{"role":"user","content":"Hello"}]},"stream":true}`)
	s.compare("runs")
	first, second := s.Submits()[0], s.Submits()[1]
	if o := first.Overrides; *o.Instructions != "Sing." || o.Additional != "Loudly." || *o.MaxTotalTokens != 99 || !first.NoInput || first.Agent != "support" {
		t.Errorf("asked for %+v", first)
	}
	if len(second.History) != 1 || second.History[0].Text != "More" {
		t.Errorf("asked for %+v", second)
	}
}

// The three answers of a cancel and their order are the stop contract's.
func TestTranscriptOfAStopOfARun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/threads", `{"messages":[{"role":"user","content":"Hello"}]}`)
	const runs = "/threads/" + thread1 + "/runs"
	const first, second = "run_7a0000000000000000000002", "run_7a0000000000000000000003"
	s.do("owner", "POST", runs+"/"+first+"/cancel", "") // nothing ran yet
	s.do("owner", "POST", runs, runBody)
	s.do("owner", "POST", runs+"/"+first+"/cancel", "") // it has ended
	s.Began = func(tn agent.Turn) { s.Append(tn.ID, agent.TextDelta{Text: "Half an ans"}) }
	const ask = `{"assistant_id":"asst_support","stream":true}`
	res := s.send("owner", "POST", runs, ask)
	head := waitFor(t, res.Body, "Half an ans")
	s.do("owner", "GET", runs+"/"+second, "")
	s.do("owner", "POST", "/threads/"+thread1+"/messages", `{"role":"user","content":"Too early"}`)
	s.do("owner", "POST", runs, runBody)
	s.do("owner", "DELETE", "/threads/"+thread1, "")
	s.do("owner", "POST", runs+"/"+first+"/cancel", "") // it has ended, though another runs
	for _, token := range []string{"foreign", "other"} {
		s.do(token, "POST", runs+"/"+second+"/cancel", "")
	}
	s.do("foreign", "POST", "/threads/thread_nothing/runs/run_nothing/cancel", "")
	s.do("owner", "POST", runs+"/run_nothing/cancel", "") // whichever runs is stopped
	s.do("owner", "GET", runs+"/"+second, "")
	s.do("owner", "POST", runs+"/"+second+"/cancel?wait_ms=10", "")
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(head), res.Body), res.Body}
	s.record(res, "owner", "POST", runs, ask)
	s.do("owner", "POST", runs+"/"+second+"/cancel", `{"wait_ms":0}`)
	s.do("owner", "POST", runs+"/run_nothing/cancel", "")
	s.do("owner", "GET", "/threads/"+thread1+"/messages?limit=1", "")
	s.Break(agent.ErrUnavailable)
	s.do("owner", "POST", runs+"/"+second+"/cancel", "")
	s.compare("run_stop")
}

func TestTranscriptOfRunsThatEndOtherwise(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const ask = `{"assistant_id":"asst_support","thread":{"messages":[{"role":"user","content":"Hello"}]}}`
	stream := strings.Replace(ask, "{", `{"stream":true,`, 1)
	half := func(end agent.TurnEnded, reason string) func(tn agent.Turn) {
		return func(tn agent.Turn) {
			s.Append(tn.ID, agent.TextDelta{Text: "Half"},
				agent.Message{Index: tn.Index, Role: agent.RoleAssistant, Text: "Half", Status: agent.StatusIncomplete, StopReason: reason}, end)
		}
	}
	ends := []func(agent.Turn){
		half(agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonLimit, StopDetail: "max_total_output_tokens"}, "limit"),
		half(agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonLimit, StopDetail: "max_tool_calls"}, "limit"),
		half(agent.TurnEnded{Status: agent.StatusFailed, Error: &agent.Failure{Code: agent.CodeModelError, Message: "It went wrong."}}, "failed"),
		half(agent.TurnEnded{Status: agent.StatusFailed, Error: &agent.Failure{Code: agent.CodeTimeout, Message: "It took too long."}}, "failed"),
		func(tn agent.Turn) { // what was shown was lost with its node
			s.Append(tn.ID, agent.TextDelta{Text: "Hal"}, agent.TurnEnded{Status: agent.StatusFailed, Error: agent.LostFailure()})
		},
		func(tn agent.Turn) {
			s.Append(tn.ID, agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonCancelled})
		},
		func(tn agent.Turn) {
			args := json.RawMessage(`{"amount":5}`)
			s.Append(tn.ID,
				agent.Message{Index: tn.Index, Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "call_9", Name: "refund", Arguments: args}}, Status: agent.StatusCompleted},
				agent.ActionRequested{ActionID: "ac1", CallID: "call_9", Type: agent.ActionApproval, Name: "refund", Arguments: args},
				agent.TurnPaused{Actions: []string{"ac1"}})
		},
	}
	for _, end := range ends {
		s.Began = end
		s.do("owner", "POST", "/threads/runs", ask)
		s.do("owner", "POST", "/threads/runs", stream)
	}
	last := s.Submits()
	if len(last) != 2*len(ends) {
		t.Fatalf("%d turns", len(last))
	}
	s.do("owner", "GET", fmt.Sprintf("/threads/5e%022d/runs/7a%022d", 4*len(ends)-1, 4*len(ends)), "")
	s.compare("run_ends")
}

func TestTranscriptOfRefusedRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("owner", "POST", "/threads", "")
	const runs = "/threads/" + thread1 + "/runs"
	for _, more := range []string{
		`"model":"gpt-4o"`, `"max_prompt_tokens":5`, `"max_completion_tokens":0`, `"temperature":3`, `"top_p":-1`, `"tools":[{"type":"file_search"}]`,
		`"tool_resources":{"a":1}`, `"tool_choice":"required"`, `"response_format":{"type":"json_schema"}`, `"truncation_strategy":{"type":"last_messages","last_messages":3}`,
		`"metadata":{"":"x"}`, `"additional_messages":[{"role":"x","content":"y"}]`, `"thread":{}`,
	} {
		s.do("owner", "POST", runs, `{"assistant_id":"asst_support",`+more+`}`)
	}
	s.do("owner", "POST", runs, `{}`)
	s.do("owner", "POST", runs, runBody)
	const message = `"additional_messages":[{"role":"user","content":"Hello"}]`
	s.do("owner", "POST", runs, `{"assistant_id":"asst_nobody",`+message+`}`)
	s.do("owner", "POST", "/threads/runs", `{"assistant_id":"asst_nobody","thread":{"messages":[{"role":"user","content":"Hello"}]}}`)
	s.do("owner", "POST", "/threads/runs", runBody)
	s.do("owner", "POST", "/threads/runs", `{"assistant_id":"asst_support","thread":{"messages":[{"role":"user"}]}}`)
	s.answered()
	s.do("owner", "POST", runs, `{"assistant_id":"asst_support",`+message+`}`)
	s.do("owner", "POST", runs, `{"assistant_id":"asst_other"}`)
	s.do("weak", "POST", runs, runBody)
	for _, token := range []string{"foreign", "other"} {
		s.do(token, "POST", runs, runBody)
		s.do(token, "GET", runs, "")
		s.do(token, "GET", runs+"/run_7a0000000000000000000002", "")
	}
	s.do("owner", "GET", "/threads/thread_5e0000000000000000000009/runs/run_7a0000000000000000000002", "")
	s.do("owner", "GET", runs+"/run_nothing/steps", "")
	s.do("owner", "GET", runs+"?after=run_nothing", "")
	s.compare("run_refused")
}

func TestForeignThreadsAreUnknown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/threads", `{"messages":[{"role":"user","content":"Hello"}]}`)
	s.do("owner", "POST", "/threads/"+thread1+"/runs", runBody)
	const none, run = "5effffffffffffffffffffff", "7a0000000000000000000002"
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/threads/thread_%s", ""},
		{"POST", "/threads/thread_%s", `{"metadata":{"a":"b"}}`},
		{"DELETE", "/threads/thread_%s", ""},
		{"GET", "/threads/thread_%s/messages", ""},
		{"POST", "/threads/thread_%s/messages", `{"role":"user","content":"x"}`},
		{"GET", "/threads/thread_%s/messages/msg_%[1]s_0", ""},
		{"GET", "/threads/thread_%s/runs", ""},
		{"POST", "/threads/thread_%s/runs", runBody},
		{"GET", "/threads/thread_%s/runs/run_" + run, ""},
		{"GET", "/threads/thread_%s/runs/run_" + run + "/steps", ""},
		{"POST", "/threads/thread_%s/runs/run_" + run + "/cancel", ""},
	} {
		foreign := s.do("foreign", c.method, fmt.Sprintf(c.path, session1), c.body)
		unknown := s.do("foreign", c.method, fmt.Sprintf(c.path, none), c.body)
		if foreign.status != unknown.status || strings.ReplaceAll(foreign.body, session1, none) != unknown.body {
			t.Errorf("%s %s: foreign %d %s, unknown %d %s", c.method, c.path, foreign.status, foreign.body, unknown.status, unknown.body)
		}
		if foreign.status != http.StatusNotFound && c.method != "DELETE" {
			t.Errorf("%s %s: %d", c.method, c.path, foreign.status)
		}
	}
	if a := s.do("owner", "GET", "/threads/"+thread1, ""); a.status != http.StatusOK || a.field(t, "metadata.a") != nil {
		t.Errorf("after all of it the owner reads %d %s", a.status, a.body)
	}
}

// The ceiling is a run's own end here: the run is there, and says so.
func TestTheCeilingExpiresARun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.SetSpec("support", agent.Config{Model: "demo", Execution: agent.Execution{SyncTimeoutSeconds: 1}})
	a := s.do("owner", "POST", "/threads/runs", `{"assistant_id":"asst_support","thread":{"messages":[{"role":"user","content":"Hello"}]}}`)
	if a.status != http.StatusOK || a.field(t, "status") != "expired" || a.field(t, "last_error.code") != agent.CodeTimeout || s.Timeouts() != 1 {
		t.Errorf("%d %s, %d timeouts", a.status, a.body, s.Timeouts())
	}
}
