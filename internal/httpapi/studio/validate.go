package studio

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

func (d *door) validate(w http.ResponseWriter, r *http.Request) error {
	if _, err := d.store.Agent(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "agentId")); err != nil {
		return noAgent(err)
	}
	return d.validateNew(w, r)
}

// validateNew says what the routes that would store an agent would refuse, all
// at once and by the same rules, and what they would take that can't work now.
func (d *door) validateNew(w http.ResponseWriter, r *http.Request) error {
	var in wire.AgentDraft
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	v := validation{out: wire.Validation{Errors: []wire.Fault{}, Warnings: []wire.Fault{}}}
	if in.Id != nil {
		v.fault(agent.CheckAgentKey("id", *in.Id))
	}
	if in.Name != nil {
		v.fault(agent.CheckName("name", *in.Name))
	}
	var c agent.Config
	if len(in.Config) == 0 || string(in.Config) == "null" {
		v.fault(httpapi.Invalid("config", "is required"))
	} else if v.fault(httpapi.Decode(in.Config, "config", &c)) {
		for _, f := range c.Faults("config.") {
			v.out.Errors = append(v.out.Errors, wire.Fault{Field: f.Field, Message: f.Message})
		}
		if err := d.references(r.Context(), &v, c); err != nil {
			return err
		}
	}
	v.out.Valid = len(v.out.Errors) == 0
	return httpapi.WriteJSON(w, http.StatusOK, v.out)
}

type validation struct{ out wire.Validation }

// fault notes what is wrong, and reports whether nothing is.
func (v *validation) fault(err error) bool {
	if err == nil {
		return true
	}
	if f, ok := errors.AsType[*agent.FieldError](err); ok {
		v.out.Errors = append(v.out.Errors, wire.Fault{Field: f.Field, Message: f.Message})
	} else {
		v.out.Errors = append(v.out.Errors, wire.Fault{Field: "config", Message: httpapi.Explain(err).Message})
	}
	return false
}

func (v *validation) warn(missing bool, field, format string, args ...any) {
	if missing {
		v.out.Warnings = append(v.out.Warnings, wire.Fault{Field: "config." + field, Message: fmt.Sprintf(format, args...)})
	}
}

// references warns of what is named and is not there.
func (d *door) references(ctx context.Context, v *validation, c agent.Config) error {
	project := httpapi.Caller(ctx).Project
	models, err := d.store.StoredModels(ctx, project)
	if err != nil {
		return err
	}
	shared, err := d.store.Tools(ctx, project)
	if err != nil {
		return err
	}
	agents, err := d.store.Agents(ctx, project, "")
	if err != nil {
		return err
	}
	sources := map[string]string{}
	for _, t := range shared {
		sources[t.Key] = t.Source
	}
	published := map[string]bool{}
	for _, a := range agents {
		published[a.Key] = a.Active && a.Published > 0
	}
	for i, m := range append([]string{c.Model}, c.FallbackModels...) {
		field := "model"
		if i > 0 {
			field = fmt.Sprintf("fallback_models[%d]", i-1)
		}
		_, ok := models[m]
		v.warn(!ok && m != "", field, "there is no model %s", m)
	}
	for i, t := range c.Tools {
		v.tool(fmt.Sprintf("tools[%d]", i), t, sources, published)
	}
	return nil
}

func (v *validation) tool(at string, t agent.ToolRef, sources map[string]string, published map[string]bool) {
	source, ok := sources[t.Key]
	v.warn(t.Shared() && !ok, at+".key", "there is no shared tool %s", t.Key)
	v.warn(t.Shared() && ok && source != t.Source, at+".key", "the source of the shared tool %s is %s, not %s", t.Key, source, t.Source)
	if a := t.Auth(); a != nil {
		_, ok := sources[a.Secret]
		v.warn(!ok, at+"."+t.Source+".auth.secret", "there is no shared tool %s to keep the secret", a.Secret)
	}
	if t.Agent != nil {
		v.warn(!published[t.Agent.Agent], at+".agent.agent", "there is no published agent %s", t.Agent.Agent)
	}
}
