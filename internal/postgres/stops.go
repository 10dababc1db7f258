package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const findSlot = `
SELECT ` + slotColumns + `,
    c.id, c.project_id, c.agent_key, c.owner, c.door, c.title, c.created_at, c.updated_at
FROM run_slots s JOIN sessions c ON c.id = s.session_id
WHERE s.session_id = @session::text`

// Find returns the session's slot as it is; agent.ErrNotFound.
func (s *Store) Find(ctx context.Context, session string) (agent.Found, error) {
	f, err := s.find(ctx, findSlot, pgx.StrictNamedArgs{"session": session})
	return f, wrap("find session "+session, err)
}

const findTurnsSlot = `
SELECT ` + slotColumns + `,
    c.id, c.project_id, c.agent_key, c.owner, c.door, c.title, c.created_at, c.updated_at
FROM turns t JOIN sessions c ON c.id = t.session_id JOIN run_slots s ON s.session_id = c.id
WHERE t.id = @turn::text`

// FindTurn returns the slot of a turn's session, as an idle one where the turn
// is not in it; agent.ErrNotFound.
func (s *Store) FindTurn(ctx context.Context, turn string) (agent.Found, error) {
	f, err := s.find(ctx, findTurnsSlot, pgx.StrictNamedArgs{"turn": turn})
	if err != nil {
		return agent.Found{}, wrap("find turn "+turn, err)
	}
	if f.Lease.Turn != turn {
		f.Lease, f.State = agent.Lease{Session: f.Session.ID}, agent.SlotIdle
	}
	return f, nil
}

func (s *Store) find(ctx context.Context, sql string, args pgx.StrictNamedArgs) (agent.Found, error) {
	var sl slot
	var c agent.Session
	dst := append(sl.into(), &c.ID, &c.Project, &c.Agent, &c.Owner, &c.Door, &c.Title, &c.CreatedAt, &c.UpdatedAt)
	if err := s.pool.QueryRow(ctx, sql, args).Scan(dst...); err != nil {
		return agent.Found{}, notFound(err)
	}
	return agent.Found{Session: c, Lease: sl.lease(), State: sl.state}, nil
}

// Stop writes a stop of that very turn into its slot, and of all live turns
// below, or ends them where no living node runs them. The turn's open questions
// are answered "no" with it; withdraw does so with approvals, those that earlier
// turns of the session have left too, and without it a turn that waits for one is
// left as it is. A turn that has left its slot is read again for how it ended. A
// stop of a turn that is stopping already is answered like the first. Whoever runs
// one of the turns is named in Notify and not told here.
func (s *Store) Stop(ctx context.Context, session, turn string, st agent.Stop, withdraw bool) (agent.StopResult, error) {
	var res agent.StopResult
	var e ender
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		e = ender{tx: tx}
		var err error
		res, err = e.stop(ctx, session, turn, st, withdraw)
		return err
	})
	res.Actions = e.actions
	if errors.Is(err, errNoSlot) {
		res, err = s.howItEnded(ctx, session, turn)
		if err == nil && withdraw && res.Cancelled {
			res.Actions, err = s.withdrawLeft(ctx, session, turn, st.By)
		}
	}
	if err != nil {
		return agent.StopResult{}, wrap("stop turn "+turn, err)
	}
	return res, nil
}

const lockTurnsSlot = `
SELECT ` + slotColumns + `
FROM run_slots s WHERE s.session_id = @session::text AND s.turn_id = @turn::text
FOR UPDATE OF s`

// countAsked counts the approvals that a turn asks for, and what earlier turns of
// its session have left open.
const countAsked = `
SELECT count(*) FILTER (WHERE turn_id = @turn::text AND type = 'approval'), count(*) FILTER (WHERE turn_id <> @turn::text)
FROM actions WHERE session_id = @session::text AND state = 'open'`

func (e *ender) stop(ctx context.Context, session, turn string, st agent.Stop, withdraw bool) (agent.StopResult, error) {
	var sl slot
	var found bool
	var tree []slot
	var batch pgx.Batch
	var approvals, left int
	batch.Queue(lockTurnsSlot, pgx.StrictNamedArgs{"session": session, "turn": turn}).QueryRow(into(sl.into(), &found))
	batch.Queue(countAsked, pgx.StrictNamedArgs{"session": session, "turn": turn}).QueryRow(into([]any{&approvals, &left}, new(bool)))
	queueTree(&batch, turn, &tree)
	if err := e.tx.send(ctx, &batch); err != nil {
		return agent.StopResult{}, err
	}
	switch {
	case !found:
		return agent.StopResult{}, errNoSlot
	case sl.state == agent.SlotWaiting && !withdraw && approvals > 0:
		return agent.StopResult{}, nil
	}
	st.At = sl.now
	if sl.asked() == nil {
		auditStop(e.tx, session, turn, st)
	}
	below := st
	below.Detail = agent.DetailParentStopped
	if err := e.stopOne(ctx, &sl, st, withdraw); err != nil {
		return agent.StopResult{}, err
	}
	if err := e.stopTree(ctx, turn, sl.depth, tree, below); err != nil {
		return agent.StopResult{}, err
	}
	ended := sl.state != agent.SlotRunning || sl.ownerless
	if withdraw && left > 0 {
		if ended {
			sl.state = agent.SlotIdle
		}
		if err := e.withdrawLeft(ctx, &sl, turn, "", st.By); err != nil {
			return agent.StopResult{}, err
		}
	}
	return agent.StopResult{Cancelled: true, Turns: e.turns, Ended: ended, Notify: e.notify}, nil
}

