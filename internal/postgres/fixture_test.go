package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
	"github.com/belayrun/belay/internal/turn/turntest"
	"github.com/jackc/pgx/v5"
)

func newBegin(node string) agent.Begin {
	return agent.Begin{
		Session: agent.Session{ID: agent.NewID(), Project: turntest.DefaultProject, Agent: "helper", Owner: "token:ann", Door: agent.DoorClient},
		New:     true, Input: "hello", Node: node,
		Turn: agent.Turn{ID: agent.NewID(), Agent: "helper", Door: agent.DoorClient, By: "token:ann", Spec: agent.Config{Model: "m"}},
	}
}

func answer(leg agent.Leg, text string) agent.Closing {
	u := agent.Usage{Call: 1, Model: "m", Status: agent.UsageOK, Tokens: agent.Tokens{Input: 10, Output: 4}, At: time.Now()}
	return agent.Closing{
		End: agent.Outcome{Kind: agent.Answered}, Seq: leg.Seq + 2, Usage: []agent.Usage{u},
		Draft: &agent.Draft{Index: leg.Turn.Index, Text: text, Usage: &u},
	}
}

// deltas are n rows of one delta each, numbered after seq.
func deltas(turn string, seq int64, n int) []agent.Row {
	rows := make([]agent.Row, n)
	for i := range rows {
		seq++
		rows[i] = agent.Row{Seq: seq, Last: seq, Turn: turn, Kind: agent.KindTextDelta, Body: []byte(`{"texts":["some words "]}`), At: time.Now()}
	}
	return rows
}

// bed is a store on a database of its own, with a way to its tables.
type bed struct {
	*postgres.Store
	t   *testing.T
	ctx context.Context
	url string
	raw *pgx.Conn
}

func newBed(t *testing.T, times postgres.Times) *bed {
	t.Helper()
	b := &bed{t: t, ctx: t.Context(), url: pgtest.DB(t)}
	s, err := postgres.Open(b.ctx, postgres.Config{URL: b.url, Times: times, MaxConns: 8, SettleConns: 2})
	b.check(err)
	b.Store = s
	b.raw = b.connect()
	t.Cleanup(func() {
		s.Close()
		if err := checkInvariants(b.url); err != nil {
			t.Error(err)
		}
	})
	return b
}

// connect opens a connection that belongs to nobody's store.
func (b *bed) connect() *pgx.Conn {
	b.t.Helper()
	conn, err := pgx.Connect(b.ctx, b.url)
	b.check(err)
	b.t.Cleanup(func() { conn.Close(context.WithoutCancel(b.ctx)) })
	return conn
}

func (b *bed) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.raw.Exec(b.ctx, sql, args...)
	b.check(err)
}

// count returns the number that a statement selects.
func (b *bed) count(sql string, args ...any) int {
	b.t.Helper()
	var n int
	b.check(b.raw.QueryRow(b.ctx, sql, args...).Scan(&n))
	return n
}

func (b *bed) node() string {
	b.t.Helper()
	id, err := b.Join(b.ctx, "node")
	b.check(err)
	return id
}

func (b *bed) take(begin agent.Begin) agent.Leg {
	b.t.Helper()
	leg, err := b.Take(b.ctx, begin)
	b.check(err)
	return leg
}

// child is a turn below a leg.
func child(of agent.Leg, node string) agent.Begin {
	b := newBegin(node)
	b.Turn.Parent, b.Turn.Depth = new(of.Lease), of.Turn.Depth+1
	return b
}

// hold locks a session's slot from another connection, which then is silent
// until it is rolled back.
func (b *bed) hold(session string) pgx.Tx {
	b.t.Helper()
	tx, err := b.connect().Begin(b.ctx)
	b.check(err)
	_, err = tx.Exec(b.ctx, "SELECT FROM run_slots WHERE session_id = $1 FOR UPDATE", session)
	b.check(err)
	b.t.Cleanup(func() { tx.Rollback(context.WithoutCancel(b.ctx)) })
	return tx
}

// waiting polls until n statements wait for a lock.
func (b *bed) waiting(n int) {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if b.count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") >= n {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("no %d statements wait for a lock", n)
		}
	}
}
