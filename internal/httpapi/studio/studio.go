// Package studio is the door of Studio, the web interface for people: agents and
// what they need, sessions and their turns, approvals, tokens and members, usage
// and operations; and one stream for all that a browser follows.
//
// Who may do what is decided here, on the server, by the caller's permissions in
// the project that the sign-in looks at. What belongs to another project is
// answered as if it were not there.
package studio

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

// Runner runs, stops and continues turns; turn.Engine is one.
type Runner interface {
	Begin(ctx context.Context, s turn.Submit) (agent.Turn, error)
	Stop(ctx context.Context, q turn.StopRequest) (turn.StopAnswer, error)
	Decide(ctx context.Context, p agent.Principal, d agent.Decision) (agent.Action, error)
}

// Watcher follows journals; turn.Engine is one.
type Watcher interface {
	Watch(ctx context.Context, session string, after int64, idle time.Duration) iter.Seq2[[]agent.Event, error]
	// Ready fails when this node is about to go.
	Ready() error
}

// Engine is what this door needs of turn.Engine.
type Engine interface {
	Runner
	Watcher
}

// Sessions reads sessions.
type Sessions interface {
	// SessionViews returns a page, newest first, and the cursor of the next.
	SessionViews(ctx context.Context, q agent.SessionQuery) (page []agent.SessionView, next string, err error)
	// SessionView returns a session; agent.ErrNotFound.
	SessionView(ctx context.Context, id string) (agent.SessionView, error)
	// SessionsOf returns those of some sessions that are there.
	SessionsOf(ctx context.Context, ids []string) ([]agent.SessionInfo, error)
}

// SessionWriter makes and deletes sessions.
type SessionWriter interface {
	// CreateSession makes a session with messages in it, which may be none.
	CreateSession(ctx context.Context, c agent.Session, messages []agent.Prompt) (agent.SessionInfo, error)
	// DeleteSession deletes a session whose slot is free; agent.BusyError.
	DeleteSession(ctx context.Context, id string) error
}

// Journal reads what happened in a session.
type Journal interface {
	// Events returns up to limit rows' worth of events numbered above after.
	Events(ctx context.Context, session string, after int64, limit int) ([]agent.Event, error)
	// TranscriptPage returns the last events below before, deltas left out, and
	// the number above which they are to be followed.
	TranscriptPage(ctx context.Context, session string, before int64, limit int) (events []agent.Event, whole int64, err error)
	// ToolEvents returns the starts and ends of a turn's tools.
	ToolEvents(ctx context.Context, turn string) ([]agent.Event, error)
}

// Turns reads turns.
type Turns interface {
	// TurnViews returns a page, newest first, and the cursor of the next.
	TurnViews(ctx context.Context, q agent.TurnQuery) (page []agent.TurnView, next string, err error)
	// TurnView returns a turn; agent.ErrNotFound.
	TurnView(ctx context.Context, id string) (agent.TurnView, error)
	// TurnCounts returns how many turns there are by state.
	TurnCounts(ctx context.Context, q agent.TurnQuery) (map[string]int, error)
}

// Actions reads approvals and questions.
type Actions interface {
	// ActionViews returns a page, newest first, and the cursor of the next.
	ActionViews(ctx context.Context, q agent.ActionQuery) (page []agent.ActionView, next string, err error)
	// Action returns one and its session; agent.ErrNotFound.
	Action(ctx context.Context, id string) (agent.Action, agent.Session, error)
	// Actions returns those of a turn.
	Actions(ctx context.Context, turn string) ([]agent.Action, error)
}

// Figures reads what turns used and where they run.
type Figures interface {
	UsageBy(ctx context.Context, q agent.UsageQuery) (sum agent.UsageRow, rows []agent.UsageRow, err error)
	Outcomes(ctx context.Context, project, agentKey string, from, to time.Time) ([]agent.OutcomeCount, error)
	// Usage returns the model calls of a turn.
	Usage(ctx context.Context, turn string) ([]agent.Usage, error)
}

