package turn

import (
	"context"

	"github.com/belayrun/belay/internal/agent"
)

// The interfaces below are the slot protocol as the engine sees it; each method
// is one statement, or one short transaction, of the protocol. All of them may
// be called from many goroutines. Besides the errors they name, each may fail
// with an error that wraps agent.ErrUnavailable (the database is away, or the
// end of a commit is unknown): all are written so that the same call may then be
// made again.

// Nodes keeps this process's row.
type Nodes interface {
	// Join makes a row under a new random id and returns the id.
	Join(ctx context.Context, label string) (node string, err error)
	// Renew renews it; agent.ErrNodeDead when others declared it dead.
	Renew(ctx context.Context, node string) error
	// Leave declares it dead itself. To be called once nothing of it runs.
	Leave(ctx context.Context, node string) error
}

// Slots takes and closes slots.
type Slots interface {
	// Take begins a turn. agent.BusyError names the turn in the way;
	// agent.ErrNodeDead, agent.ErrParentStopped, agent.ErrNotFound (session),
	// agent.ErrRunLimit, agent.UsedKeyError (before anything else is looked at).
	// Taking again with the same turn id after an unknown commit returns the leg
	// that the first call took.
	Take(ctx context.Context, b agent.Begin) (agent.Leg, error)
	// Claim takes a queued turn: a continuation before any other, then one of the
	// project that has the fewest background runs running, and of those the oldest.
	// most is how many background runs of one project may run at once, on all
	// nodes together; 0: no bound. ok is false when there is nothing to take.
	// agent.ErrNodeDead.
	Claim(ctx context.Context, node string, most int) (leg agent.Leg, ok bool, err error)
	// Settle closes a leg: outcome, text, messages, usage, end and slot in one
	// transaction. agent.ErrLeaseLost when others closed it. Settling again what
	// this lease has settled is no error; Closed then says how it ended.
	// ErrGoOn: it would pause, and nothing is open any more.
	Settle(ctx context.Context, l agent.Lease, c agent.Closing) (agent.Closed, error)
}

// Poster writes messages that no turn answers yet.
type Poster interface {
	// Post writes them into a session whose slot nothing runs in, and returns
	// their events. What waits in the slot is ended, superseded; what a dead node
	// left there is settled first. agent.BusyError, agent.ErrNotFound. Posting
	// again under the same id returns what the first call wrote.
	Post(ctx context.Context, p agent.Posting) ([]agent.Event, error)
}

// Finder finds what runs.
type Finder interface {
	// Find returns the session's slot as it is; agent.ErrNotFound.
	Find(ctx context.Context, session string) (agent.Found, error)
	// FindTurn returns the slot of a turn's session. Where the turn is not in it,
	// because it has ended, the lease names the session alone and the state is
	// idle. agent.ErrNotFound.
	FindTurn(ctx context.Context, turn string) (agent.Found, error)
}

// Stops writes stops.
type Stops interface {
	// Stop writes a stop of that very turn into its slot, or ends the turn where
	// no living node runs it. Its open questions are answered "no" with it;
	// withdraw does so with approvals, those that earlier turns of the session
	// have left too, and without it a turn that waits for one is left as it is. A
	// turn that has left its slot is read again for how it ended.
	Stop(ctx context.Context, session, turn string, s agent.Stop, withdraw bool) (agent.StopResult, error)
	// Withdraw answers "no" what turns that have ended left open in a session:
	// that of one turn, or of all where none is named; returns how many.
	Withdraw(ctx context.Context, session, turn, by string) (int, error)
	// Asked lists the running legs of a node that are asked to stop.
	Asked(ctx context.Context, node string) ([]agent.Asked, error)
}

