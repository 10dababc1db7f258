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

// A LISTEN connection is believed only as long as it is heard on: behind a pooler
// in transaction mode, or on a replica, LISTEN succeeds and nothing ever comes.
const (
	probeEvery = 5 * time.Second  // of silence, then it is asked again
	probeLimit = 2 * time.Second  // for the answer
	deafPause  = 15 * time.Second // before one that gave none is tried again
	probe      = "probe"          // kind of the hint that a listener sends itself
)

// errDeaf: what is sent does not arrive.
var errDeaf = errors.New("push is off: notifications do not arrive (a pooler in transaction mode, or a replica, in between?); stops from other nodes are found by polling")

// Listen calls on for every hint until ctx ends, whose cause it returns. It
// redials by itself, and calls up(true) once a connection is heard on and
// up(false) when it no longer is; hints sent in between are lost.
func (s *Store) Listen(ctx context.Context, on func(agent.Hint), up func(bool)) error {
	for ctx.Err() == nil {
		pause := s.times.Redial
		err := s.listenOnce(ctx, on, up)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("listen", "err", err)
		}
		if errors.Is(err, errDeaf) {
			pause = deafPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return fmt.Errorf("listen: %w", context.Cause(ctx))
}

// ear is one LISTEN connection.
type ear struct {
	*Store
	conn    *pgx.Conn
	on      func(agent.Hint)
	up      func(bool)
	isUp    bool
	awaited string // subject of the probe that has not come back, empty: none
}

func (s *Store) listenOnce(ctx context.Context, on func(agent.Hint), up func(bool)) error {
	conn, err := newLine(s.dial, s.times).connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	if err := s.limited(ctx, conn, "LISTEN belay"); err != nil {
		return err
	}
	e := &ear{Store: s, conn: conn, on: on, up: up}
	defer func() {
		if e.isUp {
			up(false)
		}
	}()
	for err == nil {
		err = e.next(ctx)
	}
	return err
}

// next waits for one hint, or for silence; silence is asked whether it is true.
func (e *ear) next(ctx context.Context) error {
	if !e.isUp && e.awaited == "" {
		return e.ask(ctx)
	}
	limit := probeEvery
	if e.awaited != "" {
		limit = probeLimit
	}
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	n, err := e.conn.WaitForNotification(wait)
	switch {
	case err == nil:
		e.hear(n.Payload)
		return nil
	case ctx.Err() != nil || !errors.Is(wait.Err(), context.DeadlineExceeded):
		return err
	case e.awaited != "":
		return errDeaf
	}
	return e.ask(ctx)
}

func (e *ear) ask(ctx context.Context) error {
	e.awaited = agent.NewID()
	return e.Notify(ctx, agent.Hint{Kind: probe, Subject: e.awaited})
}

func (e *ear) hear(payload string) {
	kind, subject, _ := strings.Cut(payload, " ")
	if kind != probe {
		e.on(agent.Hint{Kind: agent.HintKind(kind), Subject: subject})
		return
	}
	if subject != e.awaited {
		return // another node's
	}
	e.awaited = ""
	if !e.isUp {
		e.isUp = true
		e.up(true)
	}
}

func (s *Store) limited(ctx context.Context, conn *pgx.Conn, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, s.times.Statement)
	defer cancel()
	_, err := conn.Exec(ctx, sql)
	return err
}
