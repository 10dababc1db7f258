package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
)

const task1 = "task_" + session1 + "_1"

// speaker is a client of one version of A2A.
type speaker struct {
	*site
	version string
	n       int
}

// versions runs f for each version of A2A, on a site of its own.
func versions(t *testing.T, f func(t *testing.T, s *speaker)) {
	for _, v := range []string{"0.3", "1.0"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			f(t, &speaker{site: newSite(t), version: v})
		})
	}
}

// names of methods, of 0.3 and 1.0.
var a2aNames = map[string]string{
	"message/send": "SendMessage", "message/stream": "SendStreamingMessage", "tasks/get": "GetTask", "tasks/cancel": "CancelTask",
	"tasks/resubscribe": "SubscribeToTask", "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
	"tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
	"tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
}

// call calls a method by its name in 0.3, with params in JSON.
func (s *speaker) call(token, method, params string) answer {
	s.t.Helper()
	s.n++
	if s.version == "1.0" {
		if name, ok := a2aNames[method]; ok {
			method = name
		}
	}
	return s.do(token, "POST", "/a2a/support", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.n, method, params), "A2A-Version", s.version)
}

// message is the params of a message; more are fields of it, and after a bar of
// the params.
func (s *speaker) message(id, text, more string) string {
	in, out, _ := strings.Cut(more, "|")
	role, kind, part := "user", `"kind":"message",`, `"kind":"text",`
	if s.version == "1.0" {
		role, kind, part = "ROLE_USER", "", ""
	}
	return fmt.Sprintf(`{"message":{%s"messageId":%q,"role":%q,"parts":[{%s"text":%q}]%s}%s}`, kind, id, role, part, text, in, out)
}

// blocking is what makes 0.3 wait; 1.0 waits by itself.
func (s *speaker) blocking() string {
	if s.version == "1.0" {
		return "|"
	}
	return `|,"configuration":{"blocking":true}`
}

// code returns the error's code, 0 for none.
func (a answer) code(t *testing.T) int {
	t.Helper()
	n, _ := a.field(t, "error.code").(float64)
	return int(n)
}

// task returns a field of the task that a message was answered with.
func (s *speaker) task(a answer, field string) any {
	s.t.Helper()
	if v := a.field(s.t, "result.task."+field); v != nil {
		return v
	}
	return a.field(s.t, "result."+field)
}

// state is a state in the words of the version.
func (s *speaker) state(word string) string {
	if s.version == "0.3" {
		return word
	}
	return "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(word, "-", "_"))
}

// asks lets every turn ask a question, or for an approval.
func (s *site) asks(kind agent.ActionType, name, arguments string) {
	s.Began = func(t agent.Turn) {
		call := agent.Call{ID: "call_9", Name: name, Arguments: json.RawMessage(arguments)}
		s.Append(t.ID,
			agent.TextDelta{Text: "Just a "}, agent.TextDelta{Text: "moment."},
			agent.Message{Index: t.Index, Role: agent.RoleAssistant, Text: "Just a moment.", Calls: []agent.Call{call}, Status: agent.StatusCompleted},
			agent.ActionRequested{ActionID: "ac1", CallID: "call_9", Type: kind, Name: name, Arguments: call.Arguments},
			agent.TurnPaused{Actions: []string{"ac1"}})
	}
}

const question = `{"question":"Where to?","options":["Oslo","Rome"]}`

// goOn lets the turn that waits go on to its end.
func (s *site) goOn(id string) {
	s.Append(id,
		agent.ToolFinished{CallID: "call_9", Name: "ask_user", Outcome: agent.ToolSuccess, Output: "Rome"},
		agent.TextDelta{Text: "Rome "}, agent.TextDelta{Text: "it is."},
		agent.Message{Index: 2, Role: agent.RoleAssistant, Text: "Rome it is.", Status: agent.StatusCompleted},
		agent.TurnEnded{Status: agent.StatusCompleted})
}

