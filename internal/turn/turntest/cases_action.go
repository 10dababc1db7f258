package turntest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

func actionCases() []storeCase {
	return []storeCase{
		{name: "the last decision queues the turn, which goes on in a new leg and ends once", alone: true, run: decideContinues},
		{name: "a decision is made once, a second one is told the first", run: decideOnce},
		{name: "an expired action is decided", run: decideExpired},
		{name: "an unknown action is not found", run: decideUnknown},
		{name: "arguments that a person edited are kept with the approval", run: decideEdited},
		{name: "a turn that waits again is paused again", alone: true, run: decideWaitsAgain},
		{name: "a turn's work adds up over its legs, and waiting is no work", alone: true, run: workAddsUp},
	}
}

// Field report O 95: each action decided by one person, carried out in one leg.
func decideContinues(f *fixture) {
	node := f.node("a")
	first := f.running(node)
	ids := first.pause("c1", "c2")
	f.want(!first.decide(ids[0], agent.ActionApproved), "queued with one action open")
	f.state(first.Session.ID, agent.SlotWaiting)
	a, queued, err := first.tryDecide(ids[1], agent.ActionDenied, "user:bob")
	f.want(err == nil && queued && a.State == agent.ActionDenied && a.DecidedBy == "user:bob" && !a.DecidedAt.IsZero(), "decided %+v, %v, %v", a, queued, err)
	f.state(first.Session.ID, agent.SlotQueued)
	f.want(f.turn(first.Lease.Turn).Status == agent.StatusQueued, "turn %+v", f.turn(first.Lease.Turn))

	second := f.claim(node)
	f.want(second.Lease.Turn == first.Lease.Turn && second.Lease.Fence > first.Lease.Fence, "claimed %v after %v", second.Lease, first.Lease)
	decided := f.kinds(first.Session.ID, first.seq+1)
	f.want(slices.Equal(decided, []agent.Kind{agent.KindActionDecided, agent.KindActionDecided}), "events %v", decided)
	events := f.events(first.Session.ID)
	f.want(second.Seq == events[len(events)-1].Seq, "the leg begins after %d, the journal ends with %d", second.Seq, events[len(events)-1].Seq)
	second.answer("done")
	f.end(second)
	first.goneStale()
}

// goneStale asserts that a leg which paused can't be written after its turn went on.
func (l *leg) goneStale() {
	l.f.t.Helper()
	ok, err := l.tryAppend(l.say("too late"))
	l.f.want(err == nil && !ok, "append to an earlier leg: %v, %v", ok, err)
	l.f.lost("Record", l.tryRecord(l.say("too late")))
}

func decideOnce(f *fixture) {
	l := f.running(f.node("a"))
	ids := l.pause("c1", "c2")
	l.decide(ids[0], agent.ActionApproved)
	before := len(f.events(l.Session.ID))
	_, _, err := l.tryDecide(ids[0], agent.ActionDenied, "user:eve")
	d, ok := errors.AsType[*agent.DecidedError](err)
	f.want(ok && d.Action.ID == ids[0] && d.Action.State == agent.ActionApproved && d.Action.DecidedBy == "user:bob", "%+v, want a DecidedError with the approval", err)
	f.want(len(f.events(l.Session.ID)) == before, "the second decision wrote something")
}

func decideExpired(f *fixture) {
	l := f.running(f.node("a"))
	f.want(l.decide(l.pause("c1")[0], agent.ActionExpired), "the turn was not queued")
	f.want(f.actions(l.Lease.Turn)[0].State == agent.ActionExpired, "actions %+v", f.actions(l.Lease.Turn))
}

func decideUnknown(f *fixture) {
	l := f.running(f.node("a"))
	_, _, err := l.tryDecide(agent.NewID(), agent.ActionApproved, "user:bob")
	f.want(errors.Is(err, agent.ErrNotFound), "%v, want %v", err, agent.ErrNotFound)
}