// Operations reads what runs where, and how long stops took.
type Operations interface {
	Operations(ctx context.Context, project string, limit int) (agent.Operations, error)
	StopTimes(ctx context.Context, project string, from, to time.Time, bounds []float64) ([]agent.StopTimes, error)
	Inbox(ctx context.Context, project, owner string) (agent.Inbox, error)
}

// Agents reads agents. Unknown keys are agent.ErrNotFound.
type Agents interface {
	Agents(ctx context.Context, project, status string) ([]agent.Agent, error)
	Agent(ctx context.Context, project, key string) (agent.Agent, error)
	// Drafts says of all agents, or of one, how their drafts are.
	Drafts(ctx context.Context, project, key string) (map[string]agent.DraftState, error)
}

// Editor changes agents.
type Editor interface {
	CreateAgent(ctx context.Context, a agent.Agent) (agent.Agent, error)
	UpdateAgent(ctx context.Context, project, key string, fn func(*agent.Agent) error) (agent.Agent, error)
	DeleteAgent(ctx context.Context, project, key string) error
}

// Versions reads an agent's versions.
type Versions interface {
	Versions(ctx context.Context, project, key string) ([]agent.VersionInfo, error)
	Version(ctx context.Context, project, key string, version int) (agent.Config, error)
}

// Publisher makes versions.
type Publisher interface {
	Publish(ctx context.Context, project, key string, by agent.Actor) (version int, err error)
	PublishAgain(ctx context.Context, project, key string, version int, by agent.Actor) (int, error)
}

// Models reads a project's models.
type Models interface {
	Models(ctx context.Context, project string) ([]agent.Model, error)
	StoredModels(ctx context.Context, project string) (map[string]agent.Stored, error)
}

// ModelWriter changes them.
type ModelWriter interface {
	CreateModel(ctx context.Context, m agent.Model) error
	// ReplaceModel replaces one; forget: without its API key. agent.ErrNotFound.
	ReplaceModel(ctx context.Context, m agent.Model, forget bool) error
	DeleteModel(ctx context.Context, project, key string) error
}

// Tools reads a project's shared tools.
type Tools interface {
	Tools(ctx context.Context, project string) ([]agent.SharedTool, error)
	// Tool returns one; agent.ErrNotFound.
	Tool(ctx context.Context, project, key string) (agent.SharedTool, error)
	// ToolUsers returns the agents that need them, by key.
	ToolUsers(ctx context.Context, project string) (map[string][]string, error)
}

// ToolWriter changes them.
type ToolWriter interface {
	CreateTool(ctx context.Context, t agent.SharedTool) (agent.SharedTool, error)
	// ReplaceTool replaces one that was read: agent.ErrChanged where it is no longer
	// that. With HasSecret an empty Secret keeps the stored one.
	ReplaceTool(ctx context.Context, t agent.SharedTool) (agent.SharedTool, error)
	// DeleteTool deletes one; *agent.InUseError.
	DeleteTool(ctx context.Context, project, key string) error
}

// Portals keeps what visitors are shown.
type Portals interface {
	Portals(ctx context.Context, project string) ([]agent.Portal, error)
	// Portal returns one of any project; agent.ErrNotFound.
	Portal(ctx context.Context, slug string) (agent.Portal, error)
	PortalWriter
}

// PortalWriter changes them.
type PortalWriter interface {
	// CreatePortal makes one; agent.ErrExists where the slug is taken.
	CreatePortal(ctx context.Context, p agent.Portal) error
	// PutPortal replaces one of the project; an empty Secret keeps the stored one.
	PutPortal(ctx context.Context, p agent.Portal) error
	// DeletePortal deletes one; one that is not there is no error.
	DeletePortal(ctx context.Context, project, slug string) error
}

// Tokens keeps API tokens.
type Tokens interface {
	Tokens(ctx context.Context, project string) ([]agent.Token, error)
	CreateToken(ctx context.Context, t agent.Token, hash []byte, by agent.Actor) error
	RevokeToken(ctx context.Context, project, id string, by agent.Actor) error
}

