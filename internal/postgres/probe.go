package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// CheckMigrated returns a *SchemaError if the database is older than this
// binary needs.
func (s *Store) CheckMigrated(ctx context.Context) error { return CheckMigrated(ctx, s.pool) }

// Ping asks the database for an answer.
func (s *Store) Ping(ctx context.Context) error { return wrap("ping", s.pool.Ping(ctx)) }

// Pools returns the figures of the store's pools by name.
func (s *Store) Pools() map[string]func() *pgxpool.Stat {
	return map[string]func() *pgxpool.Stat{"main": s.pool.Stat, "settle": s.settle.Stat, "jobs": s.jobs.Stat}
}

// Probe is what can be measured of a database from here.
type Probe struct {
	Version string
	Skew    time.Duration // how far the database's clock is ahead of this machine's
	Commit  time.Duration // one small transaction, committed
	Hint    time.Duration // a NOTIFY, until this machine hears it; 0: HintErr says why
	HintErr error
}

const selectServer = `SELECT current_setting('server_version'), clock_timestamp()`

// Measure probes a database on connections of its own. It makes no tables and
// leaves nothing behind.
func Measure(ctx context.Context, url string) (Probe, error) {
	var p Probe
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return p, wrap("connect", err)
	}
	defer hangUp(conn)
	var theirs time.Time
	sent := time.Now()
	if err := conn.QueryRow(ctx, selectServer).Scan(&p.Version, &theirs); err != nil {
		return p, wrap("probe", err)
	}
	p.Skew = theirs.Sub(sent.Add(time.Since(sent) / 2))
	if p.Commit, err = measureCommit(ctx, conn); err != nil {
		return p, wrap("probe", err)
	}
	times, err := HintTimes(ctx, url, 1)
	if err != nil {
		p.HintErr = err
		return p, nil
	}
	p.Hint = times[0]
	return p, nil
}

const forceCommit = `SELECT pg_logical_emit_message(true, 'belay', 'probe')`

// measureCommit times a transaction that is written out: one that only takes a
// number is not.
func measureCommit(ctx context.Context, conn *pgx.Conn) (time.Duration, error) {
	began := time.Now()
	_, err := conn.Exec(ctx, forceCommit)
	return time.Since(began), err
}

// probeChannel is one that no node listens on.
const probeChannel = "belay_probe"

// HintTimes returns n round trips, sorted, of a commit followed by a NOTIFY of
// its own, from sending to hearing on another connection: what the database
// alone costs a stop that goes through it.
func HintTimes(ctx context.Context, url string, n int) ([]time.Duration, error) {
	listener, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, wrap("connect", err)
	}
	defer hangUp(listener)
	sender, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, wrap("connect", err)
	}
	defer hangUp(sender)
	if _, err := listener.Exec(ctx, "LISTEN "+probeChannel); err != nil {
		return nil, wrap("listen", err)
	}
	var out []time.Duration
	for i := range n {
		d, err := hintOnce(ctx, sender, listener, fmt.Sprint(i))
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	slices.Sort(out)
	return out, nil
}

func hintOnce(ctx context.Context, sender, listener *pgx.Conn, payload string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	began := time.Now()
	if _, err := measureCommit(ctx, sender); err != nil {
		return 0, wrap("commit", err)
	}
	if _, err := sender.Exec(ctx, "NOTIFY "+probeChannel+", '"+payload+"'"); err != nil {
		return 0, wrap("notify", err)
	}
	for {
		n, err := listener.WaitForNotification(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return 0, errors.New("no notification within 2 s: a pooler in transaction mode, or a replica, is in between")
		case err != nil:
			return 0, wrap("listen", err)
		case n.Payload == payload:
			return time.Since(began), nil
		}
	}
}

// Gauge counts and times commits on a connection of its own, for benches. It
// belongs to one goroutine; Close it.
type Gauge struct {
	Version string // of the server
	conn    *pgx.Conn
}

// OpenGauge connects to a database.
func OpenGauge(ctx context.Context, url string) (*Gauge, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, wrap("connect", err)
	}
	return &Gauge{Version: conn.PgConn().ParameterStatus("server_version"), conn: conn}, nil
}

// Close ends its connection.
func (g *Gauge) Close() { hangUp(g.conn) }

const countCommits = `
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, xact_commit
FROM pg_stat_database WHERE datname = current_database()`

// Commits returns how many transactions have written, in the whole server, and
// how many were committed in this database. Both only grow.
func (g *Gauge) Commits(ctx context.Context) (writes, all int64, err error) {
	err = g.conn.QueryRow(ctx, countCommits).Scan(&writes, &all)
	return writes, all, wrap("count commits", err)
}

// Analyze gathers statistics, as the server does by itself within a minute; plans
// that were made while the tables were empty are then given up.
func (g *Gauge) Analyze(ctx context.Context) error {
	_, err := g.conn.Exec(ctx, "ANALYZE")
	return wrap("analyze", err)
}

// CommitTimes returns the times of n small transactions.
func (g *Gauge) CommitTimes(ctx context.Context, n int) (out []time.Duration, err error) {
	for range n {
		d, err := measureCommit(ctx, g.conn)
		if err != nil {
			return nil, wrap("commit", err)
		}
		out = append(out, d)
	}
	return out, nil
}
