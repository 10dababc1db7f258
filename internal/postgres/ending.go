package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// ender ends legs in a transaction that holds their slots' locks. Every way a
// leg can be closed goes through its close; it collects what was told to stop
// below them.
type ender struct {
	tx            *txn
	turns, notify []string // told to stop or ended, and the nodes that run some of them
	actions       int      // withdrawn
}

// facts are what the closing of a turn has to know of it, read under the lock.
type facts struct {
	project, agent string
	by             string
	door           agent.Door
	index          int // of the turn's first assistant message
	config         []byte
	total          agent.Tokens
	actions        []askedFor
	calls          []int32 // that have a usage row
	callbacks      bool    // somebody is to be told
}

// askedFor is an action as far as a closing cares.
type askedFor struct {
	id, turn, by string
	kind         agent.ActionType
	state        agent.ActionState
	told         bool
}

const readFacts = `
SELECT c.project_id, t.agent_key, t.started_by, t.door, t.message_index, t.config,
    t.input_tokens, t.cached_tokens, t.output_tokens, t.reasoning_tokens, t.estimated, t.cost_usd,
    EXISTS (SELECT FROM callbacks k WHERE k.turn_id = t.id)
FROM turns t JOIN sessions c ON c.id = t.session_id
WHERE t.id = @turn::text`

// readAsked also reads what earlier turns had left open and was decided while
// this one ran, which is to be told in its closing.
const readAsked = `
SELECT id, turn_id, type, coalesce(decided_by, ''), state, told FROM actions
WHERE turn_id = @turn::text OR (session_id = @session::text AND state <> 'open' AND NOT told)
ORDER BY n`

const readCalls = `
SELECT call FROM usage WHERE turn_id = @turn::text ORDER BY call`

func (f *facts) queue(batch *pgx.Batch, session, turn string) {
	args := pgx.StrictNamedArgs{"turn": turn}
	u := &f.total
	var found bool
	batch.Queue(readFacts, args).QueryRow(into([]any{
		&f.project, &f.agent, &f.by, &f.door, &f.index, &f.config, &u.Input, &u.CachedInput, &u.Output, &u.Reasoning, &u.Estimated, &u.CostUSD,
		&f.callbacks,
	}, &found))
	batch.Queue(readAsked, pgx.StrictNamedArgs{"session": session, "turn": turn}).Query(func(rows pgx.Rows) (err error) {
		f.actions, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a askedFor, err error) {
			return a, row.Scan(&a.id, &a.turn, &a.kind, &a.by, &a.state, &a.told)
		})
		return err
	})
	batch.Queue(readCalls, args).Query(func(rows pgx.Rows) (err error) {
		f.calls, err = pgx.CollectRows(rows, pgx.RowTo[int32])
		return err
	})
}

// open returns the ids of the open actions.
func (f *facts) open() []string {
	var out []string
	for _, a := range f.actions {
		if a.state == agent.ActionOpen {
			out = append(out, a.id)
		}
	}
	return out
}

// withdraw answers the open questions "no" within the ending, and approvals too
// where that is so.
func (f *facts) withdraw(x *ending, by string, approvals bool) int {
	n := 0
	for i := range f.actions {
		if a := &f.actions[i]; a.state == agent.ActionOpen && (approvals || a.kind == agent.ActionQuestion) {
			a.state, a.by = agent.ActionWithdrawn, by
			n++
		}
	}
	if n > 0 {
		x.withdraw, x.withdrawnBy, x.approvals = true, by, approvals
	}
	return n
}

// fresh returns the calls that have no usage row yet: an account is counted once.
func (f *facts) fresh(all []agent.Usage) []agent.Usage {
	var out []agent.Usage
	for _, u := range all {
		known := slices.Contains(f.calls, int32(u.Call)) ||
			slices.ContainsFunc(out, func(o agent.Usage) bool { return o.Call == u.Call })
		if !known {
			out = append(out, u)
		}
	}
	return out
}

func sum(calls []agent.Usage) agent.Tokens {
	var t agent.Tokens
	for _, u := range calls {
		t = t.Add(u.Tokens)
	}
	return t
}