func decideEdited(f *fixture) {
	l := f.running(f.node("a"))
	ids := l.pause("c1", "c2")
	for i, args := range [][]byte{[]byte(`{"path":"y"}`), nil} {
		d := agent.Decision{Action: ids[i], State: agent.ActionApproved, By: "user:bob", Answer: "fine", Arguments: args}
		_, _, err := f.store.Decide(f.ctx, d)
		f.check(err)
	}
	got := map[string]string{}
	for _, a := range f.actions(l.Lease.Turn) {
		got[a.ID] = fmt.Sprintf("%s %s", a.Answer, a.Arguments)
	}
	f.want(got[ids[0]] == `fine {"path":"y"}` && got[ids[1]] == `fine {"path":"x"}`, "actions %v", got)
}

func decideWaitsAgain(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	for i := range 3 {
		l.decide(l.pause(fmt.Sprint("c", i))[0], agent.ActionApproved)
		l = f.claim(node)
	}
	l.answer("done")
	paused := 0
	for _, k := range f.kinds(l.Session.ID, 0) {
		if k == agent.KindTurnPaused {
			paused++
		}
	}
	f.want(paused == 3, "%d pauses", paused)
	f.end(l)
}

// clocks is by how much a machine's clocks, of which the store's is one, may differ
// over a moment; far less than what must not be counted.
const clocks = 50 * time.Millisecond

// workAddsUp measures from both sides: no leg can have worked for longer than
// from before its claim to now, nor for less than what was slept in it.
func workAddsUp(f *fixture) {
	const slept = 150 * time.Millisecond
	node := f.node("a")
	began := time.Now()
	l := f.running(node)
	time.Sleep(slept)
	id := l.pause("c1")[0]
	first := time.Since(began)
	worked := f.turn(l.Lease.Turn).Worked
	f.want(worked >= slept-clocks && worked <= first+clocks, "%v after a leg of %v to %v", worked, slept, first)
	time.Sleep(4 * slept)
	f.want(f.turn(l.Lease.Turn).Worked == worked, "%v, and %v while it waits", worked, f.turn(l.Lease.Turn).Worked)
	l.decide(id, agent.ActionApproved)
	began = time.Now()
	l = f.claim(node)
	f.want(l.Turn.Worked >= worked && l.Turn.Worked <= worked+time.Since(began)+clocks, "claimed after %v of work, %v before", l.Turn.Worked, worked)
	time.Sleep(slept)
	f.want(f.turn(l.Lease.Turn).Worked >= worked+slept-clocks, "%v while the second leg runs", f.turn(l.Lease.Turn).Worked)
	l.answer("done")
	total, second := f.turn(l.Lease.Turn).Worked, time.Since(began)
	f.want(total >= worked+slept-clocks && total <= worked+second+clocks, "%v after a second leg of %v to %v", total, slept, second)
}

func decideCases() []storeCase {
	return []storeCase{
		{name: "two deciders of two actions at once: the turn is queued exactly once", run: decideTwoAtOnce},
		{name: "two deciders of one action at once: one of them decides", run: decideOneAtOnce},
		{name: "a decision that races the pause: the turn goes on one way or the other", run: decideAgainstPause},
		{name: "a decision that races a stop: the turn ends cancelled", run: decideAgainstStop},
		{name: "a decision that races a new message: the old turn ends or is in the way", run: decideAgainstTake},
	}
}

// Rule slot_first: each of them sees the other action open, unless both lock
// the slot before they look.
func decideTwoAtOnce(f *fixture) {
	node := f.node("a")
	for range 30 {
		l := f.running(node)
		ids := l.pause("c1", "c2")
		var queued atomic.Int64
		for _, err := range together(2, func(i int) error {
			_, ok, err := l.tryDecide(ids[i], agent.ActionApproved, fmt.Sprint("user:", i))
			if ok {
				queued.Add(1)
			}
			return err
		}) {
			f.check(err)
		}
		f.want(queued.Load() == 1, "the turn was queued %d times", queued.Load())
		f.state(l.Session.ID, agent.SlotQueued)
	}
}