// Members keeps who is what in a project.
type Members interface {
	Members(ctx context.Context, project string) ([]agent.Member, error)
	// AddMember adds the user of an e-mail, a new one where there is none.
	AddMember(ctx context.Context, m agent.Member, passwordHash string) (out agent.Member, made bool, err error)
	Memberships(ctx context.Context, user string) ([]agent.Membership, error)
}

// MemberWriter changes it. agent.ErrLastOwner where nobody would own the project.
type MemberWriter interface {
	SetRole(ctx context.Context, project, user string, role agent.MemberRole) (agent.Member, error)
	RemoveMember(ctx context.Context, project, user string) error
	// Names returns who principals are, those that are known.
	Names(ctx context.Context, project string, ids []string) (map[string]agent.Named, error)
}

// Records reads who did what, and has a run's callback sent again.
type Records interface {
	// Audit returns a page, newest first, and the cursor of the next.
	Audit(ctx context.Context, f agent.AuditFilter) (page []agent.AuditEntry, next string, err error)
	// Redeliver sends the newest event of a run again; agent.ErrNotFound where there
	// is none.
	Redeliver(ctx context.Context, turn string, by agent.Actor) error
}

// Store is all that this door reads and writes; postgres.Store is one.
type Store interface {
	Sessions
	SessionWriter
	Journal
	Turns
	Actions
	Figures
	Operations
	Agents
	Editor
	Versions
	Publisher
	Models
	ModelWriter
	Tools
	ToolWriter
	Portals
	Tokens
	Members
	MemberWriter
	Records
}

// SignIns signs people in; access.SignIns is one.
type SignIns interface {
	SignIn(ctx context.Context, email, password, address string) (in agent.SignIn, secret string, err error)
	SignOut(ctx context.Context, secret string) error
	Select(ctx context.Context, secret, project string) (agent.SignIn, error)
}

// Passwords keeps passwords; access.SignIns is one.
type Passwords interface {
	ChangePassword(ctx context.Context, secret, current, next, address string) error
	ResetPassword(ctx context.Context, user string) (string, error)
	Hash(ctx context.Context, password string) (string, error)
}

// Access is who comes in.
type Access interface {
	httpapi.SignIns
	SignIns
	Passwords
}

// Opener opens shared tools.
type Opener interface {
	// OpenTool returns what a model would be offered of a shared tool, be it stored
	// or not. What is wrong with the tool is a *agent.FieldError.
	OpenTool(ctx context.Context, t agent.SharedTool) ([]agent.ToolSpec, error)
}

// Hint is a sign-in that its page is filled in with.
type Hint struct{ Email, Password string }

// Config is what the door is made of. All but Hint and Functions is required.
type Config struct {
	Engine      Engine
	Store       Store
	Access      Access
	Tools       Opener
	SignInLife  time.Duration // of a browser's cookie
	NewToken    func() (secret string, hash []byte, prefix string)
	NewPassword func() string
	Node        string // name of this node
	Streams     httpapi.Streams
	Functions   []agent.ToolSpec // that are built in
	MCPCommands bool             // MCP servers may be commands
	Hint        *Hint            // for a demo only; nil: none
}

type door struct {
	Config
	store Store
	now   *snapshots
}

// New returns the API.
func New(cfg Config) httpapi.Studio {
	d := &door{Config: cfg, store: cfg.Store, now: newSnapshots(cfg.Store)}
	out := httpapi.Studio{SignIns: cfg.Access}
	out.Public = []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/auth/hint", Serve: d.hint},
		{Method: http.MethodPost, Pattern: "/auth/sign-in", Serve: d.signIn},
		{Method: http.MethodPost, Pattern: "/auth/sign-out", Serve: d.signOut},
	}
	for _, routes := range [][]httpapi.Route{d.ownRoutes(), d.agentRoutes(), d.sessionRoutes(), d.projectRoutes(), d.figureRoutes()} {
		out.Routes = append(out.Routes, routes...)
	}
	return out
}

