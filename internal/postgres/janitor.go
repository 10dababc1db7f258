package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// declareDead tests everything in the statement that declares: the victim's age,
// and that me has been in unbroken contact for a lease. So a statement that
// arrives late, or after an outage for all, declares nobody. One node each: the
// victim's row is tested again, as it then is, if its lock was waited for.
const declareDead = `
UPDATE nodes x SET dead_at = clock_timestamp()
WHERE x.id = (
        SELECT id FROM nodes
        WHERE dead_at IS NULL AND renewed_at < clock_timestamp() - make_interval(secs => @lease::float8)
        ORDER BY renewed_at LIMIT 1)
  AND x.dead_at IS NULL AND x.renewed_at < clock_timestamp() - make_interval(secs => @lease::float8)
  AND EXISTS (
        SELECT FROM nodes m
        WHERE m.id = @me::text AND m.dead_at IS NULL
          AND m.renewed_at > clock_timestamp() - make_interval(secs => @gap::float8)
          AND m.contact_since < clock_timestamp() - make_interval(secs => @lease::float8))`

// DeclareDead declares at most one node that was silent for a lease, if me has
// been in unbroken contact for a lease; returns how many.
func (s *Store) DeclareDead(ctx context.Context, me string) (int, error) {
	args := pgx.StrictNamedArgs{"me": me, "lease": s.times.Lease.Seconds(), "gap": s.times.Gap.Seconds()}
	tag, err := s.pool.Exec(ctx, declareDead, args)
	return int(tag.RowsAffected()), wrap("declare dead", err)
}

const lockOwnerless = `
SELECT ` + slotColumns + `
FROM run_slots s
WHERE s.state = 'running' AND EXISTS (SELECT FROM nodes d WHERE d.id = s.node_id AND d.dead_at IS NOT NULL)
ORDER BY s.depth, s.session_id
LIMIT 1
FOR UPDATE OF s SKIP LOCKED`

// Sweep closes at most one leg of a dead node, and what lives below, or else ends
// at most one turn that was queued for longer than it may; ok is false when there
// is neither. Any node may sweep.
func (s *Store) Sweep(ctx context.Context, _ string) (agent.Swept, bool, error) {
	swept, ok, err := s.closeOther(ctx, lockOwnerless, pgx.StrictNamedArgs{})
	if err == nil && !ok {
		swept, ok, err = s.sweepQueue(ctx)
	}
	if err == nil && !ok {
		err = s.forget(ctx)
	}
	return swept, ok, wrap("sweep", err)
}

// CloseFor settles a leg for its owner, which had it and lost it, if turn and
// fence are still so.
func (s *Store) CloseFor(ctx context.Context, l agent.Lease) (agent.Swept, bool, error) {
	swept, ok, err := s.closeOther(ctx, lockLeg, pgx.StrictNamedArgs{"session": l.Session, "turn": l.Turn, "fence": l.Fence})
	return swept, ok, wrap("close "+l.String(), err)
}

// closeOther settles the leg in the slot that lock finds, for its owner.
func (s *Store) closeOther(ctx context.Context, lock string, args pgx.StrictNamedArgs) (swept agent.Swept, ok bool, err error) {
	err = s.inTx(ctx, s.pool, func(tx *txn) error {
		var sl slot
		if err := tx.row(ctx, lock, args, sl.into()...); err != nil {
			return err
		}
		swept = agent.Swept{Lease: sl.lease(), Outcome: othersOutcome(&sl).Kind}
		e := ender{tx: tx}
		return e.withTree(ctx, &sl, func() (agent.Stop, error) { return e.settleForOther(ctx, &sl, false) })
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return agent.Swept{}, false, nil
	case err != nil:
		return agent.Swept{}, false, err
	}
	return swept, true, nil
}

// A dead row is kept while a slot names it, and long enough that no transaction
// can be under way that is yet to name it.
const forgetNodes = `
DELETE FROM nodes n
WHERE n.dead_at < clock_timestamp() - make_interval(secs => @forget::float8)
  AND NOT EXISTS (SELECT FROM run_slots s WHERE s.node_id = n.id AND s.state = 'running')`

// forget deletes the rows of long dead nodes and expired keys, now and then.
func (s *Store) forget(ctx context.Context) error {
	now, last := time.Now().UnixMilli(), s.forgot.Load()
	if now-last < (s.times.Forget/10).Milliseconds() || !s.forgot.CompareAndSwap(last, now) {
		return nil
	}
	var b pgx.Batch
	b.Queue(forgetNodes, pgx.StrictNamedArgs{"forget": s.times.Forget.Seconds()})
	b.Queue(forgetKeys)
	return s.pool.SendBatch(ctx, &b).Close()
}

const strays = `
SELECT s.fence, s.seq, ` + turnColumns + `
FROM run_slots s JOIN turns t ON t.id = s.turn_id JOIN sessions c ON c.id = s.session_id
WHERE s.node_id = @node::text AND s.state = 'running' AND s.taken_at < clock_timestamp() - make_interval(secs => @stray::float8)
  AND (s.turn_id, s.fence) NOT IN (SELECT * FROM unnest(@turns::text[], @fences::bigint[]))
ORDER BY s.session_id`

// Strays lists the running legs of node taken long enough ago that its node
// should know of them, but for the leases that it names; each with the events that its taking wrote, to be adopted
// as if the reply had come.
func (s *Store) Strays(ctx context.Context, node string, known []agent.Lease) ([]agent.Leg, error) {
	turns, fences := make([]string, len(known)), make([]int64, len(known))
	for i, l := range known {
		turns[i], fences[i] = l.Turn, l.Fence
	}
	rows, err := s.pool.Query(ctx, strays, pgx.StrictNamedArgs{"node": node, "stray": s.times.Stray.Seconds(), "turns": turns, "fences": fences})
	if err != nil {
		return nil, wrap("strays", err)
	}
	legs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (agent.Leg, error) {
		var r turnRow
		l := agent.Lease{Node: node}
		var seq int64
		if err := row.Scan(append([]any{&l.Fence, &seq}, r.into()...)...); err != nil {
			return agent.Leg{}, err
		}
		leg, err := r.leg()
		l.Session, l.Turn = leg.Session.ID, leg.Turn.ID
		leg.Lease, leg.Seq = l, seq
		return leg, err
	})
	for i := 0; i < len(legs) && err == nil; i++ {
		err = s.takenEvents(ctx, &legs[i])
	}
	return legs, wrap("strays", err)
}

// takenEvents adds the events that the taking of a leg wrote; a claim writes
// none.
func (s *Store) takenEvents(ctx context.Context, leg *agent.Leg) (err error) {
	leg.Events, err = readEvents(ctx, s.pool, eventsBetween, pgx.StrictNamedArgs{
		"session": leg.Session.ID, "from": leg.Turn.FirstSeq, "to": leg.Turn.FirstSeq + 1, "fence": leg.Lease.Fence,
	})
	if len(leg.Events) > 0 {
		leg.Seq = leg.Events[0].Seq - 1
	}
	return err
}
