// Package client is the door of the client API: agents, conversations with
// their messages and events, approvals, the stop of a conversation, callbacks and
// the audit log.
package client

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

// Engine is what this door needs of turn.Engine.
type Engine interface {
	Watch(ctx context.Context, session string, after int64, idle time.Duration) iter.Seq2[[]agent.Event, error]
	Stop(ctx context.Context, q turn.StopRequest) (turn.StopAnswer, error)
	Decide(ctx context.Context, p agent.Principal, d agent.Decision) (agent.Action, error)
}

// Sessions reads and deletes conversations.
type Sessions interface {
	// Sessions returns a page, newest first, and the cursor of the next, empty at
	// the end.
	Sessions(ctx context.Context, f agent.SessionFilter) (page []agent.SessionInfo, next string, err error)
	// Session returns a conversation; agent.ErrNotFound.
	Session(ctx context.Context, id string) (agent.SessionInfo, error)
	// DeleteSession deletes a conversation whose slot is free; agent.BusyError.
	DeleteSession(ctx context.Context, id string) error
}

// Journal reads what happened in a conversation.
type Journal interface {
	// Messages returns the message events of indexes above afterIndex.
	Messages(ctx context.Context, session string, afterIndex, limit int) ([]agent.Event, error)
	// Events returns up to limit rows' worth of events numbered above after.
	Events(ctx context.Context, session string, after int64, limit int) ([]agent.Event, error)
}

// Actions reads approvals and questions.
type Actions interface {
	// SessionActions returns the actions of a conversation's newest turn, and those
	// that a stop has left open.
	SessionActions(ctx context.Context, session string) ([]agent.Action, error)
	// OpenActions returns a page, newest first, and the cursor of the next, empty
	// at the end.
	OpenActions(ctx context.Context, f agent.ActionFilter) (page []agent.Action, next string, err error)
}

// Agents reads and publishes agents. Unknown keys are agent.ErrNotFound.
type Agents interface {
	// Agents returns a project's agents, all or those of a status.
	Agents(ctx context.Context, project, status string) ([]agent.Agent, error)
	Agent(ctx context.Context, project, key string) (agent.Agent, error)
	// Publish makes the draft a version; by is who did it.
	Publish(ctx context.Context, project, key string, by agent.Actor) (version int, err error)
}

// Editor changes agents.
type Editor interface {
	// CreateAgent makes an agent; agent.ErrExists.
	CreateAgent(ctx context.Context, a agent.Agent) (agent.Agent, error)
	// UpdateAgent stores what fn makes of the agent, unless fn fails.
	UpdateAgent(ctx context.Context, project, key string, fn func(*agent.Agent) error) (agent.Agent, error)
	// DeleteAgent deletes an agent; one that is not there is no error.
	DeleteAgent(ctx context.Context, project, key string) error
}

// SharedTools reads shared tools, without their secrets.
type SharedTools interface {
	// Tools returns a project's shared tools by key.
	Tools(ctx context.Context, project string) ([]agent.SharedTool, error)
	// Tool returns one; agent.ErrNotFound.
	Tool(ctx context.Context, project, key string) (agent.SharedTool, error)
}

// ToolEditor changes shared tools.
type ToolEditor interface {
	// CreateTool makes one; agent.ErrExists.
	CreateTool(ctx context.Context, t agent.SharedTool) (agent.SharedTool, error)
	// ReplaceTool replaces one that was read: agent.ErrChanged where it is no longer
	// that. With HasSecret an empty Secret keeps the stored one.
	ReplaceTool(ctx context.Context, t agent.SharedTool) (agent.SharedTool, error)
	// DeleteTool deletes one; that it is not there is no error, *agent.InUseError.
	DeleteTool(ctx context.Context, project, key string) error
}

// Opener opens shared tools.
type Opener interface {
	// OpenTool returns what a model would be offered of a shared tool, be it stored
	// or not. What is wrong with the tool is a *agent.FieldError.
	OpenTool(ctx context.Context, t agent.SharedTool) ([]agent.ToolSpec, error)
}

// Callbacks reads what callbacks were sent and has it sent again.
type Callbacks interface {
	// Turn returns a turn and its session; agent.ErrNotFound.
	Turn(ctx context.Context, id string) (agent.Turn, agent.Session, error)
	// Deliveries returns a page, newest first, and the cursor of the next, empty at
	// the end.
	Deliveries(ctx context.Context, f agent.DeliveryFilter) (page []agent.Delivery, next string, err error)
	// Redeliver sends the newest event of a run again; agent.ErrNotFound where there
	// is none.
	Redeliver(ctx context.Context, turn string, by agent.Actor) error
}