func TestTranscriptOfA2ATasks(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, s *speaker) {
		s.answered()
		s.call("owner", "message/send", s.message("m1", "Hello", s.blocking()))
		s.call("owner", "tasks/get", `{"id":"`+task1+`"}`)
		s.call("owner", "tasks/get", `{"id":"`+task1+`","historyLength":0}`)
		s.call("owner", "message/stream", s.message("m2", "Hello again", `,"contextId":"`+session1+`"`))
		s.call("owner", "tasks/resubscribe", `{"id":"`+task1+`"}`)
		s.call("owner", "message/send", s.message("m1", "Hello", s.blocking()))
		if n := len(s.Submits()); n != 2 {
			t.Errorf("%d turns began: a message that was sent again ran again", n)
		}
		s.call("owner", "message/send", s.message("m3", "Hello", `,"taskId":"`+task1+`"`))
		if s.version == "1.0" {
			s.call("owner", "ListTasks", `{"pageSize":1}`)
			s.call("owner", "ListTasks", `{"page_size":1,"page_token":"1","include_artifacts":true,"history_length":1}`)
			s.call("owner", "ListTasks", `{"status":"TASK_STATE_WORKING","contextId":"`+session1+`"}`)
			s.call("other", "ListTasks", `{"contextId":"`+session1+`"}`)
		}
		s.compare("a2a-tasks-" + s.version)
	})
}

func TestTranscriptOfA2AStops(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, s *speaker) {
		s.Began = func(tn agent.Turn) { s.Append(tn.ID, agent.TextDelta{Text: "Half an "}) }
		immediately := map[string]string{"0.3": "", "1.0": `|,"configuration":{"returnImmediately":true}`}[s.version]
		s.call("owner", "message/send", s.message("m1", "Hello", immediately))
		s.call("owner", "message/send", s.message("m2", "Hello", `,"contextId":"`+session1+`"`))
		s.call("foreign", "tasks/cancel", `{"id":"`+task1+`"}`)
		s.call("other", "tasks/cancel", `{"id":"`+task1+`"}`)
		s.call("owner", "tasks/cancel", `{"id":"task_`+session1+`_7"}`)
		s.Break(agent.ErrUnavailable)
		s.call("owner", "tasks/cancel", `{"id":"`+task1+`"}`)
		s.Break(nil)
		s.call("owner", "tasks/cancel", `{"id":"`+task1+`","metadata":{"why":"enough"}}`)
		s.call("owner", "tasks/get", `{"id":"`+task1+`"}`)
		s.call("owner", "tasks/cancel", `{"id":"`+task1+`"}`)
		s.Append(turn1,
			agent.Message{Index: 1, Role: agent.RoleAssistant, Text: "Half an ", Status: agent.StatusIncomplete, StopReason: agent.ReasonCancelled},
			agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonCancelled, Stop: &agent.Stop{By: "token:owner", Door: agent.DoorA2A, Node: "n1", At: httpapitest.Epoch}})
		s.call("owner", "tasks/get", `{"id":"`+task1+`"}`)
		s.call("owner", "tasks/cancel", `{"id":"`+task1+`"}`)
		s.compare("a2a-stops-" + s.version)
	})
}

func TestTranscriptOfA2AQuestions(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, s *speaker) {
		s.asks(agent.ActionQuestion, "ask_user", question)
		s.call("owner", "message/stream", s.message("m1", "Plan a trip", ""))
		s.call("owner", "tasks/get", `{"id":"`+task1+`"}`)
		s.call("other", "message/send", s.message("m2", "Rome", `,"taskId":"`+task1+`"`))
		s.call("owner", "message/send", s.message("m2", "Rome", `,"taskId":"`+task1+`","contextId":"5effffffffffffffffffffff"`))
		s.call("owner", "message/send", s.message("m2", "Rome", `,"taskId":"task_`+session1+`_5"`))
		s.Decided = func(agent.Action) { s.goOn(turn1) }
		s.call("owner", "message/stream", s.message("m2", "Rome", `,"taskId":"`+task1+`"`))
		s.call("owner", "message/send", s.message("m2", "Rome", `,"taskId":"`+task1+`"`))
		s.compare("a2a-questions-" + s.version)
	})
}

