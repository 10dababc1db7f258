package postgres

import (
	"context"
	"slices"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// lockTree locks the slots of all live turns below one, parents first: the order
// in which everybody locks several slots.
const lockTree = `
WITH RECURSIVE tree AS (
    SELECT id, session_id FROM turns WHERE parent_turn_id = @turn::text AND ended_at IS NULL
    UNION ALL
    SELECT t.id, t.session_id FROM tree p JOIN turns t ON t.parent_turn_id = p.id WHERE t.ended_at IS NULL
)
SELECT ` + slotColumns + `
FROM tree JOIN run_slots s ON s.session_id = tree.session_id AND s.turn_id = tree.id
WHERE s.state <> 'idle'
ORDER BY s.depth, s.session_id
FOR UPDATE OF s`

func queueTree(batch *pgx.Batch, turn string, out *[]slot) {
	batch.Queue(lockTree, pgx.StrictNamedArgs{"turn": turn}).Query(func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, scanSlot)
		return err
	})
}

func scanSlot(row pgx.CollectableRow) (s slot, err error) {
	return s, row.Scan(s.into()...)
}

// withTree closes the leg in root and stops what lives below.
func (e *ender) withTree(ctx context.Context, root *slot, leg func() (agent.Stop, error)) error {
	turn, depth := root.turn, root.depth
	var tree []slot
	var batch pgx.Batch
	queueTree(&batch, turn, &tree)
	if err := e.tx.send(ctx, &batch); err != nil {
		return err
	}
	below, err := leg()
	if err != nil {
		return err
	}
	return e.stopTree(ctx, turn, depth, tree, below)
}

// stopTree stops all live turns below one that is stopped or closed. below is
// the stop of its children; deeper ones are stopped because theirs are.
//
// A turn below may have begun a child while its slot's lock was waited for, which
// the statement that waited can't see; so it is looked again until nothing new
// is found, with every parent's lock held.
func (e *ender) stopTree(ctx context.Context, turn string, depth int, tree []slot, below agent.Stop) error {
	done := map[string]bool{}
	for len(tree) > 0 {
		for i := range tree {
			done[tree[i].session] = true
			stop := below
			if tree[i].depth > depth+1 {
				stop.Detail = agent.DetailParentStopped
			}
			if err := e.stopOne(ctx, &tree[i], stop, true); err != nil {
				return err
			}
		}
		var batch pgx.Batch
		queueTree(&batch, turn, &tree)
		if err := e.tx.send(ctx, &batch); err != nil {
			return err
		}
		tree = slices.DeleteFunc(tree, func(s slot) bool { return done[s.session] })
	}
	return nil
}

// stopOne stops the turn in a locked slot, whatever its state, but nothing
// below it.
func (e *ender) stopOne(ctx context.Context, sl *slot, stop agent.Stop, withdraw bool) error {
	e.turns = append(e.turns, sl.turn)
	switch {
	case sl.state != agent.SlotRunning:
		_, err := e.endIdle(ctx, sl, stop, withdraw)
		return err
	case sl.ownerless:
		if sl.asked() == nil {
			sl.stop, sl.stopAt = stop, &stop.At
		}
		_, err := e.settleForOther(ctx, sl, withdraw)
		return err
	}
	e.notify = append(e.notify, sl.node)
	e.ask(sl, stop, withdraw)
	return nil
}

// writeStop merges: the first stop stays, a later one is answered like it.
const writeStop = `
UPDATE run_slots SET stop_at = @at::timestamptz, stop_by = @by::text, stop_door = @door::text, stop_node = @node::text,
    stop_detail = nullif(@detail::text, '')
WHERE session_id = @session::text AND stop_at IS NULL`

// ask writes the stop of a turn that a living node runs. Withdrawn actions are
// told by the owner's closing, and counted once the transaction is committed.
func (e *ender) ask(sl *slot, stop agent.Stop, withdraw bool) {
	var batch pgx.Batch
	batch.Queue(writeStop, pgx.StrictNamedArgs{
		"session": sl.session, "at": stop.At, "by": stop.By, "door": stop.Door, "node": clean(stop.Node), "detail": stop.Detail,
	})
	args := pgx.StrictNamedArgs{"turn": sl.turn, "by": stop.By, "now": sl.now, "approvals": withdraw}
	batch.Queue(withdrawActions, args).Exec(func(tag pgconn.CommandTag) error {
		e.actions += int(tag.RowsAffected())
		return nil
	})
	e.tx.later(&batch)
}

const readFinished = `
SELECT session_id, seq, last_seq, turn_id, kind, body, at, false, 0::bigint FROM events
WHERE session_id = @session::text AND turn_id = @turn::text AND kind = 'tool.finished'
ORDER BY seq`

// endIdle stops the turn in a slot that nobody owns: queued or waiting. It returns
// the stop for what lives below.
func (e *ender) endIdle(ctx context.Context, sl *slot, stop agent.Stop, withdraw bool) (agent.Stop, error) {
	return e.endIdleAs(ctx, sl, agent.Outcome{Kind: agent.Stopped, Detail: stop.Detail, Stop: &stop}, withdraw)
}

// endIdleAs is endIdle for any outcome.
func (e *ender) endIdleAs(ctx context.Context, sl *slot, o agent.Outcome, withdraw bool) (agent.Stop, error) {
	var f facts
	var left remains
	var batch pgx.Batch
	f.queue(&batch, sl.session, sl.turn)
	batch.Queue(readFinished, pgx.StrictNamedArgs{"session": sl.session, "turn": sl.turn}).Query(left.collect)
	if err := e.tx.send(ctx, &batch); err != nil {
		return agent.Stop{}, err
	}
	x := ending{outcome: o, fence: sl.fence + 1, seq: sl.seq}
	e.actions += f.withdraw(&x, stopBy(o), withdraw)
	if err := e.tellDecisions(ctx, *sl, &f, &x); err != nil {
		return agent.Stop{}, err
	}
	x.say(agent.LastWords(sl.lease(), x.seq, o, nil, f.total, left.done(), nil, sl.now)...)
	if err := e.close(sl, &f, x); err != nil {
		return agent.Stop{}, err
	}
	sl.fence, sl.seq = x.fence, x.seq
	return f.below(o, sl.now), nil
}
