package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const actionColumns = `
    a.id, a.session_id, a.turn_id, a.call_id, a.type, a.name, a.arguments, a.state, a.answer, coalesce(a.decided_by, ''), a.decided_at,
    a.created_at, a.expires_at`

// scanAction reads actionColumns, and into more what the statement selects after
// them.
func scanAction(row pgx.CollectableRow, more ...any) (agent.Action, error) {
	var a agent.Action
	var arguments []byte
	var decided, expires *time.Time
	err := row.Scan(append([]any{
		&a.ID, &a.Session, &a.Turn, &a.CallID, &a.Type, &a.Name, &arguments, &a.State, &a.Answer, &a.DecidedBy, &decided, &a.CreatedAt, &expires,
	}, more...)...)
	a.Arguments, a.DecidedAt, a.ExpiresAt = arguments, deref(decided), deref(expires)
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

// sessionActions names the newest turn as the API does: the one in the slot is it.
const sessionActions = `
SELECT ` + actionColumns + `
FROM actions a
WHERE a.turn_id = (SELECT id FROM turns WHERE session_id = @session::text ORDER BY first_seq DESC LIMIT 1)
   OR (a.session_id = @session::text AND a.state = 'open')
ORDER BY a.n`

// SessionActions returns the actions of a session's newest turn, and those that a
// stop has left open, in the order they were asked.
func (s *Store) SessionActions(ctx context.Context, session string) ([]agent.Action, error) {
	out, err := all(ctx, s.pool, sessionActions, sessionArgs(session),
		func(row pgx.CollectableRow) (agent.Action, error) { return scanAction(row) })
	return out, wrap("actions of session "+session, err)
}

const openActions = `
SELECT ` + actionColumns + `, a.n
FROM actions a JOIN sessions c ON c.id = a.session_id
WHERE a.state = 'open' AND a.n < @before::bigint AND c.project_id = @project::text
  AND (@others::boolean OR c.owner = @owner::text OR (@approvals::boolean AND a.type = 'approval'))
ORDER BY a.n DESC LIMIT @limit::integer`

// OpenActions returns a page of open actions, newest first, and the cursor of the
// next page, empty when this is the last. A bad cursor or limit is a
// *agent.FieldError; no limit is 20.
func (s *Store) OpenActions(ctx context.Context, f agent.ActionFilter) (list []agent.Action, next string, err error) {
	limit, err := pageLimit(f.Page.Limit)
	if err != nil {
		return nil, "", err
	}
	before := int64(math.MaxInt64)
	if f.Page.Cursor != "" {
		if before, err = strconv.ParseInt(f.Page.Cursor, 36, 64); err != nil || before < 0 {
			return nil, "", &agent.FieldError{Field: "cursor", Message: "must be a cursor from the page before"}
		}
	}
	args := pgx.StrictNamedArgs{
		"before": before, "project": f.Project, "owner": f.Owner, "approvals": f.Approvals, "others": f.Others, "limit": limit + 1,
	}
	var numbers []int64
	list, err = all(ctx, s.pool, openActions, args, func(row pgx.CollectableRow) (agent.Action, error) {
		var n int64
		a, err := scanAction(row, &n)
		numbers = append(numbers, n)
		return a, err
	})
	if err != nil {
		return nil, "", wrap("list open actions", err)
	}
	if len(list) > limit {
		list, next = list[:limit], strconv.FormatInt(numbers[limit-1], 36)
	}
	return list, next, nil
}

// Decide decides an open action under its session's slot lock, and queues its
// turn where that waited for nothing more. An approval whose turn was stopped
// without it is continued in a new turn. agent.ErrNotFound; agent.DecidedError
// where it is decided otherwise already, or has expired: the very same decision
// again is no error; agent.BusyError where it can't be continued now. Its
// action.decided is written here unless the slot runs: then its owner alone knows
// the next number, and the event comes at the end of the leg.
func (s *Store) Decide(ctx context.Context, d agent.Decision) (agent.Action, bool, error) {
	d.Answer = clean(d.Answer)
	var a agent.Action
	var queued bool
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		var err error
		a, queued, err = s.decide(ctx, tx, d)
		return err
	})
	if err == nil && a.State != d.State {
		err = &agent.DecidedError{Action: a} // by its expiry, just now
	}
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

