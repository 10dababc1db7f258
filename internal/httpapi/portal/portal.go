package portal

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

// Prefix is where the routes of the API are, each below its portal's slug.
const Prefix = "/api/portal/v1"

// Engine is what this door needs of turn.Engine.
type Engine interface {
	Verbs
	Watch(ctx context.Context, session string, after int64, idle time.Duration) iter.Seq2[[]agent.Event, error]
}

// Verbs begin, stop and decide.
type Verbs interface {
	Begin(ctx context.Context, s turn.Submit) (agent.Turn, error)
	Stop(ctx context.Context, q turn.StopRequest) (turn.StopAnswer, error)
	Decide(ctx context.Context, p agent.Principal, d agent.Decision) (agent.Action, error)
}

// Visitors tells who calls; access.Visitors is one.
type Visitors interface {
	// Portal returns a portal that is open; agent.ErrNotFound for any other.
	Portal(ctx context.Context, slug string) (agent.Portal, error)
	// Admit lets a visitor in: an anonymous one where site is empty.
	Admit(ctx context.Context, p agent.Portal, site string) (agent.Visitor, error)
	// Authenticate returns the visitor of an Authorization header; an error
	// where it names none.
	Authenticate(p agent.Portal, header string) (agent.Principal, error)
}

// Sessions reads conversations.
type Sessions interface {
	// Sessions returns a page, newest first, and the cursor of the next.
	Sessions(ctx context.Context, f agent.SessionFilter) (page []agent.SessionInfo, next string, err error)
	// Session returns a conversation; agent.ErrNotFound.
	Session(ctx context.Context, id string) (agent.SessionInfo, error)
	// Messages returns the message events of indexes above afterIndex.
	Messages(ctx context.Context, session string, afterIndex, limit int) ([]agent.Event, error)
}

// Actions reads requests.
type Actions interface {
	// Actions returns the actions of a turn.
	Actions(ctx context.Context, turn string) ([]agent.Action, error)
	// Action returns an action and its conversation; agent.ErrNotFound.
	Action(ctx context.Context, id string) (agent.Action, agent.Session, error)
}

// Agents reads agents.
type Agents interface {
	// Agent returns an agent; agent.ErrNotFound.
	Agent(ctx context.Context, project, key string) (agent.Agent, error)
}

// Store is all that this door reads; postgres.Store is one.
type Store interface {
	Sessions
	Actions
	Agents
	httpapi.Meter
}

// Config is what the door is made of. All but Streams and Doorman are required.
type Config struct {
	Engine   Engine
	Visitors Visitors
	Store    Store
	Streams  httpapi.Streams
	Doorman  Doorman
}

type door struct {
	engine   Engine
	visitors Visitors
	store    Store
	streams  httpapi.Streams
	doorman  *doorman
}

// Routes returns the routes of the door, with their whole patterns: they tell who
// calls themselves.
func Routes(cfg Config) []httpapi.Route {
	d := &door{engine: cfg.Engine, visitors: cfg.Visitors, store: cfg.Store, streams: cfg.Streams, doorman: newDoorman(cfg.Doorman)}
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/{slug}/config", Serve: d.open(d.config)},
		{Method: http.MethodPost, Pattern: "/{slug}/visitors", Serve: d.open(d.admit)},
		{Method: http.MethodGet, Pattern: "/{slug}/conversations", Serve: d.visited(d.list)},
		{Method: http.MethodPost, Pattern: "/{slug}/conversations", Serve: d.visited(d.begin)},
		{Method: http.MethodGet, Pattern: "/{slug}/conversations/{id}", Serve: d.visited(d.get)},
		{Method: http.MethodGet, Pattern: "/{slug}/conversations/{id}/messages", Serve: d.visited(d.messages)},
		{Method: http.MethodPost, Pattern: "/{slug}/conversations/{id}/messages", Serve: d.visited(d.say)},
		{Method: http.MethodGet, Pattern: "/{slug}/conversations/{id}/events", Serve: d.visited(d.events)},
		{Method: http.MethodPost, Pattern: "/{slug}/conversations/{id}/cancel", Serve: d.visited(d.stop)},
		{Method: http.MethodGet, Pattern: "/{slug}/conversations/{id}/actions", Serve: d.visited(d.actions)},
		{Method: http.MethodPost, Pattern: "/{slug}/actions/{id}/decision", Serve: d.visited(d.decide)},
		{Method: http.MethodOptions, Pattern: "/{slug}/*", Serve: d.open(preflight)},
	}
	for i := range routes {
		routes[i].Pattern = Prefix + routes[i].Pattern
	}
	return routes
}

// handler answers a request at a portal.
type handler func(w http.ResponseWriter, r *http.Request, p agent.Portal) error

// open serves everybody who comes from a site that the portal allows.
func (d *door) open(h handler) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := d.visitors.Portal(r.Context(), chi.URLParam(r, "slug"))
		if err != nil {
			return httpapi.NotFound(err, "portal_not_found", "There is no such chat.")
		}
		allow(w, r, p)
		return h(w, r, p)
	}
}

// visited serves visitors.
func (d *door) visited(h handler) httpapi.Handler {
	return d.open(func(w http.ResponseWriter, r *http.Request, p agent.Portal) error {
		who, err := d.visitors.Authenticate(p, r.Header.Get("Authorization"))
		if err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			return &httpapi.Error{Status: http.StatusUnauthorized, Code: "invalid_token", Err: err,
				Message: "Send the header Authorization: Bearer with a visitor's token that is valid."}
		}
		httpapi.Admit(r.Context(), who)
		return h(w, r, p)
	})
}

// allow lets pages of the portal's sites read the answer. Visitors have a bearer
// token and no cookie, so a page of another site gains nothing by asking.
func allow(w http.ResponseWriter, r *http.Request, p agent.Portal) {
	h := w.Header()
	h.Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" && p.Allows(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After")
	}
}

// preflight answers what a browser asks before a request from another site.
func preflight(w http.ResponseWriter, _ *http.Request, _ agent.Portal) error {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// session returns the visitor's own conversation of the path. One of somebody
// else does not exist for it.
func (d *door) session(r *http.Request) (agent.SessionInfo, error) {
	info, err := d.store.Session(r.Context(), chi.URLParam(r, "id"))
	if err == nil && !owns(r, info.Session) {
		err = agent.ErrNotFound
	}
	if err != nil {
		return info, httpapi.NotFound(err, "conversation_not_found", "There is no such conversation.")
	}
	httpapi.Note(r.Context(), info.ID, info.Turn)
	return info, nil
}

func owns(r *http.Request, s agent.Session) bool {
	p := httpapi.Caller(r.Context())
	return s.Project == p.Project && s.Owner == p.ID
}

// ptr returns nil for zero: null on the wire.
func ptr[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
