package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
)

const (
	inBackground = `{"model":"support","input":"Hello","background":true}`

	session2 = "5e0000000000000000000003"
	turn2    = "7a0000000000000000000004"
)

// finish ends a turn with what it has said so far.
func (s *site) finish(id, said string, end agent.TurnEnded) {
	status, reason := end.Status, end.StopReason
	if status == agent.StatusFailed {
		status, reason = agent.StatusIncomplete, "failed"
	}
	s.Append(id, agent.Message{Index: 1, Role: agent.RoleAssistant, Text: said, Status: status, StopReason: reason}, end)
}

func TestTranscriptOfABackgroundRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("owner", "POST", "/agents/responses", inBackground)
	for _, id := range []string{"run_" + turn1, turn1, "resp_" + turn1} {
		s.do("owner", "GET", "/agents/runs/"+id, "")
	}
	s.do("owner", "GET", "/responses/run_"+turn1, "")
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Too early","previous_response_id":"run_`+turn1+`"}`)
	s.Append(turn1, agent.TextDelta{Text: "Half "})
	s.do("owner", "GET", "/agents/runs/run_"+turn1, "")
	s.do("owner", "GET", "/responses/run_"+turn1, "")
	s.Append(turn1, agent.TextDelta{Text: "and half."})
	s.finish(turn1, "Half and half.", agent.TurnEnded{Status: agent.StatusCompleted, Usage: agent.Tokens{Input: 3, Output: 4}})
	s.do("owner", "GET", "/agents/runs/run_"+turn1, "")
	s.do("owner", "GET", "/responses/resp_"+turn1, "")
	s.do("owner", "POST", "/responses", `{"model":"support","input":"More","previous_response_id":"run_`+turn1+`","background":true}`)
	s.do("other", "POST", "/agents/responses", inBackground)
	s.do("owner", "GET", "/agents/runs", "")
	s.do("admin", "GET", "/agents/runs?limit=1&status=queued", "")
	s.do("admin", "GET", "/agents/runs?limit=1&status=queued&cursor=1", "")
	s.do("owner", "GET", "/agents/runs?agent=support&conversation_id="+session1+"&status=succeeded", "")
	s.do("owner", "GET", "/agents/runs?status=failed", "")
	s.compare("run")
}

// Field reports D 26 and R 106, T 119: every state of a run, and its cancel.
func TestTranscriptOfCanceledRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("owner", "POST", "/agents/responses", inBackground)
	s.do("foreign", "POST", "/agents/runs/run_"+turn1+"/cancel", "")
	s.do("other", "POST", "/agents/runs/run_"+turn1+"/cancel", "")
	s.do("owner", "POST", "/agents/runs/run_"+turn1+"/cancel", "")
	s.do("owner", "POST", "/agents/runs/run_"+turn1+"/cancel", "")
	s.do("owner", "POST", "/responses/run_"+turn1+"/cancel", "")

	s.do("owner", "POST", "/responses", inBackground)
	s.Append(turn2, agent.TextDelta{Text: "Half an ans"})
	s.do("owner", "POST", "/agents/runs/"+turn2+"/cancel", "")
	s.do("owner", "POST", "/agents/runs/"+turn2+"/cancel?wait_ms=0", "")
	s.do("owner", "POST", "/agents/runs/resp_"+turn2+"/cancel", `{"wait_ms":10}`)
	s.do("owner", "GET", "/responses/run_"+turn2, "")
	s.do("owner", "GET", "/agents/runs/run_"+turn2, "")
	s.do("owner", "POST", "/agents/runs/"+turn2+"/cancel", "")
	s.do("owner", "POST", "/agents/responses/run_"+turn2+"/cancel", "")
	s.do("owner", "GET", "/agents/runs?status=canceled", "")

	args := json.RawMessage(`{"amount":5}`)
	s.Began = func(tn agent.Turn) {
		s.Append(tn.ID, agent.Message{Index: tn.Index, Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "call_9", Name: "refund", Arguments: args}}, Status: agent.StatusCompleted},
			agent.ActionRequested{ActionID: "ac1", CallID: "call_9", Type: agent.ActionApproval, Name: "refund", Arguments: args}, agent.TurnPaused{Actions: []string{"ac1"}})
	}
	const turn3 = "7a0000000000000000000006"
	s.do("runner", "POST", "/agents/responses", inBackground)
	s.do("runner", "POST", "/agents/runs/"+turn3+"/cancel", "")
	s.do("runner", "GET", "/agents/runs/"+turn3, "")
	s.do("admin", "POST", "/agents/runs/"+turn3+"/cancel?wait_ms=0", "")
	s.compare("canceled")
}

func TestTranscriptOfFailedRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i, code := range []string{
		agent.CodeModelError, agent.CodeModelMissing, agent.CodeMaxDuration, agent.CodePrecondition, agent.CodeShutdown, agent.CodeWorkerLost,
	} {
		s.Began = func(tn agent.Turn) {
			s.Append(tn.ID, agent.TextDelta{Text: "Half"})
			s.finish(tn.ID, "Half", agent.TurnEnded{Status: agent.StatusFailed, Error: &agent.Failure{Code: code, Message: "It went wrong: " + code + "."}})
		}
		s.do("owner", "POST", "/agents/responses", inBackground)
		s.do("owner", "GET", fmt.Sprintf("/agents/runs/7a%022d", 2*i+2), "")
	}
	s.Began = func(tn agent.Turn) {
		s.finish(tn.ID, "Half", agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonLimit, StopDetail: "max_tool_calls"})
	}
	s.do("owner", "POST", "/responses", inBackground)
	s.do("owner", "GET", "/agents/runs?status=succeeded", "")
	s.compare("failedruns")
}

func TestTranscriptOfRefusedBackgroundRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("owner", "POST", "/agents/responses", inBackground, "Idempotency-Key", "k1")
	s.do("owner", "POST", "/agents/responses", " { \"background\": true,\n\"input\": \"Hello\", \"model\": \"support\" }", "Idempotency-Key", "k1")
	s.do("owner", "POST", "/agents/responses", `{"model":"support","input":"Hello!","background":true}`, "Idempotency-Key", "k1")
	s.do("owner", "POST", "/responses", inBackground, "Idempotency-Key", "k1")
	s.do("other", "POST", "/responses", inBackground, "Idempotency-Key", "k1")
	s.do("owner", "POST", "/responses", inBackground, "Idempotency-Key", strings.Repeat("k", 256))
	s.do("owner", "POST", "/responses", inBackground, "Idempotency-Key", "k\u00e9")
	s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello","background":false}`, "Idempotency-Key", "k2")
	s.Fill(true)
	s.do("owner", "POST", "/responses", inBackground)
	s.do("owner", "POST", "/agents/responses", inBackground, "Idempotency-Key", "k1")
	s.Fill(false)
	s.SetSpec("support", agent.Config{Model: "demo", Execution: agent.Execution{BackgroundEnabled: new(false)}})
	s.do("owner", "POST", "/responses", inBackground)
	s.Break(agent.ErrUnavailable)
	s.do("owner", "POST", "/agents/runs/"+turn1+"/cancel", "")
	s.do("owner", "GET", "/agents/runs/"+turn1, "")
	s.Break(nil)
	s.SetSpec("support", agent.Config{Model: "demo", Execution: agent.Execution{DefaultMode: agent.ModeBackground, BackgroundMaxDurationMinutes: 2}})
	s.do("owner", "POST", "/agents/responses", `{"model":"support","input":"Hello"}`)
	s.answered()
	s.do("owner", "POST", "/agents/responses", `{"model":"support","input":"Hello","background":false}`)
	s.do("owner", "GET", "/agents/runs/7a0000000000000000000008", "") // somebody waited for it
	s.do("owner", "POST", "/agents/runs/7a0000000000000000000008/cancel", "")
	s.compare("refusedruns")
}

// A background run is followed from its queue to its end, and from any event on.
func TestTranscriptOfAStreamedRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ask := strings.Replace(inBackground, "}", `,"stream":true}`, 1)
	res := s.send("owner", "POST", "/responses", ask, "Idempotency-Key", "k1")
	waitFor(t, res.Body, "response.queued")
	res.Body.Close() // the client goes, the run does not
	s.do("owner", "GET", "/agents/runs/"+turn1, "")
	s.Append(turn1, agent.TextDelta{Text: "Half "}, agent.TextDelta{Text: "an ans"})
	s.do("owner", "POST", "/agents/runs/"+turn1+"/cancel?wait_ms=10", "")
	whole := s.do("owner", "POST", "/responses", ask, "Idempotency-Key", "k1")
	s.do("owner", "GET", "/responses/run_"+turn1+"?stream=true&starting_after=6", "")
	s.compare("streamedrun")
	if replay := s.do("owner", "GET", "/responses/resp_"+turn1+"?stream=true", ""); replay.status != http.StatusOK || replay.body != whole.body {
		t.Errorf("replayed %d\n%s\nwant\n%s", replay.status, replay.body, whole.body)
	}
}

// A run's routes tell nothing of what belongs to others.
func TestForeignRunsAreUnknown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("owner", "POST", "/agents/responses", inBackground)
	const none = "7affffffffffffffffffffff"
	for _, c := range [][2]string{{"GET", "/agents/runs/%s"}, {"POST", "/agents/runs/%s/cancel"}, {"GET", "/responses/run_%s"}} {
		foreign := s.do("foreign", c[0], fmt.Sprintf(c[1], turn1), "")
		unknown := s.do("foreign", c[0], fmt.Sprintf(c[1], none), "")
		if foreign.status != http.StatusNotFound || foreign.body != unknown.body || foreign.field(t, "error.code") != "agent_run_not_found" {
			t.Errorf("%v: foreign %d %s, unknown %d %s", c, foreign.status, foreign.body, unknown.status, unknown.body)
		}
	}
	if a := s.do("foreign", "GET", "/agents/runs", ""); strings.Contains(a.body, turn1) {
		t.Errorf("another project lists it: %s", a.body)
	}
	if a := s.do("other", "GET", "/agents/runs/"+turn1, ""); a.status != http.StatusForbidden {
		t.Errorf("another of the project reads it: %d %s", a.status, a.body)
	}
	if n := len(s.Stops()); n != 0 {
		t.Errorf("%d stops were asked for", n)
	}
}
