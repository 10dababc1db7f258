package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// claimSlot takes one queued turn. However many are queued, it looks at a few:
// it steps from project to project along the index and takes the heads of each
// one's queue. Continuations go first; then the project with the fewest running
// background runs, so that a long queue of one does not keep others waiting; then
// the oldest. A project that has as many running as it may gives continuations of
// other turns only. Several heads, because slots that are locked at the moment are
// somebody's already; they are tried in their order, each by its key, until one is
// locked and, by then, still queued.
const claimSlot = `
WITH RECURSIVE project AS (
    (SELECT project_id FROM run_slots WHERE state = 'queued' ORDER BY project_id LIMIT 1)
    UNION ALL
    SELECT (SELECT s.project_id FROM run_slots s WHERE s.state = 'queued' AND s.project_id > p.project_id ORDER BY s.project_id LIMIT 1)
    FROM project p WHERE p.project_id IS NOT NULL
), share AS MATERIALIZED (
    SELECT p.project_id, (
        SELECT count(*) FROM run_slots r WHERE r.project_id = p.project_id AND r.background AND r.state = 'running') AS running
    FROM project p WHERE p.project_id IS NOT NULL
), head AS MATERIALIZED (
    SELECT q.session_id, q.continues, q.queued_at, share.running
    FROM share, LATERAL (
        (SELECT session_id, continues, queued_at FROM run_slots
         WHERE project_id = share.project_id AND state = 'queued' AND (@most::integer = 0 OR share.running < @most::integer)
         ORDER BY continues DESC, queued_at LIMIT 16)
        UNION ALL
        (SELECT session_id, continues, queued_at FROM run_slots
         WHERE project_id = share.project_id AND state = 'queued' AND continues AND NOT background
           AND NOT (@most::integer = 0 OR share.running < @most::integer)
         ORDER BY queued_at LIMIT 16)) q
    ORDER BY q.continues DESC, share.running, q.queued_at
    LIMIT 16
), chosen AS MATERIALIZED (
    SELECT s.session_id, h.queued_at FROM head h, LATERAL (
        SELECT session_id, state FROM run_slots WHERE session_id = h.session_id LIMIT 1 FOR UPDATE SKIP LOCKED) s
    WHERE s.state = 'queued'
    LIMIT 1
), alive AS (
    SELECT EXISTS (SELECT FROM nodes WHERE id = @node::text AND dead_at IS NULL) AS yes
), claimed AS (
    UPDATE run_slots s SET state = 'running', node_id = @node::text, fence = fence + 1, taken_at = clock_timestamp(),
        queued_at = NULL, expires_at = NULL, continues = false
    FROM chosen o, alive
    WHERE s.session_id = o.session_id AND alive.yes
    RETURNING s.*, extract(epoch FROM s.taken_at - o.queued_at)::float8 AS waited
), started AS (
    UPDATE turns t SET status = 'running', started_at = coalesce(t.started_at, s.taken_at)
    FROM claimed s WHERE t.id = s.turn_id
    RETURNING t.*
)
SELECT alive.yes, s.fence, s.seq, s.waited, t.id IS NOT NULL, ` + turnColumns + `
FROM alive LEFT JOIN claimed s ON true LEFT JOIN started t ON true LEFT JOIN sessions c ON c.id = t.session_id`

// byIndex keeps a claim on its indexes: a plan that was made, or statistics that
// were gathered, while next to nothing was queued would read the whole table, and
// sort it, when thousands are.
const byIndex = `
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`

// lockClaims makes claims that must count what runs go one after the other:
// each then sees what the one before has taken.
const lockClaims = `
SELECT pg_advisory_xact_lock(hashtextextended('belay claims', 5))`

// Claim takes a queued turn for node: a continuation before any other, then one
// of the project that has the fewest background runs running, and of those the
// oldest. most bounds the running ones of a project in the whole cluster, 0: not.
// ok is false when there is nothing to take. agent.ErrNodeDead.
func (s *Store) Claim(ctx context.Context, node string, most int) (agent.Leg, bool, error) {
	var c claim
	args := pgx.StrictNamedArgs{"node": node, "most": most}
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		c = claim{}
		var b pgx.Batch
		b.Queue(byIndex)
		if most > 0 {
			b.Queue(lockClaims)
		}
		b.Queue(claimSlot, args).QueryRow(func(row pgx.Row) error { return row.Scan(c.into()...) })
		tx.later(&b)
		return nil
	})
	switch {
	case err != nil:
		return agent.Leg{}, false, wrap("claim", err)
	case !c.alive:
		return agent.Leg{}, false, wrap("claim", agent.ErrNodeDead)
	case !c.ok:
		return agent.Leg{}, false, nil
	}
	leg, err := c.row.leg()
	leg.Lease.Node, leg.Lease.Fence, leg.Seq = node, *c.fence, *c.seq
	leg.Queued = time.Duration(*c.waited * float64(time.Second))
	return leg, true, wrap("claim", err)
}

