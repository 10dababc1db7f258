package postgres

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const sessionState = `CASE WHEN r.state = 'waiting' THEN 'requires_action' WHEN r.stop_at IS NOT NULL THEN 'stopping' ELSE r.state END`

// The first message's body is cut before it is read: it may be of any size. Not
// by the database's JSON functions: it may hold what they refuse.
const selectSessionViews = `
SELECT s.id, s.project_id, s.agent_key, s.owner, s.door, s.title, s.created_at, s.updated_at,
    r.state, r.stop_at IS NOT NULL, coalesce(r.turn_id, ''), coalesce(t.status, ''), coalesce(t.stop_reason, ''),
    coalesce(left((SELECT e.body::text FROM events e WHERE e.session_id = s.id AND e.kind = 'message' ORDER BY e.seq LIMIT 1), 1000), ''),
    coalesce(x.door, ''), coalesce(x.started_by, ''), coalesce(x.background, false), x.created_at,
    coalesce(extract(epoch FROM clock_timestamp() - x.created_at), 0)::float8, coalesce(n.label, ''),
    r.stop_at, coalesce(r.stop_by, ''), coalesce(r.stop_door, ''), coalesce(r.stop_node, ''), coalesce(r.stop_detail, '')
FROM sessions s
JOIN run_slots r ON r.session_id = s.id
LEFT JOIN turns x ON x.id = r.turn_id
LEFT JOIN nodes n ON n.id = r.node_id
LEFT JOIN LATERAL (
    SELECT status, stop_reason FROM turns WHERE session_id = s.id ORDER BY first_seq DESC LIMIT 1
) t ON true`

func scanSessionView(row pgx.CollectableRow) (v agent.SessionView, err error) {
	var first string
	var live agent.LiveTurn
	var since, stopAt *time.Time
	var age float64
	var stop agent.Stop
	err = row.Scan(&v.ID, &v.Project, &v.Agent, &v.Owner, &v.Door, &v.Title, &v.CreatedAt, &v.UpdatedAt,
		&v.State, &v.Stopping, &v.Turn, &v.Last, &v.Reason, &first,
		&live.Door, &live.By, &live.Background, &since, &age, &live.Node,
		&stopAt, &stop.By, &stop.Door, &stop.Node, &stop.Detail)
	v.Preview = preview(first)
	if v.Turn != "" {
		live.ID, live.Since, live.Age = v.Turn, deref(since), seconds(age)
		if stopAt != nil {
			stop.At = *stopAt
			live.Stop = &stop
		}
		v.Live = &live
	}
	return v, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// preview returns the first words of a message, of whose body the end may be cut
// off.
func preview(body string) string {
	d := json.NewDecoder(bytes.NewReader([]byte(body)))
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return cutPreview(body)
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		case "content":
			var text string
			if depth == 1 && d.Decode(&text) == nil {
				return oneLine(text)
			}
			return cutPreview(body)
		}
	}
}

// cutPreview reads what there is of a content that is cut off.
func cutPreview(body string) string {
	_, rest, ok := strings.Cut(body, `"content":"`)
	if !ok {
		return ""
	}
	for n := len(rest); n > 0 && n > len(rest)-13; n-- { // no escape is longer
		var text string
		if json.Unmarshal([]byte(`"`+rest[:n]+`"`), &text) == nil {
			return oneLine(text)
		}
	}
	return ""
}

const previewLength = 140 // runes

func oneLine(text string) string {
	words := []rune(strings.Join(strings.Fields(text), " "))
	if len(words) > previewLength {
		return string(words[:previewLength]) + "…"
	}
	return string(words)
}

const sessionFilter = `
    AND (@agent::text = '' OR s.agent_key = @agent::text) AND (@door::text = '' OR s.door = @door::text)
    AND (@state::text = '' OR ` + sessionState + ` = @state::text) AND (@reason::text = '' OR t.stop_reason = @reason::text)
    AND (s.created_at, s.id) < (@before::timestamptz, @id::text)
ORDER BY s.created_at DESC, s.id DESC LIMIT @limit::integer`

const listSessionViews = selectSessionViews + `
WHERE s.project_id = @project::text` + sessionFilter

