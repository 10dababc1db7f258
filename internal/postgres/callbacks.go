package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// JobQueue is River's queue of deliveries, JobKind the kind of their jobs; the
// arguments of one are {"delivery": id, "round": n}.
const (
	JobQueue = "callbacks"
	JobKind  = "callback"
)

// callbackOfTurn reads, as JSON, the own callback of a turn t.
const callbackOfTurn = `(
    SELECT json_build_object('URL', k.url, 'Kind', k.kind, 'Signed', k.secret IS NOT NULL, 'Status', k.status, 'Attempts', k.attempts)
    FROM callbacks k WHERE k.turn_id = t.id AND k.kind = 'run' AND k.name = '')`

// ownCallback is the run's own of the callbacks that a turn begins with, as it
// will be read back.
func ownCallback(list []agent.Callback) *agent.Callback {
	for _, c := range list {
		if c.Kind == agent.CallbackRun && c.Name == "" {
			return &agent.Callback{Kind: c.Kind, URL: c.URL, Signed: c.Secret != "", Status: agent.CallbackPending}
		}
	}
	return nil
}

// putCallback keeps the row of one that is there: deliveries may belong to it.
// Whether the turn was begun its row says: a node that was declared dead has
// begun nothing.
const putCallback = `
INSERT INTO callbacks AS k (id, session_id, turn_id, kind, name, dialect, url, secret, headers)
SELECT @id::text, t.session_id, t.id, @kind::text, @name::text, @dialect::text, @url::text, @secret::bytea, @headers::bytea
FROM turns t WHERE t.id = @turn::text
ON CONFLICT (turn_id, kind, name) DO UPDATE SET
    dialect = excluded.dialect, url = excluded.url, secret = excluded.secret, headers = excluded.headers`

func (s *Store) queueCallback(batch *pgx.Batch, turn string, c agent.Callback) error {
	args, err := s.callbackArgs(turn, c)
	if err == nil {
		batch.Queue(putCallback, args)
	}
	return err
}

func (s *Store) callbackArgs(turn string, c agent.Callback) (pgx.StrictNamedArgs, error) {
	args := pgx.StrictNamedArgs{
		"id": agent.NewID(), "turn": turn, "kind": c.Kind, "name": clean(c.Name), "dialect": clean(c.Dialect), "url": clean(c.URL), "secret": nil, "headers": nil,
	}
	if c.Secret != "" {
		sealed, err := s.seal(c.Secret, signingContext(turn, c))
		if err != nil {
			return nil, noKey(err, "callback_secret")
		}
		args["secret"] = sealed
	}
	if len(c.Headers) > 0 {
		plain, err := json.Marshal(c.Headers)
		if err != nil {
			return nil, err
		}
		sealed, err := s.seal(string(plain), headersContext(turn, c))
		if err != nil {
			return nil, noKey(err, "callback_headers")
		}
		args["headers"] = sealed
	}
	return args, nil
}

// noKey says it to who asked where a node has no key to keep a secret with.
func noKey(err error, field string) error {
	if errors.Is(err, ErrNoSecretKey) {
		return &agent.CallbackError{Field: field, Message: "can't be kept: this server has no BELAY_SECRET_KEY to seal it with"}
	}
	return err
}

func signingContext(turn string, c agent.Callback) string {
	return secretOfCallback(turn, string(c.Kind)+"/"+c.Name)
}

func headersContext(turn string, c agent.Callback) string {
	return headersOfCallback(turn, string(c.Kind)+"/"+c.Name)
}

func secretOfCallback(turn, name string) string { return "callback/" + turn + "/" + name + "/secret" }

func headersOfCallback(turn, name string) string { return "callback/" + turn + "/" + name + "/headers" }

