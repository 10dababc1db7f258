package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// turnColumns are read by turnRow.into: a turn t, its session c and the slot s.
// All may be null, for a claim that finds nothing.
const turnColumns = `
    coalesce(t.id, ''), coalesce(t.agent_key, ''), coalesce(t.version, 0), t.config, coalesce(t.door, ''), coalesce(t.started_by, ''),
    coalesce(t.background, false), t.metadata, coalesce(t.depth, 0),
    coalesce(t.parent_session_id, ''), coalesce(t.parent_turn_id, ''), coalesce(t.parent_fence, 0),
    coalesce(t.first_seq, 0), coalesce(t.message_index, 0), coalesce(t.status, ''), coalesce(t.stop_reason, ''), coalesce(t.stop_detail, ''),
    t.stop, t.error,
    coalesce(t.input_tokens, 0), coalesce(t.cached_tokens, 0), coalesce(t.output_tokens, 0), coalesce(t.reasoning_tokens, 0),
    coalesce(t.estimated, false), coalesce(t.cost_usd, 0), coalesce((SELECT max(u.call) FROM usage u WHERE u.turn_id = t.id), 0),
    coalesce(t.worked_ms, 0) + CASE WHEN s.turn_id = t.id AND s.state = 'running'
        THEN (extract(epoch FROM clock_timestamp() - s.taken_at) * 1000)::bigint ELSE 0 END,
    t.created_at, t.started_at, t.ended_at,
    coalesce(c.id, ''), coalesce(c.project_id, ''), coalesce(c.agent_key, ''), coalesce(c.owner, ''), coalesce(c.door, ''),
    coalesce(c.title, ''), c.created_at, c.updated_at,
    CASE WHEN s.turn_id = t.id THEN s.stop_at END, coalesce(s.stop_by, ''), coalesce(s.stop_door, ''), coalesce(s.stop_node, ''),
    coalesce(s.stop_detail, '')`

// turnRow is a turn with its session, and the stop that its slot asks for.
type turnRow struct {
	turn                            agent.Turn
	session                         agent.Session
	parent                          agent.Lease
	config, metadata, stop, failure []byte
	turnCreated, started, ended     *time.Time
	created, updated                *time.Time
	askedAt                         *time.Time
	asked                           agent.Stop
	worked                          int64 // ms
}

func (r *turnRow) into() []any {
	t, u, c := &r.turn, &r.turn.Usage, &r.session
	return []any{
		&t.ID, &t.Agent, &t.Version, &r.config, &t.Door, &t.By, &t.Background, &r.metadata, &t.Depth,
		&r.parent.Session, &r.parent.Turn, &r.parent.Fence,
		&t.FirstSeq, &t.Index, &t.Status, &t.StopReason, &t.StopDetail, &r.stop, &r.failure,
		&u.Input, &u.CachedInput, &u.Output, &u.Reasoning, &u.Estimated, &u.CostUSD, &t.Calls, &r.worked,
		&r.turnCreated, &r.started, &r.ended,
		&c.ID, &c.Project, &c.Agent, &c.Owner, &c.Door, &c.Title, &r.created, &r.updated,
		&r.askedAt, &r.asked.By, &r.asked.Door, &r.asked.Node, &r.asked.Detail,
	}
}

// leg returns the turn and its session as a leg; its lease has no node and no
// fence yet.
func (r *turnRow) leg() (agent.Leg, error) {
	t := r.turn
	for _, j := range []struct {
		from []byte
		to   any
	}{{r.config, &t.Spec}, {r.metadata, &t.Metadata}, {r.stop, &t.Stop}, {r.failure, &t.Error}} {
		if j.from == nil {
			continue
		}
		if err := json.Unmarshal(j.from, j.to); err != nil {
			return agent.Leg{}, fmt.Errorf("decode turn %s: %w", t.ID, err)
		}
	}
	if r.parent.Turn != "" {
		t.Parent = &r.parent
	}
	if t.Stop == nil && r.askedAt != nil {
		r.asked.At = *r.askedAt
		t.Stop = &r.asked
	}
	t.Session = r.session.ID
	t.Worked = time.Duration(r.worked) * time.Millisecond
	t.CreatedAt, t.StartedAt, t.EndedAt = deref(r.turnCreated), deref(r.started), deref(r.ended)
	r.session.CreatedAt, r.session.UpdatedAt = deref(r.created), deref(r.updated)
	return agent.Leg{Lease: agent.Lease{Session: t.Session, Turn: t.ID}, Session: r.session, Turn: t}, nil
}

