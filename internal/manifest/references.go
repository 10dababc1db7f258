package manifest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

// stored is what a project has of what others may name, by key.
type stored struct {
	models map[string]agent.Model
	tools  map[string]agent.SharedTool
	agents map[string]bool // those that the manifest's agents may ask and its portals show
}

func (m Manifest) readStored(ctx context.Context, store Store, project string) (stored, error) {
	s := stored{models: map[string]agent.Model{}, tools: map[string]agent.SharedTool{}, agents: map[string]bool{}}
	models, err := store.Models(ctx, project)
	if err != nil {
		return s, err
	}
	for _, m := range models {
		s.models[m.Key] = m
	}
	tools, err := store.Tools(ctx, project)
	if err != nil {
		return s, err
	}
	for _, t := range tools {
		s.tools[t.Key] = t
	}
	return s, m.readAsked(ctx, store, project, s.agents)
}

// readAsked looks which of the agents that others may ask, or portals show, are stored.
func (m Manifest) readAsked(ctx context.Context, store Store, project string, into map[string]bool) error {
	look := func(key string) error {
		_, err := store.Agent(ctx, project, key)
		if err != nil && !errors.Is(err, agent.ErrNotFound) {
			return err
		}
		into[key] = err == nil
		return nil
	}
	for _, a := range m.Agents {
		for _, t := range a.Draft.Tools {
			if t.Agent == nil {
				continue
			}
			if err := look(t.Agent.Agent); err != nil {
				return err
			}
		}
	}
	for _, p := range m.Portals {
		if err := look(p.Agent); err != nil {
			return err
		}
	}
	return nil
}

// references tells what is named and is nowhere.
type references struct {
	m      Manifest
	models map[string]bool
	tools  map[string]string // sources
	agents map[string]bool
	errs   Errors
}

// checkReferences tells all models, shared tools and agents that are named and
// are neither declared nor stored. Agents may ask each other in a circle.
func (m Manifest) checkReferences(s stored) error {
	r := references{m: m, models: map[string]bool{}, tools: map[string]string{}, agents: s.agents}
	for key := range s.models {
		r.models[key] = true
	}
	for _, model := range m.Models {
		r.models[model.Key] = true
	}
	for key, t := range s.tools {
		r.tools[key] = t.Source
	}
	for _, t := range m.Tools {
		r.tools[t.Key] = t.Source
	}
	for _, a := range m.Agents {
		r.agents[a.Key] = true
	}
	for _, t := range m.Tools {
		r.secret(kindTool, t.Key, "", t.Ref())
	}
	for _, a := range m.Agents {
		r.agent(a)
	}
	for _, p := range m.Portals {
		if !r.agents[p.Agent] {
			r.fault(kindPortal, p.Slug, "agent", "shows the agent %s, which is neither declared here nor stored", p.Agent)
		}
	}
	if r.errs != nil {
		return r.errs
	}
	return nil
}

func (r *references) fault(kind, key, field, format string, args ...any) {
	r.errs = append(r.errs, r.m.fault(kind, key, field, kind+" "+key+" "+fmt.Sprintf(format, args...)))
}

func (r *references) agent(a agent.Agent) {
	model := func(field, key string) {
		if !r.models[key] {
			r.fault(kindAgent, a.Key, field, "names the model %s, which is neither declared here nor stored", key)
		}
	}
	model("config.model", a.Draft.Model)
	for i, key := range a.Draft.FallbackModels {
		model(fmt.Sprintf("config.fallback_models[%d]", i), key)
	}
	for i, ref := range a.Draft.Tools {
		at := fmt.Sprintf("config.tools[%d]", i)
		source, ok := r.tools[ref.Key]
		switch {
		case ref.Shared() && !ok:
			r.fault(kindAgent, a.Key, at+".key", "names the tool %s, which is neither declared here nor stored", ref.Key)
		case ref.Shared() && source != ref.Source:
			r.fault(kindAgent, a.Key, at+".key", "names the tool %s, whose source is %s, not %s", ref.Key, source, ref.Source)
		}
		if ref.Agent != nil && !r.agents[ref.Agent.Agent] {
			r.fault(kindAgent, a.Key, at+".agent.agent", "names the agent %s, which is neither declared here nor stored", ref.Agent.Agent)
		}
		r.secret(kindAgent, a.Key, at+".", ref)
	}
}

// secret looks at the tool whose secret a ref's block uses.
func (r *references) secret(kind, key, prefix string, ref agent.ToolRef) {
	auth := ref.Auth()
	if auth == nil {
		return
	}
	if _, ok := r.tools[auth.Secret]; !ok {
		r.fault(kind, key, prefix+ref.Source+".auth.secret", "names the tool %s, which is neither declared here nor stored", auth.Secret)
	}
}

// fault is a fault of a thing that Parse had none with.
func (m Manifest) fault(kind, key, field, message string) *Error {
	if name, ok := m.included[placeKey(kind, key, field)]; ok {
		field, message = field+"_file", name+": "+message
	}
	at, ok := m.places[placeKey(kind, key, field)]
	for within := field; !ok && within != ""; {
		within = parent(within)
		at, ok = m.places[placeKey(kind, key, within)]
	}
	return &Error{m.file, at.document, at.line, at.column, field, message}
}

// CheckTools calls check with each source of tools that the manifest declares:
// those of shared tools and those that agents name, but for Go functions and
// other agents. It returns the names of the source's tools, none where they can't
// be known here. Rules about tools that an agent has not are faults too. Faults
// are returned all together as Errors, with their places: fields of an
// agent.FieldError are those of the ref, any other error is of the ref as a
// whole.
func (m Manifest) CheckTools(check func(agent.ToolRef) (names []string, err error)) error {
	var errs Errors
	one := func(kind, key, prefix, whole string, ref agent.ToolRef) []string {
		names, err := check(ref)
		if f, ok := errors.AsType[*agent.FieldError](err); ok {
			errs = append(errs, m.fault(kind, key, prefix+f.Field, f.Message))
		} else if err != nil {
			errs = append(errs, m.fault(kind, key, whole, err.Error()))
		}
		return names
	}
	bad := map[string]bool{}
	for _, t := range m.Tools {
		before := len(errs)
		one(kindTool, t.Key, "", "source", t.Ref())
		bad[t.Key] = len(errs) > before
	}
	for _, a := range m.Agents {
		rules := ruled{known: true}
		for i, ref := range a.Draft.Tools {
			switch {
			case ref.Source == agent.SourceAgent:
				rules.add(agent.AskName(ref))
			case ref.Source == agent.SourceFunction, ref.Shared() && bad[ref.Key]: // the second is told already
				rules.add(ref.Names...)
			default:
				at := fmt.Sprintf("config.tools[%d]", i)
				rules.add(one(kindAgent, a.Key, at+".", at, ref)...)
			}
		}
		for _, name := range rules.missing(a.Draft.Approvals) {
			errs = append(errs, m.fault(kindAgent, a.Key, "config.approvals."+name, agent.NoSuchTool))
		}
	}
	if errs != nil {
		return errs
	}
	return nil
}

// ruled are the tools that an agent's rules may be about.
type ruled struct {
	names []string
	known bool // they are all
}

func (r *ruled) add(names ...string) {
	r.names = append(r.names, names...)
	r.known = r.known && len(names) > 0
}

// missing returns the rules, in order, that are surely about no tool.
func (r *ruled) missing(rules map[string]string) []string {
	if !r.known {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(rules)), func(name string) bool { return slices.Contains(r.names, name) })
}