func decideOneAtOnce(f *fixture) {
	node := f.node("a")
	for range 30 {
		l := f.running(node)
		id := l.pause("c1")[0]
		states := []agent.ActionState{agent.ActionApproved, agent.ActionDenied}
		won := -1
		for i, err := range together(2, func(i int) error {
			_, _, err := l.tryDecide(id, states[i], fmt.Sprint("user:", i))
			return err
		}) {
			if err == nil {
				f.want(won < 0, "both decided")
				won = i
				continue
			}
			_, ok := errors.AsType[*agent.DecidedError](err)
			f.want(ok, "%v, want a DecidedError", err)
		}
		a := f.actions(l.Lease.Turn)[0]
		f.want(won >= 0 && a.State == states[won] && a.DecidedBy == fmt.Sprint("user:", won), "decider %d won, the action is %+v", won, a)
	}
}

func decideAgainstPause(f *fixture) {
	node := f.node("a")
	for range 30 {
		l := f.running(node)
		id := l.ask("c1")[0]
		var queued bool
		var settled error
		f.race(
			func() (err error) { _, queued, err = l.tryDecide(id, agent.ActionApproved, "user:bob"); return err },
			func() error {
				_, settled = l.trySettle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
				return nil
			},
		)
		if errors.Is(settled, agent.ErrGoOn) {
			f.want(!queued, "the leg goes on and the turn is queued")
			f.state(l.Session.ID, agent.SlotRunning)
			continue
		}
		f.check(settled)
		f.want(queued, "the leg has paused and nothing is open: the turn waits for ever")
		f.state(l.Session.ID, agent.SlotQueued)
	}
}

func decideAgainstStop(f *fixture) {
	node := f.node("a")
	for range 30 {
		l := f.running(node)
		id := l.pause("c1")[0]
		var res agent.StopResult
		var decided error
		f.race(
			func() (err error) { res, err = f.tryStop(l, "user:bob", true); return err },
			func() error { _, _, decided = l.tryDecide(id, agent.ActionApproved, "user:eve"); return nil },
		)
		f.want(res.Cancelled && res.Ended, "stop %+v", res)
		f.cancelled(l, res)
		f.decidedAs(l, decided)
	}
}

// decidedAs asserts that an action is approved where its decider was told so,
// and withdrawn where it was told that.
func (f *fixture) decidedAs(l *leg, decided error) {
	f.t.Helper()
	want := agent.ActionApproved
	if d, ok := errors.AsType[*agent.DecidedError](decided); ok {
		want = d.Action.State
		f.want(want == agent.ActionWithdrawn, "decided already: %+v", d.Action)
	} else {
		f.check(decided)
	}
	a := f.actions(l.Lease.Turn)[0]
	f.want(a.State == want, "the action is %s, its decider was told %s", a.State, want)
}

func decideAgainstTake(f *fixture) {
	node := f.node("a")
	for range 30 {
		l := f.running(node)
		id := l.pause("c1")[0]
		b := f.begin(l.Session, node)
		var decided, taken error
		f.race(
			func() error { _, _, decided = l.tryDecide(id, agent.ActionApproved, "user:eve"); return nil },
			func() error { _, taken = f.tryTake(b); return nil },
		)
		f.decidedAs(l, decided)
		if taken == nil {
			f.want(f.turn(l.Lease.Turn).StopDetail == agent.DetailSuperseded, "the old turn %+v", f.turn(l.Lease.Turn))
			continue
		}
		busy, ok := errors.AsType[*agent.BusyError](taken)
		f.want(ok && busy.Turn == l.Lease.Turn && decided == nil, "take: %v, decide: %v", taken, decided)
		f.state(l.Session.ID, agent.SlotQueued)
	}
}
