package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

func TestErrorsSayWhetherTheSameCallMaySucceedLater(t *testing.T) {
	t.Parallel()
	pg := func(code string) error { return &pgconn.PgError{Code: code} }
	later := map[string]error{
		"connection refused":     &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"connection reset":       fmt.Errorf("read: %w", &net.OpError{Op: "read", Err: syscall.ECONNRESET}),
		"end of stream":          fmt.Errorf("unexpected: %w", io.ErrUnexpectedEOF),
		"closed connection":      net.ErrClosed,
		"timeout":                fmt.Errorf("timeout: %w", context.DeadlineExceeded),
		"given up in the middle": context.Canceled,
		"conn closed":            pgconn.ErrConnClosed,
		"pool closed":            puddle.ErrClosedPool,
		"admin shutdown":         pg("57P01"),
		"crash":                  pg("57P02"),
		"starting up":            pg("57P03"),
		"statement timeout":      pg("57014"),
		"lock timeout":           pg("55P03"),
		"serialization":          pg("40001"),
		"deadlock":               pg("40P01"),
		"idle in transaction":    pg("25P03"),
		"a standby":              pg("25006"),
		"too many connections":   pg("53300"),
		"disk full":              pg("53100"),
		"pooler says no":         pg("08P01"),
		"system error":           pg("58030"),
	}
	for name, err := range later {
		got := wrap("test", fmt.Errorf("query: %w", err))
		if !errors.Is(got, agent.ErrUnavailable) || !errors.Is(got, err) {
			t.Errorf("%s: %v is not unavailable, or lost its cause", name, got)
		}
	}
	never := map[string]error{
		"unique violation":   pg("23505"),
		"foreign key":        pg("23503"),
		"no such table":      pg("42P01"),
		"bad bytes":          pg("22021"),
		"failed transaction": pg("25P02"),
		"no code":            pg(""),
		"no rows":            pgx.ErrNoRows,
		"lease lost":         agent.ErrLeaseLost,
		"busy":               &agent.BusyError{},
		"a stop":             &agent.Stop{},
	}
	for name, err := range never {
		if got := wrap("test", err); errors.Is(got, agent.ErrUnavailable) || !errors.Is(got, err) {
			t.Errorf("%s: %v is unavailable, or lost its cause", name, got)
		}
	}
	if wrap("test", nil) != nil {
		t.Error("no error became one")
	}
}

func TestOnlyWhatWasCertainlyUndoneIsTriedAgainInside(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"55P03": true, "40001": true, "40P01": true,
		"57P01": false, "25P03": false, "08006": false, "23505": false,
	} {
		if got := notCommitted(fmt.Errorf("x: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
	if !notCommitted(&pgconn.PgError{Code: "23505", ConstraintName: "turns_pkey"}) {
		t.Error("the second of two takes of one turn is not tried again")
	}
	if notCommitted(context.DeadlineExceeded) || notCommitted(io.EOF) {
		t.Error("an unknown end is tried again")
	}
}

func TestTitlesAreOneShortLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"  hi\n\tthere ":    "hi there",
		"":                  "",
		"a\x00b":            "a\uFFFDb",
		string([]byte{255}): "\uFFFD",
	} {
		if got := title(nil, in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	long := title(nil, string(make([]rune, 0, 100))+"äöü"+fmt.Sprintf("%0100d", 1))
	if n := len([]rune(long)); n != 80 {
		t.Errorf("%d characters", n)
	}
}
