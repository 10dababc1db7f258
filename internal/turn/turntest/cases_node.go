package turntest

import (
	"errors"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

func nodeCases() []storeCase {
	return []storeCase{
		{name: "a node that left is not renewed", run: nodeLeft},
		{name: "every join is another node", run: nodeIDs},
		{name: "a silent node is declared dead and never renewed again", alone: true, run: nodeSilent},
		{name: "a node that renews is not declared dead", alone: true, run: nodeAlive},
		{name: "who was silent itself declares nobody dead", alone: true, run: nodeContact},
		{name: "who has just come declares nobody dead", alone: true, run: nodeNew},
		{name: "a dead node declares nobody dead", alone: true, run: nodeDeadDeclares},
		{name: "one declaration declares one node dead", alone: true, run: nodeOneByOne},
		{name: "an outage for all ends nobody's turn", alone: true, run: nodeOutage},
	}
}

func (f *fixture) renew(node string) error {
	return again0(func() error { return f.store.Renew(f.ctx, node) })
}

// silence waits until a node's last renewal is d old.
func (f *fixture) silence(node string, d time.Duration) {
	f.t.Helper()
	f.check(f.renew(node))
	time.Sleep(d)
}

func (f *fixture) declare(me string) int {
	f.t.Helper()
	n, err := again(func() (int, error) { return f.store.DeclareDead(f.ctx, me) })
	f.check(err)
	return n
}

// nobodyBefore asserts that me declares nobody dead until a lease has gone by
// since a time. If the machine is slower than that, it asserts nothing.
func (f *fixture) nobodyBefore(me string, since time.Time) {
	f.t.Helper()
	n := f.declare(me)
	if took := time.Since(since); took < f.times.Lease {
		f.want(n == 0, "declared %d dead after %v, a lease is %v", n, took, f.times.Lease)
	}
}

// Rule renew_cond.
func nodeLeft(f *fixture) {
	node := f.node("a")
	f.check(f.renew(node))
	f.kill(node)
	f.kill(node)
	for _, id := range []string{node, agent.NewID()} {
		err := f.renew(id)
		f.want(errors.Is(err, agent.ErrNodeDead), "renew: %v, want %v", err, agent.ErrNodeDead)
	}
}

func nodeIDs(f *fixture) {
	first, second := f.node("a"), f.node("a")
	f.want(first != second, "two joins have one id")
}

// declared renews me and declares until one node was declared dead.
func (f *fixture) declared(me string) {
	f.t.Helper()
	f.eventually("declaring a silent node dead", func() bool {
		f.check(f.renew(me))
		return f.declare(me) == 1
	})
}

// Rules declare_cond and renew_cond; field reports J 64 and K 71 (the database's
// clock alone says how old a renewal is).
func nodeSilent(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l := f.running(a)
	f.declared(b)
	err := f.renew(a)
	f.want(errors.Is(err, agent.ErrNodeDead), "renew: %v, want %v", err, agent.ErrNodeDead)
	f.check(f.renew(b))
	swept := f.sweep(b)
	f.want(swept.Lease == l.Lease, "swept %+v", swept)
	fresh := f.node("a")
	f.take(f.begin(l.Session, fresh))
}

// Rule declare_cond: the statement tests the age itself.
func nodeAlive(f *fixture) {
	a, b := f.node("a"), f.node("b")
	for end := time.Now().Add(3 * f.times.Lease); time.Now().Before(end); time.Sleep(f.times.Gap / 10) {
		f.check(f.renew(b))
		sent := time.Now()
		if err := f.renew(a); err != nil {
			return // this machine was silent for a lease
		}
		f.nobodyBefore(b, sent)
	}
}

// Rules contact and contact_row: a gap in its own renewals, and a node must be
// in contact for a lease before it may say that others are not.
func nodeContact(f *fixture) {
	a, b := f.node("a"), f.node("b")
	f.check(f.renew(a))
	time.Sleep(f.times.Lease + f.times.Gap)
	f.want(f.declare(b) == 0, "declared without a renewal of its own")
	since := time.Now()
	f.check(f.renew(b))
	f.nobodyBefore(b, since)
	f.check(f.renew(a))
}

func nodeNew(f *fixture) {
	a := f.node("a")
	f.silence(a, f.times.Lease+f.times.Gap)
	since := time.Now()
	b := f.node("b")
	f.nobodyBefore(b, since)
	f.declared(b)
}

func nodeDeadDeclares(f *fixture) {
	a, b := f.node("a"), f.node("b")
	for end := time.Now().Add(f.times.Lease + f.times.Gap); time.Now().Before(end); time.Sleep(f.times.Gap / 10) {
		f.check(f.renew(b))
	}
	f.kill(b)
	f.want(f.declare(b) == 0, "a dead node declared another dead")
	f.want(f.declare(agent.NewID()) == 0, "a node that is not there declared another dead")
	f.check(f.renew(a))
}

func nodeOneByOne(f *fixture) {
	for range 3 {
		f.node("silent")
	}
	me := f.node("me")
	for range 3 {
		f.declared(me)
	}
	f.check(f.renew(me))
	f.want(f.declare(me) == 0, "declared more than there were")
}

// Rule contact: after an outage everybody looks dead to everybody.
func nodeOutage(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l := f.running(a)
	time.Sleep(2 * f.times.Lease)
	since := time.Now()
	f.check(f.renew(b))
	f.nobodyBefore(b, since)
	f.check(f.renew(a))
	f.nobodyBefore(b, since)
	l.answer("the outage has ended nothing")
}

func hintCases() []storeCase {
	return []storeCase{{name: "a hint reaches every listener until it leaves", alone: true, run: hintsArrive}}
}