func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

const readTurn = `
SELECT ` + turnColumns + `
FROM turns t JOIN sessions c ON c.id = t.session_id LEFT JOIN run_slots s ON s.session_id = t.session_id
WHERE t.id = @turn::text`

func readLeg(ctx context.Context, q runner, turn string) (agent.Leg, error) {
	row, err := one(ctx, q, readTurn, pgx.StrictNamedArgs{"turn": turn}, func(row pgx.CollectableRow) (r turnRow, err error) {
		return r, row.Scan(r.into()...)
	})
	if err != nil {
		return agent.Leg{}, err
	}
	return row.leg()
}

// Turn returns a turn and its session; agent.ErrNotFound. The Stop of a turn
// that has not ended is the one that its slot asks for.
func (s *Store) Turn(ctx context.Context, id string) (agent.Turn, agent.Session, error) {
	leg, err := readLeg(ctx, s.pool, id)
	return leg.Turn, leg.Session, wrap("turn "+id, err)
}

const actionColumns = `
    a.id, a.session_id, a.turn_id, a.call_id, a.type, a.name, a.arguments, a.state, a.answer, coalesce(a.decided_by, ''), a.decided_at, a.created_at`

// scanAction reads actionColumns, and into more what the statement selects after
// them.
func scanAction(row pgx.CollectableRow, more ...any) (agent.Action, error) {
	var a agent.Action
	var arguments []byte
	var decided *time.Time
	err := row.Scan(append([]any{
		&a.ID, &a.Session, &a.Turn, &a.CallID, &a.Type, &a.Name, &arguments, &a.State, &a.Answer, &a.DecidedBy, &decided, &a.CreatedAt,
	}, more...)...)
	a.Arguments, a.DecidedAt = arguments, deref(decided)
	return a, err
}

const readActionOf = `
SELECT ` + actionColumns + `, c.id, c.project_id, c.agent_key, c.owner, c.door, c.title, c.created_at, c.updated_at
FROM actions a JOIN sessions c ON c.id = a.session_id
WHERE a.id = @action::text`

// Action returns an action and its session; agent.ErrNotFound.
func (s *Store) Action(ctx context.Context, id string) (agent.Action, agent.Session, error) {
	var c agent.Session
	rows, err := s.pool.Query(ctx, readActionOf, pgx.StrictNamedArgs{"action": id})
	if err != nil {
		return agent.Action{}, c, wrap("action "+id, err)
	}
	a, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (agent.Action, error) {
		return scanAction(row, &c.ID, &c.Project, &c.Agent, &c.Owner, &c.Door, &c.Title, &c.CreatedAt, &c.UpdatedAt)
	})
	return a, c, wrap("action "+id, notFound(err))
}

const readActions = `
SELECT ` + actionColumns + ` FROM actions a WHERE a.turn_id = @turn::text ORDER BY a.n`

// Actions returns the actions of a turn in the order they were asked.
func (s *Store) Actions(ctx context.Context, turn string) ([]agent.Action, error) {
	rows, err := s.pool.Query(ctx, readActions, pgx.StrictNamedArgs{"turn": turn})
	if err != nil {
		return nil, wrap("actions of turn "+turn, err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (agent.Action, error) { return scanAction(row) })
	return out, wrap("actions of turn "+turn, err)
}

// Decide decides an open action under its session's slot lock, and queues its
// turn where that waited for nothing more. agent.ErrNotFound;
// agent.DecidedError where it is decided otherwise already: the very same
// decision again is no error. Its action.decided is written here unless the
// slot runs: then its owner alone knows the next number, and the event comes at
// the end of the leg if the owner does not write it before.
func (s *Store) Decide(ctx context.Context, d agent.Decision) (agent.Action, bool, error) {
	d.Answer = clean(d.Answer)
	var a agent.Action
	var queued bool
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		var err error
		a, queued, err = decide(ctx, tx, d)
		return err
	})
	if err != nil {
		return agent.Action{}, false, wrap("decide action "+d.Action, err)
	}
	return a, queued, nil
}

