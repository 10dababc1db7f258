// Package a2a is the door that speaks the Agent2Agent protocol, in its versions
// 0.3 and 1.0: JSON-RPC over one URL per agent, and the cards that describe it.
//
// A task is a turn: its id is that of its session and the index of its first
// message, so it names one turn for ever, and an ended task is not opened again.
// A context is a session. What a client reads of a task, streamed, polled or
// replayed, is one fold of the journal's events of that turn (view), so that two
// followers read the same.
//
// The two versions differ in words and shapes only: binding.go and wire.go hold
// what differs, everything else knows one task.
package a2a

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

// Engine runs and stops turns and decides what they wait for; turn.Engine is one.
type Engine interface {
	Begin(ctx context.Context, s turn.Submit) (agent.Turn, error)
	Stop(ctx context.Context, q turn.StopRequest) (turn.StopAnswer, error)
	Decide(ctx context.Context, p agent.Principal, d agent.Decision) (agent.Action, error)
}

// Watcher follows sessions; turn.Engine is one.
type Watcher interface {
	httpapi.Follower
	Watch(ctx context.Context, session string, after int64, idle time.Duration) iter.Seq2[[]agent.Event, error]
}

// Agents finds agents, and the portals that show them.
type Agents interface {
	// Agent returns an agent; agent.ErrNotFound.
	Agent(ctx context.Context, project, key string) (agent.Agent, error)
	// Portal returns a portal of any project; agent.ErrNotFound.
	Portal(ctx context.Context, slug string) (agent.Portal, error)
}

// Turns finds turns.
type Turns interface {
	// Turn returns a turn and its session; agent.ErrNotFound.
	Turn(ctx context.Context, id string) (agent.Turn, agent.Session, error)
	// TurnAt returns the turn whose first message has an index; agent.ErrNotFound.
	TurnAt(ctx context.Context, session string, index int) (agent.Turn, agent.Session, error)
	// TurnStates returns a page of turns, the latest change first, with the cursor
	// of the next page, empty at the end, and how many there are in all.
	TurnStates(ctx context.Context, f agent.TurnFilter) (page []agent.TurnState, next string, total int, err error)
}

// Journal reads what happened.
type Journal interface {
	// Session returns a session; agent.ErrNotFound.
	Session(ctx context.Context, id string) (agent.SessionInfo, error)
	// Events returns up to limit rows' worth of events numbered above after.
	Events(ctx context.Context, session string, after int64, limit int) ([]agent.Event, error)
}

// Receiver keeps which message is which turn's.
type Receiver interface {
	// Receive keeps a receipt and returns the one that is kept: an earlier one
	// where its sender has used the id before.
	Receive(ctx context.Context, r agent.Receipt) (agent.Receipt, error)
	// BindReceipt tells a receipt's session.
	BindReceipt(ctx context.Context, r agent.Receipt) error
	// DropReceipt forgets the receipt of a message that was refused.
	DropReceipt(ctx context.Context, r agent.Receipt) error
}

// Receipts reads receipts.
type Receipts interface {
	// Receipts returns those of a turn, in the order they came.
	Receipts(ctx context.Context, turn string) ([]agent.Receipt, error)
}

// Callbacks keeps who wants to be told of a turn; what they are told, Notify says.
type Callbacks interface {
	// PutCallback makes or replaces a callback of a turn, by kind and name.
	PutCallback(ctx context.Context, turn string, c agent.Callback) error
	// Callbacks returns a turn's callbacks of a kind, oldest first, with their headers.
	Callbacks(ctx context.Context, turn string, kind agent.CallbackKind) ([]agent.Callback, error)
	// DeleteCallback deletes one; one that is not there is no error.
	DeleteCallback(ctx context.Context, turn string, kind agent.CallbackKind, name string) error
}

// Store is all that this door reads and writes; postgres.Store is one.
type Store interface {
	Agents
	httpapi.Meter
	Turns
	Journal
	Receiver
	Receipts
	Callbacks
}

// Config is what the door is made of. Engine, Watcher, Store and CheckURL are
// required.
type Config struct {
	Engine  Engine
	Watcher Watcher
	Store   Store
	Streams httpapi.Streams
	// CheckURL says whether a callback may be at a URL, as things are now.
	CheckURL func(ctx context.Context, url string) error
}

type door struct {
	engine   Engine
	watcher  Watcher
	wait     httpapi.Waiting
	store    Store
	streams  httpapi.Streams
	checkURL func(ctx context.Context, url string) error
}

// Routes returns the routes of the door for callers with a token, and those of
// the agents that portals show to everybody, with their whole patterns.
func Routes(cfg Config) (client, open []httpapi.Route) {
	d := &door{
		engine: cfg.Engine, watcher: cfg.Watcher, wait: httpapi.Waiting{Follower: cfg.Watcher},
		store: cfg.Store, streams: cfg.Streams, checkURL: cfg.CheckURL,
	}
	return d.routes("/a2a/{agent}", d.named), d.routes("/a2a/{slug}", d.shown)
}

// routes are those of one agent. Each URL is there with a slash at its end and
// without: clients make the card's address from the one and post to both.
func (d *door) routes(prefix string, find finder) []httpapi.Route {
	var out []httpapi.Route
	for _, at := range []struct{ path, pinned string }{{"", ""}, {"/v0.3", "0.3"}, {"/v1.0", "1.0"}} {
		card, call := d.card(at.pinned, find), d.call(at.pinned, find)
		for _, path := range []string{prefix + at.path, prefix + at.path + "/"} {
			out = append(out,
				httpapi.Route{Method: http.MethodPost, Pattern: path, Serve: call, Refuse: refuse},
				httpapi.Route{Method: http.MethodGet, Pattern: path, Serve: card})
		}
		out = append(out, httpapi.Route{Method: http.MethodGet, Pattern: prefix + at.path + "/.well-known/agent-card.json", Serve: card})
	}
	return out
}