func TestTranscriptOfA2AApprovals(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, s *speaker) {
		id := map[string]string{"0.3": "decision_id", "1.0": "decisionId"}[s.version]
		s.asks(agent.ActionApproval, "refund", `{"amount":5}`)
		s.call("runner", "message/send", s.message("m1", "Refund me", s.blocking()))
		s.call("runner", "message/send", s.message("m2", "Yes", `,"taskId":"`+task1+`"`))
		s.call("runner", "message/send", s.message("m2", "Yes", `,"taskId":"`+task1+`","metadata":{"decision":"maybe"}`))
		s.call("runner", "message/send", s.message("m2", "Yes", `,"taskId":"`+task1+`","metadata":{"decision":"approve","`+id+`":"ac7"}`))
		s.call("runner", "message/send", s.message("m2", "Yes", `,"taskId":"`+task1+`","metadata":{"decision":"approve","`+id+`":"ac1"}`))
		s.call("runner", "tasks/cancel", `{"id":"`+task1+`"}`)
		s.call("runner", "tasks/cancel", `{"id":"`+task1+`","`+id+`":"ac1"}`)
		s.call("runner", "tasks/cancel", `{"id":"`+task1+`","metadata":{"`+id+`":"ac7"}}`)
		s.call("runner", "tasks/get", `{"id":"`+task1+`","historyLength":1}`)
		s.call("admin", "tasks/cancel", `{"id":"`+task1+`","metadata":{"`+id+`":"ac1"}}`)
		s.call("runner", "tasks/get", `{"id":"`+task1+`","historyLength":1}`)
		s.compare("a2a-approvals-" + s.version)
	})
}

func TestTranscriptOfA2AErrors(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, s *speaker) {
		raw := func(token, body string, headers ...string) {
			s.do(token, "POST", "/a2a/support/", body, append(headers, "A2A-Version", s.version)...)
		}
		s.answered()
		raw("", `{"jsonrpc":"2.0","id":"a","method":"tasks/get"}`)
		raw("stranger", `{"jsonrpc":"2.0","id":"a","method":"tasks/get"}`)
		s.do("foreign", "POST", "/a2a/support", `{"jsonrpc":"2.0","id":"a","method":"tasks/get"}`, "A2A-Version", s.version)
		s.do("owner", "POST", "/a2a/nobody", `{"jsonrpc":"2.0","id":"a","method":"tasks/get"}`, "A2A-Version", s.version)
		raw("owner", `{"jsonrpc":"2.0","id":1,"method":"tasks/get"`)
		raw("owner", `[{"jsonrpc":"2.0","id":1,"method":"tasks/get"}]`)
		raw("owner", `{"jsonrpc":"aaa","method":"tasks/get"}`)
		raw("owner", `{"jsonrpc":"2.0","params":{}}`)
		raw("owner", `{"jsonrpc":"2.0","id":{"a":1},"method":"tasks/get"}`)
		raw("owner", `{"jsonrpc":"2.0","id":null,"method":"tasks/ggg"}`)
		raw("owner", `{"jsonrpc":"2.0","id":1,"method":"`+map[string]string{"0.3": "GetTask", "1.0": "tasks/get"}[s.version]+`"}`)
		raw("owner", `{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`, "Content-Type", "text/plain")
		s.do("owner", "POST", "/a2a/support", `{"jsonrpc":"2.0","id":7,"method":"tasks/get"}`, "A2A-Version", "99.0")
		s.do("owner", "POST", "/a2a/support/v"+s.version+"/", `{"jsonrpc":"2.0","id":7,"method":"tasks/ggg"}`)
		s.do("owner", "POST", "/a2a/support/v"+s.version, `{"jsonrpc":"2.0","id":7,"method":"tasks/ggg"}`, "A2A-Version", "2.0")
		s.call("owner", "tasks/get", `[]`)
		s.call("owner", "tasks/get", `{"id":7}`)
		s.call("owner", "tasks/get", `{"id":"x","historyLength":-1}`)
		s.call("owner", "tasks/get", `{"id":"x","historyLength":1.5}`)
		s.call("owner", "tasks/get", `{"id":"task_1"}`)
		s.call("owner", "tasks/resubscribe", `{"id":"`+task1+`"}`)
		s.call("owner", "message/send", `{}`)
		s.call("owner", "message/send", `{"message":{"parts":"invalid"}}`)
		s.call("owner", "message/send", `{"message":{"kind":"message"}}`)
		s.call("owner", "message/stream", strings.Replace(s.message("m1", "Hello", ""), `"messageId":"m1",`, "", 1))
		s.call("owner", "message/send", strings.Replace(strings.Replace(s.message("m1", "Hello", ""), `"user"`, `"agent"`, 1), "ROLE_USER", "ROLE_AGENT", 1))
		s.call("owner", "message/send", s.message("m1", "Hello", `,"contextId":"nowhere"`))
		s.call("owner", "message/send", s.message("m1", "Hello", `|,"configuration":{"acceptedOutputModes":["image/png"]}`))
		file := map[string]string{
			"0.3": `{"kind":"file","file":{"bytes":"aGk=","mimeType":"image/png"}}`, "1.0": `{"raw":"aGk=","mediaType":"image/png"}`,
		}[s.version]
		s.call("owner", "message/send", strings.Replace(s.message("m1", "Hello", ""), `"parts":[`, `"parts":[`+file+`,`, 1))
		s.call("weak", "message/send", s.message("m1", "Hello", ""))
		s.call("owner", "agent/getAuthenticatedExtendedCard", `{}`)
		s.Break(agent.ErrDraining)
		s.call("owner", "message/send", s.message("m1", "Hello", ""))
		s.Break(fmt.Errorf("secret detail of the database"))
		s.call("owner", "tasks/get", `{"id":"`+task1+`"}`)
		s.compare("a2a-errors-" + s.version)
	})
}

