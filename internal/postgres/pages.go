package postgres

import (
	"context"
	"math"
	"slices"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// A message that comes before message @before is before the first turn that
// begins after it.
const messagesUntil = `
SELECT seq, last_seq, turn_id, kind, body, at FROM events
WHERE session_id = @session::text AND kind = 'message' AND kind NOT IN ('text.delta', 'reasoning.delta', 'tool.output')
  AND seq < least(@until::bigint, coalesce((
      SELECT min(first_seq) FROM turns WHERE session_id = @session::text AND message_index > @before::integer), @until::bigint))
ORDER BY seq DESC LIMIT @limit::integer`

// MessagesBefore returns up to limit messages of a session, newest first, whose
// index is below before.
func (s *Store) MessagesBefore(ctx context.Context, session string, before, limit int) ([]agent.Event, error) {
	var out []agent.Event
	for until := int64(math.MaxInt64); len(out) < limit; {
		args := sessionArgs(session)
		args["until"], args["before"], args["limit"] = until, before, limit
		rows, err := all(ctx, s.pool, messagesUntil, args, scanMessageRow)
		if err != nil {
			return nil, wrap("read messages", err)
		}
		for _, r := range rows {
			if out, err = appendMessage(out, r, session, -1); err != nil {
				return nil, err
			}
			until = r.Seq
		}
		out = slices.DeleteFunc(out, func(e agent.Event) bool {
			m, _ := e.Body.(agent.Message)
			return m.Index >= before
		})
		if len(rows) < limit {
			break
		}
	}
	return out[:min(len(out), limit)], nil
}

const turnsAfter = `
SELECT ` + turnColumns + `
FROM turns t JOIN sessions c ON c.id = t.session_id LEFT JOIN run_slots s ON s.session_id = t.session_id
WHERE t.session_id = @session::text AND t.first_seq > @from::bigint
ORDER BY t.first_seq LIMIT @limit::integer`

const turnsBefore = `
SELECT ` + turnColumns + `
FROM turns t JOIN sessions c ON c.id = t.session_id LEFT JOIN run_slots s ON s.session_id = t.session_id
WHERE t.session_id = @session::text AND t.first_seq < @from::bigint
ORDER BY t.first_seq DESC LIMIT @limit::integer`

// TurnsAfter returns up to limit turns of a session that begin after a number of
// its journal, oldest first.
func (s *Store) TurnsAfter(ctx context.Context, session string, seq int64, limit int) ([]agent.Turn, error) {
	return s.turnsFrom(ctx, turnsAfter, session, seq, limit)
}

// TurnsBefore returns up to limit turns of a session that begin before a number
// of its journal, newest first.
func (s *Store) TurnsBefore(ctx context.Context, session string, seq int64, limit int) ([]agent.Turn, error) {
	return s.turnsFrom(ctx, turnsBefore, session, seq, limit)
}

func (s *Store) turnsFrom(ctx context.Context, sql, session string, seq int64, limit int) ([]agent.Turn, error) {
	args := sessionArgs(session)
	args["from"], args["limit"] = seq, limit
	list, err := all(ctx, s.pool, sql, args, func(row pgx.CollectableRow) (agent.Turn, error) {
		var r turnRow
		if err := row.Scan(r.into()...); err != nil {
			return agent.Turn{}, err
		}
		leg, err := r.leg()
		return leg.Turn, err
	})
	return list, wrap("turns of session "+session, err)
}