// The action's row does not change its session, so it is looked up without a
// lock; the slot comes first.
const lockSlotOfAction = `
SELECT ` + slotColumns + `
FROM run_slots s WHERE s.session_id = (SELECT session_id FROM actions WHERE id = @action::text)
FOR UPDATE OF s`

const readAction = `
SELECT ` + actionColumns + `,
    (SELECT count(*) FROM actions o WHERE o.turn_id = a.turn_id AND o.state = 'open')
FROM actions a WHERE a.id = @action::text`

func decide(ctx context.Context, tx *txn, d agent.Decision) (a agent.Action, queued bool, err error) {
	var sl slot
	var found bool
	var open int
	var batch pgx.Batch
	batch.Queue(lockSlotOfAction, pgx.StrictNamedArgs{"action": d.Action}).QueryRow(into(sl.into(), &found))
	batch.Queue(readAction, pgx.StrictNamedArgs{"action": d.Action}).Query(func(rows pgx.Rows) error {
		a, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (agent.Action, error) { return scanAction(row, &open) })
		return notFound(err)
	})
	if err := tx.send(ctx, &batch); err != nil {
		return a, false, err
	}
	mine := sl.turn == a.Turn
	if a.State != agent.ActionOpen {
		if a.State != d.State || a.DecidedBy != d.By || a.Answer != d.Answer {
			return a, false, &agent.DecidedError{Action: a}
		}
		return a, mine && sl.state == agent.SlotQueued, nil
	}
	queued = open == 1 && mine && sl.state == agent.SlotWaiting
	a.State, a.DecidedBy, a.DecidedAt, a.Answer = d.State, d.By, sl.now, d.Answer
	if d.Arguments != nil {
		a.Arguments = d.Arguments
	}
	return a, queued, writeDecision(tx, sl, a, queued)
}

const writeAction = `
UPDATE actions SET state = @state::text, decided_by = @by::text, decided_at = @now::timestamptz, answer = @answer::text,
    arguments = @arguments::json, told = @told::boolean
WHERE id = @action::text AND state = 'open'`

const numberDecision = `
UPDATE run_slots SET seq = @seq::bigint WHERE session_id = @session::text`

const queueAgain = `
WITH turn AS (UPDATE turns SET status = 'queued' WHERE id = @turn::text)
UPDATE run_slots SET state = 'queued', queued_at = clock_timestamp(), continues = true WHERE session_id = @session::text`

func writeDecision(tx *txn, sl slot, a agent.Action, queued bool) error {
	var batch pgx.Batch
	told := sl.state != agent.SlotRunning
	batch.Queue(writeAction, pgx.StrictNamedArgs{
		"action": a.ID, "state": a.State, "by": a.DecidedBy, "now": a.DecidedAt, "answer": a.Answer,
		"arguments": orNull(a.Arguments), "told": told,
	})
	if told {
		events := number(sl, a.Turn, sl.seq, []agent.Body{agent.ActionDecided{ActionID: a.ID, State: a.State, By: a.DecidedBy}})
		if err := queueEvents(&batch, insertEvents, sl.session, sl.fence, events); err != nil {
			return err
		}
		batch.Queue(numberDecision, pgx.StrictNamedArgs{"session": sl.session, "seq": sl.seq + 1})
	}
	if queued {
		batch.Queue(queueAgain, pgx.StrictNamedArgs{"turn": a.Turn, "session": sl.session})
	}
	tx.later(&batch)
	return nil
}

// orNull is JSON for a json column that may not be empty.
func orNull(j json.RawMessage) string {
	if len(j) == 0 {
		return "null"
	}
	return string(j)
}