// claim is what claimSlot returns.
type claim struct {
	alive, ok  bool
	fence, seq *int64
	waited     *float64 // seconds
	row        turnRow
}

func (c *claim) into() []any {
	return append([]any{&c.alive, &c.fence, &c.seq, &c.waited, &c.ok}, c.row.into()...)
}

// The key is taken in the transaction that makes the turn. One that is being
// taken is waited for: of equal requests at once all but one then see its turn.
const takeKey = `
INSERT INTO idempotency_keys AS k (project_id, principal, key, request, turn_id, expires_at)
VALUES (@project::text, @principal::text, @key::text, @request::bytea, @turn::text, clock_timestamp() + make_interval(secs => @keep::float8))
ON CONFLICT (project_id, principal, key) DO UPDATE
SET request = excluded.request, turn_id = excluded.turn_id, expires_at = excluded.expires_at
WHERE k.expires_at <= clock_timestamp()`

const readKey = `
SELECT turn_id, request = @request::bytea FROM idempotency_keys
WHERE project_id = @project::text AND principal = @principal::text AND key = @key::text AND expires_at > clock_timestamp()`

func keyArgs(o *agent.Once) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"project": o.Project, "principal": o.Principal, "key": o.Key, "request": o.Request[:]}
}

// lockRuns makes the submits of one project that is near its bound go one after
// the other, so that each sees what the one before has queued. It comes before any
// slot's lock.
const lockRuns = `
SELECT pg_advisory_xact_lock(hashtextextended(@project::text, 6))`

const countRuns = `
SELECT count(*) FROM run_slots WHERE project_id = @project::text AND background AND state IN ('queued', 'running')`

// nearRuns is how near to its bound a project's submits begin to queue for each
// other: more than can be under way at once, which the nodes' pools bound. Before,
// they would only wait for each other's commits.
const nearRuns = 256

// reserve takes the request's key and counts the project's runs, before the slot
// is locked: whoever holds one of these may wait for a slot, and nobody the other
// way round.
func (t *taking) reserve(ctx context.Context) error {
	var b pgx.Batch
	var used agent.UsedKeyError
	if o := t.b.Once; o != nil {
		args := keyArgs(o)
		args["turn"], args["keep"] = t.b.Turn.ID, o.Keep.Seconds()
		b.Queue(takeKey, args)
		var found bool
		b.Queue(readKey, keyArgs(o)).QueryRow(into([]any{&used.Turn, &used.Same}, &found))
	}
	project := pgx.StrictNamedArgs{"project": t.b.Session.Project}
	count := func(row pgx.Row) error { return row.Scan(&t.runs) }
	if t.b.MostRuns > 0 {
		b.Queue(countRuns, project).QueryRow(count)
	}
	if b.Len() == 0 {
		return nil
	}
	if err := t.tx.send(ctx, &b); err != nil {
		return err
	}
	if used.Turn != "" && used.Turn != t.b.Turn.ID {
		return &used
	}
	if t.b.MostRuns == 0 || t.runs < t.b.MostRuns-nearRuns || t.runs >= t.b.MostRuns {
		return nil
	}
	var exact pgx.Batch
	exact.Queue(lockRuns, project)
	exact.Queue(countRuns, project).QueryRow(count)
	return t.tx.send(ctx, &exact)
}

// Used returns what a take with this key would be told: agent.UsedKeyError, or
// nil where the key is free.
func (s *Store) Used(ctx context.Context, o agent.Once) error {
	var used agent.UsedKeyError
	err := s.pool.QueryRow(ctx, readKey, keyArgs(&o)).Scan(&used.Turn, &used.Same)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return wrap("read idempotency key", err)
	}
	return &used
}

const forgetKeys = `
DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM idempotency_keys WHERE expires_at <= clock_timestamp() ORDER BY expires_at LIMIT 1000))
AND expires_at <= clock_timestamp()`

