package studio

import (
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

func (d *door) listAgents(w http.ResponseWriter, r *http.Request) error {
	project, status := httpapi.Caller(r.Context()).Project, r.URL.Query().Get("status")
	list, err := d.store.Agents(r.Context(), project, status)
	if err != nil {
		return err
	}
	drafts, err := d.store.Drafts(r.Context(), project, "")
	if err != nil {
		return err
	}
	out := wire.AgentList{Data: make([]wire.Agent, 0, len(list))}
	for _, a := range list {
		out.Data = append(out.Data, agentOut(a, drafts[a.Key]))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func (d *door) getAgent(w http.ResponseWriter, r *http.Request) error {
	a, err := d.store.Agent(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "agentId"))
	if err != nil {
		return noAgent(err)
	}
	return d.writeAgent(w, r, http.StatusOK, a)
}

func (d *door) writeAgent(w http.ResponseWriter, r *http.Request, status int, a agent.Agent) error {
	drafts, err := d.store.Drafts(r.Context(), httpapi.Caller(r.Context()).Project, a.Key)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, status, agentOut(a, drafts[a.Key]))
}

func noAgent(err error) error {
	return httpapi.NotFound(err, "agent_not_found", "There is no such agent.")
}

func (d *door) createAgent(w http.ResponseWriter, r *http.Request) error {
	var in wire.AgentCreate
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	a := agent.Agent{Project: httpapi.Caller(r.Context()).Project, Key: in.Id, Active: true, Draft: in.Config}
	if err := agent.CheckAgentKey("id", a.Key); err != nil {
		return err
	}
	if err := edit(&a, in.Name, in.Status); err != nil {
		return err
	}
	if err := a.Draft.Validate("config."); err != nil {
		return err
	}
	made, err := d.store.CreateAgent(r.Context(), a)
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.StudioPrefix+"/agents/"+made.Key)
	return d.writeAgent(w, r, http.StatusCreated, made)
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
		a.Name = *name
	}
	return agent.CheckName("name", a.Name)
}

func (d *door) updateAgent(w http.ResponseWriter, r *http.Request) error {
	var in wire.AgentPatch
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	a, err := d.store.UpdateAgent(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "agentId"), func(a *agent.Agent) error {
		return change(a, in)
	})
	if err != nil {
		return noAgent(err)
	}
	return d.writeAgent(w, r, http.StatusOK, a)
}

// change applies a patch to an agent.
func change(a *agent.Agent, in wire.AgentPatch) error {
	if in.ExpectedUpdatedAt != nil && !in.ExpectedUpdatedAt.Equal(a.UpdatedAt) {
		return &httpapi.Error{Status: http.StatusConflict, Code: "agent_changed", Message: "Somebody else has changed this agent meanwhile. Read it again."}
	}
	if in.Config != nil {
		secret := a.Draft.Execution.CallbackSecret
		a.Draft = *in.Config
		if a.Draft.Execution.CallbackSecret == "" {
			a.Draft.Execution.CallbackSecret = secret
		}
	}
	if in.CallbackSecret != nil {
		a.Draft.Execution.CallbackSecret = *in.CallbackSecret
	}
	if err := edit(a, in.Name, in.Status); err != nil {
		return err
	}
	return a.Draft.Validate("config.")
}

func (d *door) deleteAgent(w http.ResponseWriter, r *http.Request) error {
	if err := d.store.DeleteAgent(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "agentId")); err != nil {
		return err
	}
	return noContent(w)
}

func (d *door) publish(w http.ResponseWriter, r *http.Request) error {
	var in wire.PublishAgentJSONBody
	if err := httpapi.ReadOptionalJSON(r, &in); err != nil {
		return err
	}
	p, key := httpapi.Caller(r.Context()), chi.URLParam(r, "agentId")
	if in.Version == nil {
		if _, err := d.store.Publish(r.Context(), p.Project, key, actor(p)); err != nil {
			return noAgent(err)
		}
		return d.getAgent(w, r)
	}
	if *in.Version < 1 {
		return httpapi.Invalid("version", "must be 1 or more")
	}
	if _, err := d.store.PublishAgain(r.Context(), p.Project, key, *in.Version, actor(p)); err != nil {
		return httpapi.NotFound(err, "agent_version_not_found", "There is no such agent, or it has no such version.")
	}
	return d.getAgent(w, r)
}

func (d *door) listVersions(w http.ResponseWriter, r *http.Request) error {
	a, list, known, err := d.versions(r)
	if err != nil {
		return err
	}
	out := wire.VersionList{Data: make([]wire.VersionInfo, 0, len(list))}
	for _, v := range list {
		out.Data = append(out.Data, wire.VersionInfo{
			Version: v.Version, CreatedAt: v.CreatedAt.UTC(), CreatedBy: known.orNil(v.CreatedBy), Published: v.Version == a.Published,
		})
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// versions returns the agent of the path, its versions and who made them.
func (d *door) versions(r *http.Request) (agent.Agent, []agent.VersionInfo, names, error) {
	project, key := httpapi.Caller(r.Context()).Project, chi.URLParam(r, "agentId")
	a, err := d.store.Agent(r.Context(), project, key)
	if err != nil {
		return a, nil, nil, noAgent(err)
	}
	list, err := d.store.Versions(r.Context(), project, key)
	if err != nil {
		return a, nil, nil, err
	}
	var ids []string
	for _, v := range list {
		ids = append(ids, v.CreatedBy)
	}
	known, err := d.named(r.Context(), ids)
	return a, list, known, err
}

func (d *door) getVersion(w http.ResponseWriter, r *http.Request) error {
	a, list, known, err := d.versions(r)
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(chi.URLParam(r, "version"))
	for _, v := range list {
		if v.Version != n {
			continue
		}
		c, err := d.store.Version(r.Context(), httpapi.Caller(r.Context()).Project, a.Key, n)
		if err != nil {
			return err
		}
		c.Execution.CallbackSecret = ""
		return httpapi.WriteJSON(w, http.StatusOK, wire.Version{
			Version: n, CreatedAt: v.CreatedAt.UTC(), CreatedBy: known.orNil(v.CreatedBy), Published: n == a.Published, Config: c,
		})
	}
	return &httpapi.Error{Status: http.StatusNotFound, Code: "agent_version_not_found", Message: "The agent has no such version."}
}

func agentOut(a agent.Agent, draft agent.DraftState) wire.Agent {
	out := wire.Agent{
		Id: a.Key, Name: a.Name, Status: apigen.Active, Config: a.Draft, HasCallbackSecret: draft.HasSecret,
		PublishedVersion: ptr(a.Published), DraftChanged: draft.Changed, CreatedAt: a.CreatedAt.UTC(), UpdatedAt: a.UpdatedAt.UTC(),
	}
	if !a.Active {
		out.Status = apigen.Disabled
	}
	out.Config.Execution.CallbackSecret = ""
	return out
}
