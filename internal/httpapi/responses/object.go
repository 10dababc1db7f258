package responses

import (
	"maps"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// response returns the response as the events so far make it.
func (r *renderer) response() apigen.Response {
	t := r.turn
	out := apigen.Response{
		Id: responseID(t), Object: "response", CreatedAt: r.at.Unix(), Model: t.Agent,
		Output: make([]apigen.OutputItem, 0, len(r.items)), Metadata: map[string]string{},
		ParallelToolCalls: true, Temperature: t.Spec.Temperature, TopP: t.Spec.TopP,
		ToolChoice: "auto", Tools: []struct{}{}, Text: apigen.ResponseText{Format: apigen.ResponseFormat{Type: "text"}},
		Truncation: "disabled", Store: true, Background: t.Background,
		ConversationId: t.Session, RunId: t.ID, Version: t.Version,
	}
	if r.at.IsZero() {
		out.CreatedAt = t.CreatedAt.Unix()
	}
	if t.Spec.MaxOutputTokens > 0 {
		out.MaxOutputTokens = &t.Spec.MaxOutputTokens
	}
	if r.continued {
		out.PreviousResponseId = new("resp_" + t.Session)
	}
	maps.Copy(out.Metadata, t.Metadata)
	for _, it := range r.items {
		out.Output = append(out.Output, it.wire())
	}
	r.state(&out)
	return out
}

// responseID is the same for every turn of a session: a caller who knows only
// that goes on with previous_response_id. A background run has one of its own.
func responseID(t agent.Turn) string {
	if t.Background {
		return "run_" + t.ID
	}
	return "resp_" + t.Session
}

// state fills in how far the response has got.
func (r *renderer) state(out *apigen.Response) {
	switch {
	case r.end != nil:
		r.endState(out)
	case r.paused && r.turn.Status == agent.StatusWaiting:
		out.Status, out.StopReason = apigen.ResponseStatusIncomplete, agent.ReasonPaused
		out.IncompleteDetails = &apigen.IncompleteDetails{Reason: agent.ReasonPaused}
		out.RequiredActions = r.actions
		out.Usage = usage(r.used)
	case r.queued():
		out.Status = apigen.ResponseStatusQueued
	default:
		out.Status = apigen.ResponseStatusInProgress
	}
}

// queued reports whether no node has the turn. In a stream that is what the
// journal lets see, so that it is the same each time it is rendered; what is read
// now says what is so now.
func (r *renderer) queued() bool {
	if r.quiet || !r.turn.Background {
		return r.turn.Status == agent.StatusQueued && (r.turn.Background || !r.began)
	}
	return !r.taken
}

func (r *renderer) endState(out *apigen.Response) {
	out.CompletedAt, out.Usage = new(r.ended.Unix()), usage(r.end.Usage)
	switch r.end.Status {
	case agent.StatusCompleted:
		out.Status = apigen.ResponseStatusCompleted
	case agent.StatusIncomplete:
		out.Status, out.StopReason, out.StopDetail = apigen.ResponseStatusIncomplete, r.end.StopReason, r.end.StopDetail
		out.IncompleteDetails = &apigen.IncompleteDetails{Reason: incompleteReason(r.end)}
		if r.turn.Background && r.end.StopReason == agent.ReasonCancelled {
			out.Status, out.IncompleteDetails = apigen.ResponseStatusCancelled, nil
		}
	default:
		out.Status = apigen.ResponseStatusFailed
		out.Error = &apigen.ResponseError{Code: agent.CodeAgentError, Message: "The turn failed."}
		if f := r.end.Error; f != nil {
			out.Error = &apigen.ResponseError{Code: f.Code, Message: f.Message}
		}
	}
}

// incompleteReason is the stop reason, but for limits of tokens: those have a
// word of OpenAI's that clients know.
func incompleteReason(end *agent.TurnEnded) string {
	if end.StopReason == agent.ReasonLimit && (end.StopDetail == "max_output_tokens" || end.StopDetail == "max_total_output_tokens") {
		return "max_output_tokens"
	}
	return end.StopReason
}

func usage(t agent.Tokens) *apigen.ResponseUsage {
	return &apigen.ResponseUsage{
		InputTokens: t.Input, InputTokensDetails: apigen.InputTokensDetails{CachedTokens: t.CachedInput},
		OutputTokens: t.Output, OutputTokensDetails: apigen.OutputTokensDetails{ReasoningTokens: t.Reasoning},
		TotalTokens: t.Input + t.Output, Estimated: t.Estimated,
	}
}
