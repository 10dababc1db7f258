package postgres

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const selectSessions = `
SELECT s.id, s.project_id, s.agent_key, s.owner, s.door, s.title, s.created_at, s.updated_at,
    r.state, r.stop_at IS NOT NULL, coalesce(r.turn_id, ''), coalesce(t.status, ''), coalesce(t.stop_reason, ''), s.metadata
FROM sessions s
JOIN run_slots r ON r.session_id = s.id
LEFT JOIN LATERAL (
    SELECT status, stop_reason FROM turns WHERE session_id = s.id ORDER BY first_seq DESC LIMIT 1
) t ON true`

func scanSession(row pgx.CollectableRow) (i agent.SessionInfo, err error) {
	err = row.Scan(&i.ID, &i.Project, &i.Agent, &i.Owner, &i.Door, &i.Title, &i.CreatedAt, &i.UpdatedAt,
		&i.State, &i.Stopping, &i.Turn, &i.Last, &i.Reason, &i.Metadata)
	return i, err
}

const listSessions = selectSessions + `
WHERE s.project_id = @project::text AND (@agent::text = '' OR s.agent_key = @agent::text)
    AND (s.created_at, s.id) < (@before::timestamptz, @id::text)
ORDER BY s.created_at DESC, s.id DESC LIMIT @limit::integer`

// A statement of its own, so that it is planned for sessions_by_owner.
const listOwnSessions = selectSessions + `
WHERE s.project_id = @project::text AND s.owner = @owner::text AND (@agent::text = '' OR s.agent_key = @agent::text)
    AND (s.created_at, s.id) < (@before::timestamptz, @id::text)
ORDER BY s.created_at DESC, s.id DESC LIMIT @limit::integer`

// Sessions returns a page of sessions, newest first, and the cursor of the next
// page, empty when this is the last. A session that is made or deleted between
// two pages shifts no other. A bad cursor or limit is a *agent.FieldError; no
// limit is 20.
func (s *Store) Sessions(ctx context.Context, f agent.SessionFilter) (list []agent.SessionInfo, next string, err error) {
	limit, err := pageLimit(f.Page.Limit)
	if err != nil {
		return nil, "", err
	}
	from, err := parseCursor(f.Page.Cursor)
	if err != nil {
		return nil, "", err
	}
	args := pgx.StrictNamedArgs{
		"project": f.Project, "agent": clean(f.Agent), "before": from.before, "id": from.id, "limit": limit + 1,
	}
	statement := listSessions
	if f.Owner != "" {
		statement, args["owner"] = listOwnSessions, f.Owner
	}
	list, err = all(ctx, s.pool, statement, args, scanSession)
	if err != nil {
		return nil, "", wrap("list sessions", err)
	}
	if len(list) > limit {
		list = list[:limit]
		last := list[limit-1]
		next = cursor{last.CreatedAt, last.ID}.String()
	}
	return list, next, nil
}

func pageLimit(n int) (int, error) {
	switch {
	case n == 0:
		return 20, nil
	case n < 0 || n > 100:
		return 0, &agent.FieldError{Field: "limit", Message: "must be 1 to 100"}
	}
	return n, nil
}

// cursor is the last session of a page: the next one begins behind it.
type cursor struct {
	before time.Time
	id     string
}

// String returns the cursor in its opaque form. Microseconds are all that the
// database has of a time.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%s", c.before.UnixMicro(), c.id))
}

// endOfTime is later than any session.
var endOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

func parseCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{before: endOfTime}, nil
	}
	bad := &agent.FieldError{Field: "cursor", Message: "must be a cursor from the page before"}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return cursor{}, bad
	}
	micros, id, _ := strings.Cut(string(b), ".")
	n, err := strconv.ParseInt(micros, 10, 64)
	c := cursor{time.UnixMicro(n).UTC(), id}
	if err != nil || n < 0 || c.before.After(endOfTime) || len(id) != 24 || strings.Trim(id, "0123456789abcdef") != "" || c.String() != s {
		return cursor{}, bad
	}
	return c, nil
}

const sessionByID = selectSessions + `
WHERE s.id = @session::text`

// Session returns a session and what its slot says now, whatever its project;
// agent.ErrNotFound.
func (s *Store) Session(ctx context.Context, id string) (agent.SessionInfo, error) {
	i, err := one(ctx, s.pool, sessionByID, sessionArgs(id), scanSession)
	return i, wrap("read session", err)
}

