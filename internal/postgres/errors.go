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

// Codes by which the server says "not now". Whole classes: connection (08),
// resources (53), system (58).
var unavailableCodes = map[string]bool{
	"57P01": true, // admin_shutdown
	"57P02": true, // crash_shutdown
	"57P03": true, // cannot_connect_now
	"57P05": true, // idle_session_timeout
	"57014": true, // query_canceled
	"55P03": true, // lock_not_available
	"40001": true, // serialization_failure
	"40P01": true, // deadlock_detected
	"25P03": true, // idle_in_transaction_session_timeout
	"25P04": true, // transaction_timeout
	"25006": true, // read_only_sql_transaction: a standby answers during a failover
}

// unavailable reports whether the same call may succeed later: the database
// could not be reached, was too slow, refused for now, or the connection broke
// so that nobody knows what became of the statement.
func unavailable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		class := pg.Code[:min(2, len(pg.Code))]
		return class == "08" || class == "53" || class == "58" || unavailableCodes[pg.Code]
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	for _, broken := range []error{
		context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF,
		net.ErrClosed, io.ErrClosedPipe, puddle.ErrClosedPool, puddle.ErrNotAvailable,
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