// tellCallbacks makes a delivery, and the job that sends it, for each callback of
// a turn whose leg is being closed: in the transaction that closes it, so what is
// durable is told and nothing else is. The job is inserted as River does it,
// but in the same round trip and without a NOTIFY in the transaction.
const tellCallbacks = `
WITH told AS (
    INSERT INTO deliveries (id, callback_id, project_id, session_id, turn_id, event, seq)
    SELECT left(replace(gen_random_uuid()::text, '-', ''), 24), k.id, @project::text, k.session_id, k.turn_id, @event::text, @seq::bigint
    FROM callbacks k WHERE k.turn_id = @turn::text
    RETURNING id, callback_id, round
), ` + jobsFromTold + `
UPDATE callbacks k SET status = 'pending', attempts = 0 FROM told WHERE k.id = told.callback_id`

// jobsFromTold makes a job for each row of told. River tries again what fails of
// itself (a database that is away); when a receiver is given up is decided by the
// delivery's own attempts, long before.
const jobsFromTold = `jobs AS (
    INSERT INTO river_job (kind, queue, args, max_attempts, priority, state)
    SELECT '` + JobKind + `', '` + JobQueue + `', jsonb_build_object('delivery', id, 'round', round), 1000, 1, 'available' FROM told
)`

// PutCallback makes or replaces a callback of a turn, by kind and name; what was
// told before stays as it was. agent.ErrNotFound where there is no such turn.
func (s *Store) PutCallback(ctx context.Context, turn string, c agent.Callback) error {
	args, err := s.callbackArgs(turn, c)
	if err != nil {
		return err
	}
	tag, err := s.pool.Exec(ctx, putCallback, args)
	if err == nil && tag.RowsAffected() == 0 {
		err = agent.ErrNotFound
	}
	return wrap("put callback", err)
}

const listCallbacks = `
SELECT kind, name, dialect, url, secret, headers, status, attempts FROM callbacks
WHERE turn_id = @turn::text AND kind = @kind::text ORDER BY created_at, name`

// Callbacks returns a turn's callbacks of a kind, oldest first, with their
// headers and without their secrets.
func (s *Store) Callbacks(ctx context.Context, turn string, kind agent.CallbackKind) ([]agent.Callback, error) {
	list, err := all(ctx, s.pool, listCallbacks, pgx.StrictNamedArgs{"turn": clean(turn), "kind": kind}, func(row pgx.CollectableRow) (agent.Callback, error) {
		c, err := s.scanCallback(row, turn)
		c.Secret = ""
		return c, err
	})
	return list, wrap("list callbacks", err)
}

const deleteCallback = `
DELETE FROM callbacks WHERE turn_id = @turn::text AND kind = @kind::text AND name = @name::text`

// DeleteCallback deletes a callback and what was not delivered yet. One that is
// not there is no error.
func (s *Store) DeleteCallback(ctx context.Context, turn string, kind agent.CallbackKind, name string) error {
	args := pgx.StrictNamedArgs{"turn": clean(turn), "kind": kind, "name": clean(name)}
	_, err := s.pool.Exec(ctx, deleteCallback, args)
	return wrap("delete callback", err)
}

// scanCallback reads kind, name, dialect, url, secret, headers, status and attempts, and
// into more what the statement selects after them.
func (s *Store) scanCallback(row pgx.CollectableRow, turn string, more ...any) (c agent.Callback, err error) {
	var secret, headers []byte
	if err := row.Scan(append([]any{&c.Kind, &c.Name, &c.Dialect, &c.URL, &secret, &headers, &c.Status, &c.Attempts}, more...)...); err != nil {
		return c, err
	}
	return s.openCallback(c, turn, secret, headers)
}

// openCallback opens what is sealed of a callback.
func (s *Store) openCallback(c agent.Callback, turn string, secret, headers []byte) (agent.Callback, error) {
	var err error
	if c.Signed = secret != nil; c.Signed {
		if c.Secret, err = s.unseal(secret, signingContext(turn, c)); err != nil {
			return c, fmt.Errorf("callback secret: %w", err)
		}
	}
	if headers == nil {
		return c, nil
	}
	plain, err := s.unseal(headers, headersContext(turn, c))
	if err != nil {
		return c, fmt.Errorf("callback headers: %w", err)
	}
	return c, json.Unmarshal([]byte(plain), &c.Headers)
}