func TestTranscriptOfA2APushes(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, s *speaker) {
		// In 0.3 the config is an object of its own, in 1.0 the params are it.
		config := func(id string, fields string) string {
			if s.version == "1.0" {
				return `{"taskId":"` + id + `",` + fields + `}`
			}
			return `{"taskId":"` + id + `","pushNotificationConfig":{` + fields + `}}`
		}
		named := func(id string) string {
			if s.version == "1.0" {
				return `{"taskId":"` + task1 + `","id":"` + id + `"}`
			}
			return `{"id":"` + task1 + `","pushNotificationConfigId":"` + id + `"}`
		}
		inline, scheme := `pushNotificationConfig`, `"schemes":["Bearer"]`
		if s.version == "1.0" {
			inline, scheme = `taskPushNotificationConfig`, `"scheme":"Bearer"`
		}
		s.answered()
		s.call("owner", "message/send", s.message("m1", "Hello", `|,"configuration":{"`+inline+`":{"url":"https://127.0.0.1/x"}}`))
		s.call("owner", "message/send", s.message("m1", "Hello", `|,"configuration":{"`+inline+`":{"id":"own","url":"https://hooks.example/1","token":"t"}}`))
		s.call("owner", "tasks/pushNotificationConfig/set", config(task1, `"id":"two","url":"https://hooks.example/2","authentication":{`+scheme+`,"credentials":"secret"}`))
		s.call("owner", "tasks/pushNotificationConfig/set", config(task1, `"id":"two","url":"https://hooks.example/3"`))
		s.call("owner", "tasks/pushNotificationConfig/set", config(task1, `"url":"ftp://hooks.example"`))
		s.call("owner", "tasks/pushNotificationConfig/set", config(task1, `"id":"two"`))
		s.call("owner", "tasks/pushNotificationConfig/set", config("task_7", `"url":"https://hooks.example"`))
		s.call("owner", "tasks/pushNotificationConfig/get", named("two"))
		s.call("owner", "tasks/pushNotificationConfig/get", named("three"))
		s.call("owner", "tasks/pushNotificationConfig/get", named(""))
		s.call("owner", "tasks/pushNotificationConfig/list", named(""))
		s.call("owner", "tasks/pushNotificationConfig/delete", named("two"))
		s.call("owner", "tasks/pushNotificationConfig/delete", named("two"))
		s.call("owner", "tasks/pushNotificationConfig/list", named(""))
		s.compare("a2a-pushes-" + s.version)
	})
}

