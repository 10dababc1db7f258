package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// line is one connection outside the pools, for one purpose. It connects when
// it is first used; a connection that failed is dropped, and the next call
// dials again: the pace of reconnecting is the caller's.
type line struct {
	cfg       *pgx.ConnConfig
	dial      time.Duration
	statement time.Duration

	mu   sync.Mutex
	conn *pgx.Conn
}

func newLine(cfg *pgx.ConnConfig, t Times) *line {
	return &line{cfg: cfg.Copy(), dial: t.Dial, statement: t.Statement}
}

// do calls fn with the connection, each of both under its own limit.
func (l *line) do(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		conn, err := l.connect(ctx)
		if err != nil {
			return err
		}
		l.conn = conn
	}
	ctx, cancel := context.WithTimeout(ctx, l.statement)
	defer cancel()
	err := fn(ctx, l.conn)
	if err != nil && (unavailable(err) || l.conn.IsClosed()) {
		l.drop()
	}
	return err
}

func (l *line) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.dial)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, l.cfg)
	if err == nil {
		inUTC(conn)
	}
	return conn, err
}

func (l *line) drop() {
	hangUp(l.conn)
	l.conn = nil
}

// hangUp closes without waiting for a peer that may be gone.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	conn.Close(ctx)
}

// Close closes the connection; a call under way is waited for.
func (l *line) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.drop()
	}
}
