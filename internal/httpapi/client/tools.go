package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// maxSecret bounds the secret of a tool, in bytes.
const maxSecret = 64 << 10

func (d *door) listTools(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentView); err != nil {
		return err
	}
	list, err := d.store.Tools(r.Context(), p.Project)
	if err != nil {
		return err
	}
	out := apigen.ToolList{Data: make([]apigen.SharedTool, 0, len(list))}
	for _, t := range list {
		out.Data = append(out.Data, toolOut(t))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func (d *door) getTool(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.Need(httpapi.Caller(r.Context()), agent.PermAgentView); err != nil {
		return err
	}
	t, err := d.tool(r)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, toolOut(t))
}

// tool returns the shared tool of the path.
func (d *door) tool(r *http.Request) (agent.SharedTool, error) {
	t, err := d.store.Tool(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "key"))
	return t, httpapi.NotFound(err, "tool_not_found", "There is no such shared tool.")
}

func (d *door) createTool(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentManage); err != nil {
		return err
	}
	var in apigen.ToolCreate
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	t := agent.SharedTool{Project: p.Project, Key: in.Key, Source: in.Source, OpenAPI: in.Openapi, MCP: in.Mcp, WebSearch: in.WebSearch}
	if err := cmp.Or(t.Validate(""), setSecret(&t, in.Secret)); err != nil {
		return err
	}
	if err := d.openUnless(r, t); err != nil {
		return err
	}
	made, err := d.store.CreateTool(r.Context(), t)
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.ClientPrefix+"/tools/"+made.Key)
	return httpapi.WriteJSON(w, http.StatusCreated, toolOut(made))
}

// setSecret gives a tool a secret; nil: it keeps what it has.
func setSecret(t *agent.SharedTool, secret *string) error {
	switch {
	case secret == nil:
		return nil
	case *secret == "":
		return httpapi.Invalid("secret", "must not be empty: leave it out, or null deletes the stored one")
	case len(*secret) > maxSecret:
		return httpapi.Invalid("secret", "must be %d bytes or less", maxSecret)
	}
	t.Secret, t.HasSecret = *secret, true
	return nil
}

// openUnless opens a tool that is to be stored, unless the caller does not want it.
func (d *door) openUnless(r *http.Request, t agent.SharedTool) error {
	unchecked, err := httpapi.QueryBool(r, "unchecked")
	if err != nil || unchecked {
		return err
	}
	_, err = d.tools.OpenTool(r.Context(), t)
	return err
}

// updateTries is how often a change is made anew because another one came first.
const updateTries = 3

func (d *door) updateTool(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.Need(httpapi.Caller(r.Context()), agent.PermAgentManage); err != nil {
		return err
	}
	var changes map[string]any
	if err := httpapi.ReadJSON(r, &changes); err != nil {
		return err
	}
	for try := 1; ; try++ {
		t, err := d.tool(r)
		if err != nil {
			return err
		}
		if t, err = patchTool(t, changes); err != nil {
			return err
		}
		if err := d.openUnless(r, t); err != nil { // no lock is held: it may take long
			return err
		}
		t, err = d.store.ReplaceTool(r.Context(), t)
		if errors.Is(err, agent.ErrChanged) && try < updateTries {
			continue
		}
		if err != nil {
			return err
		}
		return httpapi.WriteJSON(w, http.StatusOK, toolOut(t))
	}
}

// toolFields are what a patch of a tool may change.
type toolFields struct {
	Source    string                 `json:"source"`
	OpenAPI   *agent.OpenAPISource   `json:"openapi,omitempty"`
	MCP       *agent.MCPSource       `json:"mcp,omitempty"`
	WebSearch *agent.WebSearchSource `json:"web_search,omitempty"`
	Secret    *string                `json:"secret,omitempty"`
}

// patchTool returns t with a JSON Merge Patch (RFC 7396) applied.
func patchTool(t agent.SharedTool, changes map[string]any) (agent.SharedTool, error) {
	old, err := json.Marshal(toolFields{Source: t.Source, OpenAPI: t.OpenAPI, MCP: t.MCP, WebSearch: t.WebSearch})
	if err != nil {
		return t, err
	}
	var f toolFields
	if err := mergeInto(old, changes, "", &f); err != nil {
		return t, err
	}
	if v, given := changes["secret"]; given && v == nil {
		t.HasSecret = false
	}
	t.Source, t.OpenAPI, t.MCP, t.WebSearch = f.Source, f.OpenAPI, f.MCP, f.WebSearch
	if err := t.Validate(""); err != nil {
		return t, err
	}
	err = setSecret(&t, f.Secret)
	return t, err
}

func (d *door) deleteTool(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentManage); err != nil {
		return err
	}
	if err := d.store.DeleteTool(r.Context(), p.Project, chi.URLParam(r, "key")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (d *door) checkTool(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.Need(httpapi.Caller(r.Context()), agent.PermAgentManage); err != nil {
		return err
	}
	if err := httpapi.ReadOptionalJSON(r, new(apigen.Empty)); err != nil {
		return err
	}
	t, err := d.tool(r)
	if err != nil {
		return err
	}
	specs, err := d.tools.OpenTool(r.Context(), t)
	if err != nil {
		return err
	}
	out := apigen.ToolOffer{Data: make([]apigen.OfferedTool, 0, len(specs))}
	for _, s := range specs {
		out.Data = append(out.Data, apigen.OfferedTool{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func toolOut(t agent.SharedTool) apigen.SharedTool {
	return apigen.SharedTool{
		Object: "tool", Key: t.Key, Source: t.Source, Openapi: t.OpenAPI, Mcp: t.MCP, WebSearch: t.WebSearch,
		HasSecret: t.HasSecret, CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(),
	}
}
