// Package postgres keeps everything that Belay must not forget in Postgres, and
// is the one place where a cluster agrees on anything: who runs a turn, who may
// write for it, who asked for it to stop and how it ended.
//
// The slot protocol is written here statement by statement. The rules that hold
// it together are few: whoever writes for a turn holds its slot row's lock in
// the statement that writes; the slot row is locked before any other row, and
// several slots in the order of (depth, session id); nobody holds that lock for
// longer than the server lets a silent client; times are the database's. Zero
// rows mean "you no longer may", and the caller reads again to learn why.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Config says where the database is and how it is used.
type Config struct {
	// URL is a Postgres connection string. Through pgbouncer in transaction mode
	// it carries default_query_exec_mode=exec (or cache_describe).
	URL string
	// Times of the protocol; zero ones get their defaults.
	Times Times
	// MaxConns bounds the pool (16), SettleConns the one kept for closing legs (4).
	MaxConns, SettleConns int32
	// JobConns bounds the pool of jobs: callbacks, retention, figures (4).
	JobConns int32
	// Node is the node's label, for the audit log.
	Node string
	// Sealer encrypts the secrets that are stored; nil: storing one is an error.
	Sealer Sealer
	Logger *slog.Logger
}

// Times are the protocol's times as far as the database judges them. What must
// hold between them is written in the design's slot protocol.
type Times struct {
	Lease     time.Duration // a node is dead when it was silent for so long (10 s)
	Gap       time.Duration // longest silence that leaves a node's contact unbroken (3 s)
	Stray     time.Duration // age from which a running slot should be in its node's map (2 s)
	Lock      time.Duration // longest wait for a slot's lock (1 s)
	Idle      time.Duration // longest silence of a client that holds one (2 s)
	Dead      time.Duration // longest silence of a client's network (5 s)
	Dial      time.Duration // limit to connect, outside the pools (1 s)
	Statement time.Duration // limit of a statement, outside the pools (1 s)
	Redial    time.Duration // pause after a failed LISTEN connection (0.5 s)
	Forget    time.Duration // age from which the row of a dead node may go (10 min)
}

func (t Times) withDefaults() Times {
	return Times{
		Lease:     cmp.Or(t.Lease, 10*time.Second),
		Gap:       cmp.Or(t.Gap, 3*time.Second),
		Stray:     cmp.Or(t.Stray, 2*time.Second),
		Lock:      cmp.Or(t.Lock, time.Second),
		Idle:      cmp.Or(t.Idle, 2*time.Second),
		Dead:      cmp.Or(t.Dead, 5*time.Second),
		Dial:      cmp.Or(t.Dial, time.Second),
		Statement: cmp.Or(t.Statement, time.Second),
		Redial:    cmp.Or(t.Redial, 500*time.Millisecond),
		Forget:    cmp.Or(t.Forget, 10*time.Minute),
	}
}

// Store is the database. All its methods may be called from many goroutines;
// one whose error wraps agent.ErrUnavailable may be called again as it was.
type Store struct {
	pool   *pgxpool.Pool // everything but what has its own below
	settle *pgxpool.Pool // closing legs: never behind a busy pool
	jobs   *pgxpool.Pool // what nobody waits for: never in the way of the others

	renew *line // renewals, stop watch and hints: never behind anything
	watch *line
	tell  *line
	dial  *pgx.ConnConfig // for LISTEN

	node   string // label
	times  Times
	limits string // of every transaction
	sealer Sealer
	log    *slog.Logger
	forgot atomic.Int64 // when dead node rows were last looked for, Unix ms
}

// Open connects. It fails when the database does not answer now.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	times := cfg.Times.withDefaults()
	pool, err := newPool(ctx, cfg.URL, cmp.Or(cfg.MaxConns, 16))
	if err != nil {
		return nil, err
	}
	settle, err := newPool(ctx, cfg.URL, cmp.Or(cfg.SettleConns, 4))
	if err != nil {
		pool.Close()
		return nil, err
	}
	jobs, err := newPool(ctx, cfg.URL, cmp.Or(cfg.JobConns, 4))
	if err != nil {
		pool.Close()
		settle.Close()
		return nil, err
	}
	single := pool.Config().ConnConfig
	s := &Store{
		pool: pool, settle: settle, jobs: jobs, node: clean(cfg.Node),
		renew: newLine(single, times), watch: newLine(single, times), tell: newLine(single, times), dial: single,
		times: times, limits: times.limits(),
		sealer: cfg.Sealer, log: cmp.Or(cfg.Logger, slog.Default()),
	}
	if err := pool.Ping(ctx); err != nil {
		s.Close()
		return nil, wrap("open", err)
	}
	return s, nil
}

func newPool(ctx context.Context, url string, conns int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	cfg.MaxConns = conns
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "belay"
	}
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		inUTC(conn)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	return pool, nil
}

// inUTC makes all times that the connection reads times in UTC.
func inUTC(conn *pgx.Conn) {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
}

// Jobs is the pool for River's client: it shares no connection with turns.
func (s *Store) Jobs() *pgxpool.Pool { return s.jobs }

// Close closes all connections; it waits for those in use.
func (s *Store) Close() {
	s.renew.Close()
	s.watch.Close()
	s.tell.Close()
	s.jobs.Close()
	s.settle.Close()
	s.pool.Close()
}

// attempts of a transaction that was certainly not committed.
const attempts = 3

// inTx runs fn in a transaction that may lock slots. It is run again where a
// lock was not to be had: nothing was written then. An error after which
// nobody knows whether it was committed is returned as agent.ErrUnavailable.
func (s *Store) inTx(ctx context.Context, pool *pgxpool.Pool, fn func(*txn) error) error {
	for n := 1; ; n++ {
		err := s.inTxOnce(ctx, pool, fn)
		if err == nil || n == attempts || !notCommitted(err) || ctx.Err() != nil {
			return err
		}
	}
}

func (s *Store) inTxOnce(ctx context.Context, pool *pgxpool.Pool, fn func(*txn) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	tx := &txn{conn: conn}
	var begin pgx.Batch
	begin.Queue("begin")
	begin.Queue(s.limits)
	tx.later(&begin)
	done := false
	defer func() {
		if !done {
			tx.rollback(ctx)
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.commit(ctx); err != nil {
		return err
	}
	done = true
	return nil
}

// errNoSlot is zero rows of a statement that locks a slot by what it holds.
var errNoSlot = errors.New("the slot holds something else")
