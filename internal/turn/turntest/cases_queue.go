package turntest

import (
	"errors"
	"fmt"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

func queueCases() []storeCase {
	return []storeCase{
		{name: "a project's long queue does not keep another project waiting", alone: true, run: queueFair},
		{name: "a project at its bound is in nobody's way", alone: true, run: queueBound},
		{name: "a project at its bound still gives the continuation of a turn that is no background run", alone: true, run: queueForeground},
		{name: "claims at once never exceed the bound", alone: true, run: queueBoundAtOnce},
		{name: "a run that waits for a person is not counted, and goes on before new work", alone: true, run: queueWaiting},
		{name: "a run that nobody takes in time fails", alone: true, run: queueExpires},
		{name: "a continuation that nobody takes in time fails and keeps what was said", alone: true, run: queueExpiresLater},
		{name: "a run that is taken or stopped in time does not expire", alone: true, run: queueInTime},
		{name: "only legs are work, waiting is not", alone: true, run: queueWorked},
		{name: "a project that has as many runs as it may gets no more", alone: true, run: queueLimit},
		{name: "of fifty submits at once as many as may be are queued", alone: true, run: queueLimitAtOnce},
		{name: "a request with a key begins one turn, however often it is sent", run: keyOnce},
		{name: "of fifty equal requests at once one begins a turn", run: keyFifty},
		{name: "a key is its principal's and its project's own", run: keyScope},
		{name: "a key is free again after its time", run: keyExpires},
		{name: "a key of a request that was refused stays free", run: keyRefused},
	}
}

// of returns a background run of a new session of a project.
func (f *fixture) of(project string) agent.Begin {
	s := f.session()
	s.Project = project
	return f.begin(s, "")
}

// claimed claims until nothing is left, at most `most` of a project at once.
func (f *fixture) claimed(node string, most int) []string {
	f.t.Helper()
	var out []string
	for {
		l, ok, err := f.tryClaimOf(node, most)
		f.check(err)
		if !ok {
			return out
		}
		out = append(out, l.Lease.Turn)
	}
}

func (f *fixture) takeAll(begins ...agent.Begin) []string {
	f.t.Helper()
	var out []string
	for _, b := range begins {
		out = append(out, f.take(b).Lease.Turn)
	}
	return out
}

func (f *fixture) inOrder(got []string, want ...string) {
	f.t.Helper()
	f.want(fmt.Sprint(got) == fmt.Sprint(want), "claimed %v, want %v", got, want)
}

func queueFair(f *fixture) {
	node := f.node("a")
	a := f.takeAll(f.of(DefaultProject), f.of(DefaultProject), f.of(DefaultProject))
	b := f.takeAll(f.of(f.other))
	f.inOrder(f.claimed(node, 0), a[0], b[0], a[1], a[2])
}

func queueBound(f *fixture) {
	node := f.node("a")
	a := f.takeAll(f.of(DefaultProject), f.of(DefaultProject), f.of(DefaultProject))
	b := f.takeAll(f.of(f.other))
	first, ok, err := f.tryClaimOf(node, 1)
	f.check(err)
	f.want(ok && first.Lease.Turn == a[0], "claimed %v %v, want %s", ok, first.Lease, a[0])
	f.inOrder(f.claimed(node, 1), b[0])
	first.answer("done")
	f.inOrder(f.claimed(node, 1), a[1])
	f.inOrder(f.claimed(node, 0), a[2])
}

func queueForeground(f *fixture) {
	node := f.node("a")
	fore := f.running(node)
	action := fore.pause("c1")[0]
	a := f.takeAll(f.of(DefaultProject), f.of(DefaultProject))
	f.inOrder(f.claimed(node, 1), a[0])
	f.want(fore.decide(action, agent.ActionApproved), "the turn was not queued")
	f.inOrder(f.claimed(node, 1), fore.Lease.Turn)
}

func queueBoundAtOnce(f *fixture) {
	nodes := []string{f.node("a"), f.node("b")}
	const bound = 3
	for range 12 {
		f.take(f.of(DefaultProject))
	}
	counts := make([]int, 8)
	for _, err := range together(len(counts), func(i int) error {
		for range 12 {
			_, ok, err := f.tryClaimOf(nodes[i%2], bound)
			if err != nil {
				return err
			}
			if ok {
				counts[i]++
			}
		}
		return nil
	}) {
		f.check(err)
	}
	sum := 0
	for _, n := range counts {
		sum += n
	}
	f.want(sum == bound, "%d run at once, want %d", sum, bound)
}

func queueWaiting(f *fixture) {
	node := f.node("a")
	a := f.takeAll(f.of(DefaultProject), f.of(DefaultProject), f.of(DefaultProject))
	first, _, err := f.tryClaimOf(node, 1)
	f.check(err)
	action := first.pause("c1")[0]
	second, ok, err := f.tryClaimOf(node, 1)
	f.check(err)
	f.want(ok && second.Lease.Turn == a[1], "a waiting run is counted: claimed %v %v, want %s", ok, second.Lease, a[1])
	f.want(first.decide(action, agent.ActionApproved), "the run was not queued")
	f.inOrder(f.claimed(node, 1))
	second.answer("done")
	f.inOrder(f.claimed(node, 1), a[0])
}

// late returns a run that has been queued for too long as soon as it is: no
// configuration would have it, and a store does not look.
func (f *fixture) late() agent.Begin {
	b := f.of(DefaultProject)
	b.Turn.Spec.Execution.BackgroundMaxDurationMinutes = -1
	return b
}

func queueExpires(f *fixture) {
	node := f.node("a")
	b := f.late()
	q := f.take(b)
	f.want(f.sweep(node) == agent.Swept{Lease: q.Lease, Outcome: agent.Failed}, "swept something else")
	t := f.turn(b.Turn.ID)
	f.want(t.RunStatus() == agent.RunFailed && t.StartedAt.IsZero() && t.Error != nil && t.Error.Code == agent.CodePrecondition, "turn %+v", t)
	end, _ := f.end(q)
	f.want(end.Status == agent.StatusFailed && end.Stop == nil, "end %+v", end)
	f.state(b.Session.ID, agent.SlotIdle)
	f.inOrder(f.claimed(node, 0))
	_, ok, err := f.trySweep(node)
	f.want(err == nil && !ok, "swept more: %v %v", ok, err)
	f.take(f.begin(q.Session, node))
}

func queueExpiresLater(f *fixture) {
	node := f.node("a")
	b := f.late()
	f.take(b)
	l := f.claim(node)
	l.append(l.say("so far"))
	action := l.pause("c1")[0]
	_, ok, err := f.trySweep(node)
	f.want(err == nil && !ok, "a run that waits for a person was swept: %v %v", ok, err)
	f.want(l.decide(action, agent.ActionApproved), "the run was not queued")
	f.sweep(node)
	t := f.turn(b.Turn.ID)
	f.want(t.RunStatus() == agent.RunFailed && t.RunError().Code == agent.CodePrecondition, "turn %+v", t)
	f.want(f.actions(t.ID)[0].State == agent.ActionApproved, "the decision is gone")
}

func queueInTime(f *fixture) {
	node := f.node("a")
	taken, stopped := f.late(), f.late()
	f.take(taken)
	l := f.claim(node)
	q := f.take(stopped)
	f.stop(q, "user:bob", true)
	f.take(f.of(DefaultProject)) // has a quarter of an hour
	_, ok, err := f.trySweep(node)
	f.want(err == nil && !ok, "swept %v %v", ok, err)
	f.want(l.answer("done").Outcome.Kind == agent.Answered, "the run did not end by itself")
	f.want(f.turn(stopped.Turn.ID).RunStatus() == agent.RunCanceled, "the stopped run is %+v", f.turn(stopped.Turn.ID))
}

func queueWorked(f *fixture) {
	node := f.node("a")
	f.take(f.of(DefaultProject))
	began := time.Now()
	l := f.claim(node)
	time.Sleep(2 * clocks)
	action := l.pause("c1")[0]
	most := time.Since(began)
	first := f.turn(l.Lease.Turn).Worked
	f.want(first >= clocks && first <= most+clocks, "a leg of %v to %v counts %v", 2*clocks, most, first)
	time.Sleep(2 * clocks)
	l.decide(action, agent.ActionApproved)
	time.Sleep(2 * clocks)
	began = time.Now()
	second := f.claim(node)
	f.want(second.Queued >= clocks && second.Queued < patience, "queued for %v, the claim says %v", 2*clocks, second.Queued)
	f.want(second.Turn.Worked >= first && second.Turn.Worked <= first+time.Since(began)+clocks, "the claim says %v of %v", second.Turn.Worked, first)
	time.Sleep(2 * clocks)
	second.answer("done")
	most += time.Since(began)
	both := f.turn(l.Lease.Turn).Worked
	f.want(both >= first+clocks && both <= most+clocks, "two legs of %v at most count %v", most, both)
}

// limited returns a run of a project that may have n.
func (f *fixture) limited(n int) agent.Begin {
	b := f.of(DefaultProject)
	b.MostRuns = n
	return b
}

func queueLimit(f *fixture) {
	node := f.node("a")
	f.take(f.limited(2))
	paused := f.claim(node)
	paused.pause("c1")
	first := f.take(f.limited(2))
	f.take(f.limited(2))
	b := f.limited(2)
	_, err := f.tryTake(b)
	f.want(errors.Is(err, agent.ErrRunLimit), "%v, want %v", err, agent.ErrRunLimit)
	_, err = f.tryTurn(b.Turn.ID)
	f.want(errors.Is(err, agent.ErrNotFound), "the refused turn: %v", err)
	f.running(node) // somebody waits for it: no background run
	f.stop(first, "user:bob", true)
	f.take(b)
	again := f.take(b)
	f.want(again.Lease.Turn == b.Turn.ID, "the same take again: %v", again.Lease)
}

func queueLimitAtOnce(f *fixture) {
	const bound = 5
	begins := make([]agent.Begin, 50)
	for i := range begins {
		begins[i] = f.limited(bound)
	}
	won := 0
	for _, err := range together(len(begins), func(i int) error { _, err := f.tryTake(begins[i]); return err }) {
		if err == nil {
			won++
			continue
		}
		f.want(errors.Is(err, agent.ErrRunLimit), "%v, want %v", err, agent.ErrRunLimit)
	}
	f.want(won == bound, "%d were queued, want %d", won, bound)
}

// once names a begin by a key and a request.
func once(b agent.Begin, key, request string) agent.Begin {
	b.Once = &agent.Once{Project: b.Session.Project, Principal: b.Turn.By, Key: key, Keep: time.Hour}
	copy(b.Once.Request[:], request)
	return b
}

// usedBy asserts that a key has begun a turn.
func (f *fixture) usedBy(err error, turn string, same bool) {
	f.t.Helper()
	used, ok := errors.AsType[*agent.UsedKeyError](err)
	f.want(ok && used.Turn == turn && used.Same == same, "%v, want that turn %s has the key, by the same request: %v", err, turn, same)
}

func keyOnce(f *fixture) {
	key := agent.NewID()
	b := once(f.of(DefaultProject), key, "this")
	f.check(f.store.Used(f.ctx, *b.Once))
	first := f.take(b)
	again := f.take(b)
	f.want(again.Lease == first.Lease, "the same take again: %v, want %v", again.Lease, first.Lease)
	for request, same := range map[string]bool{"this": true, "that": false} {
		other := once(f.of(DefaultProject), key, request)
		_, err := f.tryTake(other)
		f.usedBy(err, b.Turn.ID, same)
		f.usedBy(f.store.Used(f.ctx, *other.Once), b.Turn.ID, same)
		_, err = f.store.Find(f.ctx, other.Session.ID)
		f.want(errors.Is(err, agent.ErrNotFound), "a session was made: %v", err)
	}
	f.stop(first, "user:bob", true)
	_, err := f.tryTake(once(f.of(DefaultProject), key, "this"))
	f.usedBy(err, b.Turn.ID, true) // also once it has ended: nothing runs twice
}

// Field report P 98: a request that is sent again is no second run.
func keyFifty(f *fixture) {
	key := agent.NewID()
	s := f.running(f.node("a"))
	s.answer("the session is there")
	begins := make([]agent.Begin, 50)
	for i := range begins {
		begins[i] = once(f.of(DefaultProject), key, "this")
		if i%2 == 0 {
			begins[i].Session = s.Session
		}
	}
	winner, errs := "", together(len(begins), func(i int) error { _, err := f.tryTake(begins[i]); return err })
	for i, err := range errs {
		if err == nil {
			f.want(winner == "", "two turns began: %s and %s", winner, begins[i].Turn.ID)
			winner = begins[i].Turn.ID
		}
	}
	for _, err := range errs {
		if err != nil {
			f.usedBy(err, winner, true)
		}
	}
}

func keyScope(f *fixture) {
	key := agent.NewID()
	f.take(once(f.of(DefaultProject), key, "this"))
	f.take(once(f.of(f.other), key, "that"))
	b := f.of(DefaultProject)
	b.Turn.By = "token:bob"
	f.take(once(b, key, "that"))
}

func keyExpires(f *fixture) {
	key := agent.NewID()
	b := once(f.of(DefaultProject), key, "this")
	b.Once.Keep = -time.Second
	f.take(b)
	f.check(f.store.Used(f.ctx, *b.Once))
	next := once(f.of(DefaultProject), key, "that")
	f.take(next)
	_, err := f.tryTake(once(f.of(DefaultProject), key, "that"))
	f.usedBy(err, next.Turn.ID, true)
}

func keyRefused(f *fixture) {
	key := agent.NewID()
	busy := f.running(f.node("a"))
	b := once(f.begin(busy.Session, ""), key, "this")
	_, err := f.tryTake(b)
	if _, ok := errors.AsType[*agent.BusyError](err); !ok {
		f.t.Fatalf("%v, want a BusyError", err)
	}
	f.check(f.store.Used(f.ctx, *b.Once))
	f.take(once(f.of(DefaultProject), key, "that"))
}
