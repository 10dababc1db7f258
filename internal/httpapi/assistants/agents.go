package assistants

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// assistantRequest is the body of a POST of an assistant. null keeps, as a field
// that is not there does.
type assistantRequest struct {
	Key            string            `json:"key"`
	Model          *string           `json:"model"`
	Name           *string           `json:"name"`
	Instructions   *string           `json:"instructions"`
	Temperature    *float64          `json:"temperature"`
	TopP           *float64          `json:"top_p"`
	Description    string            `json:"description"`
	Metadata       map[string]any    `json:"metadata"`
	Tools          []json.RawMessage `json:"tools"`
	ToolResources  map[string]any    `json:"tool_resources"`
	ResponseFormat json.RawMessage   `json:"response_format"`

	ReasoningEffort json.RawMessage `json:"reasoning_effort"`
}

func (q *assistantRequest) check() error {
	return refusals{
		{q.Description != "", "description", "must be empty: an agent has a name and instructions"},
		{len(q.Metadata) > 0, "metadata", "must be empty: an agent keeps none"},
		{len(q.Tools) > 0, "tools", "must be empty: an agent's tools are declared with it, by PATCH /agents/{key} or belay apply"},
		{len(q.ToolResources) > 0, "tool_resources", "must be empty: an agent's tools are declared with it"},
		{!plainFormat(q.ResponseFormat), "response_format", `must be auto or {"type": "text"}`},
	}.first()
}

// apply changes an agent as the request says.
func (q *assistantRequest) apply(a *agent.Agent) error {
	if q.Name != nil {
		a.Name = *q.Name
	}
	if q.Model != nil {
		a.Draft.Model = *q.Model
	}
	a.Draft = agent.Overrides{Instructions: q.Instructions, Temperature: q.Temperature, TopP: q.TopP}.Apply(a.Draft)
	return a.Draft.Validate("")
}

// refusals are parameters that would have to change what is done, and would not.
type refusals []struct {
	asked       bool
	param, must string
}

func (list refusals) first() error {
	for _, c := range list {
		if c.asked {
			return httpapi.Invalid(c.param, "%s", c.must)
		}
	}
	return nil
}

// plainFormat reports whether a response format is the one that there is.
func plainFormat(raw json.RawMessage) bool {
	if httpapi.Absent(raw) || string(raw) == `"auto"` {
		return true
	}
	var format map[string]any
	return json.Unmarshal(raw, &format) == nil && len(format) == 1 && format["type"] == "text"
}

func assistantOut(p agent.Principal, a agent.Agent) apigen.Assistant {
	out := apigen.Assistant{
		Id: prefixAssistant + a.Key, Object: "assistant", CreatedAt: a.CreatedAt.Unix(), Model: a.Draft.Model,
		Tools: []apigen.Empty{}, Metadata: apigen.KeptMetadata{}, Temperature: a.Draft.Temperature, TopP: a.Draft.TopP, ResponseFormat: "auto",
	}
	if a.Name != "" {
		out.Name = &a.Name
	}
	if p.Can(agent.PermAgentView) {
		out.Instructions = &a.Draft.Instructions
	}
	return out
}

func noAssistant(err error) error {
	return httpapi.NotFound(err, "agent_not_found", "There is no such assistant.")
}

func (d *door) listAssistants(w http.ResponseWriter, r *http.Request) error {
	p, err := mayReadAgents(r.Context())
	if err != nil {
		return err
	}
	q, err := readPage(r)
	if err != nil {
		return err
	}
	all, err := d.store.Agents(r.Context(), p.Project, "active")
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b agent.Agent) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Key, b.Key)) })
	list, more, err := cut(q, inMemory(all))
	if err != nil {
		return err
	}
	out := apigen.AssistantList{Object: "list", Data: make([]apigen.Assistant, 0, len(list)), HasMore: more}
	for _, a := range list {
		out.Data = append(out.Data, assistantOut(p, a.Agent))
	}
	out.FirstId, out.LastId = ends(out.Data, func(a apigen.Assistant) string { return a.Id })
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