const lockExpired = `
SELECT ` + slotColumns + `
FROM run_slots s
WHERE s.state = 'queued' AND s.expires_at <= clock_timestamp()
ORDER BY s.expires_at
LIMIT 1
FOR UPDATE OF s SKIP LOCKED`

// sweepQueue ends at most one turn that was queued for longer than it may.
func (s *Store) sweepQueue(ctx context.Context) (swept agent.Swept, ok bool, err error) {
	err = s.inTx(ctx, s.pool, func(tx *txn) error {
		var sl slot
		if err := tx.row(ctx, lockExpired, pgx.StrictNamedArgs{}, sl.into()...); err != nil {
			return err
		}
		swept = agent.Swept{Lease: sl.lease(), Outcome: agent.Failed}
		e := ender{tx: tx}
		return e.withTree(ctx, &sl, func() (agent.Stop, error) {
			return e.endIdleAs(ctx, &sl, agent.Outcome{Kind: agent.Failed, Failure: agent.ExpiredFailure()}, true)
		})
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return agent.Swept{}, false, nil
	case err != nil:
		return agent.Swept{}, false, err
	}
	return swept, true, nil
}

const selectRuns = `
SELECT ` + turnColumns + `
FROM turns t JOIN sessions c ON c.id = t.session_id LEFT JOIN run_slots s ON s.session_id = t.session_id
WHERE t.background AND t.project_id = @project::text
    AND (@agent::text = '' OR t.agent_key = @agent::text) AND (@session::text = '' OR t.session_id = @session::text)
    AND (t.created_at, t.id) < (@before::timestamptz, @id::text)
    AND (@status::text = '' OR @status::text = CASE
        WHEN t.status = 'waiting' THEN 'requires_action' WHEN t.status IN ('queued', 'running', 'failed') THEN t.status
        WHEN t.stop_reason = 'cancelled' THEN 'canceled' ELSE 'succeeded' END)`

const newestRuns = `
ORDER BY t.created_at DESC, t.id DESC LIMIT @limit::integer`

const listRuns = selectRuns + newestRuns

const listOwnRuns = selectRuns + ` AND t.owner = @owner::text` + newestRuns

// Runs that have not ended are few and in their slots, whatever a project has in
// turns.
const listLiveRuns = selectRuns + `
    AND s.turn_id = t.id AND s.background AND s.project_id = @project::text AND s.state = @state::text
    AND (@owner::text = '' OR t.owner = @owner::text)` + newestRuns

// Runs returns a page of a project's background runs, newest first, and the
// cursor of the next page, empty when this is the last. A bad cursor or limit is
// a *agent.FieldError; no limit is 20.
func (s *Store) Runs(ctx context.Context, f agent.RunFilter) (list []agent.Turn, next string, err error) {
	limit, err := pageLimit(f.Page.Limit)
	if err != nil {
		return nil, "", err
	}
	from, err := parseCursor(f.Page.Cursor)
	if err != nil {
		return nil, "", err
	}
	args := pgx.StrictNamedArgs{
		"project": f.Project, "agent": clean(f.Agent), "session": clean(f.Session), "status": f.Status,
		"before": from.before, "id": from.id, "limit": limit + 1,
	}
	statement := listRuns
	switch state := liveState(f.Status); {
	case state != "":
		statement, args["state"], args["owner"] = listLiveRuns, state, f.Owner
	case f.Owner != "":
		statement, args["owner"] = listOwnRuns, f.Owner
	}
	list, err = all(ctx, s.pool, statement, args, func(row pgx.CollectableRow) (agent.Turn, error) {
		var r turnRow
		if err := row.Scan(r.into()...); err != nil {
			return agent.Turn{}, err
		}
		leg, err := r.leg()
		return leg.Turn, err
	})
	if err != nil {
		return nil, "", wrap("list runs", err)
	}
	if len(list) > limit {
		list = list[:limit]
		last := list[limit-1]
		next = cursor{last.CreatedAt.Truncate(time.Microsecond), last.ID}.String()
	}
	return list, next, nil
}

// liveState is the state of the slots of runs that have not ended; empty for the
// others.
func liveState(s agent.RunStatus) agent.SlotState {
	switch s {
	case agent.RunQueued:
		return agent.SlotQueued
	case agent.RunRunning:
		return agent.SlotRunning
	case agent.RunRequiresAction:
		return agent.SlotWaiting
	}
	return ""
}
