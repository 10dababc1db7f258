package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// txn is a transaction that may lock slots and makes as few round trips as it
// can, since each is time that somebody waits for the lock: what needs no answer
// (its beginning too) is kept until something does, or until the commit, and goes
// in the same trip. It belongs to one goroutine.
type txn struct {
	conn    *pgxpool.Conn
	pending []*pgx.QueuedQuery
	begun   bool
}

// limits are set in the transaction, not for the session: a pooler may give the
// next transaction another session.
func (t Times) limits() string {
	return fmt.Sprintf("SELECT set_config('lock_timeout', '%d', true), set_config('idle_in_transaction_session_timeout', '%d', true), "+
		"set_config('tcp_user_timeout', '%d', true)", t.Lock.Milliseconds(), t.Idle.Milliseconds(), t.Dead.Milliseconds())
}

// later queues statements whose results nobody needs before the commit.
func (t *txn) later(b *pgx.Batch) { t.pending = append(t.pending, b.QueuedQueries...) }

// send runs the queued statements, and those kept before, in one round trip.
func (t *txn) send(ctx context.Context, b *pgx.Batch) error {
	t.later(b)
	return t.flush(ctx)
}

func (t *txn) flush(ctx context.Context) error {
	if len(t.pending) == 0 {
		return nil
	}
	b := &pgx.Batch{QueuedQueries: t.pending}
	t.pending, t.begun = nil, true
	return t.conn.SendBatch(ctx, b).Close()
}

// commit ends the transaction with what is still kept. After an error of the
// connection nobody knows whether it was committed.
func (t *txn) commit(ctx context.Context) error {
	var b pgx.Batch
	b.Queue("commit")
	return t.send(ctx, &b)
}

// rollback gives the locks back at once; a connection on which that fails is not
// used again, and its end gives them back.
func (t *txn) rollback(ctx context.Context) {
	if !t.begun {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := t.conn.Exec(ctx, "rollback"); err != nil {
		hangUp(t.conn.Conn())
	}
}

// Query implements runner.
func (t *txn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.conn.Query(ctx, sql, args...)
}

// Exec implements runner.
func (t *txn) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := t.flush(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return t.conn.Exec(ctx, sql, args...)
}

// row runs a statement of one row and scans it; pgx.ErrNoRows where there is none.
func (t *txn) row(ctx context.Context, sql string, args pgx.StrictNamedArgs, dst ...any) error {
	if err := t.flush(ctx); err != nil {
		return err
	}
	return t.conn.QueryRow(ctx, sql, args).Scan(dst...)
}
