package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// columns are rows of events as arrays, to be inserted by one statement. Bodies
// are text on the wire: json as such would be sent as bytea in some query modes.
type columns struct {
	batch      []int32 // which batch of an append the row is of
	seq, last  []int64
	turn, kind []string
	body       []string
	at         []time.Time
}

func (c *columns) add(batch int, rows []agent.Row) {
	for _, r := range rows {
		c.batch = append(c.batch, int32(batch))
		c.seq, c.last = append(c.seq, r.Seq), append(c.last, r.Last)
		c.turn, c.kind = append(c.turn, r.Turn), append(c.kind, string(r.Kind))
		c.body, c.at = append(c.body, string(r.Body)), append(c.at, r.At)
	}
}

func (c *columns) args(args pgx.StrictNamedArgs) pgx.StrictNamedArgs {
	args["seq"], args["last"], args["turn"], args["kind"] = c.seq, c.last, c.turn, c.kind
	args["body"], args["at"] = c.body, c.at
	return args
}

// insertRows stores rows that may be stored already.
const insertRows = insertEvents + `
ON CONFLICT (session_id, seq) DO NOTHING`

// insertEvents stores rows whose numbers this transaction has given out itself:
// one that is taken is a fault, and so is a second end of a turn.
const insertEvents = `
INSERT INTO events (session_id, seq, last_seq, turn_id, fence, kind, body, at)
SELECT @session::text, e.seq, e.last_seq, e.turn_id, @fence::bigint, e.kind, e.body::json, e.at
FROM unnest(@seq::bigint[], @last::bigint[], @turn::text[], @kind::text[], @body::text[], @at::timestamptz[])
    AS e (seq, last_seq, turn_id, kind, body, at)`

func queueRows(batch *pgx.Batch, sql, session string, fence int64, rows []agent.Row) {
	if len(rows) == 0 {
		return
	}
	var c columns
	c.add(0, rows)
	batch.Queue(sql, c.args(pgx.StrictNamedArgs{"session": session, "fence": fence}))
}

func queueEvents(batch *pgx.Batch, sql, session string, fence int64, events []agent.Event) error {
	rows, err := agent.Pack(events)
	queueRows(batch, sql, session, fence, rows)
	return err
}

// number makes events of a turn with the numbers after seq, at the time the slot
// was locked.
func number(sl slot, turn string, seq int64, bodies []agent.Body) []agent.Event {
	out := make([]agent.Event, len(bodies))
	for i, b := range bodies {
		out[i] = agent.Event{Session: sl.session, Seq: seq + 1 + int64(i), Turn: turn, Body: b, At: sl.now}
	}
	return out
}

// appendRows locks the slots whose leases hold in the statement that writes, so
// no leg can be closed between the check and the write; slots that are locked by
// a closing are skipped, so one session never holds up the others. k is what was
// locked, not what was inserted: a retry inserts nothing.
const appendRows = `
WITH lease AS (
    SELECT * FROM unnest(@sessions::text[], @turns::text[], @fences::bigint[]) WITH ORDINALITY AS l (session_id, turn_id, fence, n)
), k AS (
    SELECT s.session_id, s.fence, l.n
    FROM lease l JOIN run_slots s ON s.session_id = l.session_id AND s.turn_id = l.turn_id AND s.fence = l.fence
    WHERE s.state = 'running'
    ORDER BY s.session_id
    FOR SHARE OF s SKIP LOCKED
), stored AS (
    INSERT INTO events (session_id, seq, last_seq, turn_id, fence, kind, body, at)
    SELECT k.session_id, e.seq, e.last_seq, e.turn_id, k.fence, e.kind, e.body::json, e.at
    FROM unnest(@batch::integer[], @seq::bigint[], @last::bigint[], @turn::text[], @kind::text[], @body::text[], @at::timestamptz[])
        AS e (n, seq, last_seq, turn_id, kind, body, at) JOIN k ON k.n = e.n
    ON CONFLICT (session_id, seq) DO NOTHING
)
SELECT n FROM k`

// Append stores the rows of those batches whose lease holds, in one statement,
// and says for each whether it was stored. One that was not is locked by
// somebody for the moment, or has lost its lease: Look tells which.
func (s *Store) Append(ctx context.Context, batches []agent.Batch) ([]bool, error) {
	stored := make([]bool, len(batches))
	var c columns
	var sessions, turns []string
	var fences []int64
	for i, b := range batches {
		c.add(i+1, b.Rows)
		sessions, turns = append(sessions, b.Lease.Session), append(turns, b.Lease.Turn)
		fences = append(fences, b.Lease.Fence)
	}
	args := c.args(pgx.StrictNamedArgs{"sessions": sessions, "turns": turns, "fences": fences, "batch": c.batch})
	rows, err := s.pool.Query(ctx, appendRows, args)
	if err != nil {
		return nil, wrap("append", err)
	}
	kept, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	for _, n := range kept {
		stored[n-1] = true
	}
	if err != nil {
		return nil, wrap("append", err)
	}
	return stored, nil
}