func TestTranscriptOfA2ACards(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	card := s.do("owner", "GET", "/a2a/support/.well-known/agent-card.json", "")
	s.do("owner", "GET", "/a2a/support/.well-known/agent-card.json", "", "A2A-Version", "0.3")
	s.do("owner", "GET", "/a2a/support/.well-known/agent-card.json", "", "A2A-Version", "1.0")
	s.do("owner", "GET", "/a2a/support/v0.3/.well-known/agent-card.json", "")
	s.do("owner", "GET", "/a2a/support/v1.0/", "")
	s.do("owner", "GET", "/a2a/support", "", "If-None-Match", card.header.Get("ETag"))
	s.do("owner", "GET", "/a2a/support", "", "A2A-Version", "9")
	s.do("foreign", "GET", "/a2a/support/.well-known/agent-card.json", "")
	s.do("", "GET", "/a2a/support/.well-known/agent-card.json", "")
	for name, want := range map[string]string{"Cache-Control": "private, max-age=60", "Vary": "A2A-Version, X-Forwarded-Proto", "Last-Modified": httpapitest.Epoch.Format(http.TimeFormat)} {
		if got := card.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for i := range s.tape.Files {
		s.tape.Files[i].Data = []byte(strings.ReplaceAll(string(s.tape.Files[i].Data), s.url, "http://belay.example"))
		s.tape.Files[i].Data = []byte(strings.ReplaceAll(string(s.tape.Files[i].Data), card.header.Get("ETag"), `"tag"`))
	}
	s.compare("a2a-cards")
}

// TestA2ATasksOfOthersAreNotThere: a task that may not be read is answered like
// one that does not exist, by every method. 113.
func TestA2ATasksOfOthersAreNotThere(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, s *speaker) {
		s.asks(agent.ActionQuestion, "ask_user", question)
		s.call("owner", "message/send", s.message("m1", "Hello", s.blocking()))
		const none = "task_5effffffffffffffffffffff_1"
		for method, params := range map[string]string{
			"tasks/get": `{"id":"%s"}`, "tasks/cancel": `{"id":"%s"}`, "tasks/resubscribe": `{"id":"%s"}`,
			"message/send":                        s.message("m9", "Rome", `,"taskId":"%s"`),
			"tasks/pushNotificationConfig/set":    `{"taskId":"%[1]s","url":"https://a.example","pushNotificationConfig":{"url":"https://a.example"}}`,
			"tasks/pushNotificationConfig/get":    `{"id":"c","taskId":"%[1]s"}`,
			"tasks/pushNotificationConfig/list":   `{"taskId":"%[1]s"}`,
			"tasks/pushNotificationConfig/delete": `{"id":"c","taskId":"%[1]s"}`,
		} {
			if s.version == "0.3" {
				params = strings.Replace(strings.Replace(params, `"id":"c"`, `"id":"%[1]s","pushNotificationConfigId":"c"`, 1), `{"taskId":"%[1]s"}`, `{"id":"%[1]s"}`, 1)
			}
			for _, token := range []string{"foreign", "other"} {
				if token == "foreign" {
					continue // for whom the agent is not there: see the transcript of errors
				}
				theirs, unknown := s.call(token, method, fmt.Sprintf(params, task1)), s.call(token, method, fmt.Sprintf(params, none))
				id := fmt.Sprintf(`"id":%d,`, s.n-1)
				if strings.Replace(theirs.body, id, fmt.Sprintf(`"id":%d,`, s.n), 1) != unknown.body || !strings.Contains(unknown.body, "-32001") {
					t.Errorf("%s by %s: theirs %s unknown %s", method, token, theirs.body, unknown.body)
				}
			}
		}
		if a := s.call("admin", "tasks/get", `{"id":"`+task1+`"}`); s.task(a, "status.state") != s.state("input-required") {
			t.Errorf("after all of it, the task is %s", a.body)
		}
	})
}