func (s *Store) decide(ctx context.Context, tx *txn, d agent.Decision) (a agent.Action, queued bool, err error) {
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
	if !a.ExpiresAt.IsZero() && !sl.now.Before(a.ExpiresAt) {
		d = agent.Decision{State: agent.ActionExpired}
	}
	goesOn := d.State == agent.ActionApproved
	asked := a.Arguments
	a.State, a.DecidedBy, a.DecidedAt, a.Answer = d.State, d.By, sl.now, d.Answer
	if d.Arguments != nil {
		a.Arguments = d.Arguments
	}
	if d.State != agent.ActionExpired {
		s.auditDecision(tx, a, d)
	}
	switch {
	case goesOn && mine && sl.stopAt != nil, goesOn && !mine && sl.state != agent.SlotIdle:
		return a, false, sl.busy()
	case goesOn && !mine:
		return continueCall(ctx, tx, sl, a, asked, d.Door)
	}
	queued = open == 1 && mine && sl.state == agent.SlotWaiting
	return a, queued, writeDecision(tx, &sl, a, queued)
}

const writeAction = `
UPDATE actions SET state = @state::text, decided_by = nullif(@by::text, ''), decided_at = @now::timestamptz, answer = @answer::text,
    arguments = @arguments::json, told = @told::boolean
WHERE id = @action::text AND state = 'open'`

const numberDecision = `
UPDATE run_slots SET seq = @seq::bigint WHERE session_id = @session::text`

const queueAgain = `
WITH turn AS (UPDATE turns SET status = 'queued' WHERE id = @turn::text)
UPDATE run_slots SET state = 'queued', queued_at = clock_timestamp(), continues = true,
    expires_at = clock_timestamp() + make_interval(secs => patience_ms / 1000.0)
WHERE session_id = @session::text`

func writeDecision(tx *txn, sl *slot, a agent.Action, queued bool) error {
	var batch pgx.Batch
	told := sl.state != agent.SlotRunning
	queueAction(&batch, a, told)
	if told {
		events := number(*sl, a.Turn, sl.seq, []agent.Body{agent.ActionDecided{ActionID: a.ID, State: a.State, By: a.DecidedBy}})
		if err := queueEvents(&batch, insertEvents, sl.session, sl.fence, events); err != nil {
			return err
		}
		sl.seq++
		batch.Queue(numberDecision, pgx.StrictNamedArgs{"session": sl.session, "seq": sl.seq})
	}
	if queued {
		batch.Queue(queueAgain, pgx.StrictNamedArgs{"turn": a.Turn, "session": sl.session})
	}
	tx.later(&batch)
	return nil
}

func queueAction(batch *pgx.Batch, a agent.Action, told bool) {
	batch.Queue(writeAction, pgx.StrictNamedArgs{
		"action": a.ID, "state": a.State, "by": a.DecidedBy, "now": a.DecidedAt, "answer": a.Answer,
		"arguments": orNull(a.Arguments), "told": told,
	})
}

// continueTurn queues a turn that runs what an earlier one ran, and gives it the
// action. It is nobody's child: the call that waited for the earlier one is over.
const continueTurn = `
WITH turn AS (
    INSERT INTO turns (id, session_id, project_id, owner, agent_key, version, config, door, started_by, depth, first_seq, message_index, status, created_at)
    SELECT @turn::text, session_id, project_id, owner, agent_key, version, config, @door::text, @by::text, depth, @first::bigint, @index::integer, 'queued', @now::timestamptz
    FROM turns WHERE id = @earlier::text
    RETURNING id, session_id, depth
), moved AS (
    UPDATE actions SET turn_id = @turn::text, call_id = @call::text WHERE id = @action::text
), session AS (
    UPDATE sessions SET updated_at = @now::timestamptz WHERE id = @session::text
)
UPDATE run_slots s SET state = 'queued', turn_id = turn.id, fence = @fence::bigint, depth = turn.depth, seq = @seq::bigint,
    messages = @index::integer, queued_at = clock_timestamp(), continues = true, background = false, patience_ms = NULL, expires_at = NULL
FROM turn WHERE s.session_id = turn.session_id`