// AuditLog reads who did what.
type AuditLog interface {
	// Audit returns a page, newest first, and the cursor of the next, empty at the
	// end.
	Audit(ctx context.Context, f agent.AuditFilter) (page []agent.AuditEntry, next string, err error)
}

// Store is all that this door reads and writes; postgres.Store is one.
type Store interface {
	Callbacks
	AuditLog
	Sessions
	Journal
	Actions
	Agents
	Editor
	SharedTools
	ToolEditor
}

// Config is what the door is made of. Engine, Store and Tools are required.
type Config struct {
	Engine  Engine
	Store   Store
	Tools   Opener
	Streams httpapi.Streams
}

type door struct {
	engine  Engine
	store   Store
	tools   Opener
	streams httpapi.Streams
}

// Routes returns the routes of the door.
func Routes(cfg Config) []httpapi.Route {
	d := &door{engine: cfg.Engine, store: cfg.Store, tools: cfg.Tools, streams: cfg.Streams}
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/agents", Serve: d.listAgents},
		{Method: http.MethodPost, Pattern: "/agents", Serve: d.createAgent},
		{Method: http.MethodGet, Pattern: "/agents/{key}", Serve: d.getAgent},
		{Method: http.MethodPatch, Pattern: "/agents/{key}", Serve: d.updateAgent},
		{Method: http.MethodDelete, Pattern: "/agents/{key}", Serve: d.deleteAgent},
		{Method: http.MethodPost, Pattern: "/agents/{key}/publish", Serve: d.publishAgent},

		{Method: http.MethodGet, Pattern: "/tools", Serve: d.listTools},
		{Method: http.MethodPost, Pattern: "/tools", Serve: d.createTool},
		{Method: http.MethodGet, Pattern: "/tools/{key}", Serve: d.getTool},
		{Method: http.MethodPatch, Pattern: "/tools/{key}", Serve: d.updateTool},
		{Method: http.MethodDelete, Pattern: "/tools/{key}", Serve: d.deleteTool},
		{Method: http.MethodPost, Pattern: "/tools/{key}/check", Serve: d.checkTool},

		{Method: http.MethodGet, Pattern: "/agents/conversations", Serve: d.listConversations},
		{Method: http.MethodGet, Pattern: "/agents/conversations/{id}", Serve: d.getConversation},
		{Method: http.MethodDelete, Pattern: "/agents/conversations/{id}", Serve: d.deleteConversation},
		{Method: http.MethodGet, Pattern: "/agents/conversations/{id}/messages", Serve: d.listMessages},
		{Method: http.MethodGet, Pattern: "/agents/conversations/{id}/events", Serve: d.events},
		{Method: http.MethodPost, Pattern: "/agents/conversations/{id}/cancel", Serve: d.cancel},

		{Method: http.MethodGet, Pattern: "/agents/conversations/{id}/actions", Serve: d.listActions},
		{Method: http.MethodGet, Pattern: "/agents/actions", Serve: d.listOpenActions},
		{Method: http.MethodPost, Pattern: "/agents/actions/{id}/decision", Serve: d.decide},

		{Method: http.MethodPost, Pattern: "/agents/runs/{id}/callback/redeliver", Serve: d.redeliver},
		{Method: http.MethodGet, Pattern: "/agents/callbacks", Serve: d.listCallbacks},
		{Method: http.MethodGet, Pattern: "/agents/audit", Serve: d.listAudit},
	}
}

// session returns the conversation of the path, if the caller may do with it
// what may says.
func (d *door) session(r *http.Request, may func(agent.Principal, agent.Session) error) (agent.SessionInfo, error) {
	id := chi.URLParam(r, "id")
	info, err := d.store.Session(r.Context(), id)
	if err == nil {
		err = may(httpapi.Caller(r.Context()), info.Session)
	}
	if err != nil {
		return info, httpapi.NotFound(err, "agent_session_not_found", "There is no such conversation.")
	}
	httpapi.Note(r.Context(), info.ID, info.Turn)
	return info, nil
}

func (d *door) viewed(r *http.Request) (agent.SessionInfo, error) {
	return d.session(r, agent.Principal.MayView)
}

// actor is the caller, as the audit log names it.
func actor(p agent.Principal) agent.Actor {
	return agent.Actor{By: p.ID, Door: agent.DoorClient, Address: p.Address}
}

// ptr returns nil for zero: null on the wire.
func ptr[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