const listOwnSessionViews = selectSessionViews + `
WHERE s.project_id = @project::text AND s.owner = @owner::text` + sessionFilter

// SessionViews returns a page of sessions, newest first, and the cursor of the
// next, as Sessions does.
func (s *Store) SessionViews(ctx context.Context, q agent.SessionQuery) (list []agent.SessionView, next string, err error) {
	limit, err := pageLimit(q.Page.Limit)
	if err != nil {
		return nil, "", err
	}
	from, err := parseCursor(q.Page.Cursor)
	if err != nil {
		return nil, "", err
	}
	args := pgx.StrictNamedArgs{
		"project": q.Project, "agent": clean(q.Agent), "door": clean(string(q.Door)), "state": clean(q.State), "reason": clean(q.StopReason),
		"before": from.before, "id": from.id, "limit": limit + 1,
	}
	statement := listSessionViews
	if q.Owner != "" {
		statement, args["owner"] = listOwnSessionViews, clean(q.Owner)
	}
	list, err = all(ctx, s.pool, statement, args, scanSessionView)
	if err != nil {
		return nil, "", wrap("list sessions", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = cursor{list[limit-1].CreatedAt, list[limit-1].ID}.String()
	}
	return list, next, nil
}

const sessionViewByID = selectSessionViews + `
WHERE s.id = @session::text`

// SessionView returns a session, whatever its project; agent.ErrNotFound.
func (s *Store) SessionView(ctx context.Context, id string) (agent.SessionView, error) {
	v, err := one(ctx, s.pool, sessionViewByID, sessionArgs(id), scanSessionView)
	return v, wrap("read session", err)
}

const sessionsByIDs = selectSessions + `
WHERE s.id = ANY (@ids::text[])`

// SessionsOf returns those of some sessions that are there, whatever their
// project, in no order.
func (s *Store) SessionsOf(ctx context.Context, ids []string) ([]agent.SessionInfo, error) {
	list, err := all(ctx, s.pool, sessionsByIDs, pgx.StrictNamedArgs{"ids": cleanAll(ids)}, scanSession)
	return list, wrap("read sessions", err)
}

const slotSeq = `
SELECT seq FROM run_slots WHERE session_id = @session::text`

const transcriptBefore = `
SELECT session_id, seq, last_seq, turn_id, kind, body, at, false, 0::bigint FROM events
WHERE session_id = @session::text AND seq <= @to::bigint AND kind NOT IN ('text.delta', 'reasoning.delta', 'tool.output')
ORDER BY seq DESC LIMIT @limit::integer`

// TranscriptPage returns the last limit events numbered below before (0: all) of
// a session, deltas left out, in their order; and the number up to which a
// journal is whole whoever writes it now: events above it are to be followed.
// None of them is in the page. agent.ErrNotFound.
func (s *Store) TranscriptPage(ctx context.Context, session string, before int64, limit int) (events []agent.Event, whole int64, err error) {
	whole, err = one(ctx, s.pool, slotSeq, sessionArgs(session), pgx.RowTo[int64])
	if err != nil {
		return nil, 0, wrap("transcript of session "+session, err)
	}
	args := sessionArgs(session)
	args["to"], args["limit"] = whole, limit
	if before > 0 {
		args["to"] = min(whole, before-1)
	}
	rows, err := all(ctx, s.pool, transcriptBefore, args, scanRow)
	for i := len(rows) - 1; err == nil && i >= 0; i-- {
		events, err = rows[i].Unpack(events, session)
	}
	return events, whole, wrap("transcript of session "+session, err)
}

// numberCursor is a cursor of lists that are ordered by one number.
func numberCursor(n int64) string {
	return base64.RawURLEncoding.EncodeToString(strconv.AppendInt(nil, n, 10))
}

func parseNumberCursor(s string) (int64, error) {
	if s == "" {
		return 1<<63 - 1, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	n, nerr := strconv.ParseInt(string(b), 10, 64)
	if err != nil || nerr != nil || n < 0 {
		return 0, &agent.FieldError{Field: "cursor", Message: "must be a cursor from the page before"}
	}
	return n, nil
}
