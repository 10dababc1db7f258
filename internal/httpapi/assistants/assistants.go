// Package assistants is the door that speaks OpenAI's legacy Assistants API: an
// assistant is an agent, a thread a conversation, a run a turn.
//
// A run executes inside its POST, which is only its first follower: the turn
// belongs to the node, can be read and listed from its start, and ends by a second
// request that cancels it, not by the first one's connection.
package assistants

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

// Verbs are what is done with threads.
type Verbs interface {
	Begin(ctx context.Context, s turn.Submit) (agent.Turn, error)
	Post(ctx context.Context, p turn.Post) ([]agent.Event, error)
	Stop(ctx context.Context, q turn.StopRequest) (turn.StopAnswer, error)
}

// Engine runs, stops and follows turns; turn.Engine is one.
type Engine interface {
	Verbs
	Follow(ctx context.Context, session string, after int64) iter.Seq2[agent.Event, error]
	Watch(ctx context.Context, session string, after int64, idle time.Duration) iter.Seq2[[]agent.Event, error]
}

// Sessions keeps threads.
type Sessions interface {
	// CreateSession makes a session with messages in it and no turn yet.
	CreateSession(ctx context.Context, s agent.Session, messages []agent.Prompt) (agent.SessionInfo, error)
	// Session returns a session; agent.ErrNotFound.
	Session(ctx context.Context, id string) (agent.SessionInfo, error)
	// SetMetadata replaces a session's metadata; agent.ErrNotFound.
	SetMetadata(ctx context.Context, session string, metadata map[string]string) error
	// DeleteSession deletes a session whose slot is free; agent.BusyError.
	DeleteSession(ctx context.Context, id string) error
}

// Messages reads what was said.
type Messages interface {
	// Messages returns the message events of indexes above after, oldest first.
	Messages(ctx context.Context, session string, after, limit int) ([]agent.Event, error)
	// MessagesBefore returns those of indexes below before, newest first.
	MessagesBefore(ctx context.Context, session string, before, limit int) ([]agent.Event, error)
}

// Turns reads turns.
type Turns interface {
	// Turn returns a turn and its session; agent.ErrNotFound.
	Turn(ctx context.Context, id string) (agent.Turn, agent.Session, error)
	// TurnsAfter returns a session's turns that begin after a number of its
	// journal, oldest first; TurnsBefore those before it, newest first.
	TurnsAfter(ctx context.Context, session string, seq int64, limit int) ([]agent.Turn, error)
	TurnsBefore(ctx context.Context, session string, seq int64, limit int) ([]agent.Turn, error)
	// Actions returns the actions of a turn.
	Actions(ctx context.Context, turn string) ([]agent.Action, error)
}

// Agents keeps agents. Unknown keys are agent.ErrNotFound.
type Agents interface {
	// Agents returns a project's agents, all or those of a status.
	Agents(ctx context.Context, project, status string) ([]agent.Agent, error)
	Agent(ctx context.Context, project, key string) (agent.Agent, error)
	// CreateAgent makes an agent; agent.ErrExists.
	CreateAgent(ctx context.Context, a agent.Agent) (agent.Agent, error)
	// UpdateAgent stores what fn makes of the agent, unless fn fails.
	UpdateAgent(ctx context.Context, project, key string, fn func(*agent.Agent) error) (agent.Agent, error)
	// Publish makes the draft a version; by is who did it.
	Publish(ctx context.Context, project, key string, by agent.Actor) (version int, err error)
	// DeleteAgent deletes an agent; one that is not there is no error.
	DeleteAgent(ctx context.Context, project, key string) error
}

// Store is all that this door reads and writes; postgres.Store is one.
type Store interface {
	Sessions
	Messages
	Turns
	Agents
}

// Config is what the door is made of. Engine, Ceiling and Store are required.
type Config struct {
	Engine  Engine
	Ceiling httpapi.Ceiling
	Store   Store
	Streams httpapi.Streams
}

type door struct {
	engine  Engine
	wait    httpapi.Waiting
	store   Store
	streams httpapi.Streams
}