func sessionArgs(id string) pgx.StrictNamedArgs { return pgx.StrictNamedArgs{"session": clean(id)} }

const lockSessionSlot = `
SELECT state, coalesce(turn_id, ''), stop_at IS NOT NULL FROM run_slots WHERE session_id = @session::text FOR UPDATE`

const deleteEvents = `
DELETE FROM events WHERE session_id = @session::text`

// Slot, turns and actions go with the session.
const deleteSession = `
DELETE FROM sessions WHERE id = @session::text`

// DeleteSession deletes a session with its turns, actions and journal; the
// account of its model calls stays. One that is not there is no error.
// *agent.BusyError where a turn is queued or runs; a turn that waits for a
// person goes with its session.
func (s *Store) DeleteSession(ctx context.Context, id string) error {
	return wrap("delete session", s.inTx(ctx, s.pool, func(tx *txn) error {
		var state agent.SlotState
		busy := agent.BusyError{Session: id}
		err := tx.row(ctx, lockSessionSlot, sessionArgs(id), &state, &busy.Turn, &busy.Stopping)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case state == agent.SlotQueued || state == agent.SlotRunning:
			return &busy
		}
		var b pgx.Batch
		b.Queue(deleteEvents, sessionArgs(id))
		b.Queue(deleteSession, sessionArgs(id))
		return tx.send(ctx, &b)
	}))
}

// A turn's user message comes right before its first assistant message, so what
// follows message @after is in the turn found here or later.
const messagesFrom = `
SELECT coalesce(max(first_seq), 0) FROM turns WHERE session_id = @session::text AND message_index <= @after::integer + 1`

const messagesAfter = `
SELECT seq, last_seq, turn_id, kind, body, at FROM events
WHERE session_id = @session::text AND seq >= @from::bigint AND kind = 'message'
ORDER BY seq LIMIT @limit::integer`

// Messages returns up to limit messages of a session in their order, whose index
// is above after (-1: from the first); none where there is no such session.
func (s *Store) Messages(ctx context.Context, session string, after, limit int) ([]agent.Event, error) {
	args := sessionArgs(session)
	args["after"] = after
	from, err := one(ctx, s.pool, messagesFrom, args, pgx.RowTo[int64])
	if err != nil {
		return nil, wrap("read messages", err)
	}
	var out []agent.Event
	for len(out) < limit {
		args := sessionArgs(session)
		args["from"], args["limit"] = from, limit
		rows, err := all(ctx, s.pool, messagesAfter, args, scanMessageRow)
		if err != nil {
			return nil, wrap("read messages", err)
		}
		for _, r := range rows {
			if out, err = appendMessage(out, r, session, after); err != nil {
				return nil, err
			}
			from = r.Last + 1
		}
		if len(rows) < limit {
			break
		}
	}
	return out[:min(len(out), limit)], nil
}

// appendMessage appends the message of a row if its index is above after. The
// index is read here: the database does not look into a body.
func appendMessage(out []agent.Event, r agent.Row, session string, after int) ([]agent.Event, error) {
	events, err := r.Unpack(nil, session)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if m, ok := e.Body.(agent.Message); ok && m.Index > after {
			out = append(out, e)
		}
	}
	return out, nil
}

func scanMessageRow(row pgx.CollectableRow) (r agent.Row, err error) {
	err = row.Scan(&r.Seq, &r.Last, &r.Turn, &r.Kind, &r.Body, &r.At)
	return r, err
}

const latestTurn = `
SELECT ` + turnColumns + `
FROM turns t JOIN sessions c ON c.id = t.session_id LEFT JOIN run_slots s ON s.session_id = t.session_id
WHERE t.id = coalesce(
    (SELECT turn_id FROM run_slots WHERE session_id = @session::text),
    (SELECT id FROM turns WHERE session_id = @session::text ORDER BY first_seq DESC LIMIT 1))`

// LatestTurn returns the turn in a session's slot, else its newest;
// agent.ErrNotFound where there is none.
func (s *Store) LatestTurn(ctx context.Context, session string) (agent.Turn, error) {
	var row turnRow
	if err := s.pool.QueryRow(ctx, latestTurn, sessionArgs(session)).Scan(row.into()...); err != nil {
		return agent.Turn{}, wrap("read latest turn", notFound(err))
	}
	leg, err := row.leg()
	return leg.Turn, wrap("read latest turn", err)
}
