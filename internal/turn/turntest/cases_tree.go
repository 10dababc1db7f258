package turntest

import (
	"errors"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

func treeCases() []storeCase {
	return []storeCase{
		{name: "a child keeps its parent and depth", run: childKept},
		{name: "a child of a leg that is stopping, over or another's is refused", run: childRefused},
		{name: "a stop goes down the whole tree, whatever state its turns are in", run: stopGoesDown},
		{name: "a stop of a child leaves its parent alone", run: stopChildOnly},
		{name: "a person's stop of a child that its parent stopped is true", run: stopChildToo},
		{name: "a turn that ends takes its children along", run: settleGoesDown},
		{name: "the children of a dead node's turn are stopped with it", alone: true, run: sweepGoesDown},
		{name: "the children of a dead node's turn that a stop ends are stopped with it", run: stopOwnerlessGoesDown},
		{name: "the children of a turn that is closed for its owner are stopped with it", run: closeForGoesDown},
		{name: "the children of a turn that a new message finds dead are stopped with it", run: takeOwnerlessGoesDown},
		{name: "a child taken while its parent is stopped is refused or stopped", run: childAgainstStop},
	}
}

func childKept(f *fixture) {
	a, b := f.node("a"), f.node("b")
	parent := f.running(a)
	child := f.take(f.child(parent, b))
	t := f.turn(child.Lease.Turn)
	f.want(t.Parent != nil && t.Depth == 1, "child %+v", t)
	p := *t.Parent
	f.want(p.Session == parent.Lease.Session && p.Turn == parent.Lease.Turn && p.Fence == parent.Lease.Fence, "parent %v, want %v", p, parent.Lease)
	child.answer("done")
	parent.answer("done")
}

// Field report I 60: nothing new runs below what was stopped.
func childRefused(f *fixture) {
	node := f.node("a")
	refused := func(b agent.Begin, why string) {
		f.t.Helper()
		_, err := f.tryTake(b)
		f.want(errors.Is(err, agent.ErrParentStopped), "%s: %v, want %v", why, err, agent.ErrParentStopped)
		_, err = f.tryTurn(b.Turn.ID)
		f.want(errors.Is(err, agent.ErrNotFound), "%s: the refused turn: %v", why, err)
	}
	parent := f.running(node)
	b := f.child(parent, node)
	b.Turn.Parent.Fence++
	refused(b, "another fence")
	b = f.child(parent, node)
	b.Turn.Parent.Turn = agent.NewID()
	refused(b, "another turn")
	f.stop(parent, "user:bob", true)
	refused(f.child(parent, node), "a stopping parent")
	refused(f.child(parent, ""), "a stopping parent, queued")
	parent.answer("cut")
	refused(f.child(parent, node), "an ended parent")
	paused := f.running(node)
	paused.pause("c1")
	refused(f.child(paused, node), "a waiting parent")
}

// family is a parent with a child in each state, and a grandchild.
type family struct {
	parent, running, grandchild, queued, waiting *leg
}

func (f *fixture) family(a, b string) *family {
	f.t.Helper()
	x := &family{parent: f.running(a)}
	x.running = f.take(f.child(x.parent, b))
	x.grandchild = f.take(f.child(x.running, b))
	x.queued = f.take(f.child(x.parent, ""))
	x.waiting = f.take(f.child(x.parent, b))
	x.waiting.pause("c1")
	return x
}

// stopped asserts that all below the parent is stopped or told to stop. A
// grandchild may be told why its own parent goes, or why the first one went.
func (f *fixture) stopped(x *family, detail string) {
	f.t.Helper()
	for _, l := range []*leg{x.running, x.grandchild} {
		detail := detail
		stop, err := l.look()
		if l == x.grandchild && err == nil && stop != nil && stop.Detail == agent.DetailParentStopped {
			detail = stop.Detail
		}
		f.want(err == nil && stop != nil && stop.Detail == detail, "a running child's stop: %+v, %v, want %s", stop, err, detail)
		closed := l.answer("cut")
		f.want(closed.Outcome.Kind == agent.Stopped && closed.Outcome.Detail == detail, "closed %+v", closed.Outcome)
	}
	for _, l := range []*leg{x.queued, x.waiting} {
		end, _ := f.end(l)
		f.want(end.StopReason == agent.ReasonCancelled && end.StopDetail == detail, "end of an idle child %+v, want %s", end, detail)
		f.state(l.Session.ID, agent.SlotIdle)
	}
	f.want(f.actions(x.waiting.Lease.Turn)[0].State == agent.ActionWithdrawn, "a child still asks a person")
}

// Field report I 60: the tree, across nodes, in one transaction.
func stopGoesDown(f *fixture) {
	a, b := f.node("a"), f.node("b")
	x := f.family(a, b)
	res := f.stop(x.parent, "user:bob", true)
	f.want(res.Cancelled && !res.Ended && slices.Contains(res.Turns, x.parent.Lease.Turn), "stop %+v", res)
	f.want(slices.Contains(res.Notify, a) && slices.Contains(res.Notify, b), "nodes to tell %v, want %s and %s", res.Notify, a, b)
	f.want(len(f.asked(a)) == 1 && len(f.asked(b)) == 2, "asked %v and %v", f.asked(a), f.asked(b))
	f.stopped(x, agent.DetailParentStopped)
	closed := x.parent.answer("cut")
	f.want(closed.Outcome.Kind == agent.Stopped && closed.Outcome.Detail == "", "closed %+v", closed.Outcome)
}

// Field report I 61.
func stopChildOnly(f *fixture) {
	node := f.node("a")
	parent := f.running(node)
	child := f.take(f.child(parent, node))
	f.stop(child, "user:bob", true)
	child.answer("cut")
	stop, err := parent.look()
	f.want(err == nil && stop == nil, "the parent is asked to stop: %v, %v", stop, err)
	closed := parent.answer("done")
	f.want(closed.Outcome.Kind == agent.Answered, "closed as %s", closed.Outcome.Kind)
}

func stopChildToo(f *fixture) {
	node := f.node("a")
	parent := f.running(node)
	child := f.take(f.child(parent, node))
	f.stop(parent, "user:bob", true)
	res := f.stop(child, "user:eve", true)
	f.want(res.Cancelled, "stop %+v", res)
	child.answer("cut")
	res = f.stop(child, "user:eve", true)
	f.want(res.Cancelled && res.Ended, "stop after the end %+v", res)
}

func settleGoesDown(f *fixture) {
	a, b := f.node("a"), f.node("b")
	x := f.family(a, b)
	closed := x.parent.answer("done without them")
	f.want(closed.Outcome.Kind == agent.Answered && slices.Contains(closed.Notify, b), "closed %+v", closed)
	stop, err := x.running.look()
	f.want(err == nil && stop != nil, "the child's stop: %v, %v", stop, err)
	f.stopped(x, stop.Detail)
}

// A dead node's turn takes its children along; those that a living node runs are
// told, those that the dead node ran too are closed by the same sweeps.
func sweepGoesDown(f *fixture) {
	a, b := f.node("a"), f.node("b")
	x := f.family(a, b)
	own := f.take(f.child(x.parent, a))
	f.kill(a)
	f.sweep(b)
	for ok := true; ok; {
		var err error
		_, ok, err = f.trySweep(b)
		f.check(err)
	}
	f.stopped(x, agent.DetailParentLost)
	f.want(f.turn(x.parent.Lease.Turn).Status == agent.StatusFailed, "parent %+v", f.turn(x.parent.Lease.Turn))
	f.want(f.turn(own.Lease.Turn).Status.Final(), "the child on the dead node %+v", f.turn(own.Lease.Turn))
	own.gone()
}

func stopOwnerlessGoesDown(f *fixture) {
	a, b := f.node("a"), f.node("b")
	x := f.family(a, b)
	f.kill(a)
	res := f.stop(x.parent, "user:bob", true)
	f.want(res.Cancelled && res.Ended, "stop %+v", res)
	f.want(f.turn(x.parent.Lease.Turn).StopReason == agent.ReasonCancelled, "parent %+v", f.turn(x.parent.Lease.Turn))
	f.stopped(x, agent.DetailParentStopped)
}

func closeForGoesDown(f *fixture) {
	x := f.family(f.node("a"), f.node("b"))
	_, ok := f.closeFor(x.parent.Lease)
	f.want(ok, "the leg was not closed")
	f.stopped(x, agent.DetailParentLost)
}

func takeOwnerlessGoesDown(f *fixture) {
	a, b := f.node("a"), f.node("b")
	x := f.family(a, b)
	f.kill(a)
	f.take(f.begin(x.parent.Session, b)).answer("the next turn")
	f.stopped(x, agent.DetailParentLost)
}

func childAgainstStop(f *fixture) {
	node := f.node("a")
	for range 30 {
		parent := f.running(node)
		b := f.child(parent, node)
		var child *leg
		var taken error
		f.race(
			func() error { child, taken = f.tryTake(b); return nil },
			func() error { _, err := f.tryStop(parent, "user:bob", true); return err },
		)
		if errors.Is(taken, agent.ErrParentStopped) {
			continue
		}
		f.check(taken)
		stop, err := child.look()
		f.want(err == nil && stop != nil && stop.Detail == agent.DetailParentStopped, "the child runs on: %+v, %v", stop, err)
		child.answer("cut")
	}
}
