package postgres_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

// Everybody locks parents before children, and in the same order: with stops,
// closings, takes and sweeps of the same trees at once nobody meets a deadlock,
// and nothing lives on below what has ended.
func TestTreesAreStoppedAndClosedAtOnceWithoutDeadlock(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{Lock: 5 * time.Second})
	nodes := []string{b.node(), b.node()}
	for round := range 12 {
		tree := b.tree(nodes, 3)
		if round%3 == 2 { // one node dies with its part of the tree
			b.check(b.Leave(b.ctx, nodes[1]))
			nodes[1] = b.node()
		}
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() { b.disturb(tree[rand.IntN(len(tree))], nodes[i%2], i%6) })
		}
		wg.Wait()
		b.windDown(nodes)
	}
	if n := b.count("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n > 0 {
		t.Errorf("%d deadlocks", n)
	}
	if n := b.count("SELECT count(*) FROM run_slots WHERE state <> 'idle'"); n > 0 {
		t.Errorf("%d slots are not idle in the end", n)
	}
}

// tree begins a turn with two children, each with two, and so on, down to depth.
func (b *bed) tree(nodes []string, depth int) []agent.Leg {
	b.t.Helper()
	legs := []agent.Leg{b.take(newBegin(nodes[0]))}
	for i := 0; i < len(legs); i++ {
		if legs[i].Turn.Depth == depth || legs[i].Lease.Node == "" {
			continue
		}
		legs = append(legs, b.take(child(legs[i], nodes[0])))
		node := nodes[1]
		if legs[i].Turn.Depth == 1 {
			node = "" // a queued one
		}
		legs = append(legs, b.take(child(legs[i], node)))
	}
	return legs
}

// disturb does one of the things that lock several slots.
func (b *bed) disturb(leg agent.Leg, node string, what int) {
	var err error
	switch what {
	case 0, 1:
		_, err = b.Stop(b.ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "user:bob"}, true)
	case 2:
		_, err = b.Settle(b.ctx, leg.Lease, answer(leg, "done"))
	case 3:
		_, err = b.Take(b.ctx, child(leg, node))
	case 4:
		_, _, err = b.Sweep(b.ctx, node)
	case 5:
		_, _, err = b.CloseFor(b.ctx, leg.Lease)
	}
	if err != nil && !errors.Is(err, agent.ErrLeaseLost) && !errors.Is(err, agent.ErrParentStopped) {
		b.t.Errorf("%d of %s: %v", what, leg.Lease, err)
	}
}

// windDown settles whatever was told to stop or lies with a dead node.
func (b *bed) windDown(nodes []string) {
	b.t.Helper()
	for again := true; again; {
		_, ok, err := b.Sweep(b.ctx, nodes[0])
		b.check(err)
		again = ok
		for _, node := range nodes {
			asked, err := b.Asked(b.ctx, node)
			b.check(err)
			for _, a := range asked {
				turn, _, err := b.Turn(b.ctx, a.Lease.Turn)
				b.check(err)
				_, err = b.Settle(b.ctx, a.Lease, answer(agent.Leg{Turn: turn, Seq: turn.FirstSeq - 1}, "cut"))
				b.check(err)
				again = true
			}
		}
	}
	for _, node := range nodes { // what nobody asked to stop
		b.exec("UPDATE run_slots SET taken_at = taken_at - interval '1 hour' WHERE state = 'running'")
		legs, err := b.Strays(b.ctx, node, nil)
		b.check(err)
		for _, l := range legs {
			_, _, err := b.CloseFor(b.ctx, l.Lease)
			b.check(err)
		}
	}
	for {
		leg, ok, err := b.Claim(b.ctx, nodes[0], 0)
		b.check(err)
		if !ok {
			break
		}
		_, err = b.Settle(b.ctx, leg.Lease, answer(agent.Leg{Turn: leg.Turn, Seq: leg.Seq - 2}, "done"))
		b.check(err)
	}
	if n := b.count("SELECT count(*) FROM run_slots WHERE state <> 'idle'"); n > 0 {
		b.windDown(nodes)
	}
}

// A child that was begun while its parent's lock was waited for is not in the
// picture that the waiting statement has of the tree.
func TestAStopFindsAChildThatWasBegunWhileItWaited(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	root := b.take(newBegin(node))
	middle := b.take(child(root, node))
	tx := b.hold(middle.Lease.Session)
	var res agent.StopResult
	stop := later(func() (err error) {
		res, err = b.Stop(b.ctx, root.Lease.Session, root.Lease.Turn, agent.Stop{By: "user:bob"}, true)
		return err
	})
	b.waiting(1)
	var leaf agent.Leg
	begin := child(middle, node)
	take := later(func() (err error) { leaf, err = b.Take(b.ctx, begin); return err })
	b.waiting(2)
	b.check(tx.Rollback(b.ctx))
	b.check(stop())
	if err := take(); errors.Is(err, agent.ErrParentStopped) {
		return // the stop had the lock first
	} else if err != nil {
		t.Fatal(err)
	}
	if asked, err := b.Look(b.ctx, leaf.Lease); err != nil || asked == nil || len(res.Turns) != 3 {
		t.Errorf("the leaf runs on: %v, %v; told %v", asked, err, res.Turns)
	}
}
