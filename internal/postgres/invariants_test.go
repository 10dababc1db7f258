package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// invariants are statements that return a row for each thing that is broken.
var invariants = map[string]string{
	"a slot that runs names a node": `SELECT s.session_id FROM run_slots s
		WHERE s.state = 'running' AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = s.node_id)`,
	"a slot and its turn are in the same state": `SELECT s.session_id FROM run_slots s LEFT JOIN turns t ON t.id = s.turn_id
		WHERE s.state <> 'idle' AND (t.id IS NULL OR t.status <> s.state OR t.session_id <> s.session_id OR t.depth <> s.depth)`,
	"a turn that has not ended is in its slot": `SELECT t.id FROM turns t JOIN run_slots s ON s.session_id = t.session_id
		WHERE t.ended_at IS NULL AND s.turn_id IS DISTINCT FROM t.id`,
	"a slot that does not run holds no stop": `SELECT session_id FROM run_slots WHERE state <> 'running' AND stop_at IS NOT NULL`,
	"a turn has ended if and only if it has a turn.ended": `SELECT t.id FROM turns t
		WHERE (t.ended_at IS NOT NULL) <> EXISTS (SELECT FROM events e WHERE e.session_id = t.session_id AND e.turn_id = t.id AND e.kind = 'turn.ended')`,
	"cancelled means that somebody stopped it": `SELECT id FROM turns WHERE ended_at IS NOT NULL AND (stop_reason = 'cancelled') IS DISTINCT FROM (stop IS NOT NULL)
		AND (stop IS NOT NULL OR stop_reason = 'cancelled')`,
	"nothing of a turn comes after its end": `SELECT e.session_id || ' ' || e.seq FROM events e JOIN events x ON x.session_id = e.session_id AND x.turn_id = e.turn_id AND x.kind = 'turn.ended'
		WHERE e.seq > x.seq AND e.kind <> 'action.decided'`,
	"numbers do not overlap": `SELECT a.session_id || ' ' || a.seq FROM (SELECT session_id, seq, lag(last_seq) OVER w AS before FROM events WINDOW w AS (PARTITION BY session_id ORDER BY seq)) a
		WHERE a.before >= a.seq`,
	"fences only grow": `SELECT a.session_id || ' ' || a.seq FROM (SELECT session_id, seq, fence, lag(fence) OVER w AS before FROM events WINDOW w AS (PARTITION BY session_id ORDER BY seq)) a
		WHERE a.before > a.fence`,
	"a slot that nobody owns knows the last number": `SELECT s.session_id FROM run_slots s
		WHERE s.state <> 'running' AND s.seq <> coalesce((SELECT max(last_seq) FROM events e WHERE e.session_id = s.session_id), 0)`,
	"a turn's tokens are those of its calls": `SELECT t.id FROM turns t LEFT JOIN usage u ON u.turn_id = t.id
		GROUP BY t.id HAVING t.output_tokens <> coalesce(sum(u.output_tokens), 0) OR t.input_tokens <> coalesce(sum(u.input_tokens), 0)`,
	"nobody lives on below a turn that has ended": `SELECT c.id FROM turns c JOIN turns p ON p.id = c.parent_turn_id JOIN run_slots s ON s.session_id = c.session_id
		WHERE p.ended_at IS NOT NULL AND c.ended_at IS NULL AND s.stop_at IS NULL`,
	"a waiting turn waits for something": `SELECT s.session_id FROM run_slots s
		WHERE s.state = 'waiting' AND NOT EXISTS (SELECT FROM actions a WHERE a.turn_id = s.turn_id AND a.state = 'open')`,
}

// checkInvariants returns what in a database breaks the protocol's promises.
func checkInvariants(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var broken []error
	for name, sql := range invariants {
		rows, err := conn.Query(ctx, sql)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(found) > 0 {
			broken = append(broken, fmt.Errorf("%s: not so for %v", name, found))
		}
	}
	return errors.Join(broken...)
}
