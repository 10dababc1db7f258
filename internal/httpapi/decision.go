package httpapi

import (
	"net/http"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// ReadDecision reads what the caller decides about an action: a DecisionRequest.
func ReadDecision(r *http.Request, action string) (agent.Decision, error) {
	var in apigen.DecisionRequest
	if err := ReadJSON(r, &in); err != nil {
		return agent.Decision{}, err
	}
	return decision(in, Caller(r.Context()).ID, action)
}

func decision(in apigen.DecisionRequest, by, action string) (agent.Decision, error) {
	out := agent.Decision{Action: action, By: by, State: agent.ActionApproved}
	if string(in.Arguments) == "null" {
		in.Arguments = nil
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	if in.Decision != "answer" && in.Answer != nil {
		return out, Invalid("answer", "goes with the decision answer only")
	}
	if in.Decision != "approve" && in.Arguments != nil {
		return out, Invalid("arguments", "go with the decision approve only")
	}
	switch in.Decision {
	case "approve":
		out.Type = agent.ActionApproval
		out.Answer, out.Arguments = text(in.Comment), in.Arguments
		if len(in.Arguments) > 0 && in.Arguments[0] != '{' {
			return out, Invalid("arguments", "must be an object")
		}
	case "reject":
		out.Answer, out.State = text(in.Comment), agent.ActionDenied
	case "answer":
		out.Type = agent.ActionQuestion
		if out.Answer = text(in.Answer); out.Answer == "" {
			return out, Invalid("answer", "is required: the answer to the question")
		}
	default:
		return out, Invalid("decision", "must be approve, reject or answer")
	}
	return out, nil
}
