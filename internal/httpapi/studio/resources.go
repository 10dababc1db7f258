package studio

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (d *door) listModels(w http.ResponseWriter, r *http.Request) error {
	list, err := d.models(r.Context())
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, wire.ModelList{Data: list})
}

// models returns the project's models.
func (d *door) models(ctx context.Context) ([]wire.Model, error) {
	project := httpapi.Caller(ctx).Project
	list, err := d.store.Models(ctx, project)
	if err != nil {
		return nil, err
	}
	stored, err := d.store.StoredModels(ctx, project)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Model, 0, len(list))
	for _, m := range list {
		x := stored[m.Key]
		out = append(out, wire.Model{
			Key: m.Key, HasApiKey: x.HasSecret, UsedBy: orEmpty(x.UsedBy), CreatedAt: x.CreatedAt.UTC(), UpdatedAt: x.UpdatedAt.UTC(),
			Config: wire.ModelConfig{
				BaseUrl: m.BaseURL, Model: m.Model, ApiKeyEnv: m.APIKeyEnv, Pricing: m.Pricing, Headers: m.Headers,
				TimeoutMs: m.TimeoutMS, IdleTimeoutMs: m.IdleTimeoutMS, Retries: m.Retries,
			},
		})
	}
	return out, nil
}

func (d *door) getModel(w http.ResponseWriter, r *http.Request) error {
	return d.writeModel(w, r, http.StatusOK, chi.URLParam(r, "modelKey"))
}

func (d *door) writeModel(w http.ResponseWriter, r *http.Request, status int, key string) error {
	list, err := d.models(r.Context())
	if err != nil {
		return err
	}
	for _, m := range list {
		if m.Key == key {
			return httpapi.WriteJSON(w, status, m)
		}
	}
	return noModel(agent.ErrNotFound)
}

func noModel(err error) error {
	return httpapi.NotFound(err, "model_not_found", "There is no such model.")
}

// model reads a model; its faults are named as this API names the fields.
func model(ctx context.Context, key, apiKey string, c wire.ModelConfig) (agent.Model, error) {
	m := agent.Model{
		Project: httpapi.Caller(ctx).Project, Key: key, BaseURL: c.BaseUrl, Model: c.Model, APIKeyEnv: c.ApiKeyEnv, APIKey: apiKey,
		Pricing: c.Pricing, Headers: c.Headers, TimeoutMS: c.TimeoutMs, IdleTimeoutMS: c.IdleTimeoutMs, Retries: c.Retries,
	}
	return m, within(m.Validate(""), map[string]string{"api_key": "apiKey"})
}

// within names the field of a fault as it is in a body that has key and secret
// beside the config.
func within(err error, outside map[string]string) error {
	f, ok := errors.AsType[*agent.FieldError](err)
	if !ok {
		return err
	}
	name := "config." + f.Field
	if f.Field == "key" {
		name = "key"
	} else if n, ok := outside[f.Field]; ok {
		name = n
	}
	return &agent.FieldError{Field: name, Message: f.Message}
}

func (d *door) createModel(w http.ResponseWriter, r *http.Request) error {
	var in wire.ModelCreate
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	m, err := model(r.Context(), in.Key, in.ApiKey, in.Config)
	if err != nil {
		return err
	}
	if err := d.store.CreateModel(r.Context(), m); err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.StudioPrefix+"/models/"+m.Key)
	return d.writeModel(w, r, http.StatusCreated, m.Key)
}

func (d *door) replaceModel(w http.ResponseWriter, r *http.Request) error {
	var in wire.ModelReplace
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	secret, forget := given(in.ApiKey)
	m, err := model(r.Context(), chi.URLParam(r, "modelKey"), secret, in.Config)
	if err != nil {
		return noKey(err, noModel)
	}
	if err := d.store.ReplaceModel(r.Context(), m, forget); err != nil {
		return noModel(err)
	}
	return d.writeModel(w, r, http.StatusOK, m.Key)
}

// given reads a secret that may be left out: it stays then. forget: it is removed.
func given(secret *string) (value string, forget bool) {
	if secret == nil {
		return "", false
	}
	return *secret, *secret == ""
}

// noKey answers for a key of the path that none can have.
func noKey(err error, none func(error) error) error {
	if f, ok := errors.AsType[*agent.FieldError](err); ok && f.Field == "key" {
		return none(agent.ErrNotFound)
	}
	return err
}

