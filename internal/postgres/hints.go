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
SELECT pg_notify('belay', @payload::text)`

// Notify sends a hint, outside any transaction. That it failed is no reason to
// undo anything: who does not get it finds the row a little later.
func (s *Store) Notify(ctx context.Context, h agent.Hint) error {
	_, err := s.pool.Exec(ctx, notify, pgx.StrictNamedArgs{"payload": strings.TrimSpace(string(h.Kind) + " " + h.Subject)})
	return wrap("notify", err)
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