// recordRows is a fenced write that also needs that nobody asked to stop: what
// it records may begin only then.
const recordRows = `
WITH k AS (
    SELECT session_id, turn_id, fence FROM run_slots
    WHERE session_id = @session::text AND turn_id = @owner::text AND fence = @fence::bigint AND state = 'running' AND stop_at IS NULL
    FOR SHARE
), stored AS (
    INSERT INTO events (session_id, seq, last_seq, turn_id, fence, kind, body, at)
    SELECT k.session_id, e.seq, e.last_seq, e.turn_id, k.fence, e.kind, e.body::json, e.at
    FROM unnest(@seq::bigint[], @last::bigint[], @turn::text[], @kind::text[], @body::text[], @at::timestamptz[])
        AS e (seq, last_seq, turn_id, kind, body, at), k
    ON CONFLICT (session_id, seq) DO NOTHING
), opened AS (
    INSERT INTO actions (id, session_id, turn_id, call_id, type, name, arguments, expires_at)
    SELECT a.id, k.session_id, k.turn_id, a.call_id, a.type, a.name, a.arguments::json,
        clock_timestamp() + make_interval(secs => nullif(a.lasts, 0))
    FROM unnest(@ids::text[], @calls::text[], @types::text[], @names::text[], @arguments::text[], @lasts::float8[])
        WITH ORDINALITY AS a (id, call_id, type, name, arguments, lasts, n), k
    ORDER BY a.n
    ON CONFLICT (id) DO NOTHING
)
SELECT count(*) FROM k`

// Record stores rows and opens actions under the lease if no stop is asked for:
// a *agent.Stop where one is, agent.ErrLeaseLost. Recording again what was
// recorded is no error.
func (s *Store) Record(ctx context.Context, l agent.Lease, rows []agent.Row, open []agent.Action) error {
	var c columns
	c.add(0, rows)
	args := actionArgs(open)
	args["session"], args["owner"], args["fence"] = l.Session, l.Turn, l.Fence
	var n int
	if err := s.pool.QueryRow(ctx, recordRows, c.args(args)).Scan(&n); err != nil {
		return wrap("record", err)
	}
	if n == 1 {
		return nil
	}
	stop, err := s.Look(ctx, l)
	switch {
	case err != nil:
		return err
	case stop == nil: // taken between the two statements
		return fmt.Errorf("record: %w: %s was changing", agent.ErrUnavailable, l)
	}
	return stop
}

func actionArgs(open []agent.Action) pgx.StrictNamedArgs {
	var ids, calls, types, names, arguments []string
	var lasts []float64
	for _, a := range open {
		ids, calls, types = append(ids, a.ID), append(calls, a.CallID), append(types, string(a.Type))
		names, arguments = append(names, clean(a.Name)), append(arguments, orNull(a.Arguments))
		lasts = append(lasts, a.Lasts.Seconds())
	}
	return pgx.StrictNamedArgs{"ids": ids, "calls": calls, "types": types, "names": names, "arguments": arguments, "lasts": lasts}
}

const lookAtSlot = `
SELECT stop_at, coalesce(stop_by, ''), coalesce(stop_door, ''), coalesce(stop_node, ''), coalesce(stop_detail, '')
FROM run_slots
WHERE session_id = @session::text AND turn_id = @turn::text AND fence = @fence::bigint AND state = 'running'`

// Look returns the stop that the row asks for, nil when none;
// agent.ErrLeaseLost.
func (s *Store) Look(ctx context.Context, l agent.Lease) (*agent.Stop, error) {
	var at *time.Time
	var stop agent.Stop
	args := pgx.StrictNamedArgs{"session": l.Session, "turn": l.Turn, "fence": l.Fence}
	err := s.pool.QueryRow(ctx, lookAtSlot, args).Scan(&at, &stop.By, &stop.Door, &stop.Node, &stop.Detail)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, fmt.Errorf("%s: %w", l, agent.ErrLeaseLost)
	case err != nil:
		return nil, wrap("look", err)
	case at == nil:
		return nil, nil
	}
	stop.At = *at
	return &stop, nil
}

// journalRow is a row of events. live: its leg still runs, so rows with smaller
// numbers may be on their way; the leg's own begin after base.
type journalRow struct {
	agent.Row
	session string
	live    bool
	base    int64
}

func scanRow(row pgx.CollectableRow) (journalRow, error) {
	var r journalRow
	err := row.Scan(&r.session, &r.Seq, &r.Last, &r.Turn, &r.Kind, &r.Body, &r.At, &r.live, &r.base)
	return r, err
}

// eventsAfter begins at the row that holds the first number asked for: one row
// may hold several.
const eventsAfter = `
SELECT e.session_id, e.seq, e.last_seq, e.turn_id, e.kind, e.body, e.at,
    coalesce(s.state = 'running' AND s.fence = e.fence, false), coalesce(s.seq, 0)
FROM events e LEFT JOIN run_slots s ON s.session_id = e.session_id
WHERE e.session_id = @session::text AND e.last_seq > @after::bigint
  AND e.seq >= coalesce((SELECT max(f.seq) FROM events f WHERE f.session_id = @session::text AND f.seq <= @after::bigint), 0)
ORDER BY e.seq
LIMIT @limit::bigint`

