package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

func TestANodeThatDiesWhileItsTakeWaitsTakesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	begin := newBegin(node)
	leg := b.take(begin)
	_, err := b.Settle(b.ctx, leg.Lease, answer(leg, "done"))
	b.check(err)
	begin.Turn.ID, begin.New = agent.NewID(), false
	tx := b.hold(begin.Session.ID)
	take := later(func() error { _, err := b.Take(b.ctx, begin); return err })
	b.waiting(1)
	b.check(b.Leave(b.ctx, node))
	b.check(tx.Rollback(b.ctx))
	if err := take(); !errors.Is(err, agent.ErrNodeDead) {
		t.Errorf("taken: %v", err)
	}
	if n := b.count("SELECT count(*) FROM turns"); n != 1 {
		t.Errorf("%d turns", n)
	}
}

// A renewal and a declaration of the same row: the second waits and looks again.
func TestADeclarationThatWaitedForARenewalDeclaresNobody(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{Lease: 200 * time.Millisecond, Gap: time.Hour})
	me, other := b.node(), b.node()
	time.Sleep(250 * time.Millisecond)
	b.check(b.Renew(b.ctx, me))
	tx, err := b.connect().Begin(b.ctx)
	b.check(err)
	_, err = tx.Exec(b.ctx, "UPDATE nodes SET renewed_at = clock_timestamp() + interval '1 minute' WHERE id = $1", other)
	b.check(err)
	n := 0
	declare := later(func() (err error) { n, err = b.DeclareDead(b.ctx, me); return err })
	b.waiting(1)
	b.check(tx.Commit(b.ctx))
	b.check(declare())
	if n != 0 {
		t.Error("declared a node dead that had just renewed")
	}
	b.check(b.Renew(b.ctx, other))
}

// Rule contact: back from an outage nobody is declared dead for a lease.
func TestANodeWhoseContactIsBrokenDeclaresNobodyDead(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{Lease: time.Minute, Gap: 20 * time.Second})
	me, other := b.node(), b.node()
	ages := func(renewed, contact string) {
		b.exec("UPDATE nodes SET renewed_at = clock_timestamp() - interval '2 minutes'")
		b.exec("UPDATE nodes SET renewed_at = clock_timestamp() - $2::interval, contact_since = clock_timestamp() - $3::interval WHERE id = $1", me, renewed, contact)
	}
	declared := func() int {
		n, err := b.DeclareDead(b.ctx, me)
		b.check(err)
		return n
	}
	ages("30 seconds", "5 minutes")
	if declared() != 0 {
		t.Error("declared while silent itself")
	}
	b.check(b.Renew(b.ctx, me))
	if declared() != 0 {
		t.Error("declared right after an outage")
	}
	ages("10 seconds", "30 seconds")
	if declared() != 0 {
		t.Error("declared with less than a lease of contact")
	}
	ages("10 seconds", "5 minutes")
	b.check(b.Renew(b.ctx, me))
	if n := declared(); n != 1 {
		t.Errorf("declared %d", n)
	}
	if err := b.Renew(b.ctx, other); !errors.Is(err, agent.ErrNodeDead) {
		t.Errorf("a dead node renewed: %v", err)
	}
	b.exec("UPDATE nodes SET dead_at = clock_timestamp() WHERE id = $1", me)
	b.node()
	b.exec("UPDATE nodes SET renewed_at = clock_timestamp() - interval '1 hour' WHERE dead_at IS NULL")
	if declared() != 0 {
		t.Error("a dead node declared another dead")
	}
}

// A test for a missing or silent row instead of a dead one was seen to close a
// living node's turn: after a lock wait the picture of nodes is old.
func TestAStopThatWaitedDoesNotTakeANewNodeForADeadOne(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	old := b.node()
	leg := b.take(newBegin(old))
	b.exec("UPDATE nodes SET dead_at = clock_timestamp() WHERE id = $1", old)
	tx := b.hold(leg.Lease.Session)
	var res agent.StopResult
	stop := later(func() (err error) {
		res, err = b.Stop(b.ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "user:bob"}, true)
		return err
	})
	b.waiting(1)
	fresh := b.node() // not in the picture of the statement that waits
	_, err := tx.Exec(b.ctx, "UPDATE run_slots SET node_id = $2, fence = fence + 1 WHERE session_id = $1", leg.Lease.Session, fresh)
	b.check(err)
	b.check(tx.Commit(b.ctx))
	b.check(stop())
	if !res.Cancelled || res.Ended || len(res.Notify) != 1 || res.Notify[0] != fresh {
		t.Errorf("stopped %+v", res)
	}
}

func TestARowOfADeadNodeStaysWhileASlotNamesIt(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{Forget: 10 * time.Millisecond})
	dead, me := b.node(), b.node()
	b.check(b.Leave(b.ctx, dead))
	rows := func() int { return b.count("SELECT count(*) FROM nodes WHERE id = $1", dead) }
	sweep := func() bool {
		time.Sleep(20 * time.Millisecond)
		_, ok, err := b.Sweep(b.ctx, me)
		b.check(err)
		return ok
	}
	leg := b.take(newBegin(me))
	b.exec("UPDATE run_slots SET node_id = $2 WHERE session_id = $1", leg.Lease.Session, dead)
	tx := b.hold(leg.Lease.Session)
	if sweep() || rows() != 1 {
		t.Errorf("a locked slot was swept, or its node's row is gone: %d", rows())
	}
	b.check(tx.Rollback(b.ctx))
	if !sweep() {
		t.Error("nothing swept")
	}
	if sweep() || rows() != 0 {
		t.Errorf("swept twice, or the row stays: %d", rows())
	}
	if n := b.count("SELECT count(*) FROM nodes WHERE id = $1", me); n != 1 {
		t.Error("the row of a living node is gone")
	}
}

// Two sweepers, two closers and a stop of the same ownerless turn: one end.
func TestAnOwnerlessTurnIsClosedOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	for range 10 {
		dead, me := b.node(), b.node()
		leg := b.take(newBegin(dead))
		b.check(b.Leave(b.ctx, dead))
		var swept [2]bool
		calls := []func() error{
			later(func() (err error) { _, swept[0], err = b.Sweep(b.ctx, me); return err }),
			later(func() (err error) { _, swept[1], err = b.Sweep(b.ctx, me); return err }),
			later(func() error { _, _, err := b.CloseFor(b.ctx, leg.Lease); return err }),
			later(func() error { _, err := b.Settle(b.ctx, leg.Lease, answer(leg, "late")); return ignoreLost(err) }),
			later(func() error {
				_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "user:bob"}, true)
				return err
			}),
		}
		for _, call := range calls {
			b.check(call())
		}
		if swept[0] && swept[1] {
			t.Error("swept twice")
		}
		turn, _, err := b.Turn(b.ctx, leg.Lease.Turn)
		b.check(err)
		if !turn.Status.Final() {
			t.Errorf("the turn is %s", turn.Status)
		}
	}
}

func ignoreLost(err error) error {
	if errors.Is(err, agent.ErrLeaseLost) {
		return nil
	}
	return err
}
