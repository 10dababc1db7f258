package postgres_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/jackc/pgx/v5/pgconn"
)

// later runs f in the background; the returned func waits for its error.
func later(f func() error) func() error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() error { return <-done }
}

func TestAppendSkipsASlotThatIsLockedAndStoresTheOthers(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	locked, free := b.take(newBegin(node)), b.take(newBegin(node))
	lost := free.Lease
	lost.Fence++
	tx := b.hold(locked.Lease.Session)
	batch := func(l agent.Lease) agent.Batch { return agent.Batch{Lease: l, Rows: deltas(l.Turn, 2, 3)} }
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	stored, err := b.Append(ctx, []agent.Batch{batch(locked.Lease), batch(lost), batch(free.Lease)})
	b.check(err)
	if !slices.Equal(stored, []bool{false, false, true}) {
		t.Errorf("stored %v", stored)
	}
	b.check(tx.Rollback(b.ctx))
	for range 2 { // a retry is stored already, and says so
		stored, err = b.Append(b.ctx, []agent.Batch{batch(locked.Lease)})
		b.check(err)
		if !stored[0] || b.count("SELECT count(*) FROM events WHERE session_id = $1 AND kind = 'text.delta'", locked.Lease.Session) != 3 {
			t.Errorf("stored %v", stored)
		}
	}
}

// Rule same_stmt: the write waits for whoever closes the leg, and sees it closed.
func TestAWriteThatWaitedForAClosingIsRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	tx := b.hold(leg.Lease.Session)
	_, err := tx.Exec(b.ctx, "UPDATE run_slots SET fence = fence + 1 WHERE session_id = $1", leg.Lease.Session)
	b.check(err)
	record := later(func() error { return b.Record(b.ctx, leg.Lease, deltas(leg.Lease.Turn, 2, 1), nil) })
	b.waiting(1)
	b.check(tx.Commit(b.ctx))
	if err := record(); !errors.Is(err, agent.ErrLeaseLost) {
		t.Errorf("recorded: %v", err)
	}
	if n := b.count("SELECT count(*) FROM events WHERE kind = 'text.delta'"); n != 0 {
		t.Errorf("%d rows stored", n)
	}
}

// Rule tool_row: the same for a stop that is being written.
func TestATraceOfAToolIsRefusedOnceAStopIsWritten(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	tx := b.hold(leg.Lease.Session)
	_, err := tx.Exec(b.ctx, "UPDATE run_slots SET stop_at = clock_timestamp(), stop_by = 'user:bob' WHERE session_id = $1", leg.Lease.Session)
	b.check(err)
	action := agent.Action{ID: agent.NewID(), CallID: "c", Type: agent.ActionApproval, Name: "n"}
	record := later(func() error {
		return b.Record(b.ctx, leg.Lease, deltas(leg.Lease.Turn, 2, 1), []agent.Action{action})
	})
	b.waiting(1)
	b.check(tx.Commit(b.ctx))
	stop, ok := errors.AsType[*agent.Stop](record())
	if !ok || stop.By != "user:bob" {
		t.Errorf("recorded: %v", stop)
	}
	if n := b.count("SELECT count(*) FROM actions"); n != 0 {
		t.Errorf("%d actions opened", n)
	}
}

// Rule stop_turn: the turn that was found is gone by the time the lock is had.
func TestAStopThatWaitedForTheEndLeavesTheNextTurnAlone(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	first := newBegin(node)
	leg := b.take(first)
	tx := b.hold(leg.Lease.Session)
	settle := later(func() error { _, err := b.Settle(b.ctx, leg.Lease, answer(leg, "done")); return err })
	b.waiting(1)
	next := first
	next.New, next.Turn.ID = false, agent.NewID()
	var second agent.Leg
	take := later(func() (err error) { second, err = b.Take(b.ctx, next); return err })
	b.waiting(2)
	var res agent.StopResult
	stop := later(func() (err error) {
		res, err = b.Stop(b.ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "user:bob"}, true)
		return err
	})
	b.waiting(3)
	b.check(tx.Rollback(b.ctx))
	b.check(settle())
	b.check(take())
	b.check(stop())
	if res.Cancelled || !res.Ended || len(res.Turns) > 0 {
		t.Errorf("answered %+v", res)
	}
	if asked, err := b.Look(b.ctx, second.Lease); err != nil || asked != nil {
		t.Errorf("the next turn is asked to stop: %v, %v", asked, err)
	}
}

func TestATurnHasOneEndWhoeverWritesIt(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	_, err := b.Settle(b.ctx, leg.Lease, answer(leg, "done"))
	b.check(err)
	_, err = b.raw.Exec(b.ctx, `INSERT INTO events (session_id, seq, last_seq, turn_id, fence, kind, body)
		VALUES ($1, 99, 99, $2, 99, 'turn.ended', '{}')`, leg.Lease.Session, leg.Lease.Turn)
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.ConstraintName != "events_one_end" {
		t.Errorf("a second end: %v", err)
	}
}