func (d *door) deleteModel(w http.ResponseWriter, r *http.Request) error {
	project, key := httpapi.Caller(r.Context()).Project, chi.URLParam(r, "modelKey")
	stored, err := d.store.StoredModels(r.Context(), project)
	if err != nil {
		return err
	}
	if users := stored[key].UsedBy; len(users) > 0 {
		return &httpapi.Error{Status: http.StatusConflict, Code: "model_in_use", Message: "It is used by " + strings.Join(users, ", ") + ": change those first."}
	}
	if err := d.store.DeleteModel(r.Context(), project, key); err != nil {
		return err
	}
	return noContent(w)
}

func (d *door) listTools(w http.ResponseWriter, r *http.Request) error {
	list, err := d.tools(r.Context())
	if err != nil {
		return err
	}
	out := wire.ToolList{Data: list, Functions: []wire.Function{}, McpCommands: d.MCPCommands}
	for _, f := range d.Functions {
		out.Functions = append(out.Functions, wire.Function{Name: f.Name, Description: f.Description})
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// tools returns the project's shared tools.
func (d *door) tools(ctx context.Context) ([]wire.Tool, error) {
	project := httpapi.Caller(ctx).Project
	list, err := d.store.Tools(ctx, project)
	if err != nil {
		return nil, err
	}
	users, err := d.store.ToolUsers(ctx, project)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Tool, 0, len(list))
	for _, t := range list {
		out = append(out, wire.Tool{
			Key: t.Key, HasSecret: t.HasSecret, UsedBy: orEmpty(users[t.Key]), CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(),
			Config: wire.ToolConfig{Source: t.Source, Openapi: t.OpenAPI, Mcp: t.MCP, WebSearch: t.WebSearch},
		})
	}
	return out, nil
}

func (d *door) getTool(w http.ResponseWriter, r *http.Request) error {
	return d.writeTool(w, r, http.StatusOK, chi.URLParam(r, "toolKey"))
}

func (d *door) writeTool(w http.ResponseWriter, r *http.Request, status int, key string) error {
	list, err := d.tools(r.Context())
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.Key == key {
			return httpapi.WriteJSON(w, status, t)
		}
	}
	return noTool(agent.ErrNotFound)
}

func noTool(err error) error {
	return httpapi.NotFound(err, "tool_not_found", "There is no such tool.")
}

// configure gives a tool another configuration and says whether it can be used.
func (d *door) configure(r *http.Request, t *agent.SharedTool, c wire.ToolConfig) error {
	t.Source, t.OpenAPI, t.MCP, t.WebSearch = c.Source, c.Openapi, c.Mcp, c.WebSearch
	if err := t.Validate(""); err != nil {
		return within(err, nil)
	}
	unchecked, err := httpapi.QueryBool(r, "unchecked")
	if err != nil || unchecked {
		return err
	}
	_, err = d.Tools.OpenTool(r.Context(), *t)
	return within(err, nil)
}

func (d *door) createTool(w http.ResponseWriter, r *http.Request) error {
	var in wire.ToolCreate
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	t := agent.SharedTool{Project: httpapi.Caller(r.Context()).Project, Key: in.Key, Secret: in.Secret, HasSecret: in.Secret != ""}
	if err := d.configure(r, &t, in.Config); err != nil {
		return err
	}
	if _, err := d.store.CreateTool(r.Context(), t); err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.StudioPrefix+"/tools/"+t.Key)
	return d.writeTool(w, r, http.StatusCreated, t.Key)
}

func (d *door) replaceTool(w http.ResponseWriter, r *http.Request) error {
	var in wire.ToolReplace
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	t, err := d.store.Tool(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "toolKey"))
	if err != nil {
		return noTool(err)
	}
	if in.Secret != nil {
		t.Secret, t.HasSecret = *in.Secret, *in.Secret != ""
	}
	if err := d.configure(r, &t, in.Config); err != nil {
		return err
	}
	if _, err := d.store.ReplaceTool(r.Context(), t); err != nil {
		return err
	}
	return d.writeTool(w, r, http.StatusOK, t.Key)
}

func (d *door) deleteTool(w http.ResponseWriter, r *http.Request) error {
	if err := d.store.DeleteTool(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "toolKey")); err != nil {
		return err
	}
	return noContent(w)
}

// checkTool opens a tool as a turn would and answers with what it offers.
func (d *door) checkTool(w http.ResponseWriter, r *http.Request) error {
	t, err := d.store.Tool(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "toolKey"))
	if err != nil {
		return noTool(err)
	}
	specs, err := d.Tools.OpenTool(r.Context(), t)
	if err != nil {
		return within(err, nil)
	}
	out := wire.ToolOffer{Data: make([]wire.Function, 0, len(specs))}
	for _, s := range specs {
		out.Data = append(out.Data, wire.Function{Name: s.Name, Description: s.Description})
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}