// below is the stop that the turns below get when the turn's leg closed so.
func (f *facts) below(o agent.Outcome, now time.Time) agent.Stop {
	if o.Stop == nil {
		return agent.Stop{By: f.by, Door: f.door, Detail: agent.DetailParentLost, At: now}
	}
	stop := *o.Stop
	stop.Detail, stop.At = agent.DetailParentStopped, now
	return stop
}

// ending is all that a closing writes.
type ending struct {
	outcome     agent.Outcome
	fence       int64  // of the events, and the slot's from then on
	owner       bool   // the leg's own node closes it
	path        string // how it heard of the stop
	seq         int64  // last number used
	rows        []agent.Row
	events      []agent.Event
	usage       []agent.Usage
	messages    int // at least so many in the transcript; they are counted too
	withdraw    bool
	withdrawnBy string
	approvals   bool // are withdrawn too
	tell        bool // decisions are among the events
}

func (x *ending) say(events ...agent.Event) {
	for _, e := range events {
		x.events = append(x.events, e)
		x.seq = e.Seq
	}
}

const readDecided = `
SELECT session_id, seq, last_seq, turn_id, kind, body, at, false, 0::bigint FROM events
WHERE session_id = @session::text AND kind = 'action.decided' AND turn_id = @turn::text
ORDER BY seq`

// tellDecisions adds an action.decided for each decision that the journal does
// not have: those that came while the leg ran, when its owner alone knew the
// next number and may have written them itself, and those that the ending makes.
func (e *ender) tellDecisions(ctx context.Context, sl slot, f *facts, x *ending) error {
	untold := slices.DeleteFunc(slices.Clone(f.actions), func(a askedFor) bool { return a.told || a.state == agent.ActionOpen })
	if len(untold) == 0 {
		return nil
	}
	events, err := readEvents(ctx, e.tx, readDecided, pgx.StrictNamedArgs{"session": sl.session, "turn": sl.turn})
	if err != nil {
		return err
	}
	for _, r := range x.rows {
		if events, err = r.Unpack(events, sl.session); err != nil {
			return err
		}
	}
	x.tell = true
	for _, a := range untold {
		if !slices.ContainsFunc(events, func(e agent.Event) bool { return decides(e, a.id) }) {
			x.say(number(sl, a.turn, x.seq, []agent.Body{agent.ActionDecided{ActionID: a.id, State: a.state, By: a.by}})...)
		}
	}
	return nil
}

func decides(e agent.Event, action string) bool {
	d, ok := e.Body.(agent.ActionDecided)
	return ok && d.ActionID == action
}

const withdrawActions = `
UPDATE actions SET state = 'withdrawn', decided_by = @by::text, decided_at = @now::timestamptz
WHERE turn_id = @turn::text AND state = 'open' AND (@approvals::boolean OR type = 'question')`

const markTold = `
UPDATE actions SET told = true WHERE session_id = @session::text AND state <> 'open' AND NOT told`

// closeTurn comes before closeSlot of the same closing: the slot still says since
// when the leg has run.
const closeTurn = `
UPDATE turns SET status = @status::text, stop_reason = nullif(@reason::text, ''), stop_detail = nullif(@detail::text, ''),
    stop = @stop::json, stop_path = nullif(@path::text, ''), error = @error::json,
    closed_fence = CASE WHEN @owner::boolean THEN @fence::bigint ELSE closed_fence END,
    input_tokens = @input::bigint, cached_tokens = @cached::bigint, output_tokens = @output::bigint,
    reasoning_tokens = @reasoning::bigint, estimated = @estimated::boolean, cost_usd = @cost::float8,
    worked_ms = worked_ms + coalesce((
        SELECT (extract(epoch FROM @now::timestamptz - s.taken_at) * 1000)::bigint FROM run_slots s
        WHERE s.session_id = turns.session_id AND s.turn_id = turns.id AND s.state = 'running'), 0),
    ended_at = CASE WHEN @status::text IN ('completed', 'incomplete', 'failed') THEN @now::timestamptz END
WHERE id = @turn::text`

