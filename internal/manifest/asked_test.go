package manifest_test

import (
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/manifest"
)

const asking = `kind: model
key: m
base_url: http://x
model: m
---
kind: agent
key: boss
config:
  model: m
  tools:
    - source: agent
      key: helper
      agent: {agent: helper}
`

const helper = `---
kind: agent
key: helper
config:
  model: m
  tools: [{source: agent, key: boss, agent: {agent: boss}}]
`

func TestAnAgentThatAsksOneThatIsNowhereIsAFault(t *testing.T) {
	t.Parallel()
	_, err := manifest.Apply(t.Context(), newFakeStore(), "p", parse(t, asking), false)
	want := "line 13, column 22: config.tools[0].agent.agent: agent boss names the agent helper, which is neither declared here nor stored"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAgentsMayAskEachOtherInACircleAndStoredOnes(t *testing.T) {
	t.Parallel()
	s := newFakeStore()
	apply(t, s, asking+helper)
	wantChanges(t, apply(t, s, asking),
		manifest.Change{Kind: "model", Key: "m", Action: manifest.Unchanged},
		manifest.Change{Kind: "agent", Key: "boss", Action: manifest.Unchanged, Version: 1})
}

func TestAskedAgentsAreCheckedByTheirFields(t *testing.T) {
	t.Parallel()
	asked := &agent.AgentSource{Agent: "b"}
	for field, tools := range map[string][]agent.ToolRef{
		"tools[0].agent":       {{Source: "agent", Key: "b"}},
		"tools[0].agent.agent": {{Source: "agent", Key: "b", Agent: &agent.AgentSource{}}},
		"tools[0].key":         {{Source: "agent", Key: strings.Repeat("b", 61), Agent: asked}},
		"tools[0].names":       {{Source: "agent", Key: "b", Agent: asked, Names: []string{"ask_b"}}},
		"tools[1].key":         {{Source: "agent", Key: "b", Agent: asked}, {Source: "agent", Key: "b", Agent: asked}},
		"tools[1].agent":       {{Source: "agent", Key: "b", Agent: asked}, {Source: "function", Key: "b", Agent: asked}},
	} {
		err := agent.Config{Model: "m", Tools: tools}.Validate("")
		if err == nil || !strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%v, want a fault of %s", err, field)
		}
	}
	if err := (agent.Config{Model: "m", Tools: []agent.ToolRef{{Source: "agent", Key: strings.Repeat("b", 60), Agent: asked}}}).Validate(""); err != nil {
		t.Error(err)
	}
}