// Routes returns the routes of the door.
func Routes(cfg Config) []httpapi.Route {
	d := &door{engine: cfg.Engine, wait: httpapi.Waiting{Follower: cfg.Engine, Ceiling: cfg.Ceiling}, store: cfg.Store, streams: cfg.Streams}
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	return []httpapi.Route{
		{Method: get, Pattern: "/assistants", Serve: d.listAssistants},
		{Method: post, Pattern: "/assistants", Serve: d.createAssistant},
		{Method: get, Pattern: "/assistants/{assistant}", Serve: d.getAssistant},
		{Method: post, Pattern: "/assistants/{assistant}", Serve: d.updateAssistant},
		{Method: del, Pattern: "/assistants/{assistant}", Serve: d.deleteAssistant},

		{Method: post, Pattern: "/threads", Serve: d.createThread},
		{Method: post, Pattern: "/threads/runs", Serve: d.createThreadAndRun},
		{Method: get, Pattern: "/threads/{thread}", Serve: d.getThread},
		{Method: post, Pattern: "/threads/{thread}", Serve: d.updateThread},
		{Method: del, Pattern: "/threads/{thread}", Serve: d.deleteThread},

		{Method: get, Pattern: "/threads/{thread}/messages", Serve: d.listMessages},
		{Method: post, Pattern: "/threads/{thread}/messages", Serve: d.createMessage},
		{Method: get, Pattern: "/threads/{thread}/messages/{message}", Serve: d.getMessage},
		{Method: post, Pattern: "/threads/{thread}/messages/{message}", Serve: refuse("metadata", "can't be changed: a message is kept as it was written")},
		{Method: del, Pattern: "/threads/{thread}/messages/{message}", Serve: refuse("message_id", "can't be deleted: a message is a part of its thread; delete the thread")},

		{Method: get, Pattern: "/threads/{thread}/runs", Serve: d.listRuns},
		{Method: post, Pattern: "/threads/{thread}/runs", Serve: d.createRun},
		{Method: get, Pattern: "/threads/{thread}/runs/{run}", Serve: d.getRun},
		{Method: post, Pattern: "/threads/{thread}/runs/{run}", Serve: refuse("metadata", "can't be changed: a run keeps the metadata that it was begun with")},
		{Method: post, Pattern: "/threads/{thread}/runs/{run}/cancel", Serve: d.cancelRun},
		{Method: get, Pattern: "/threads/{thread}/runs/{run}/steps", Serve: d.listSteps},
		{Method: post, Pattern: "/threads/{thread}/runs/{run}/submit_tool_outputs", Serve: refuse("tool_outputs", "can't be submitted: an agent's tools run here, and a person decides its required_actions with POST /agents/actions/{id}/decision")},
	}
}

// refuse answers what clients may ask for and nothing here can do.
func refuse(param, why string) httpapi.Handler {
	return func(http.ResponseWriter, *http.Request) error { return httpapi.Invalid(param, "%s", why) }
}

// Ids are those of the things behind them, with a prefix; the bare ones are
// accepted too.
const (
	prefixAssistant = "asst_"
	prefixThread    = "thread_"
	prefixRun       = "run_"
)

func bare(prefix, id string) string { return strings.TrimPrefix(id, prefix) }

// thread returns the thread of the path, if the caller may do with it what may
// says.
func (d *door) thread(r *http.Request, may func(agent.Principal, agent.Session) error) (agent.SessionInfo, error) {
	info, err := d.store.Session(r.Context(), bare(prefixThread, chi.URLParam(r, "thread")))
	if err == nil {
		err = may(httpapi.Caller(r.Context()), info.Session)
	}
	if err != nil {
		return info, noThread(err)
	}
	httpapi.Note(r.Context(), info.ID, info.Turn)
	return info, nil
}

func noThread(err error) error {
	return httpapi.NotFound(err, "agent_session_not_found", "There is no such thread.")
}

// run returns the run of the path, which must be of the thread of the path. The
// caller may read it.
func (d *door) run(r *http.Request) (agent.Turn, agent.Session, error) {
	t, s, err := d.store.Turn(r.Context(), httpapi.RunID(chi.URLParam(r, "run")))
	if err == nil && s.ID != bare(prefixThread, chi.URLParam(r, "thread")) {
		err = agent.ErrNotFound
	}
	if err == nil {
		err = httpapi.Caller(r.Context()).MayView(s)
	}
	if err != nil {
		return t, s, noRun(err)
	}
	httpapi.Note(r.Context(), s.ID, t.ID)
	return t, s, nil
}

// noRun has the words that the stop contract fixes.
func noRun(err error) error {
	return httpapi.NotFound(err, "agent_run_not_found", "Run not found")
}

// mayRun says whether the caller may begin runs at all.
func mayRun(ctx context.Context) (agent.Principal, error) {
	p := httpapi.Caller(ctx)
	return p, httpapi.Need(p, agent.PermAgentRun)
}

// mayReadAgents: who may run agents may know of them.
func mayReadAgents(ctx context.Context) (agent.Principal, error) {
	p := httpapi.Caller(ctx)
	if p.Can(agent.PermAgentRun) {
		return p, nil
	}
	return p, httpapi.Need(p, agent.PermAgentView)
}

func isNotFound(err error) bool { return errors.Is(err, agent.ErrNotFound) }
