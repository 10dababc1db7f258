package agent

import (
	"cmp"
	"encoding/json"
)

// Continue returns the turn that goes on with an approved call of t, which was
// stopped while the call waited to be approved. It runs what t ran and has limits
// of its own. It is nobody's child: who waited for t has its end. by is who
// approved.
func Continue(t Turn, by string, door Door) Turn {
	return Turn{
		ID: NewID(), Session: t.Session, Agent: t.Agent, Version: t.Version, Door: cmp.Or(door, t.Door), By: by,
		Status: StatusQueued, Spec: t.Spec, Depth: t.Depth,
	}
}

// FirstWords are the first events of a turn that goes on with an approved call:
// instead of a person's message it begins with the call, as the assistant's, which
// its first leg finds without a result. asked are the arguments that the model
// gave: those that a person edited are shown where the tool starts.
func (t Turn) FirstWords(a Action, asked json.RawMessage) []Body {
	return []Body{
		TurnStarted{Agent: t.Agent, Version: t.Version, Model: t.Spec.Model, Door: t.Door, By: t.By, Index: t.Index},
		Message{
			Index: t.Index - 1, Role: RoleAssistant, Status: StatusCompleted,
			Calls: []Call{{ID: a.CallID, Name: a.Name, Arguments: asked}},
		},
	}
}

// NoSuchTool is wrong with a rule about a tool that the agent does not have.
const NoSuchTool = "the agent has no tool of that name"

// AsksBy returns what is asked of a person before a call of a tool, which would
// ask for it by itself, under an agent's rule; empty: there is none. A question is
// one under any rule.
func (t ActionType) AsksBy(rule string) ActionType {
	switch {
	case t == ActionQuestion:
		return t
	case rule == ApprovalAlways:
		return ActionApproval
	case rule == ApprovalNever:
		return ""
	}
	return t
}
