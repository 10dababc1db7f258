// Package chat is the door that speaks OpenAI's chat completions.
//
// A completion is a turn like any other: it belongs to a conversation, which may
// be read, followed and stopped through the client API, and whose id is in every
// chunk. The agent's tools run here, so they are not shown as tool calls.
package chat

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

// Engine begins and follows turns; turn.Engine is one.
type Engine interface {
	Begin(ctx context.Context, s turn.Submit) (agent.Turn, error)
	Follow(ctx context.Context, session string, after int64) iter.Seq2[agent.Event, error]
	Watch(ctx context.Context, session string, after int64, idle time.Duration) iter.Seq2[[]agent.Event, error]
}

// Sessions finds conversations; postgres.Store does.
type Sessions interface {
	// Session returns a session; agent.ErrNotFound.
	Session(ctx context.Context, id string) (agent.SessionInfo, error)
}

// Config is what the door is made of. Engine, Ceiling and Store are required.
type Config struct {
	Engine  Engine
	Ceiling httpapi.Ceiling
	Store   Sessions
	Streams httpapi.Streams
}

type door struct {
	engine  Engine
	wait    httpapi.Waiting
	store   Sessions
	streams httpapi.Streams
}

// Routes returns the routes of the door.
func Routes(cfg Config) []httpapi.Route {
	d := &door{engine: cfg.Engine, wait: httpapi.Waiting{Follower: cfg.Engine, Ceiling: cfg.Ceiling}, store: cfg.Store, streams: cfg.Streams}
	return []httpapi.Route{{Method: http.MethodPost, Pattern: "/chat/completions", Serve: d.create}}
}

// create begins a turn and answers with it, whole or streamed.
func (d *door) create(w http.ResponseWriter, r *http.Request) error {
	out, stream, err := d.begun(r)
	if err != nil {
		return err
	}
	if stream {
		return d.stream(w, r, out)
	}
	return d.whole(w, r, out)
}

// begun begins the turn that a request asks for. The renderer is all of it that
// is kept while it is answered: a stream's stack has to stay small.
func (d *door) begun(r *http.Request) (out *renderer, stream bool, err error) {
	q, s, err := d.submit(r)
	if err != nil {
		return nil, false, err
	}
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	t, err := d.engine.Begin(ctx, s)
	if errors.Is(err, agent.ErrNotFound) {
		err = &httpapi.Error{Status: http.StatusNotFound, Code: "agent_not_found", Param: "model", Message: "There is no such agent.", Err: err}
	}
	if err != nil {
		return nil, false, err
	}
	httpapi.Note(r.Context(), t.Session, t.ID)
	return newRenderer(t, q.StreamOptions.IncludeUsage), q.Stream, nil
}

// submit reads a request.
func (d *door) submit(r *http.Request) (request, turn.Submit, error) {
	var q request
	p := httpapi.Caller(r.Context())
	if err := httpapi.Need(p, agent.PermAgentRun); err != nil {
		return q, turn.Submit{}, err
	}
	if err := httpapi.ReadJSON(r, &q); err != nil {
		return q, turn.Submit{}, err
	}
	if err := q.check(); err != nil {
		return q, turn.Submit{}, err
	}
	s := turn.Submit{
		Principal: p, Door: agent.DoorChat, Session: q.ConversationID, Agent: q.Model, Version: q.Version,
		Overrides: agent.Overrides{Temperature: q.Temperature, TopP: q.TopP, MaxOutputTokens: q.maxTokens()}, Metadata: q.Metadata,
	}
	var err error
	if q.ConversationID == "" {
		s.History, s.Input, err = q.context()
		return q, s, err
	}
	if s.Input, err = q.lastUser(); err != nil {
		return q, s, err
	}
	return q, s, d.mayContinue(r.Context(), p, q)
}

// mayContinue looks at the conversation that a request names: it never makes a
// new one instead.
func (d *door) mayContinue(ctx context.Context, p agent.Principal, q request) error {
	info, err := d.store.Session(ctx, q.ConversationID)
	if err == nil {
		err = p.MayAct(info.Session)
	}
	if err == nil && info.Agent != "" && info.Agent != q.Model {
		err = agent.ErrNotFound
	}
	if errors.Is(err, agent.ErrNotFound) {
		return &httpapi.Error{Status: http.StatusNotFound, Code: "agent_session_not_found", Param: "conversation_id", Err: err,
			Message: "There is no such conversation with this agent."}
	}
	return err
}

func (d *door) whole(w http.ResponseWriter, r *http.Request, out *renderer) error {
	err := d.wait.Whole(r.Context(), &out.turn, func(e agent.Event) (bool, error) {
		_, err := out.Step(nil, e)
		return out.over(), err
	})
	if err == nil {
		err = httpapi.Failure(&out.turn, out.end)
	}
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, out.completion())
}

func (d *door) stream(w http.ResponseWriter, r *http.Request, out *renderer) error {
	source := func(ctx context.Context, idle time.Duration) iter.Seq2[[]agent.Event, error] {
		return d.engine.Watch(ctx, out.turn.Session, httpapi.Before(&out.turn), idle)
	}
	return d.streams.Serve(w, r, source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
		dst, err := out.Step(dst, e)
		return dst, out.over(), err
	})
}
