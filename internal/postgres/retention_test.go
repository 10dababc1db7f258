package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

// answered is an ended turn that was streamed in n deltas.
func (b *bed) answered(begin agent.Begin, n int) agent.Leg {
	b.t.Helper()
	leg := b.take(begin)
	rows := deltas(leg.Turn.ID, leg.Seq+2, n)
	stored, err := b.Append(b.ctx, []agent.Batch{{Lease: leg.Lease, Rows: rows}})
	b.check(err)
	if !slices.Equal(stored, []bool{true}) {
		b.t.Fatal("not stored")
	}
	c := answer(leg, "some words some words ")
	c.Seq += int64(n)
	_, err = b.Settle(b.ctx, leg.Lease, c)
	b.check(err)
	return leg
}

func (b *bed) kindsOf(session string) []agent.Kind {
	b.t.Helper()
	events, err := b.Events(b.ctx, session, 0, 1000)
	b.check(err)
	var out []agent.Kind
	for _, e := range events {
		out = append(out, e.Kind())
	}
	return out
}

func TestRetentionTrimsTheDeltasOfEndedTurnsOnly(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	first := newBegin(node)
	old := b.answered(first, 3)
	next := newBegin(node)
	next.Session, next.New = first.Session, false
	running := b.take(next)
	_, err := b.Append(b.ctx, []agent.Batch{{Lease: running.Lease, Rows: deltas(running.Turn.ID, running.Seq+2, 2)}})
	b.check(err)
	if n, err := b.TrimDeltas(b.ctx, time.Hour, 10); n != 0 || err != nil {
		t.Errorf("trimmed %d that ended lately, %v", n, err)
	}
	if n, err := b.TrimDeltas(b.ctx, 0, 10); n != 1 || err != nil {
		t.Errorf("trimmed %d turns, %v", n, err)
	}
	want := []agent.Kind{
		agent.KindMessage, agent.KindTurnStarted, agent.KindMessage, agent.KindTurnEnded,
		agent.KindMessage, agent.KindTurnStarted, agent.KindTextDelta, agent.KindTextDelta,
	}
	if got := b.kindsOf(old.Lease.Session); !slices.Equal(got, want) {
		t.Errorf("left %v\nwant %v", got, want)
	}
	if n, err := b.TrimDeltas(b.ctx, 0, 10); n != 0 || err != nil {
		t.Errorf("trimmed %d turns again, %v", n, err)
	}
}

// A batch at a time, and who holds a turn's slot is not in its way, nor it in
// theirs.
func TestRetentionGoesInBatchesAndWaitsForNobody(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	var held agent.Leg
	for range 5 {
		held = b.answered(newBegin(node), 2)
	}
	tx := b.hold(held.Lease.Session)
	var got []int
	for range 3 {
		n, err := b.TrimDeltas(b.ctx, 0, 2)
		b.check(err)
		got = append(got, n)
	}
	if !slices.Equal(got, []int{2, 2, 1}) {
		t.Errorf("batches of %v", got)
	}
	b.exec("UPDATE sessions SET updated_at = updated_at - interval '1 day'")
	b.exec("UPDATE turns SET ended_at = ended_at - interval '1 day'")
	n, err := b.ExpireSessions(b.ctx, time.Hour, 10)
	b.check(err)
	if left := b.count("SELECT count(*) FROM sessions"); n != 4 || left != 1 {
		t.Errorf("%d deleted, %d left: want all but the one whose slot is held", n, left)
	}
	b.check(tx.Rollback(b.ctx))
	n, err = b.ExpireSessions(b.ctx, time.Hour, 10)
	b.check(err)
	if left := b.count("SELECT count(*) FROM events"); n != 1 || left != 0 {
		t.Errorf("%d deleted, %d events left", n, left)
	}
	if n := b.count("SELECT count(*) FROM usage"); n != 5 {
		t.Errorf("the account of %d calls is left, want all 5", n)
	}
}

func TestRetentionKeepsConversationsInWhichSomethingIsToHappen(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	node := b.node()
	b.take(newBegin(node)) // runs
	b.paused(newRun())     // waits for a person
	b.take(newRun())       // is queued
	recent := b.answered(newBegin(node), 1)
	untold := b.take(newRun()) // its callback has not arrived
	_, err := b.Stop(b.ctx, untold.Lease.Session, untold.Turn.ID, agent.Stop{By: "user:bob"}, true)
	b.check(err)
	b.exec("UPDATE sessions SET updated_at = updated_at - interval '1 day'")
	b.exec("UPDATE turns SET ended_at = ended_at - interval '1 day' WHERE id <> $1", recent.Turn.ID)
	before := b.count("SELECT count(*) FROM sessions")
	n, err := b.ExpireSessions(b.ctx, time.Hour, 10)
	b.check(err)
	if n != 0 || b.count("SELECT count(*) FROM sessions") != before {
		t.Errorf("%d deleted", n)
	}
	jobs := b.jobs()
	b.check(b.Tried(b.ctx, jobs[len(jobs)-1].Delivery, 1, agent.CallbackDelivered, ""))
	n, err = b.ExpireSessions(b.ctx, time.Hour, 10)
	b.check(err)
	if n != 1 {
		t.Errorf("%d deleted, want the one whose callback has arrived", n)
	}
}

func TestRetentionOfDeliveriesLeavesTheRunItsStatus(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	leg := b.paused(newRun())
	_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, agent.Stop{By: "user:bob"}, true)
	b.check(err)
	jobs := b.jobs()
	b.check(b.Tried(b.ctx, jobs[1].Delivery, 1, agent.CallbackDelivered, ""))
	if n, err := b.ExpireDeliveries(b.ctx, time.Hour, 10); n != 0 || err != nil {
		t.Errorf("%d of lately, %v", n, err)
	}
	if n, err := b.ExpireDeliveries(b.ctx, 0, 10); n != 1 || err != nil {
		t.Errorf("%d deleted, %v; want the one that is not pending", n, err)
	}
	turn, _, err := b.Turn(b.ctx, leg.Turn.ID)
	b.check(err)
	if c := turn.Callback; c.Status != agent.CallbackDelivered || c.Attempts != 1 {
		t.Errorf("the run says %+v", c)
	}
}

func TestDepthsSayWhatWaits(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	for range 3 {
		b.take(newRun())
	}
	dead, waiting := b.take(newRun()), b.take(newRun())
	for _, l := range []agent.Leg{dead, waiting} {
		_, err := b.Stop(b.ctx, l.Lease.Session, l.Turn.ID, agent.Stop{By: "user:bob"}, true)
		b.check(err)
	}
	b.check(b.Tried(b.ctx, b.jobs()[0].Delivery, 1, agent.CallbackDead, "answered 500"))
	b.exec("UPDATE run_slots SET queued_at = queued_at - interval '1 minute' WHERE state = 'queued'")
	d, err := b.Depths(b.ctx)
	b.check(err)
	if d.Queued != 3 || d.QueuedAge < time.Minute || d.Deliveries != 1 || d.DeliveriesAge <= 0 || d.Dead != 1 {
		t.Errorf("%+v", d)
	}
}