// Two writes of one owner may be committed in either order.
func TestReadersAreNotShownWhatComesAfterAMissingNumber(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	session, turn := leg.Lease.Session, leg.Lease.Turn
	b.check(b.Record(b.ctx, leg.Lease, deltas(turn, 4, 2), nil)) // 5 and 6
	read := func(after int64) []int64 {
		events, err := b.Events(b.ctx, session, after, 100)
		b.check(err)
		news, err := b.News(b.ctx, map[string]int64{session: after})
		b.check(err)
		if len(news) != len(events) {
			t.Errorf("news %v, events %v", news, events)
		}
		var out []int64
		for _, e := range events {
			out = append(out, e.Seq)
		}
		return out
	}
	if got := read(0); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("before: %v", got)
	}
	if got := read(2); len(got) != 0 {
		t.Errorf("after 2, before: %v", got)
	}
	b.check(b.Record(b.ctx, leg.Lease, []agent.Row{
		{Seq: 3, Last: 4, Turn: turn, Kind: agent.KindTextDelta, Body: []byte(`{"texts":["a","b"]}`), At: time.Now()},
	}, nil))
	for after, want := range map[int64][]int64{0: {1, 2, 3, 4, 5, 6}, 3: {4, 5, 6}, 4: {5, 6}, 6: nil, -5: {1, 2, 3, 4, 5, 6}} {
		if got := read(after); !slices.Equal(got, want) {
			t.Errorf("after %d: %v, want %v", after, got, want)
		}
	}
	// Retention takes deltas of ended turns: that leaves holes, and hides nothing.
	c := answer(leg, "done")
	c.Seq = 6
	_, err := b.Settle(b.ctx, leg.Lease, c)
	b.check(err)
	b.exec("DELETE FROM events WHERE kind = 'text.delta'")
	next := newBegin(leg.Lease.Node)
	next.Session, next.New = leg.Session, false
	b.take(next)
	if got := read(0); !slices.Equal(got, []int64{1, 2, 7, 8, 9, 10}) {
		t.Errorf("after retention: %v", got)
	}
}

// Rule slot_first: both decisions wait for the slot, and the second sees the first.
func TestOfTwoDecisionsAtOnceExactlyOneQueuesTheTurn(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	ids := []string{agent.NewID(), agent.NewID()}
	var open []agent.Action
	for _, id := range ids {
		open = append(open, agent.Action{ID: id, CallID: id, Type: agent.ActionApproval, Name: "n"})
	}
	b.check(b.Record(b.ctx, leg.Lease, nil, open))
	_, err := b.Settle(b.ctx, leg.Lease, agent.Closing{End: agent.Outcome{Kind: agent.Waiting}, Seq: leg.Seq + 2})
	b.check(err)
	tx := b.hold(leg.Lease.Session)
	var queued [2]bool
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			var err error
			_, queued[i], err = b.Decide(b.ctx, agent.Decision{Action: id, State: agent.ActionApproved, By: "user:bob"})
			if err != nil {
				t.Error(err)
			}
		})
	}
	b.waiting(2)
	b.check(tx.Rollback(b.ctx))
	wg.Wait()
	if queued[0] == queued[1] {
		t.Errorf("queued: %v", queued)
	}
	found, err := b.Find(b.ctx, leg.Lease.Session)
	if err != nil || found.State != agent.SlotQueued {
		t.Errorf("slot %+v, %v", found, err)
	}
}

// The child's take waits for whoever stops its parent.
func TestAChildIsRefusedOnceItsParentIsStopped(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	parent := b.take(newBegin(node))
	tx := b.hold(parent.Lease.Session)
	_, err := tx.Exec(b.ctx, "UPDATE run_slots SET stop_at = clock_timestamp() WHERE session_id = $1", parent.Lease.Session)
	b.check(err)
	begin := child(parent, node)
	take := later(func() error { _, err := b.Take(b.ctx, begin); return err })
	b.waiting(1)
	b.check(tx.Commit(b.ctx))
	if err := take(); !errors.Is(err, agent.ErrParentStopped) {
		t.Errorf("taken: %v", err)
	}
	if n := b.count("SELECT count(*) FROM sessions WHERE id = $1", begin.Session.ID); n != 0 {
		t.Error("a refused take made its session")
	}
}

func TestTwoTakesOfOneTurnAtOnceGetTheSameLeg(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	for range 20 {
		begin := newBegin(node)
		var legs [4]agent.Leg
		var wg sync.WaitGroup
		for i := range legs {
			wg.Go(func() {
				var err error
				if legs[i], err = b.Take(b.ctx, begin); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, l := range legs {
			if l.Lease != legs[0].Lease || l.Seq != legs[0].Seq || len(l.Events) != 2 {
				t.Fatalf("%+v and %+v", l, legs[0])
			}
		}
	}
}

// The times of everything that is stored about a stop are the database's.
func TestAStopHasTheDatabasesTime(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "x", At: time.Unix(1, 0)}, true)
	b.check(err)
	stop, err := b.Look(b.ctx, leg.Lease)
	b.check(err)
	other := b.take(newBegin(leg.Lease.Node))
	c := answer(other, "cut")
	c.Stop = &agent.Stop{By: "x", At: time.Unix(1, 0)}
	closed, err := b.Settle(b.ctx, other.Lease, c)
	b.check(err)
	for _, s := range []*agent.Stop{stop, closed.Outcome.Stop} {
		if d := time.Since(s.At); d < 0 || d > time.Minute {
			t.Errorf("stopped at %v", s.At)
		}
	}
}
