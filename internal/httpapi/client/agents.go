package client

import (
	"encoding/json"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

func (d *door) listAgents(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentView); err != nil {
		return err
	}
	status := apigen.AgentStatus(r.URL.Query().Get("status"))
	if err := checkStatus(status); err != nil {
		return err
	}
	list, err := d.store.Agents(r.Context(), p.Project, string(status))
	if err != nil {
		return err
	}
	out := apigen.AgentList{Data: make([]apigen.Agent, 0, len(list))}
	for _, a := range list {
		out.Data = append(out.Data, agentOut(a))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func checkStatus(s apigen.AgentStatus) error {
	if s != "" && !s.Valid() {
		return httpapi.Invalid("status", "must be active or disabled")
	}
	return nil
}

func (d *door) getAgent(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentView); err != nil {
		return err
	}
	return d.writeAgent(w, r)
}

// writeAgent answers with the agent of the path as it is now.
func (d *door) writeAgent(w http.ResponseWriter, r *http.Request) error {
	a, err := d.store.Agent(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "key"))
	if err != nil {
		return noAgent(err)
	}
	return httpapi.WriteJSON(w, http.StatusOK, agentOut(a))
}

func noAgent(err error) error {
	return httpapi.NotFound(err, "agent_not_found", "There is no such agent.")
}

func (d *door) createAgent(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentManage); err != nil {
		return err
	}
	var in apigen.AgentCreate
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	a := agent.Agent{Project: p.Project, Key: in.Key, Active: true, Draft: in.Config}
	if err := edit(&a, in.Name, in.Status); err != nil {
		return err
	}
	if err := checkNew(a); err != nil {
		return err
	}
	made, err := d.store.CreateAgent(r.Context(), a)
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.ClientPrefix+"/agents/"+made.Key)
	return httpapi.WriteJSON(w, http.StatusCreated, agentOut(made))
}

func checkNew(a agent.Agent) error {
	if err := agent.CheckAgentKey("key", a.Key); err != nil {
		return err
	}
	return a.Draft.Validate("config.")
}

// edit changes an agent's name and status as far as they are given.
func edit(a *agent.Agent, name *string, status *apigen.AgentStatus) error {
	if status != nil {
		if !status.Valid() {
			return httpapi.Invalid("status", "must be active or disabled")
		}
		a.Active = *status == apigen.Active
	}
	if name != nil {
		if len(*name) > 200 {
			return httpapi.Invalid("name", "must be 200 bytes or less")
		}
		a.Name = *name
	}
	return nil
}

func (d *door) updateAgent(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentManage); err != nil {
		return err
	}
	var in apigen.AgentPatch
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	a, err := d.store.UpdateAgent(r.Context(), p.Project, chi.URLParam(r, "key"), func(a *agent.Agent) error {
		if in.Config != nil {
			draft, err := patch(a.Draft, *in.Config)
			if err != nil {
				return err
			}
			a.Draft = draft
		}
		return edit(a, in.Name, in.Status)
	})
	if err != nil {
		return noAgent(err)
	}
	return httpapi.WriteJSON(w, http.StatusOK, agentOut(a))
}

// patch returns c with a JSON Merge Patch (RFC 7396) applied.
func patch(c agent.Config, p json.RawMessage) (agent.Config, error) {
	var changes map[string]any
	if err := httpapi.Decode(p, "config", &changes); err != nil {
		return c, err
	}
	old, err := json.Marshal(c)
	if err != nil {
		return c, err
	}
	var out agent.Config
	if err := mergeInto(old, changes, "config", &out); err != nil {
		return c, err
	}
	return out, out.Validate("config.")
}

// mergeInto decodes into dst what a JSON object becomes by changes; path is what
// errors call it.
func mergeInto(old []byte, changes map[string]any, path string, dst any) error {
	var tree map[string]any
	if err := json.Unmarshal(old, &tree); err != nil {
		return err
	}
	merged, err := json.Marshal(merge(tree, changes))
	if err != nil {
		return err
	}
	return httpapi.Decode(merged, path, dst)
}

func merge(into, changes map[string]any) map[string]any {
	if into == nil {
		into = map[string]any{}
	}
	for name, v := range changes {
		switch v := v.(type) {
		case nil:
			delete(into, name)
		case map[string]any:
			inner, _ := into[name].(map[string]any)
			into[name] = merge(inner, v)
		default:
			into[name] = v
		}
	}
	return into
}

func (d *door) deleteAgent(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentManage); err != nil {
		return err
	}
	if err := d.store.DeleteAgent(r.Context(), p.Project, chi.URLParam(r, "key")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (d *door) publishAgent(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentPublish); err != nil {
		return err
	}
	if err := httpapi.ReadOptionalJSON(r, new(apigen.Empty)); err != nil {
		return err
	}
	if _, err := d.store.Publish(r.Context(), p.Project, chi.URLParam(r, "key"), actor(p)); err != nil {
		return noAgent(err)
	}
	return d.writeAgent(w, r)
}

func agentOut(a agent.Agent) apigen.Agent {
	out := apigen.Agent{
		Object: "agent", Key: a.Key, Name: a.Name, Status: apigen.Active, Config: a.Draft,
		PublishedVersion: ptr(a.Published), CreatedAt: a.CreatedAt.UTC(), UpdatedAt: a.UpdatedAt.UTC(),
	}
	if !a.Active {
		out.Status = apigen.Disabled
	}
	out.Config.Execution.CallbackSecret = ""
	return out
}
