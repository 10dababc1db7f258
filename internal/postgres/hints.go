package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const notify = `
SELECT pg_notify('belay', payload) FROM unnest(@payloads::text[]) AS payload`

// Notify sends hints, outside any transaction, on a connection of its own: it
// never waits for a busy pool. That it failed is no reason to undo anything: who
// does not get a hint finds the row a little later.
func (s *Store) Notify(ctx context.Context, hints ...agent.Hint) error {
	payloads := make([]string, len(hints))
	for i, h := range hints {
		payloads[i] = strings.TrimSpace(string(h.Kind) + " " + h.Subject)
	}
	return wrap("notify", s.tell.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, notify, pgx.StrictNamedArgs{"payloads": payloads})
		return err
	}))
}

// pingEvery is how long a silent LISTEN connection is believed.
const pingEvery = 5 * time.Second

// Listen calls on for every hint until ctx ends, whose cause it returns. It
// redials by itself, and calls up(true) after each connect and up(false) when a
// connection is gone; hints sent in between are lost.
func (s *Store) Listen(ctx context.Context, on func(agent.Hint), up func(bool)) error {
	for ctx.Err() == nil {
		err := s.listenOnce(ctx, on, up)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("listen", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(s.times.Redial):
		}
	}
	return fmt.Errorf("listen: %w", context.Cause(ctx))
}

func (s *Store) listenOnce(ctx context.Context, on func(agent.Hint), up func(bool)) error {
	l := newLine(s.dial, s.times)
	conn, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	if err := s.limited(ctx, conn, "LISTEN belay"); err != nil {
		return err
	}
	up(true)
	defer up(false)
	for {
		wait, cancel := context.WithTimeout(ctx, pingEvery)
		n, err := conn.WaitForNotification(wait)
		quiet := errors.Is(wait.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case err == nil:
			kind, subject, _ := strings.Cut(n.Payload, " ")
			on(agent.Hint{Kind: agent.HintKind(kind), Subject: subject})
		case !quiet || ctx.Err() != nil:
			return err
		default:
			if err := s.limited(ctx, conn, "SELECT 1"); err != nil {
				return err
			}
		}
	}
}

func (s *Store) limited(ctx context.Context, conn *pgx.Conn, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, s.times.Statement)
	defer cancel()
	_, err := conn.Exec(ctx, sql)
	return err
}