type placed struct {
	agent.Agent
	place int64
}

// inMemory is a list of agents, which are few.
func inMemory(all []agent.Agent) source[placed] {
	return source[placed]{
		first: -1, last: int64(len(all)), position: func(a placed) int64 { return a.place },
		at: func(param, id string) (int64, error) {
			i := slices.IndexFunc(all, func(a agent.Agent) bool { return a.Key == bare(prefixAssistant, id) })
			if i < 0 {
				return 0, httpapi.Invalid(param, "must be the id of an assistant")
			}
			return int64(i), nil
		},
		read: func(from int64, below bool, n int) (out []placed, err error) {
			step := int64(1)
			if below {
				step = -1
			}
			for i := from + step; i >= 0 && i < int64(len(all)) && len(out) < n; i += step {
				out = append(out, placed{all[i], i})
			}
			return out, nil
		},
	}
}

func (d *door) getAssistant(w http.ResponseWriter, r *http.Request) error {
	p, err := mayReadAgents(r.Context())
	if err != nil {
		return err
	}
	a, err := d.store.Agent(r.Context(), p.Project, bare(prefixAssistant, chi.URLParam(r, "assistant")))
	if err != nil {
		return noAssistant(err)
	}
	return httpapi.WriteJSON(w, http.StatusOK, assistantOut(p, a))
}

// readAssistant reads a request to change agents: an assistant that is changed
// is published, since nobody runs an assistant's draft.
func readAssistant(r *http.Request) (p agent.Principal, q assistantRequest, err error) {
	p = httpapi.Caller(r.Context())
	for _, perm := range []agent.Permission{agent.PermAgentManage, agent.PermAgentPublish} {
		if err := httpapi.Need(p, perm); err != nil {
			return p, q, err
		}
	}
	if err := httpapi.ReadJSON(r, &q); err != nil {
		return p, q, err
	}
	return p, q, q.check()
}

func (d *door) createAssistant(w http.ResponseWriter, r *http.Request) error {
	p, q, err := readAssistant(r)
	if err != nil {
		return err
	}
	a := agent.Agent{Project: p.Project, Key: cmp.Or(q.Key, agent.NewID()), Active: true}
	if err := agent.CheckKey("key", a.Key); err != nil {
		return err
	}
	if err := q.apply(&a); err != nil {
		return err
	}
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	if a, err = d.store.CreateAgent(ctx, a); err != nil {
		return err
	}
	return d.published(ctx, w, p, a)
}

func (d *door) updateAssistant(w http.ResponseWriter, r *http.Request) error {
	p, q, err := readAssistant(r)
	if err != nil {
		return err
	}
	if q.Key != "" {
		return httpapi.Invalid("key", "can't be changed")
	}
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	a, err := d.store.UpdateAgent(ctx, p.Project, bare(prefixAssistant, chi.URLParam(r, "assistant")), q.apply)
	if err != nil {
		return noAssistant(err)
	}
	return d.published(ctx, w, p, a)
}

func (d *door) published(ctx context.Context, w http.ResponseWriter, p agent.Principal, a agent.Agent) error {
	if _, err := d.store.Publish(ctx, p.Project, a.Key, agent.Actor{By: p.ID, Door: agent.DoorAssistants, Address: p.Address}); err != nil {
		return noAssistant(err)
	}
	return httpapi.WriteJSON(w, http.StatusOK, assistantOut(p, a))
}

func (d *door) deleteAssistant(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentManage); err != nil {
		return err
	}
	given := chi.URLParam(r, "assistant")
	if err := d.store.DeleteAgent(r.Context(), p.Project, bare(prefixAssistant, given)); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, apigen.Deleted{Id: given, Object: "assistant.deleted", Deleted: true})
}