func (d *door) ownRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/auth/me", Serve: d.me},
		{Method: http.MethodPost, Pattern: "/auth/project", Serve: d.selectProject},
		{Method: http.MethodPost, Pattern: "/auth/password", Serve: d.changePassword},
		{Method: http.MethodGet, Pattern: "/actors", Serve: d.listActors},
		{Method: http.MethodGet, Pattern: "/stream", Serve: d.stream},
	}
}

func (d *door) agentRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/agents", Serve: needs(agent.PermAgentView, d.listAgents)},
		{Method: http.MethodPost, Pattern: "/agents", Serve: needs(agent.PermAgentManage, d.createAgent)},
		{Method: http.MethodPost, Pattern: "/agents/validate", Serve: needs(agent.PermAgentView, d.validateNew)},
		{Method: http.MethodGet, Pattern: "/agents/{agentId}", Serve: needs(agent.PermAgentView, d.getAgent)},
		{Method: http.MethodPatch, Pattern: "/agents/{agentId}", Serve: needs(agent.PermAgentManage, d.updateAgent)},
		{Method: http.MethodDelete, Pattern: "/agents/{agentId}", Serve: needs(agent.PermAgentManage, d.deleteAgent)},
		{Method: http.MethodPost, Pattern: "/agents/{agentId}/validate", Serve: needs(agent.PermAgentView, d.validate)},
		{Method: http.MethodPost, Pattern: "/agents/{agentId}/publish", Serve: needs(agent.PermAgentPublish, d.publish)},
		{Method: http.MethodGet, Pattern: "/agents/{agentId}/versions", Serve: needs(agent.PermAgentView, d.listVersions)},
		{Method: http.MethodGet, Pattern: "/agents/{agentId}/versions/{version}", Serve: needs(agent.PermAgentView, d.getVersion)},
	}
}

func (d *door) sessionRoutes() []httpapi.Route {
	const session = "/agents/{agentId}/sessions/{sessionId}"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/sessions", Serve: d.listSessions},
		{Method: http.MethodGet, Pattern: "/agents/{agentId}/sessions", Serve: d.listSessions},
		{Method: http.MethodPost, Pattern: "/agents/{agentId}/sessions", Serve: needs(agent.PermAgentRun, d.createSession)},
		{Method: http.MethodGet, Pattern: session, Serve: d.getSession},
		{Method: http.MethodDelete, Pattern: session, Serve: d.deleteSession},
		{Method: http.MethodPost, Pattern: session + "/messages", Serve: needs(agent.PermAgentRun, d.sendMessage)},
		{Method: http.MethodGet, Pattern: session + "/transcript", Serve: d.transcript},
		{Method: http.MethodGet, Pattern: session + "/events", Serve: d.events},
		{Method: http.MethodGet, Pattern: session + "/runs", Serve: d.listSessionRuns},
		{Method: http.MethodPost, Pattern: session + "/cancel", Serve: d.cancelSession},
		{Method: http.MethodGet, Pattern: "/runs", Serve: d.listRuns},
		{Method: http.MethodGet, Pattern: "/agents/{agentId}/runs", Serve: d.listRuns},
		{Method: http.MethodGet, Pattern: "/runs/{runId}", Serve: d.getRun},
		{Method: http.MethodPost, Pattern: "/runs/{runId}/cancel", Serve: d.cancelRun},
		{Method: http.MethodPost, Pattern: "/runs/{runId}/redeliver", Serve: d.redeliver},
		{Method: http.MethodGet, Pattern: "/actions", Serve: d.listActions},
		{Method: http.MethodGet, Pattern: "/actions/{actionId}", Serve: d.getAction},
		{Method: http.MethodPost, Pattern: "/actions/{actionId}/decision", Serve: d.decide},
	}
}

