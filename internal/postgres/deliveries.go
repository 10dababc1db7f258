package postgres

import (
	"context"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const deliveryColumns = `
    k.kind, k.name, k.dialect, k.url, k.secret, k.headers, k.status, k.attempts,
    d.id, d.round, d.project_id, d.session_id, d.turn_id, d.event, d.seq, d.body, d.status, d.attempts, coalesce(d.error, ''),
    d.created_at, d.tried_at, d.ended_at`

// deliveryRow is deliveryColumns; its callback's secrets are still sealed.
type deliveryRow struct {
	agent.Delivery
	secret, headers []byte
}

func scanDelivery(row pgx.CollectableRow) (deliveryRow, error) { return scanDeliveryAnd(row) }

// scanDeliveryAnd reads into more what the statement selects after the columns.
func scanDeliveryAnd(row pgx.CollectableRow, more ...any) (r deliveryRow, err error) {
	var tried, ended *time.Time
	d, c := &r.Delivery, &r.Callback
	err = row.Scan(append([]any{&c.Kind, &c.Name, &c.Dialect, &c.URL, &r.secret, &r.headers, &c.Status, &c.Attempts,
		&d.ID, &d.Round, &d.Project, &d.Session, &d.Turn, &d.Event, &d.Seq, &d.Body, &d.Status, &d.Attempts, &d.Error,
		&d.CreatedAt, &tried, &ended}, more...)...)
	c.Signed = r.secret != nil
	d.TriedAt, d.EndedAt = deref(tried), deref(ended)
	return r, err
}

// A delivery waits for the one before it, but not for its retries: a receiver that
// is up is told in order, and one that was down is not told of the end hours late.
const dueDelivery = `
SELECT ` + deliveryColumns + `,
    EXISTS (
        SELECT FROM deliveries e
        WHERE e.callback_id = d.callback_id AND e.seq < d.seq AND e.status = 'pending' AND e.attempts = 0
          AND e.created_at > clock_timestamp() - interval '30 seconds')
FROM deliveries d JOIN callbacks k ON k.id = d.callback_id
WHERE d.id = @id::text AND d.round = @round::integer AND d.status = 'pending'`

// Due returns a delivery that is to be sent, with its secrets; agent.ErrNotFound
// where it has arrived, was given up, is in another round or was deleted.
func (s *Store) Due(ctx context.Context, id string, round int) (agent.Delivery, error) {
	r, err := one(ctx, s.jobs, dueDelivery, pgx.StrictNamedArgs{"id": id, "round": round}, func(row pgx.CollectableRow) (deliveryRow, error) {
		behind := false
		r, err := scanDeliveryAnd(row, &behind)
		r.Behind = behind
		return r, err
	})
	if err == nil {
		r.Callback, err = s.openCallback(r.Callback, r.Turn, r.secret, r.headers)
	}
	return r.Delivery, wrap("delivery "+id, err)
}

const keepBody = `
UPDATE deliveries SET body = coalesce(body, @body::bytea) WHERE id = @id::text RETURNING body`

// KeepBody stores what a delivery sends, unless something is stored already, and
// returns what is: every attempt sends the same bytes. agent.ErrNotFound.
func (s *Store) KeepBody(ctx context.Context, id string, body []byte) ([]byte, error) {
	kept, err := one(ctx, s.jobs, keepBody, pgx.StrictNamedArgs{"id": id, "body": body}, pgx.RowTo[[]byte])
	return kept, wrap("delivery "+id, err)
}

// noteTry writes an attempt into the delivery and, of the newest one, into its
// callback too, for as long as the run is kept.
const noteTry = `
WITH tried AS (
    UPDATE deliveries SET attempts = attempts + 1, status = @status::text, error = nullif(@error::text, ''), tried_at = clock_timestamp(),
        ended_at = CASE WHEN @status::text <> 'pending' THEN clock_timestamp() END
    WHERE id = @id::text AND round = @round::integer AND status = 'pending'
    RETURNING callback_id, seq, status, attempts
)
UPDATE callbacks k SET status = t.status, attempts = t.attempts
FROM tried t
WHERE k.id = t.callback_id AND NOT EXISTS (SELECT FROM deliveries o WHERE o.callback_id = k.id AND o.seq > t.seq)`

// Tried records an attempt of a delivery: delivered, dead, or pending where
// another will follow; why it failed is for the caller to read. A delivery that
// has begun another round meanwhile is left as it is.
func (s *Store) Tried(ctx context.Context, id string, round int, status agent.CallbackStatus, why string) error {
	_, err := s.jobs.Exec(ctx, noteTry, pgx.StrictNamedArgs{"id": id, "round": round, "status": status, "error": clean(why)})
	return wrap("delivery "+id, err)
}

const listDeliveries = `
SELECT ` + deliveryColumns + `
FROM deliveries d JOIN callbacks k ON k.id = d.callback_id
WHERE d.project_id = @project::text AND k.kind = 'run'
    AND (@status::text = '' OR d.status = @status::text) AND (@turn::text = '' OR d.turn_id = @turn::text)
    AND (@owner::text = '' OR EXISTS (SELECT FROM sessions c WHERE c.id = d.session_id AND c.owner = @owner::text))
    AND (d.created_at, d.id) < (@before::timestamptz, @id::text)
ORDER BY d.created_at DESC, d.id DESC LIMIT @limit::integer`

// Deliveries returns a page of what background runs' callbacks were sent, newest
// first, without secrets, and the cursor of the next page, empty at the end. A
// bad cursor or limit is a *agent.FieldError.
func (s *Store) Deliveries(ctx context.Context, f agent.DeliveryFilter) ([]agent.Delivery, string, error) {
	limit, err := pageLimit(f.Page.Limit)
	if err != nil {
		return nil, "", err
	}
	from, err := parseCursor(f.Page.Cursor)
	if err != nil {
		return nil, "", err
	}
	rows, err := all(ctx, s.pool, listDeliveries, pgx.StrictNamedArgs{
		"project": f.Project, "owner": f.Owner, "turn": clean(f.Turn), "status": f.Status,
		"before": from.before, "id": from.id, "limit": limit + 1,
	}, scanDelivery)
	if err != nil {
		return nil, "", wrap("list deliveries", err)
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = cursor{rows[limit-1].CreatedAt, rows[limit-1].ID}.String()
	}
	list := make([]agent.Delivery, len(rows))
	for i, r := range rows {
		list[i] = r.Delivery
	}
	return list, next, nil
}

// redeliver begins another round of a run's newest delivery: a job of the round
// before that is still there does nothing.
const redeliver = `
WITH told AS (
    UPDATE deliveries SET round = round + 1, status = 'pending', attempts = 0, error = NULL, ended_at = NULL
    WHERE id = (
        SELECT d.id FROM callbacks k JOIN deliveries d ON d.callback_id = k.id
        WHERE k.turn_id = @turn::text AND k.kind = 'run' ORDER BY d.seq DESC LIMIT 1)
    RETURNING id, callback_id, round, project_id, session_id, turn_id
), ` + jobsFromTold + `, recorded AS (
    INSERT INTO audit (project_id, action, by, door, node, address, session_id, turn_id, subject)
    SELECT project_id, @action::text, @by::text, @door::text, @node::text, @address::text, session_id, turn_id, id FROM told
), noted AS (
    UPDATE callbacks k SET status = 'pending', attempts = 0 FROM told WHERE k.id = told.callback_id
)
SELECT id FROM told`

// Redeliver sends the newest event of a run's callback again, whatever became of
// it; agent.ErrNotFound where nothing was to be told yet.
func (s *Store) Redeliver(ctx context.Context, turn string, by agent.Actor) error {
	args := s.auditArgs(agent.AuditRedelivered, by)
	args["turn"] = clean(turn)
	_, err := one(ctx, s.pool, redeliver, args, pgx.RowTo[string])
	return wrap("redeliver callback", err)
}

// Depths are how much waits to be done in the whole cluster.
type Depths struct {
	Queued        int           // turns that wait for a node
	QueuedAge     time.Duration // of the one that waits longest
	Deliveries    int           // that have not arrived yet
	DeliveriesAge time.Duration // likewise
	Dead          int           // deliveries that were given up
}

const selectDepths = `
SELECT q.n, coalesce(extract(epoch FROM clock_timestamp() - q.since), 0)::float8,
    d.n, coalesce(extract(epoch FROM clock_timestamp() - d.since), 0)::float8, d.dead
FROM (SELECT count(*) AS n, min(queued_at) AS since FROM run_slots WHERE state = 'queued') q,
    (SELECT count(*) FILTER (WHERE status = 'pending') AS n, min(created_at) FILTER (WHERE status = 'pending') AS since,
        count(*) FILTER (WHERE status = 'dead') AS dead
     FROM deliveries WHERE status <> 'delivered') d`

// Depths reads them.
func (s *Store) Depths(ctx context.Context) (Depths, error) {
	var d Depths
	var queued, waiting float64
	err := s.jobs.QueryRow(ctx, selectDepths).Scan(&d.Queued, &queued, &d.Deliveries, &waiting, &d.Dead)
	d.QueuedAge = time.Duration(queued * float64(time.Second))
	d.DeliveriesAge = time.Duration(waiting * float64(time.Second))
	return d, wrap("depths", err)
}
