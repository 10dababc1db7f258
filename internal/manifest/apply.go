package manifest

import (
	"bytes"
	"cmp"
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

// Tools reads the shared tools of a project.
type Tools interface {
	// Tools returns them all, without their secrets.
	Tools(ctx context.Context, project string) ([]agent.SharedTool, error)
	// Secret returns the secret of one; agent.ErrNotFound where it keeps none.
	Secret(ctx context.Context, project, key string) (string, error)
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
	// Apply makes or replaces what is declared and publishes the agents, all or
	// nothing, and returns the agents' versions. An API key that is empty, in a
	// model without APIKeyEnv, keeps the stored one; so does a secret.
	Apply(ctx context.Context, project string, d agent.Declared, by string) (map[string]int, error)
}

// Store is where a manifest is applied to.
type Store interface {
	Models
	Tools
	Agents
	Portals
	Writer
}

// Portals reads portals.
type Portals interface {
	// Portal returns one of any project, without its secret; agent.ErrNotFound.
	Portal(ctx context.Context, slug string) (agent.Portal, error)
	// PortalSecret returns its secret; agent.ErrNotFound where it keeps none.
	PortalSecret(ctx context.Context, slug string) (string, error)
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
	Kind   string // model, tool, agent or portal
	Key    string
	Action Action
	// Version of an agent that is now published; 0 for a model or a tool, and in a
	// dry run where a new version would be made.
	Version int
}

// nobody is who is noted to have published where nobody says who applies.
const nobody = "apply"

// Apply brings a project to what a manifest declares and returns a Change for
// each thing in its order, models first, then tools. Things that it does not declare stay.
// Applying it again changes nothing. With dryRun it writes nothing and returns
// what it would do.
//
// A model, a shared tool or an agent that something names must be declared or
// stored: those that are neither are returned as Errors, and nothing is written
// then, nor after any other error.
func Apply(ctx context.Context, store Store, project string, m Manifest, dryRun bool) ([]Change, error) {
	stored, err := m.readStored(ctx, store, project)
	if err != nil {
		return nil, err
	}
	if err := m.checkReferences(stored); err != nil {
		return nil, err
	}
	p := plan{store: store, project: project}
	for _, model := range m.Models {
		if err := p.model(ctx, stored.models, model); err != nil {
			return nil, fmt.Errorf("compare model %s: %w", model.Key, err)
		}
	}
	for _, t := range m.Tools {
		if err := p.tool(ctx, stored.tools, t); err != nil {
			return nil, fmt.Errorf("compare tool %s: %w", t.Key, err)
		}
	}
	for _, a := range m.Agents {
		if err := p.agent(ctx, a); err != nil {
			return nil, fmt.Errorf("compare agent %s: %w", a.Key, err)
		}
	}
	for _, portal := range m.Portals {
		if err := p.portal(ctx, m, portal); err != nil {
			return nil, fmt.Errorf("compare portal %s: %w", portal.Slug, err)
		}
	}
	if dryRun || p.declared.Empty() {
		return p.changes, nil
	}
	versions, err := store.Apply(ctx, project, p.declared, cmp.Or(m.By, nobody))
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

// plan is what there is to do.
type plan struct {
	store    Store
	project  string
	changes  []Change
	declared agent.Declared
}

// compare notes what is to become of a thing, and reports whether it is to be
// written: it is not stored, or not the same.
func (p *plan) compare(kind, key string, stored bool, same func() (bool, error)) (write bool, err error) {
	c := Change{Kind: kind, Key: key, Action: Created}
	if stored {
		ok, err := same()
		if err != nil {
			return false, err
		}
		c.Action = Updated
		if ok {
			c.Action = Unchanged
		}
	}
	p.changes = append(p.changes, c)
	return c.Action != Unchanged, nil
}

func (p *plan) model(ctx context.Context, stored map[string]agent.Model, m agent.Model) error {
	old, ok := stored[m.Key]
	write, err := p.compare(kindModel, m.Key, ok, func() (bool, error) { return p.sameModel(ctx, old, m) })
	if write {
		p.declared.Models = append(p.declared.Models, m)
	}
	return err
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

func (p *plan) tool(ctx context.Context, stored map[string]agent.SharedTool, t agent.SharedTool) error {
	old, ok := stored[t.Key]
	write, err := p.compare(kindTool, t.Key, ok, func() (bool, error) { return p.sameTool(ctx, old, t) })
	if write {
		p.declared.Tools = append(p.declared.Tools, t)
	}
	return err
}

// sameTool reports whether a tool is stored as it should be. A stored secret
// that can't be opened any more is not.
func (p *plan) sameTool(ctx context.Context, old, t agent.SharedTool) (bool, error) {
	same, err := equal(old, t)
	if err != nil || !same || t.Secret == "" {
		return same, err
	}
	secret, err := p.store.Secret(ctx, p.project, t.Key)
	if errors.Is(err, agent.ErrUnavailable) || ctx.Err() != nil {
		return false, err
	}
	return err == nil && secret == t.Secret, nil
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
		p.declared.Agents = append(p.declared.Agents, a)
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

func (p *plan) portal(ctx context.Context, m Manifest, want agent.Portal) error {
	old, err := p.store.Portal(ctx, want.Slug)
	found := err == nil
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return err
	}
	if found && old.Project != p.project {
		return Errors{m.fault(kindPortal, want.Slug, "slug", "slug is taken by another project")}
	}
	write, err := p.compare(kindPortal, want.Slug, found, func() (bool, error) { return p.samePortal(ctx, old, want) })
	if write {
		p.declared.Portals = append(p.declared.Portals, want)
	}
	return err
}

// samePortal reports whether a portal is stored as it should be. A stored secret
// that can't be opened any more is not.
func (p *plan) samePortal(ctx context.Context, old, want agent.Portal) (bool, error) {
	same, err := equal(old, want)
	if err != nil || !same || want.Secret == "" {
		return same, err
	}
	secret, err := p.store.PortalSecret(ctx, want.Slug)
	if errors.Is(err, agent.ErrUnavailable) || ctx.Err() != nil {
		return false, err
	}
	return err == nil && secret == want.Secret, nil
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

// String says it in one line: agent support created, version 1.
func (c Change) String() string {
	s := fmt.Sprintf("%s %s %s", c.Kind, c.Key, c.Action)
	if c.Version > 0 {
		s += fmt.Sprintf(", version %d", c.Version)
	}
	return s
}
