package assistants

import (
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// run is a turn as a run: what the store says of it, or its events so far.
type run struct {
	turn     agent.Turn
	showAll  bool // its instructions too
	actions  httpapi.OpenActions
	stopping bool // it has been told to stop
}

// see takes an event of the turn for what it says of the run, and reports
// whether it is the last word of it.
func (x *run) see(e agent.Event) bool {
	if e.Turn != x.turn.ID {
		return false
	}
	x.actions.See(e.Body)
	t := &x.turn
	switch b := e.Body.(type) {
	case agent.TurnStarted:
		if t.StartedAt.IsZero() {
			t.StartedAt = e.At
		}
		t.Status = agent.StatusRunning
	case agent.TurnStopping:
		x.stopping = true
	case agent.TurnPaused:
		t.Status = agent.StatusWaiting
		return true
	case agent.TurnEnded:
		t.Status, t.StopReason, t.StopDetail, t.Error, t.Usage, t.EndedAt = b.Status, b.StopReason, b.StopDetail, b.Error, b.Usage, e.At
		return true
	}
	return false
}

// status is the run's state in the words of the Assistants API, of which clients
// know no others.
func (x *run) status() apigen.ThreadRunStatus {
	t := &x.turn
	switch {
	case t.Status.Final():
		return endStatus(t)
	case t.Status == agent.StatusWaiting:
		return apigen.ThreadRunStatusRequiresAction
	case x.stopping, t.Stop != nil:
		return apigen.ThreadRunStatusCancelling
	case t.Status == agent.StatusQueued:
		return apigen.ThreadRunStatusQueued
	}
	return apigen.ThreadRunStatusInProgress
}

func endStatus(t *agent.Turn) apigen.ThreadRunStatus {
	switch {
	case t.Status == agent.StatusCompleted:
		return apigen.ThreadRunStatusCompleted
	case t.StopReason == agent.ReasonCancelled:
		return apigen.ThreadRunStatusCancelled
	case t.Status == agent.StatusIncomplete:
		return apigen.ThreadRunStatusIncomplete
	case t.Error != nil && t.Error.Code == agent.CodeTimeout:
		return apigen.ThreadRunStatusExpired
	}
	return apigen.ThreadRunStatusFailed
}

func (x *run) object() apigen.ThreadRun {
	t := &x.turn
	out := apigen.ThreadRun{
		Id: prefixRun + t.ID, Object: "thread.run", CreatedAt: t.CreatedAt.Unix(), ThreadId: prefixThread + t.Session,
		AssistantId: prefixAssistant + t.Agent, Status: x.status(), StartedAt: unix(t.StartedAt),
		Model: t.Spec.Model, Tools: []apigen.Empty{}, Metadata: kept(t.Metadata), Temperature: t.Spec.Temperature, TopP: t.Spec.TopP,
		TruncationStrategy: apigen.TruncationStrategy{Type: "auto"}, ResponseFormat: "auto", ToolChoice: "auto", ParallelToolCalls: true,
	}
	if x.showAll {
		out.Instructions = t.Spec.Instructions
	}
	if most := t.Spec.Limits.MaxTotalOutputTokens; most > 0 {
		out.MaxCompletionTokens = &most
	}
	if t.Status == agent.StatusWaiting {
		out.RequiredActions = x.actions
	}
	x.end(&out)
	return out
}

// end fills in how the run ended, if it has.
func (x *run) end(out *apigen.ThreadRun) {
	t := &x.turn
	if !t.Status.Final() {
		return
	}
	at := unix(t.EndedAt)
	out.Usage = &apigen.ThreadRunUsage{
		PromptTokens: t.Usage.Input, CompletionTokens: t.Usage.Output, TotalTokens: t.Usage.Input + t.Usage.Output, Estimated: t.Usage.Estimated,
	}
	switch out.Status {
	case apigen.ThreadRunStatusCompleted:
		out.CompletedAt = at
	case apigen.ThreadRunStatusCancelled:
		out.CancelledAt = at
	case apigen.ThreadRunStatusIncomplete:
		out.IncompleteAt, out.IncompleteDetails = at, &apigen.IncompleteRun{Reason: limitReason(t.StopDetail)}
	default:
		out.FailedAt, out.LastError = at, &apigen.ResponseError{Code: agent.CodeAgentError, Message: "The turn failed."}
		if f := t.Error; f != nil {
			out.LastError = &apigen.ResponseError{Code: f.Code, Message: f.Message}
		}
	}
}

// limitReason is which limit was reached, by the word of OpenAI's where it has one.
func limitReason(detail string) string {
	if detail == "max_output_tokens" || detail == "max_total_output_tokens" {
		return "max_completion_tokens"
	}
	return detail
}

func unix(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.Unix())
}