// closeSlot comes after the events of the same closing: it counts the messages,
// but for those that the turn began with; and after closeTurn, which reads since
// when the leg has run.
const closeSlot = `
UPDATE run_slots SET
    state = CASE WHEN @waits::boolean THEN 'waiting' ELSE 'idle' END, turn_id = CASE WHEN @waits::boolean THEN turn_id END,
    node_id = NULL, fence = @fence::bigint, seq = @seq::bigint,
    messages = greatest(messages, @messages::integer, @first::integer + (
        SELECT count(*) FROM turns t JOIN events e ON e.session_id = t.session_id AND e.seq >= t.first_seq + t.first_words
        WHERE t.id = @turn::text AND e.turn_id = t.id AND e.kind = 'message')),
    taken_at = NULL, queued_at = NULL, expires_at = NULL, continues = false,
    stop_at = NULL, stop_by = NULL, stop_door = NULL, stop_node = NULL, stop_detail = NULL
WHERE session_id = @session::text`

// close writes an ending; it goes with the commit, or with what is sent before.
func (e *ender) close(sl *slot, f *facts, x ending) error {
	var batch pgx.Batch
	if x.withdraw {
		batch.Queue(withdrawActions, pgx.StrictNamedArgs{
			"turn": sl.turn, "by": x.withdrawnBy, "now": sl.now, "approvals": x.approvals,
		})
	}
	if x.tell {
		batch.Queue(markTold, pgx.StrictNamedArgs{"session": sl.session})
	}
	queueRows(&batch, insertRows, sl.session, x.fence, x.rows)
	if err := queueEvents(&batch, insertEvents, sl.session, x.fence, x.events); err != nil {
		return err
	}
	f.queueUsage(&batch, sl, x.usage)
	args, err := x.turnArgs(sl, f)
	if err != nil {
		return err
	}
	batch.Queue(closeTurn, args)
	if f.callbacks {
		batch.Queue(tellCallbacks, pgx.StrictNamedArgs{
			"turn": sl.turn, "project": f.project, "event": x.outcome.CallbackEvent(), "seq": x.seq,
		})
	}
	waits := x.outcome.Kind == agent.Waiting
	batch.Queue(closeSlot, pgx.StrictNamedArgs{
		"session": sl.session, "turn": sl.turn, "waits": waits, "fence": x.fence, "seq": x.seq, "messages": x.messages, "first": f.index,
	})
	e.tx.later(&batch)
	return nil
}

func (x *ending) turnArgs(sl *slot, f *facts) (pgx.StrictNamedArgs, error) {
	o, t := x.outcome, f.total.Add(sum(x.usage))
	stop, err := jsonOrNull(o.Stop, o.Stop == nil)
	if err != nil {
		return nil, err
	}
	failure, err := jsonOrNull(o.Failure, o.Failure == nil)
	path := x.path
	if o.Kind != agent.Stopped {
		path = ""
	}
	return pgx.StrictNamedArgs{
		"turn": sl.turn, "status": o.Status(), "reason": o.StopReason(), "detail": clean(o.Detail), "stop": stop, "path": path, "error": failure,
		"owner": x.owner, "fence": x.fence, "now": sl.now,
		"input": t.Input, "cached": t.CachedInput, "output": t.Output, "reasoning": t.Reasoning, "estimated": t.Estimated, "cost": t.CostUSD,
	}, err
}

const insertUsage = `
INSERT INTO usage (turn_id, call, session_id, project_id, agent_key, model, status,
    input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, cost_usd, latency_ms, first_token_ms, at)
VALUES (@turn::text, @call::integer, @session::text, @project::text, @agent::text, @model::text, @status::text,
    @input::bigint, @cached::bigint, @output::bigint, @reasoning::bigint, @estimated::boolean, @cost::float8,
    @latency::bigint, @first::bigint, @at::timestamptz)
ON CONFLICT DO NOTHING`

func (f *facts) queueUsage(batch *pgx.Batch, sl *slot, calls []agent.Usage) {
	for _, u := range calls {
		batch.Queue(insertUsage, pgx.StrictNamedArgs{
			"turn": sl.turn, "call": u.Call, "session": sl.session, "project": f.project, "agent": f.agent, "model": u.Model, "status": u.Status,
			"input": u.Input, "cached": u.CachedInput, "output": u.Output, "reasoning": u.Reasoning, "estimated": u.Estimated, "cost": u.CostUSD,
			"latency": u.LatencyMS, "first": u.FirstTokenMS, "at": u.At,
		})
	}
}
