package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
)

// Models reads the models of a project.
type Models interface {
	// Models returns them all, without their API keys.
	Models(ctx context.Context, project string) ([]agent.Model, error)
	// Model returns one with its API key; agent.ErrNotFound.
	Model(ctx context.Context, project, key string) (agent.Model, error)
}

// Agents reads the agents of a project.
type Agents interface {
	// Agent returns one; agent.ErrNotFound.
	Agent(ctx context.Context, project, key string) (agent.Agent, error)
	// Version returns a published version of one; agent.ErrNotFound.
	Version(ctx context.Context, project, key string, version int) (agent.Config, error)
}

// Writer writes what has changed.
type Writer interface {
	// Apply makes or replaces models and agents and publishes the agents, all or
	// nothing, and returns the agents' versions. An API key that is empty, in a
	// model without APIKeyEnv, keeps the stored one.
	Apply(ctx context.Context, project string, models []agent.Model, agents []agent.Agent, by string) (map[string]int, error)
}

// Store is where a manifest is applied to.
type Store interface {
	Models
	Agents
	Writer
}

// Action is what was done to a thing, or would be.
type Action string

// The actions.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
)

// Change is what became of one thing that a manifest declares.
type Change struct {
	Kind   string // model or agent
	Key    string
	Action Action
	// Version of an agent that is now published; 0 for a model, and in a dry run
	// where a new version would be made.
	Version int
}

// by is who is noted to have published what a manifest declares.
const by = "apply"

// Apply brings a project to what a manifest declares and returns a Change for
// each thing in its order, models first. Things that it does not declare stay.
// Applying it again changes nothing. With dryRun it writes nothing and returns
// what it would do.
//
// Models that an agent names, and agents that it may ask, must be declared or
// stored: those that are neither are returned as Errors, and nothing is written
// then, nor after any other error.
func Apply(ctx context.Context, store Store, project string, m Manifest, dryRun bool) ([]Change, error) {
	stored, err := storedModels(ctx, store, project)
	if err != nil {
		return nil, err
	}
	agents, err := m.askedAgents(ctx, store, project)
	if err != nil {
		return nil, err
	}
	if err := m.checkReferences(stored, agents); err != nil {
		return nil, err
	}
	p := plan{store: store, project: project}
	for _, model := range m.Models {
		if err := p.model(ctx, stored, model); err != nil {
			return nil, fmt.Errorf("compare model %s: %w", model.Key, err)
		}
	}
	for _, a := range m.Agents {
		if err := p.agent(ctx, a); err != nil {
			return nil, fmt.Errorf("compare agent %s: %w", a.Key, err)
		}
	}
	if dryRun || len(p.models)+len(p.agents) == 0 {
		return p.changes, nil
	}
	versions, err := store.Apply(ctx, project, p.models, p.agents, by)
	if err != nil {
		return nil, err
	}
	for i, c := range p.changes {
		if v, ok := versions[c.Key]; ok && c.Kind == kindAgent {
			p.changes[i].Version = v
		}
	}
	return p.changes, nil
}

func storedModels(ctx context.Context, store Store, project string) (map[string]agent.Model, error) {
	list, err := store.Models(ctx, project)
	if err != nil {
		return nil, err
	}
	stored := make(map[string]agent.Model, len(list))
	for _, m := range list {
		stored[m.Key] = m
	}
	return stored, nil
}

// askedAgents returns the keys of the agents that are declared, or asked by
// others and stored. Agents that ask each other in a circle are no fault.
func (m Manifest) askedAgents(ctx context.Context, store Store, project string) (map[string]bool, error) {
	known := map[string]bool{}
	for _, a := range m.Agents {
		known[a.Key] = true
	}
	for _, a := range m.Agents {
		for _, t := range a.Draft.Tools {
			if t.Agent == nil || known[t.Agent.Agent] {
				continue
			}
			_, err := store.Agent(ctx, project, t.Agent.Agent)
			if err != nil && !errors.Is(err, agent.ErrNotFound) {
				return nil, err
			}
			known[t.Agent.Agent] = err == nil
		}
	}
	return known, nil
}

// checkReferences tells all models and agents that agents name and that are
// nowhere.
func (m Manifest) checkReferences(stored map[string]agent.Model, agents map[string]bool) error {
	models := map[string]bool{}
	for key := range stored {
		models[key] = true
	}
	for _, model := range m.Models {
		models[model.Key] = true
	}
	var errs Errors
	check := func(known map[string]bool, kind, key string, a agent.Agent, field string) {
		if !known[key] {
			at := m.places[placeKey(kindAgent, a.Key, field)]
			errs = append(errs, &Error{m.file, at.document, at.line, at.column, field,
				"agent " + a.Key + " names the " + kind + " " + key + ", which is neither declared here nor stored"})
		}
	}
	for _, a := range m.Agents {
		check(models, kindModel, a.Draft.Model, a, "config.model")
		for i, key := range a.Draft.FallbackModels {
			check(models, kindModel, key, a, fmt.Sprintf("config.fallback_models[%d]", i))
		}
		for i, t := range a.Draft.Tools {
			if t.Agent != nil {
				check(agents, kindAgent, t.Agent.Agent, a, fmt.Sprintf("config.tools[%d].agent.agent", i))
			}
		}
	}
	if errs != nil {
		return errs
	}
	return nil
}

// plan is what there is to do.
type plan struct {
	store   Store
	project string
	changes []Change
	models  []agent.Model
	agents  []agent.Agent
}

func (p *plan) model(ctx context.Context, stored map[string]agent.Model, m agent.Model) error {
	c := Change{Kind: kindModel, Key: m.Key, Action: Created}
	if old, ok := stored[m.Key]; ok {
		same, err := p.sameModel(ctx, old, m)
		if err != nil {
			return err
		}
		c.Action = Updated
		if same {
			c.Action = Unchanged
		}
	}
	if c.Action != Unchanged {
		p.models = append(p.models, m)
	}
	p.changes = append(p.changes, c)
	return nil
}

// sameModel reports whether a model is stored as it should be. A stored API key
// that can't be opened any more is not: it can only be replaced.
func (p *plan) sameModel(ctx context.Context, old, m agent.Model) (bool, error) {
	same, err := equal(old, m)
	if err != nil || !same || m.APIKey == "" {
		return same, err
	}
	old, err = p.store.Model(ctx, p.project, m.Key)
	if errors.Is(err, agent.ErrUnavailable) || ctx.Err() != nil {
		return false, err
	}
	return err == nil && old.APIKey == m.APIKey, nil
}

func (p *plan) agent(ctx context.Context, a agent.Agent) error {
	c := Change{Kind: kindAgent, Key: a.Key, Action: Updated}
	old, err := p.store.Agent(ctx, p.project, a.Key)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		c.Action = Created
	case err != nil:
		return err
	default:
		same, err := p.same(ctx, old, a)
		if err != nil {
			return err
		}
		if same {
			c.Action, c.Version = Unchanged, old.Published
		}
	}
	if c.Action != Unchanged {
		p.agents = append(p.agents, a)
	}
	p.changes = append(p.changes, c)
	return nil
}

// same reports whether an agent is as it should be, and published so.
func (p *plan) same(ctx context.Context, old, a agent.Agent) (bool, error) {
	draft, err := equal(old.Draft, a.Draft)
	if err != nil || !draft || old.Name != a.Name || old.Active != a.Active || old.Published == 0 {
		return false, err
	}
	published, err := p.store.Version(ctx, p.project, a.Key, old.Published)
	if err != nil {
		return false, err
	}
	return equal(published, a.Draft)
}

// equal compares what is stored of two values.
func equal(a, b any) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}
