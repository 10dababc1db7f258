package portal

import (
	"encoding/json"

	"github.com/belayrun/belay/internal/agent"
)

// The types below are events as a visitor may know them.

type turnStarted struct {
	Index int `json:"message_index"`
}

type message struct {
	Index      int          `json:"index"`
	Role       agent.Role   `json:"role"`
	Text       string       `json:"content"`
	Status     agent.Status `json:"status"`
	StopReason string       `json:"stop_reason,omitempty"`
}

type toolStarted struct {
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Abortable bool   `json:"abortable"`
}

type toolFinished struct {
	CallID  string            `json:"call_id"`
	Name    string            `json:"name"`
	Outcome agent.ToolOutcome `json:"outcome"`
}

type actionRequested struct {
	ActionID  string           `json:"action_id"`
	CallID    string           `json:"call_id"`
	Type      agent.ActionType `json:"action_type"`
	Name      string           `json:"name"`
	Arguments json.RawMessage  `json:"arguments"`
}

type actionDecided struct {
	ActionID string            `json:"action_id"`
	State    agent.ActionState `json:"state"`
}

type turnPaused struct {
	Actions []string `json:"actions"`
}

type turnStopping struct{}

type turnEnded struct {
	Status     agent.Status `json:"status"`
	StopReason string       `json:"stop_reason,omitempty"`
	StopDetail string       `json:"stop_detail,omitempty"`
	Error      *failure     `json:"error,omitempty"`
}

// failure is that something failed: what, is the project's business.
type failure struct {
	Message string `json:"message"`
}

func (turnStarted) Kind() agent.Kind     { return agent.KindTurnStarted }
func (message) Kind() agent.Kind         { return agent.KindMessage }
func (toolStarted) Kind() agent.Kind     { return agent.KindToolStarted }
func (toolFinished) Kind() agent.Kind    { return agent.KindToolFinished }
func (actionRequested) Kind() agent.Kind { return agent.KindActionRequested }
func (actionDecided) Kind() agent.Kind   { return agent.KindActionDecided }
func (turnPaused) Kind() agent.Kind      { return agent.KindTurnPaused }
func (turnStopping) Kind() agent.Kind    { return agent.KindTurnStopping }
func (turnEnded) Kind() agent.Kind       { return agent.KindTurnEnded }

// reduce returns what a visitor may know of an event; show is false where that is
// nothing. It names each kind that is shown, so a new one is not.
func reduce(b agent.Body, approvals bool) (out agent.Body, show bool) {
	switch b := b.(type) {
	case agent.TextDelta:
		return b, true
	case agent.TurnStarted:
		return turnStarted{b.Index}, true
	case agent.Message:
		return message{b.Index, b.Role, b.Text, b.Status, b.StopReason}, true
	case agent.ToolStarted:
		return toolStarted{b.CallID, b.Name, b.Abortable}, true
	case agent.ToolFinished:
		return toolFinished{b.CallID, b.Name, b.Outcome}, true
	case agent.ActionRequested:
		out := actionRequested{b.ActionID, b.CallID, b.Type, b.Name, nil}
		if shows(b.Type, approvals) {
			out.Arguments = b.Arguments
		}
		return out, true
	case agent.ActionDecided:
		return actionDecided{b.ActionID, b.State}, true
	case agent.TurnPaused:
		return turnPaused{append([]string{}, b.Actions...)}, true
	case agent.TurnStopping:
		return turnStopping{}, true
	case agent.TurnEnded:
		return ended(b), true
	}
	return nil, false
}

func ended(b agent.TurnEnded) turnEnded {
	out := turnEnded{Status: b.Status, StopReason: b.StopReason, StopDetail: b.StopDetail}
	if b.Error != nil {
		out.Error = &failure{"The answer could not be finished."}
	}
	return out
}
