package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// wrap names what was tried; errors of a database that is away, slow or of two
// minds become agent.ErrUnavailable, all others keep what they are.
func wrap(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, agent.ErrUnavailable):
		return err
	case unavailable(err):
		return fmt.Errorf("%s: %w: %w", what, agent.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// notNow reports whether the server's code says "not now", not "never".
func notNow(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", "53", "58": // connection, resources, system
		return true
	}
	switch code {
	case "57P01", "57P02", "57P03", "57P05", // shut down, crashed, starting, idle session ended
		"57014",          // query_canceled: a limit
		"55P03",          // lock_not_available
		"40001", "40P01", // serialization_failure, deadlock_detected
		"25P03", "25P04", // idle in transaction, transaction timeout
		"25006": // read_only_sql_transaction: a standby answers during a failover
		return true
	}
	return false
}

// unavailable reports whether the same call may succeed later: the database
// could not be reached, was too slow, refused for now, or the connection broke
// so that nobody knows what became of the statement.
func unavailable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return notNow(pg.Code)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	for _, broken := range []error{
		context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF,
		net.ErrClosed, io.ErrClosedPipe, pgconn.ErrConnClosed, puddle.ErrClosedPool, puddle.ErrNotAvailable,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return pgconn.SafeToRetry(err)
}

// notCommitted reports whether a failed transaction was certainly undone, and
// another try may fare better.
func notCommitted(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch pg.Code {
	case "55P03", "40001", "40P01":
		return true
	case "23505": // two takes of one turn: the second now sees the first
		return pg.ConstraintName == "turns_pkey"
	}
	return false
}

// notFound turns "no rows" into agent.ErrNotFound.
func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return agent.ErrNotFound
	}
	return err
}

// clean makes a person's words fit for a text column.
func clean(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}
