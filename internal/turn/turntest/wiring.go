package turntest

import (
	"context"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
)

// Agents is a turn.Agents: every project has these agents, by key, with one
// published version, 1. Version 0 is the same as a draft.
type Agents map[string]agent.Config

// Models is a turn.Models: every project has these models, by key.
type Models map[string]turn.Model

// Toolbox is a turn.Tools that gives every agent its tools, whatever it refers to.
type Toolbox []*Tool

var (
	_ turn.Agents = Agents(nil)
	_ turn.Models = Models(nil)
	_ turn.Tools  = Toolbox(nil)
)

// Resolve implements turn.Agents.
func (a Agents) Resolve(_ context.Context, _, key string, version *int) (agent.Config, int, error) {
	c, ok := a[key]
	switch {
	case !ok:
		return agent.Config{}, 0, fmt.Errorf("agent %s: %w", key, agent.ErrNotFound)
	case version == nil:
		return c, 1, nil
	case *version > 1 || *version < 0:
		return agent.Config{}, 0, &agent.FieldError{Field: "version", Message: fmt.Sprintf("agent %s has no version %d", key, *version)}
	}
	return c, *version, nil
}

// Model implements turn.Models.
func (m Models) Model(_ context.Context, project, key string) (agent.Model, turn.Model, error) {
	model, ok := m[key]
	if !ok {
		return agent.Model{}, nil, fmt.Errorf("model %s: %w", key, agent.ErrNotFound)
	}
	return agent.Model{Project: project, Key: key, Model: key, Pricing: agent.Pricing{Input: 1, Output: 2}}, model, nil
}

// Open implements turn.Tools.
func (b Toolbox) Open(context.Context, agent.Session, []agent.ToolRef) ([]agent.Tool, error) {
	out := make([]agent.Tool, len(b))
	for i, t := range b {
		out[i] = t.Tool
	}
	return out, nil
}
