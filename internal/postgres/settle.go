package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// lockLeg locks the slot of a leg that runs.
const lockLeg = `
SELECT ` + slotColumns + `
FROM run_slots s
WHERE s.session_id = @session::text AND s.turn_id = @turn::text AND s.fence = @fence::bigint AND s.state = 'running'
FOR UPDATE OF s`

func queueLockLeg(batch *pgx.Batch, l agent.Lease, sl *slot, found *bool) {
	batch.Queue(lockLeg, pgx.StrictNamedArgs{"session": l.Session, "turn": l.Turn, "fence": l.Fence}).QueryRow(into(sl.into(), found))
}

// Settle closes a leg for its owner: outcome, unstored events, usage, end and
// slot in one transaction, and all live turns below are told to stop.
// agent.ErrLeaseLost when others closed it; settling again what this lease has
// settled returns how it ended. agent.ErrGoOn, with nothing written, when the
// leg would pause and nothing is open any more.
func (s *Store) Settle(ctx context.Context, l agent.Lease, c agent.Closing) (agent.Closed, error) {
	var closed agent.Closed
	err := s.inTx(ctx, s.settle, func(tx *txn) error {
		var err error
		closed, err = settle(ctx, tx, l, c)
		return err
	})
	if errors.Is(err, errNoSlot) {
		closed, err = s.settled(ctx, l)
	}
	if err != nil {
		return agent.Closed{}, wrap("settle "+l.String(), err)
	}
	return closed, nil
}

func settle(ctx context.Context, tx *txn, l agent.Lease, c agent.Closing) (agent.Closed, error) {
	var sl slot
	var found bool
	e := ender{tx: tx}
	var f facts
	var batch pgx.Batch
	queueLockLeg(&batch, l, &sl, &found)
	f.queue(&batch, l.Session, l.Turn)
	var tree []slot
	queueTree(&batch, l.Turn, &tree)
	if err := tx.send(ctx, &batch); err != nil {
		return agent.Closed{}, err
	}
	if !found {
		return agent.Closed{}, errNoSlot
	}
	stop := sl.asked()
	if stop == nil && c.Stop != nil {
		stop = new(*c.Stop)
		stop.At = sl.now
		if stop.Detail == "" { // the caller's own write comes too late and finds the turn ended
			auditStop(tx, l.Session, l.Turn, *stop)
		}
	}
	o, ok := agent.Decide(stop, len(f.open()), c.End)
	if !ok {
		return agent.Closed{}, agent.ErrGoOn
	}
	x := ending{outcome: o, fence: sl.fence, owner: true, path: c.Path, seq: lastNumber(sl, c), rows: c.Rows, usage: f.fresh(c.Usage), messages: nextMessage(c)}
	if o.Kind != agent.Waiting {
		f.withdraw(&x, stopBy(o), o.Kind != agent.Stopped)
	}
	if err := e.tellDecisions(ctx, sl, &f, &x); err != nil {
		return agent.Closed{}, err
	}
	x.say(agent.LastWords(l, x.seq, o, c.Draft, f.total.Add(sum(x.usage)), c.Tools, f.open(), sl.now)...)
	below := f.below(o, sl.now)
	if err := e.close(&sl, &f, x); err != nil {
		return agent.Closed{}, err
	}
	err := e.stopTree(ctx, l.Turn, sl.depth, tree, below)
	return agent.Closed{Outcome: o, Events: x.events, Notify: e.notify}, err
}

// lastNumber is the last number that the leg has used.
func lastNumber(sl slot, c agent.Closing) int64 {
	n := max(c.Seq, sl.seq)
	if len(c.Rows) > 0 {
		n = max(n, c.Rows[len(c.Rows)-1].Last)
	}
	return n
}

// nextMessage is the index of the message after those that a closing brings; 0
// when it brings none.
func nextMessage(c agent.Closing) int {
	next := 0
	if c.Draft != nil {
		next = c.Draft.Index + 1
	}
	for _, r := range c.Rows {
		var m struct{ Index int }
		if r.Kind == agent.KindMessage && json.Unmarshal(r.Body, &m) == nil {
			next = max(next, m.Index+1)
		}
	}
	return next
}

// readClosed finds what the closing transaction of a lease wrote itself: events
// of one time, the last of which closes the leg. Whoever closes a leg for another
// writes under the next fence.
const readClosed = `
SELECT e.session_id, e.seq, e.last_seq, e.turn_id, e.kind, e.body, e.at, false, 0::bigint
FROM turns t
JOIN events x ON x.session_id = t.session_id AND x.seq >= t.first_seq AND x.turn_id = t.id AND x.fence = t.closed_fence
    AND x.kind IN ('turn.ended', 'turn.paused')
JOIN events e ON e.session_id = t.session_id AND e.seq BETWEEN t.first_seq AND x.seq AND e.fence = t.closed_fence AND e.at = x.at
WHERE t.id = @turn::text AND t.session_id = @session::text AND t.closed_fence = @fence::bigint
ORDER BY e.seq`

// settled answers a settle that found its leg closed.
func (s *Store) settled(ctx context.Context, l agent.Lease) (agent.Closed, error) {
	events, err := readEvents(ctx, s.settle, readClosed, pgx.StrictNamedArgs{"turn": l.Turn, "session": l.Session, "fence": l.Fence})
	if err != nil {
		return agent.Closed{}, err
	}
	if n := len(events); n > 0 {
		return agent.Closed{Outcome: outcomeOf(events[n-1].Body), Events: events}, nil
	}
	return agent.Closed{}, agent.ErrLeaseLost
}

// outcomeOf reads an outcome back from the event that closed the leg.
func outcomeOf(b agent.Body) agent.Outcome {
	end, ok := b.(agent.TurnEnded)
	if !ok {
		return agent.Outcome{Kind: agent.Waiting}
	}
	o := agent.Outcome{Kind: agent.Failed, Detail: end.StopDetail, Stop: end.Stop, Failure: end.Error}
	switch {
	case end.Status == agent.StatusCompleted:
		o.Kind = agent.Answered
	case end.StopReason == agent.ReasonCancelled:
		o.Kind = agent.Stopped
	case end.StopReason == agent.ReasonLimit:
		o.Kind = agent.Limited
	case end.Error != nil && end.Error.Code == agent.CodeWorkerLost:
		o.Kind = agent.Lost
	}
	return o
}