// Janitor settles what no living node runs.
type Janitor interface {
	// DeclareDead declares at most one node that was silent for a lease, if me
	// has been in unbroken contact for a lease; returns how many.
	DeclareDead(ctx context.Context, me string) (int, error)
	// Sweep closes at most one leg of a dead node, or else ends at most one turn
	// that was queued for longer than it may; ok is false when there is neither.
	Sweep(ctx context.Context, me string) (closed agent.Swept, ok bool, err error)
	// Strays lists the running legs of node taken more than two seconds ago, but
	// for those of the leases given.
	Strays(ctx context.Context, node string, known []agent.Lease) ([]agent.Leg, error)
}

// Closer closes one leg on behalf of its own node, which had it and lost it.
type Closer interface {
	// CloseFor settles the leg for its owner if turn and fence are still so.
	CloseFor(ctx context.Context, l agent.Lease) (agent.Swept, bool, error)
}

// Expirer ends requests that nobody decided in time.
type Expirer interface {
	// Expire decides as expired what is overdue in at most one session; ok is
	// false when there is none, or somebody has its slot locked.
	Expire(ctx context.Context) (e agent.Expired, ok bool, err error)
}

// Journal stores and reads events.
type Journal interface {
	// Append stores the rows of those batches whose lease holds, in one
	// statement, and reports for each batch whether it was stored. A batch that
	// was not is either locked away for the moment or has lost its lease; Look
	// tells which.
	Append(ctx context.Context, batches []agent.Batch) (stored []bool, err error)
	// Record stores rows and opens actions under the lease, if no stop is asked
	// for: a *agent.Stop where one is, agent.ErrLeaseLost.
	Record(ctx context.Context, l agent.Lease, rows []agent.Row, open []agent.Action) error
	// Look returns the stop that the row asks for, nil when none;
	// agent.ErrLeaseLost.
	Look(ctx context.Context, l agent.Lease) (*agent.Stop, error)
}

// Reader reads the journal.
type Reader interface {
	// Events returns up to limit rows' worth of events numbered above after.
	Events(ctx context.Context, session string, after int64, limit int) ([]agent.Event, error)
	// News returns events above each cursor, for many sessions at once.
	News(ctx context.Context, cursors map[string]int64) ([]agent.Event, error)
	// Transcript returns all events of a session but deltas.
	Transcript(ctx context.Context, session string) ([]agent.Event, error)
}

// Turns reads turns.
type Turns interface {
	// Turn returns a turn and its session; agent.ErrNotFound.
	Turn(ctx context.Context, id string) (agent.Turn, agent.Session, error)
	// Used returns what a take with this key would be told: agent.UsedKeyError, or
	// nil where the key is free.
	Used(ctx context.Context, o agent.Once) error
}

// Actions reads and decides what turns wait for.
type Actions interface {
	// Action returns an action and its session; agent.ErrNotFound.
	Action(ctx context.Context, id string) (agent.Action, agent.Session, error)
	// Actions returns the actions of a turn.
	Actions(ctx context.Context, turn string) ([]agent.Action, error)
	// Decide decides an open action; agent.DecidedError with the action where it
	// is decided already, or has expired; agent.ErrNotFound. An approval whose own
	// turn was stopped without it goes on in a new turn, and is that turn's action
	// from then on; agent.BusyError where the session has a turn already, or its
	// own is stopping. queued: a turn goes on.
	Decide(ctx context.Context, d agent.Decision) (a agent.Action, queued bool, err error)
}

// Hints carries hints between nodes. A nil Hints in Config is push off.
type Hints interface {
	// Notify sends hints, outside any transaction.
	Notify(ctx context.Context, hints ...agent.Hint) error
	// Listen calls on for every hint until ctx ends. It redials by itself, and
	// calls up(true) after each connect and up(false) when a connection is gone.
	Listen(ctx context.Context, on func(agent.Hint), up func(bool)) error
}

// Store is all of it; postgres.Store and turntest.Memory are stores.
type Store interface {
	Nodes
	Slots
	Poster
	Finder
	Stops
	Janitor
	Closer
	Expirer
	Journal
	Reader
	Turns
	Actions
}