// TestA2AInPublic: what a portal shows by A2A needs no token, gives nobody a list
// of what others asked, takes no webhooks and has the portal's limits. Off by default.
func TestA2AInPublic(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, s *speaker) {
		at := "/a2a/help"
		call := func(method, params string) answer {
			s.n++
			if name, ok := a2aNames[method]; ok && s.version == "1.0" {
				method = name
			}
			return s.do("", "POST", "/"+at, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.n, method, params), "A2A-Version", s.version)
		}
		gone := func(why string) {
			t.Helper()
			if a := call("message/send", s.message("m1", "Hello", s.blocking())); a.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", why, a.status, a.body)
			}
		}
		s.answered()
		gone("no portal")
		s.Show(agent.Portal{Slug: "help", Agent: "support"})
		gone("a portal that does not say so")
		s.Show(agent.Portal{Slug: "help", Agent: "support", A2A: true, Paused: true})
		gone("a paused portal")
		s.Show(agent.Portal{Slug: "help", Agent: "support", A2A: true, Anonymous: new(false)})
		gone("a portal for those whom its site names")
		s.Show(agent.Portal{Slug: "help", Agent: "support", Title: "Help", Welcome: "Ask me.", A2A: true, Limits: agent.PortalLimits{VisitorPerMinute: 5, MessageChars: 20}})

		card := s.do("", "GET", "/"+at+"/.well-known/agent-card.json", "", "A2A-Version", s.version)
		if card.header.Get("Cache-Control") != "public, max-age=60" || strings.Contains(card.body, "ecurity") || card.field(t, "capabilities.pushNotifications") != false || card.field(t, "name") != "Help" {
			t.Errorf("the card: %v %s", card.header, card.body)
		}
		first, second := call("message/send", s.message("m1", "Hello", s.blocking())), call("message/send", s.message("m1", "Hello", s.blocking()))
		if id := s.task(first, "id"); id == nil || id == s.task(second, "id") {
			t.Errorf("two who use one message id: %s and %s", first.body, second.body)
		}
		if by := s.Submits()[0].Principal; by.ID != "visitor:help:a2a" || len(by.Permissions) != 1 {
			t.Errorf("asked by %+v", by)
		}
		id, context := s.task(first, "id").(string), s.task(first, "contextId").(string)
		if a := call("tasks/get", `{"id":"`+id+`"}`); s.task(a, "id") != id {
			t.Errorf("who knows the id reads %s", a.body)
		}
		if a := call("tasks/cancel", `{"id":"`+id+`"}`); a.code(t) == 0 {
			t.Errorf("an ended task is canceled: %s", a.body)
		}
		if s.version == "1.0" {
			if a := call("ListTasks", `{}`); len(a.field(t, "result.tasks").([]any)) != 0 {
				t.Errorf("everybody's tasks are listed: %s", a.body)
			}
			if a := call("ListTasks", `{"contextId":"`+context+`"}`); len(a.field(t, "result.tasks").([]any)) != 1 {
				t.Errorf("one's own context: %s", a.body)
			}
		}
		if a := call("tasks/pushNotificationConfig/set", `{"taskId":"`+id+`","url":"https://a.example","pushNotificationConfig":{"url":"https://a.example"}}`); a.code(t) != -32003 {
			t.Errorf("a webhook: %s", a.body)
		}
		if a := call("message/send", s.message("m2", strings.Repeat("x", 21), "")); a.code(t) != -32602 {
			t.Errorf("a message that is too long: %s", a.body)
		}
		for range 3 {
			call("message/send", s.message("m3", "Hello", s.blocking()))
		}
		if a := call("message/send", s.message("m3", "Hello", s.blocking())); a.code(t) != -32603 || !strings.Contains(a.body, "portal_rate_limit") {
			t.Errorf("one message too many: %s", a.body)
		}
		s.Show(agent.Portal{Slug: "help", Agent: "support", A2A: true, Limits: agent.PortalLimits{PortalUSDPerDay: 0.05}})
		if a := call("message/send", s.message("m4", "Hello", s.blocking())); !strings.Contains(a.body, "portal_spend_limit") {
			t.Errorf("a message beyond the spend: %s", a.body)
		}
		if a := s.call("owner", "tasks/get", `{"id":"`+id+`"}`); a.code(t) != -32001 {
			t.Errorf("another of the project reads a visitor's task: %s", a.body)
		}
	})
}

// TestA2AFollowersReadTheSame: two who subscribe to a task that waits read the
// same bytes, to its end, and each stream has one last word. 82.
func TestA2AFollowersReadTheSame(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, s *speaker) {
		s.asks(agent.ActionQuestion, "ask_user", question)
		s.Decided = func(agent.Action) { s.goOn(turn1) }
		s.call("owner", "message/send", s.message("m1", "Plan a trip", s.blocking()))
		method := map[string]string{"0.3": "tasks/resubscribe", "1.0": "SubscribeToTask"}[s.version]
		bodies := make(chan string, 2)
		for range 2 {
			res := s.send("owner", "POST", "/a2a/support", `{"jsonrpc":"2.0","id":"s","method":"`+method+`","params":{"id":"`+task1+`"}}`, "A2A-Version", s.version)
			go func() {
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				if err != nil {
					t.Error(err)
				}
				bodies <- string(b)
			}()
		}
		s.call("owner", "message/send", s.message("m2", "Rome", `,"taskId":"`+task1+`"`))
		one, other := <-bodies, <-bodies
		if one != other {
			t.Errorf("one reads\n%s\nthe other\n%s", one, other)
		}
		if n := strings.Count(one, s.state("completed")); n != 1 || !strings.Contains(one, s.state("input-required")) {
			t.Errorf("%d last words in\n%s", n, one)
		}
	})
}