// continueCall makes the turn that goes on with an approved call whose own turn
// was stopped. That turn has the call's result already, "stopped", so the call is
// made again under a new id, in a message of the new turn that its first leg finds
// open: to every provider it is one more step of the assistant's. asked are the
// arguments of the model; those that a person edited are in the action.
func continueCall(ctx context.Context, tx *txn, sl slot, a agent.Action, asked json.RawMessage, door agent.Door) (agent.Action, bool, error) {
	earlier, err := readLeg(ctx, tx, a.Turn)
	if err != nil {
		return a, false, err
	}
	t, sl2 := agent.Continue(earlier.Turn, a.DecidedBy, door), sl
	t.FirstSeq, t.Index = sl.seq+2, sl.messages+1
	sl2.fence++
	events := number(sl, a.Turn, sl.seq, []agent.Body{agent.ActionDecided{ActionID: a.ID, State: a.State, By: a.DecidedBy}})
	a.Turn, a.CallID = t.ID, "call_"+agent.NewID()
	events = append(events, number(sl, t.ID, sl.seq+1, t.FirstWords(a, asked))...)
	var batch pgx.Batch
	queueAction(&batch, a, true)
	if err := queueEvents(&batch, insertEvents, sl.session, sl2.fence, events); err != nil {
		return a, false, err
	}
	batch.Queue(continueTurn, pgx.StrictNamedArgs{
		"turn": t.ID, "earlier": earlier.Turn.ID, "session": sl.session, "door": t.Door, "by": t.By, "first": t.FirstSeq, "index": t.Index,
		"now": sl.now, "action": a.ID, "call": a.CallID, "fence": sl2.fence, "seq": events[len(events)-1].Seq,
	})
	tx.later(&batch)
	return a, true, nil
}

// orNull is JSON for a json column that may not be empty.
func orNull(j json.RawMessage) string {
	if len(j) == 0 {
		return "null"
	}
	return string(j)
}

// lockOverdue looks at a few sessions, so that one whose slot is locked does not
// hold up the others.
const lockOverdue = `
SELECT ` + slotColumns + `
FROM run_slots s
WHERE s.session_id IN (
    SELECT session_id FROM actions
    WHERE state = 'open' AND expires_at <= clock_timestamp()
    ORDER BY expires_at LIMIT 16)
LIMIT 1
FOR UPDATE OF s SKIP LOCKED`

const readOverdue = `
SELECT ` + actionColumns + `,
    (SELECT count(*) FROM actions o WHERE o.turn_id = @turn::text AND o.state = 'open')
FROM actions a
WHERE a.session_id = @session::text AND a.state = 'open' AND a.expires_at <= @now::timestamptz
ORDER BY a.n`

// Expire decides as expired what is overdue in at most one session; ok is false
// when there is none, or somebody has its slot locked. Any node may.
func (s *Store) Expire(ctx context.Context) (x agent.Expired, ok bool, err error) {
	err = s.inTx(ctx, s.pool, func(tx *txn) error {
		var sl slot
		x = agent.Expired{}
		err := tx.row(ctx, lockOverdue, pgx.StrictNamedArgs{}, sl.into()...)
		if err != nil {
			return err
		}
		x.Session = sl.session
		return expire(ctx, tx, &sl, &x)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return agent.Expired{}, false, nil
	case err != nil:
		return agent.Expired{}, false, wrap("expire", err)
	}
	return x, len(x.Actions) > 0, nil
}

func expire(ctx context.Context, tx *txn, sl *slot, x *agent.Expired) error {
	open, own := 0, 0 // of the slot's turn; overdue among them
	overdue, err := all(ctx, tx, readOverdue, pgx.StrictNamedArgs{"session": sl.session, "turn": sl.turn, "now": sl.now},
		func(row pgx.CollectableRow) (agent.Action, error) { return scanAction(row, &open) })
	for _, a := range overdue {
		if a.Turn == sl.turn {
			own++
		}
		queued := a.Turn == sl.turn && own == open && sl.state == agent.SlotWaiting
		a.State, a.DecidedAt = agent.ActionExpired, sl.now
		x.Actions, x.Queued = append(x.Actions, a.ID), x.Queued || queued
		if err := writeDecision(tx, sl, a, queued); err != nil {
			return err
		}
	}
	return err
}