const readEnd = `
SELECT coalesce(stop_reason, ''), ended_at IS NOT NULL FROM turns WHERE id = @turn::text AND session_id = @session::text`

// howItEnded answers a stop whose turn has left its slot.
func (s *Store) howItEnded(ctx context.Context, session, turn string) (agent.StopResult, error) {
	var reason string
	var ended bool
	err := s.pool.QueryRow(ctx, readEnd, pgx.StrictNamedArgs{"turn": turn, "session": session}).Scan(&reason, &ended)
	switch {
	case err != nil:
		return agent.StopResult{}, notFound(err)
	case !ended:
		return agent.StopResult{}, fmt.Errorf("%w: turn %s was changing", agent.ErrUnavailable, turn)
	case reason != agent.ReasonCancelled:
		return agent.StopResult{Ended: true}, nil
	}
	return agent.StopResult{Cancelled: true, Ended: true, Turns: []string{turn}}, nil
}

const askedOfNode = `
SELECT session_id, turn_id, fence, stop_at, coalesce(stop_by, ''), coalesce(stop_door, ''), coalesce(stop_node, ''), coalesce(stop_detail, ''),
    extract(epoch FROM clock_timestamp() - stop_at)::float8
FROM run_slots
WHERE node_id = @node::text AND state = 'running' AND stop_at IS NOT NULL
ORDER BY session_id`

// Asked lists the running legs of a node that are asked to stop. It has a
// connection of its own, and a limit.
func (s *Store) Asked(ctx context.Context, node string) ([]agent.Asked, error) {
	var out []agent.Asked
	err := s.watch.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, askedOfNode, pgx.StrictNamedArgs{"node": node})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (agent.Asked, error) {
			a := agent.Asked{Lease: agent.Lease{Node: node}}
			var age float64
			err := row.Scan(&a.Lease.Session, &a.Lease.Turn, &a.Lease.Fence, &a.Stop.At, &a.Stop.By, &a.Stop.Door, &a.Stop.Node, &a.Stop.Detail, &age)
			a.Age = time.Duration(age * float64(time.Second))
			return a, err
		})
		return err
	})
	return out, wrap("stop watch", err)
}

// Withdraw answers "no" what turns that have ended left open in a session: that of
// one turn, or of all where none is named. It returns how many there were.
func (s *Store) Withdraw(ctx context.Context, session, turn, by string) (int, error) {
	n, err := s.withdrawLeft(ctx, session, turn, by)
	return n, wrap("withdraw requests of session "+session, err)
}

const lockSlot = `
SELECT ` + slotColumns + `
FROM run_slots s WHERE s.session_id = @session::text
FOR UPDATE OF s`

func (s *Store) withdrawLeft(ctx context.Context, session, turn, by string) (n int, err error) {
	err = s.inTx(ctx, s.pool, func(tx *txn) error {
		var sl slot
		e := ender{tx: tx}
		if err := tx.row(ctx, lockSlot, pgx.StrictNamedArgs{"session": session}, sl.into()...); err != nil {
			return notFound(err)
		}
		defer func() { n = e.actions }()
		return e.withdrawLeft(ctx, &sl, sl.turn, turn, by)
	})
	return n, err
}

// readLeft reads the open actions of a session but for those of the turn in its
// slot.
const readLeft = `
SELECT ` + actionColumns + `
FROM actions a
WHERE a.session_id = @session::text AND a.state = 'open' AND a.turn_id <> @but::text AND (@turn::text = '' OR a.turn_id = @turn::text)
ORDER BY a.n`

// withdrawLeft answers "no" what ended turns left open: but is the turn in the
// slot, whose own actions are not among them; only those of turn where it is named.
func (e *ender) withdrawLeft(ctx context.Context, sl *slot, but, turn, by string) error {
	left, err := all(ctx, e.tx, readLeft, pgx.StrictNamedArgs{"session": sl.session, "but": but, "turn": turn},
		func(row pgx.CollectableRow) (agent.Action, error) { return scanAction(row) })
	for _, a := range left {
		a.State, a.DecidedBy, a.DecidedAt = agent.ActionWithdrawn, by, sl.now
		if err := writeDecision(e.tx, sl, a, false); err != nil {
			return err
		}
		e.actions++
	}
	return err
}
