package a2a

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// host is an agent at an address.
type host struct {
	agent  agent.Agent
	path   string        // of its URL, with the slash that clients need to find the card below it
	portal *agent.Portal // that shows it to everybody; nil: callers have a token
}

// finder finds the agent of a request.
type finder func(r *http.Request) (host, error)

func noAgent(err error) error {
	return httpapi.NotFound(err, "agent_not_found", "There is no such agent that is active and published.")
}

// named finds an agent of the caller's project by its key. One that can't be
// asked is not there.
func (d *door) named(r *http.Request) (host, error) {
	key := chi.URLParam(r, "agent")
	h := host{path: httpapi.ClientPrefix + "/a2a/" + key + "/"}
	var err error
	h.agent, err = d.askable(r, httpapi.Caller(r.Context()).Project, key)
	return h, noAgent(err)
}

func (d *door) askable(r *http.Request, project, key string) (agent.Agent, error) {
	a, err := d.store.Agent(r.Context(), project, key)
	if err == nil && (!a.Active || a.Published == 0) {
		err = agent.ErrNotFound
	}
	return a, err
}

// shown finds the agent of a portal that says so, and admits the caller as the
// one visitor that all who come this way are. A task is then as secret as its
// id, which nobody can guess and no list tells.
func (d *door) shown(r *http.Request) (host, error) {
	p, err := d.store.Portal(r.Context(), chi.URLParam(r, "slug"))
	if err == nil && (!p.A2A || p.Paused || !p.TakesAnonymous()) {
		err = agent.ErrNotFound
	}
	h := host{path: "/a2a/" + p.Slug + "/", portal: &p}
	if err == nil {
		h.agent, err = d.askable(r, p.Project, p.Agent)
	}
	if err != nil {
		return h, noAgent(err)
	}
	httpapi.Admit(r.Context(), agent.Principal{
		ID: agent.VisitorPrefix(p.Slug) + "a2a", Project: p.Project, Name: "A2A", Permissions: []agent.Permission{agent.PermAgentRun},
	})
	return h, nil
}

// mayCost says whether a message may be sent at a portal now, where everybody
// together has the limits of one visitor.
func (d *door) mayCost(c *call, m message) error {
	if c.portal == nil {
		return nil
	}
	return httpapi.MayCost(c.r.Context(), d.store, *c.portal, c.caller.ID, "message.parts", m.text)
}

// needsToken refuses what is not for everybody.
func (c *call) needsToken() error {
	if c.portal == nil {
		return nil
	}
	return &fault{code: pushNotSupported, message: "Push notifications are not supported here: they need a token."}
}
