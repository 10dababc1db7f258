package agent

import (
	"fmt"
	"slices"
)

// SourceAgent is another agent of the project as a tool.
const SourceAgent = "agent"

// Bounds of sub-agents. What is beyond them is a tool error that the model
// reads; agents that ask each other in a circle are bounded by them too.
const (
	MaxDepth = 2 // of a turn below the one that a person began
	MaxAsks  = 8 // sub-agents' turns that one turn may begin
)

// AgentSource names another agent that may be asked. The tool is ask_ and the
// key of its ToolRef.
type AgentSource struct {
	Agent       string `json:"agent" yaml:"agent"`                                 // its key; the published version answers
	Description string `json:"description,omitempty" yaml:"description,omitempty"` // what it is good for, for the model
}

// Child names the turn that a call of a sub-agent begins in a session of its
// own. Its start is in the parent's journal before the turn is begun: where
// there is no such turn, it was never begun.
type Child struct {
	Session string `json:"conversation_id"`
	Turn    string `json:"run_id"`
}

// ChildEnd is how the turn of a sub-agent ended.
type ChildEnd struct {
	Child
	Status     Status `json:"status"`
	StopReason string `json:"stop_reason,omitempty"`
	StopDetail string `json:"stop_detail,omitempty"`
	Usage      Tokens `json:"usage"` // its own and that of all below it
}

const askPrefix = "ask_"

// AskName is the name of the tool that a ref of SourceAgent gives.
func AskName(ref ToolRef) string { return askPrefix + ref.Key }

func (v *checks) agentSource(prefix string, t ToolRef) {
	if t.Source != SourceAgent {
		v.that(t.Agent == nil, prefix+"agent", "is for the source agent only")
		return
	}
	v.that(namePattern.MatchString(AskName(t)), prefix+"key", "must be 60 characters or fewer: the tool's name is ask_ and the key")
	v.that(len(t.Names) == 0, prefix+"names", "an agent is one tool: leave it out")
	v.that(t.Agent != nil, prefix+"agent", "is required: which agent is asked")
	if t.Agent != nil {
		v.key(prefix+"agent.agent", t.Agent.Agent)
	}
}

// askedOnce finds two refs of agents that would give tools of one name.
func (v *checks) askedOnce(refs []ToolRef) {
	for i, t := range refs {
		twice := slices.ContainsFunc(refs[:i], func(o ToolRef) bool { return o.Source == SourceAgent && o.Key == t.Key })
		v.that(t.Source != SourceAgent || !twice, fmt.Sprintf("tools[%d].key", i), "names another agent already")
	}
}