func (d *door) projectRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/tokens", Serve: needs(agent.PermTokenManage, d.listTokens)},
		{Method: http.MethodPost, Pattern: "/tokens", Serve: needs(agent.PermTokenManage, d.createToken)},
		{Method: http.MethodDelete, Pattern: "/tokens/{tokenId}", Serve: needs(agent.PermTokenManage, d.revokeToken)},
		{Method: http.MethodGet, Pattern: "/members", Serve: needs(agent.PermMemberManage, d.listMembers)},
		{Method: http.MethodPost, Pattern: "/members", Serve: needs(agent.PermMemberManage, d.addMember)},
		{Method: http.MethodPatch, Pattern: "/members/{userId}", Serve: needs(agent.PermMemberManage, d.updateMember)},
		{Method: http.MethodDelete, Pattern: "/members/{userId}", Serve: needs(agent.PermMemberManage, d.removeMember)},
		{Method: http.MethodPost, Pattern: "/members/{userId}/password", Serve: needs(agent.PermMemberManage, d.resetPassword)},
		{Method: http.MethodGet, Pattern: "/models", Serve: needs(agent.PermAgentView, d.listModels)},
		{Method: http.MethodPost, Pattern: "/models", Serve: needs(agent.PermModelManage, d.createModel)},
		{Method: http.MethodGet, Pattern: "/models/{modelKey}", Serve: needs(agent.PermAgentView, d.getModel)},
		{Method: http.MethodPut, Pattern: "/models/{modelKey}", Serve: needs(agent.PermModelManage, d.replaceModel)},
		{Method: http.MethodDelete, Pattern: "/models/{modelKey}", Serve: needs(agent.PermModelManage, d.deleteModel)},
		{Method: http.MethodGet, Pattern: "/tools", Serve: needs(agent.PermAgentView, d.listTools)},
		{Method: http.MethodPost, Pattern: "/tools", Serve: needs(agent.PermModelManage, d.createTool)},
		{Method: http.MethodGet, Pattern: "/tools/{toolKey}", Serve: needs(agent.PermAgentView, d.getTool)},
		{Method: http.MethodPut, Pattern: "/tools/{toolKey}", Serve: needs(agent.PermModelManage, d.replaceTool)},
		{Method: http.MethodDelete, Pattern: "/tools/{toolKey}", Serve: needs(agent.PermModelManage, d.deleteTool)},
		{Method: http.MethodPost, Pattern: "/tools/{toolKey}/check", Serve: needs(agent.PermModelManage, d.checkTool)},
		{Method: http.MethodGet, Pattern: "/portals", Serve: needs(agent.PermAgentView, d.listPortals)},
		{Method: http.MethodPost, Pattern: "/portals", Serve: needs(agent.PermPortalManage, d.createPortal)},
		{Method: http.MethodGet, Pattern: "/portals/{slug}", Serve: needs(agent.PermAgentView, d.getPortal)},
		{Method: http.MethodPut, Pattern: "/portals/{slug}", Serve: needs(agent.PermPortalManage, d.replacePortal)},
		{Method: http.MethodDelete, Pattern: "/portals/{slug}", Serve: needs(agent.PermPortalManage, d.deletePortal)},
	}
}

func (d *door) figureRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/usage", Serve: needs(agent.PermUsageView, d.usage)},
		{Method: http.MethodGet, Pattern: "/usage/outcomes", Serve: needs(agent.PermUsageView, d.outcomes)},
		{Method: http.MethodGet, Pattern: "/audit", Serve: needs(agent.PermOperationsView, d.listAudit)},
		{Method: http.MethodGet, Pattern: "/operations", Serve: needs(agent.PermOperationsView, d.operations)},
		{Method: http.MethodGet, Pattern: "/operations/stop-latency", Serve: needs(agent.PermOperationsView, d.stopLatency)},
	}
}

// needs serves who holds a permission.
func needs(p agent.Permission, h httpapi.Handler) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := httpapi.Need(httpapi.Caller(r.Context()), p); err != nil {
			return err
		}
		return h(w, r)
	}
}

// actor is who did something, for the record.
func actor(p agent.Principal) agent.Actor {
	return agent.Actor{By: p.ID, Door: agent.DoorStudio, Address: p.Address}
}

// ptr returns nil for zero: null on the wire.
func ptr[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// at returns nil for the zero time.
func at(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func noContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// orEmpty is s, or what is sent for none.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