// Events returns up to limit rows' worth of events numbered above after; of a
// leg that runs only those before the first number that is not stored yet.
func (s *Store) Events(ctx context.Context, session string, after int64, limit int) ([]agent.Event, error) {
	after = max(after, 0)
	rows, err := s.pool.Query(ctx, eventsAfter, pgx.StrictNamedArgs{"session": session, "after": after, "limit": limit})
	if err != nil {
		return nil, wrap("events of session "+session, err)
	}
	found, err := pgx.CollectRows(rows, scanRow)
	if err != nil {
		return nil, wrap("events of session "+session, err)
	}
	out, err := upTo(nil, found, after)
	return out, wrap("events of session "+session, err)
}

// upTo appends the events numbered above after of one session's rows. A leg has
// no gaps, but two writes of its owner may be committed in either order: what
// comes after a number that is still missing is left for the next reading, or a
// follower would never see the missing one.
func upTo(out []agent.Event, rows []journalRow, after int64) ([]agent.Event, error) {
	begin := len(out)
	for _, r := range rows {
		if r.live && r.Seq > max(after, r.base)+1 {
			break
		}
		var err error
		if out, err = r.Unpack(out, r.session); err != nil {
			return nil, err
		}
		for begin < len(out) && out[begin].Seq <= after {
			out = slices.Delete(out, begin, begin+1)
		}
		begin, after = len(out), max(after, r.Last)
	}
	return out, nil
}

// newsOf asks for many sessions at once; the limit is for each.
const newsOf = `
SELECT e.session_id, e.seq, e.last_seq, e.turn_id, e.kind, e.body, e.at,
    coalesce(s.state = 'running' AND s.fence = e.fence, false), coalesce(s.seq, 0)
FROM unnest(@sessions::text[], @afters::bigint[]) AS c (session_id, after)
CROSS JOIN LATERAL (
    SELECT * FROM events e
    WHERE e.session_id = c.session_id AND e.last_seq > c.after
      AND e.seq >= coalesce((SELECT max(f.seq) FROM events f WHERE f.session_id = c.session_id AND f.seq <= c.after), 0)
    ORDER BY e.seq
    LIMIT 500
) e
LEFT JOIN run_slots s ON s.session_id = c.session_id
ORDER BY e.session_id, e.seq`

// News returns events above each cursor, for many sessions at once: up to 500
// rows' worth of each, by session and number. Of a leg that runs it returns what
// Events returns.
func (s *Store) News(ctx context.Context, cursors map[string]int64) ([]agent.Event, error) {
	sessions, afters := make([]string, 0, len(cursors)), make([]int64, 0, len(cursors))
	for session, after := range cursors {
		sessions, afters = append(sessions, session), append(afters, max(after, 0))
	}
	rows, err := s.pool.Query(ctx, newsOf, pgx.StrictNamedArgs{"sessions": sessions, "afters": afters})
	if err != nil {
		return nil, wrap("news", err)
	}
	found, err := pgx.CollectRows(rows, scanRow)
	if err != nil {
		return nil, wrap("news", err)
	}
	var out []agent.Event
	for len(found) > 0 {
		session := found[0].session
		n := slices.IndexFunc(found, func(r journalRow) bool { return r.session != session })
		if n < 0 {
			n = len(found)
		}
		if out, err = upTo(out, found[:n], max(cursors[session], 0)); err != nil {
			return nil, wrap("news", err)
		}
		found = found[n:]
	}
	return out, nil
}

const readTranscript = `
SELECT session_id, seq, last_seq, turn_id, kind, body, at, false, 0::bigint FROM events
WHERE session_id = @session::text AND kind NOT IN ('text.delta', 'reasoning.delta', 'tool.output')
ORDER BY seq`

// Transcript returns all events of a session but deltas.
func (s *Store) Transcript(ctx context.Context, session string) ([]agent.Event, error) {
	out, err := readEvents(ctx, s.pool, readTranscript, pgx.StrictNamedArgs{"session": session})
	return out, wrap("transcript of session "+session, err)
}

// eventsBetween reads what one leg wrote.
const eventsBetween = `
SELECT session_id, seq, last_seq, turn_id, kind, body, at, false, 0::bigint FROM events
WHERE session_id = @session::text AND seq BETWEEN @from::bigint AND @to::bigint AND fence = @fence::bigint
ORDER BY seq`

// readEvents runs a statement that selects rows of events.
func readEvents(ctx context.Context, q runner, sql string, args pgx.StrictNamedArgs) ([]agent.Event, error) {
	rows, err := q.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return collectEvents(rows)
}

func collectEvents(rows pgx.Rows) ([]agent.Event, error) {
	found, err := pgx.CollectRows(rows, scanRow)
	var out []agent.Event
	for _, r := range found {
		if err == nil {
			out, err = r.Unpack(out, r.session)
		}
	}
	return out, err
}
