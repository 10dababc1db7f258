package postgres

import (
	"context"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const turnByIndex = `
SELECT ` + turnColumns + `
FROM turns t JOIN sessions c ON c.id = t.session_id LEFT JOIN run_slots s ON s.session_id = t.session_id
WHERE t.session_id = @session::text AND t.message_index = @index::integer`

// TurnAt returns the turn of a session whose first message has an index;
// agent.ErrNotFound.
func (s *Store) TurnAt(ctx context.Context, session string, index int) (agent.Turn, agent.Session, error) {
	args := sessionArgs(session)
	args["index"] = index
	row, err := one(ctx, s.pool, turnByIndex, args, func(row pgx.CollectableRow) (r turnRow, err error) {
		return r, row.Scan(r.into()...)
	})
	if err != nil {
		return agent.Turn{}, agent.Session{}, wrap("turn of session "+session, err)
	}
	leg, err := row.leg()
	return leg.Turn, leg.Session, wrap("turn of session "+session, err)
}

// turnStates says of each turn how it stands and since when. A turn that is
// stopping has its state by the row that asks for it, as whoever stopped it was
// told; one that waited runs again since the decision that its leg goes on from.
const turnStates = `
WITH mine AS (
    SELECT t.*, s.stop_at, s.taken_at, CASE
        WHEN s.stop_at IS NOT NULL OR t.stop_reason = 'cancelled' THEN 'cancelled'
        WHEN t.status = 'incomplete' THEN 'limit'
        WHEN t.status = 'queued' AND t.started_at IS NOT NULL THEN 'running'
        ELSE t.status END AS word
    FROM sessions c JOIN turns t ON t.session_id = c.id
    LEFT JOIN run_slots s ON s.session_id = c.id AND s.turn_id = t.id
    WHERE c.project_id = @project::text AND c.agent_key = @agent::text AND (@owner::text = '' OR c.owner = @owner::text)
      AND (@session::text = '' OR c.id = @session::text) AND t.depth = 0
), dated AS (
    SELECT m.*, date_trunc('milliseconds', CASE
        WHEN m.word = 'cancelled' THEN coalesce(m.stop_at, (m.stop->>'at')::timestamptz, m.ended_at)
        WHEN m.ended_at IS NOT NULL THEN m.ended_at
        WHEN m.word = 'waiting' THEN (SELECT max(e.at) FROM events e WHERE e.turn_id = m.id AND e.kind = 'turn.paused')
        WHEN m.word = 'running' THEN greatest(m.started_at, (
            SELECT max(a.decided_at) FROM actions a WHERE a.turn_id = m.id AND a.decided_at <= coalesce(m.taken_at, 'infinity')))
        ELSE m.created_at END) AS since
    FROM mine m
), wanted AS (
    SELECT d.*, count(*) OVER () AS total FROM dated d
    WHERE (cardinality(@states::text[]) = 0 OR d.word = ANY (@states::text[])) AND d.since >= @since::timestamptz
)
SELECT w.word, w.since, w.total, ` + turnColumns + `
FROM wanted w JOIN turns t ON t.id = w.id JOIN sessions c ON c.id = t.session_id LEFT JOIN run_slots s ON s.session_id = t.session_id
WHERE (w.since, w.id) < (@before::timestamptz, @id::text)
ORDER BY w.since DESC, w.id DESC LIMIT @limit::integer`

// TurnStates returns a page of turns, the latest change first, with how many
// there are and the cursor of the next page, empty at the end. A bad cursor is
// an *agent.FieldError.
func (s *Store) TurnStates(ctx context.Context, f agent.TurnFilter) (list []agent.TurnState, next string, total int, err error) {
	from, err := parseCursor(f.Page.Cursor)
	if err != nil {
		return nil, "", 0, err
	}
	limit, err := pageLimit(f.Page.Limit)
	if err != nil {
		return nil, "", 0, err
	}
	list, err = all(ctx, s.pool, turnStates, pgx.StrictNamedArgs{
		"project": f.Project, "agent": f.Agent, "owner": f.Owner, "session": clean(f.Session),
		"states": append([]string{}, f.States...), "since": f.Since, "before": from.before, "id": from.id, "limit": limit + 1,
	}, func(row pgx.CollectableRow) (x agent.TurnState, err error) {
		var r turnRow
		if err := row.Scan(append([]any{&x.Word, &x.Since, &total}, r.into()...)...); err != nil {
			return x, err
		}
		leg, err := r.leg()
		x.Turn, x.Session = leg.Turn, leg.Session
		return x, err
	})
	if err != nil {
		return nil, "", 0, wrap("list turns", err)
	}
	if len(list) > limit {
		list = list[:limit]
		last := list[limit-1]
		next = cursor{last.Since, last.Turn.ID}.String()
	}
	return list, next, total, nil
}
