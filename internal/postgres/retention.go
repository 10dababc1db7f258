package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// What retention deletes, it deletes a batch a call, oldest first: each is one
// short transaction that passes over rows somebody holds, so a turn never waits
// for it. The calls say how much they did; less than the batch: nothing is left.

// trimDeltas finds the turns by their own rows, which nobody writes any more, and
// their deltas by number: those of a turn lie between its first event and the
// next turn's. What they said is in the messages.
const trimDeltas = `
WITH ended AS MATERIALIZED (
    SELECT t.id, t.session_id, t.first_seq, (
        SELECT min(n.first_seq) FROM turns n WHERE n.session_id = t.session_id AND n.first_seq > t.first_seq) AS next_seq
    FROM turns t
    WHERE t.ended_at < clock_timestamp() - make_interval(secs => @age::float8) AND t.trimmed_at IS NULL
    ORDER BY t.ended_at LIMIT @batch::integer
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM events e USING ended t
    WHERE e.session_id = t.session_id AND e.seq >= t.first_seq AND (t.next_seq IS NULL OR e.seq < t.next_seq) AND e.turn_id = t.id
      AND e.kind IN ('text.delta', 'reasoning.delta', 'tool.output')
)
UPDATE turns t SET trimmed_at = clock_timestamp() FROM ended WHERE t.id = ended.id`

// TrimDeltas deletes the pieces in which the answers of up to batch turns were
// streamed that ended at least age ago; returns how many turns. The whole
// messages stay, and a replay shows each in one piece.
func (s *Store) TrimDeltas(ctx context.Context, age time.Duration, batch int) (int, error) {
	return s.expire(ctx, trimDeltas, age, batch)
}

const expireDeliveries = `
DELETE FROM deliveries WHERE id IN (
    SELECT id FROM deliveries WHERE ended_at < clock_timestamp() - make_interval(secs => @age::float8)
    ORDER BY ended_at LIMIT @batch::integer FOR UPDATE SKIP LOCKED)`

// ExpireDeliveries deletes deliveries that arrived or were given up at least age
// ago. What became of a run's callback stays with the run.
func (s *Store) ExpireDeliveries(ctx context.Context, age time.Duration, batch int) (int, error) {
	return s.expire(ctx, expireDeliveries, age, batch)
}

const expireAudit = `
DELETE FROM audit WHERE n IN (
    SELECT n FROM audit WHERE at < clock_timestamp() - make_interval(secs => @age::float8)
    ORDER BY at LIMIT @batch::integer FOR UPDATE SKIP LOCKED)`

// ExpireAudit deletes entries of the audit log that are at least age old.
func (s *Store) ExpireAudit(ctx context.Context, age time.Duration, batch int) (int, error) {
	return s.expire(ctx, expireAudit, age, batch)
}

func (s *Store) expire(ctx context.Context, statement string, age time.Duration, batch int) (int, error) {
	tag, err := s.jobs.Exec(ctx, statement, pgx.StrictNamedArgs{"age": age.Seconds(), "batch": batch})
	return int(tag.RowsAffected()), wrap("retention", err)
}

// lockQuietSession locks the slot of the conversation that has been quiet longest.
// One that a person is still asked in, or that somebody is still to be told of,
// is not quiet.
const lockQuietSession = `
SELECT c.id FROM sessions c JOIN run_slots s ON s.session_id = c.id
WHERE c.updated_at < clock_timestamp() - make_interval(secs => @age::float8) AND s.state = 'idle'
  AND NOT EXISTS (
    SELECT FROM turns t WHERE t.session_id = c.id AND t.ended_at >= clock_timestamp() - make_interval(secs => @age::float8))
  AND NOT EXISTS (
    SELECT FROM callbacks k JOIN deliveries d ON d.callback_id = k.id WHERE k.session_id = c.id AND d.status = 'pending')
ORDER BY c.updated_at LIMIT 1
FOR UPDATE OF s SKIP LOCKED`

// deleteQuietSession looks again, with the slot locked: the statement that locked
// it saw the session as it was before it waited.
const deleteQuietSession = `
DELETE FROM sessions WHERE id = @session::text AND updated_at < clock_timestamp() - make_interval(secs => @age::float8)
RETURNING id`

// ExpireSessions deletes up to batch conversations in which nothing has happened
// for age, with their turns, runs and journal, each in a transaction of its own;
// returns how many. The account of model calls and the audit log stay.
func (s *Store) ExpireSessions(ctx context.Context, age time.Duration, batch int) (int, error) {
	for n := range batch {
		gone := false
		err := s.inTx(ctx, s.jobs, func(tx *txn) (err error) {
			gone, err = expireSession(ctx, tx, age)
			return err
		})
		if err != nil || !gone {
			return n, wrap("retention", err)
		}
	}
	return batch, nil
}

func expireSession(ctx context.Context, tx *txn, age time.Duration) (bool, error) {
	args := pgx.StrictNamedArgs{"age": age.Seconds()}
	id, err := one(ctx, tx, lockQuietSession, args, pgx.RowTo[string])
	if errors.Is(err, agent.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	args["session"] = id
	_, err = one(ctx, tx, deleteQuietSession, args, pgx.RowTo[string])
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return false, err
	}
	if err == nil {
		_, err = tx.Exec(ctx, deleteEvents, sessionArgs(id))
		return true, err
	}
	return true, nil
}
