// Package responses is the door that speaks OpenAI's Responses API: whole and
// streamed answers, background runs, reading and resuming them, and their stop.
//
// A response is a rendering of the journal's events of one turn. The renderer is
// a pure function of those events, so what was streamed live, what is replayed
// and what a whole answer holds are the same items with the same ids and
// numbers.
package responses

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

// Engine runs, stops and follows turns; turn.Engine is one.
type Engine interface {
	Begin(ctx context.Context, s turn.Submit) (agent.Turn, error)
	Follow(ctx context.Context, session string, after int64) iter.Seq2[agent.Event, error]
	Watch(ctx context.Context, session string, after int64, idle time.Duration) iter.Seq2[[]agent.Event, error]
	Stop(ctx context.Context, q turn.StopRequest) (turn.StopAnswer, error)
}

// Turns finds turns.
type Turns interface {
	// Turn returns a turn and its session; agent.ErrNotFound.
	Turn(ctx context.Context, id string) (agent.Turn, agent.Session, error)
	// LatestTurn returns a session's newest turn; agent.ErrNotFound.
	LatestTurn(ctx context.Context, session string) (agent.Turn, error)
	// Runs returns a page of background runs, newest first, and the cursor of the
	// next, empty at the end.
	Runs(ctx context.Context, f agent.RunFilter) (page []agent.Turn, next string, err error)
}

// Sessions finds and deletes sessions.
type Sessions interface {
	// Session returns a session; agent.ErrNotFound.
	Session(ctx context.Context, id string) (agent.SessionInfo, error)
	// DeleteSession deletes a session whose slot is free; agent.BusyError.
	DeleteSession(ctx context.Context, id string) error
}

// Journal reads events.
type Journal interface {
	// Events returns up to limit rows' worth of events numbered above after.
	Events(ctx context.Context, session string, after int64, limit int) ([]agent.Event, error)
}

// Agents lists agents.
type Agents interface {
	// Agents returns a project's agents, all or those of a status.
	Agents(ctx context.Context, project, status string) ([]agent.Agent, error)
}

// Store is all that this door reads; postgres.Store is one.
type Store interface {
	Turns
	Sessions
	Journal
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
	return []httpapi.Route{
		{Method: http.MethodPost, Pattern: "/responses", Serve: d.create(agent.DoorResponses, new(0))},
		{Method: http.MethodPost, Pattern: "/agents/responses", Serve: d.create(agent.DoorClient, nil)},
		{Method: http.MethodGet, Pattern: "/responses/{id}", Serve: d.get},
		{Method: http.MethodDelete, Pattern: "/responses/{id}", Serve: d.remove},
		{Method: http.MethodGet, Pattern: "/responses/{id}/input_items", Serve: d.inputItems},
		{Method: http.MethodPost, Pattern: "/responses/{id}/cancel", Serve: d.cancelResponse},
		{Method: http.MethodPost, Pattern: "/agents/responses/{id}/cancel", Serve: d.cancelAgentResponse},
		{Method: http.MethodGet, Pattern: "/models", Serve: d.models},

		{Method: http.MethodGet, Pattern: "/agents/runs", Serve: d.listRuns},
		{Method: http.MethodGet, Pattern: "/agents/runs/{id}", Serve: d.getRun},
		{Method: http.MethodPost, Pattern: "/agents/runs/{id}/cancel", Serve: d.cancelRun},
	}
}

// find returns the turn that an id means: a run, or the newest turn of a
// conversation.
func (d *door) find(ctx context.Context, given string) (agent.Turn, error) {
	t, s, err := d.resolve(ctx, given)
	if err == nil {
		err = httpapi.Caller(ctx).MayView(s)
	}
	if err == nil && t.ID == "" {
		t, err = d.store.LatestTurn(ctx, s.ID)
	}
	if err != nil {
		return t, notFound(err)
	}
	httpapi.Note(ctx, s.ID, t.ID)
	return t, nil
}

// resolve looks an id up, a run first. The turn is empty where the id is that of
// a conversation. Rights are not looked at.
func (d *door) resolve(ctx context.Context, given string) (agent.Turn, agent.Session, error) {
	prefix, id := httpapi.SplitID(given)
	t, s, err := d.store.Turn(ctx, id)
	if prefix == "run" || !errors.Is(err, agent.ErrNotFound) {
		return t, s, err
	}
	info, err := d.store.Session(ctx, id)
	return agent.Turn{}, info.Session, err
}

func notFound(err error) error {
	return httpapi.NotFound(err, "agent_run_not_found", "There is no such response, conversation or run.")
}
