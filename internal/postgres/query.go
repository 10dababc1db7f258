package postgres

import (
	"context"
	"errors"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// runner is a pool or a transaction.
type runner interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// one returns the row of a statement; agent.ErrNotFound where there is none.
func one[T any](ctx context.Context, q runner, sql string, args pgx.StrictNamedArgs, scan pgx.RowToFunc[T]) (T, error) {
	rows, err := q.Query(ctx, sql, args)
	if err != nil {
		var none T
		return none, err
	}
	v, err := pgx.CollectExactlyOneRow(rows, scan)
	return v, notFound(err)
}

// all returns the rows of a statement.
func all[T any](ctx context.Context, q runner, sql string, args pgx.StrictNamedArgs, scan pgx.RowToFunc[T]) ([]T, error) {
	rows, err := q.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// refused turns what a constraint refused into an error to branch on: a key that
// is taken, a project that is not there.
func refused(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && pg.Code == "23505":
		return agent.ErrExists
	case ok && pg.Code == "23503":
		return agent.ErrNotFound
	}
	return err
}
