package turntest

import (
	"errors"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

func stopCases() []storeCase {
	return []storeCase{
		{name: "a stop of a running turn is in its row, and its node is to be told", run: stopRunning},
		{name: "a second stop is answered like the first, which stays", run: stopTwice},
		{name: "a stop of the last turn does not touch the next one", run: stopLastTurn},
		{name: "a stop of a turn that was stopped is true, of one that answered false", run: stopEnded},
		{name: "a queued turn ends at once when it is stopped", run: stopQueued},
		{name: "a waiting turn ends with its actions when it is stopped", run: stopWaiting},
		{name: "a waiting turn is left alone by who may not withdraw its actions", run: stopWaitingNoRight},
		{name: "a stop withdraws what a running turn has asked for", run: stopRunningActions},
		{name: "an approval that may not be withdrawn survives the stop", run: stopKeepsApproval},
		{name: "a stop of what a dead node ran ends it at once", run: stopOwnerless},
		{name: "a stop of an unknown turn or of another session's is not found", run: stopUnknown},
		{name: "a new leg starts without the stop of the last turn", run: stopIsCleared},
	}
}

func (f *fixture) asked(node string) []agent.Asked {
	f.t.Helper()
	asked, err := again(func() ([]agent.Asked, error) { return f.store.Asked(f.ctx, node) })
	f.check(err)
	return asked
}

func stopRunning(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l, other := f.running(a), f.running(a)
	f.want(len(f.asked(a)) == 0, "asked before anybody stopped")
	res := f.stop(l, "user:bob", true)
	f.want(res.Cancelled && !res.Ended && slices.Equal(res.Turns, []string{l.Lease.Turn}), "stop %+v", res)
	f.want(slices.Equal(res.Notify, []string{a}), "nodes to tell %v, want %v", res.Notify, a)
	f.state(l.Session.ID, agent.SlotRunning)
	asked := f.asked(a)
	f.want(len(asked) == 1 && asked[0].Lease == l.Lease && asked[0].Stop.By == "user:bob" && asked[0].Age >= 0, "asked %+v", asked)
	f.want(len(f.asked(b)) == 0, "another node is asked")
	t := f.turn(l.Lease.Turn)
	f.want(t.Status == agent.StatusRunning && t.Stop != nil && t.Stop.By == "user:bob", "turn %+v", t)
	closed := l.answer("cut")
	f.want(closed.Outcome.Kind == agent.Stopped && closed.Outcome.Stop.By == "user:bob", "closed %+v", closed.Outcome)
	f.want(len(f.asked(a)) == 0, "asked after the end")
	other.answer("not stopped")
}

// Rule stop_merge.
func stopTwice(f *fixture) {
	l := f.running(f.node("a"))
	f.stop(l, "user:bob", true)
	res := f.stop(l, "user:eve", true)
	f.want(res.Cancelled && slices.Contains(res.Turns, l.Lease.Turn), "second stop %+v", res)
	for _, err := range together(20, func(int) error {
		res, err := f.tryStop(l, "user:eve", true)
		if err == nil && !res.Cancelled {
			err = errors.New("a later stop was answered false")
		}
		return err
	}) {
		f.check(err)
	}
	l.answer("cut")
	end, _ := f.end(l)
	f.want(end.Stop != nil && end.Stop.By == "user:bob" && end.StopReason == agent.ReasonCancelled, "end %+v", end)
}

// Rules stop_turn and stop_reread; field report C 23.
func stopLastTurn(f *fixture) {
	node := f.node("a")
	first := f.running(node)
	first.answer("done")
	second := f.take(f.begin(first.Session, node))
	res := f.stop(first, "user:bob", true)
	f.want(!res.Cancelled && res.Ended && len(res.Turns) == 0, "stop of the ended turn %+v", res)
	stop, err := second.look()
	f.want(err == nil && stop == nil && len(f.asked(node)) == 0, "the next turn is stopped: %v, %v", stop, err)
	closed := second.answer("done too")
	f.want(closed.Outcome.Kind == agent.Answered, "closed as %s", closed.Outcome.Kind)
}

func stopEnded(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	f.stop(l, "user:bob", true)
	l.answer("cut")
	for range 2 {
		res := f.stop(l, "user:eve", true)
		f.want(res.Cancelled && res.Ended, "stop after a stopped end %+v", res)
	}
	l = f.running(node)
	l.answer("done")
	res := f.stop(l, "user:eve", true)
	f.want(!res.Cancelled && res.Ended, "stop after an answer %+v", res)
}

// Field reports D 26 and 31.
func stopQueued(f *fixture) {
	q := f.queued()
	res := f.stop(q, "user:bob", true)
	f.want(res.Cancelled && res.Ended && slices.Equal(res.Turns, []string{q.Lease.Turn}), "stop %+v", res)
	end, seq := f.end(q)
	f.want(end.StopReason == agent.ReasonCancelled && end.Stop != nil && end.Stop.By == "user:bob", "end %+v", end)
	f.want(seq == q.seq+1, "end is %d, want %d", seq, q.seq+1)
	found := f.find(q.Session.ID)
	f.want(found.State == agent.SlotIdle && found.Lease.Turn == "" && found.Lease.Fence > q.Lease.Fence, "slot %+v", found)
	res = f.stop(q, "user:bob", true)
	f.want(res.Cancelled && res.Ended, "the same stop again %+v", res)
	next := f.take(f.begin(q.Session, ""))
	f.want(next.Lease.Fence > q.Lease.Fence, "fence %d after %d", next.Lease.Fence, q.Lease.Fence)
}

// Field report O 91: one transaction, no further model call.
func stopWaiting(f *fixture) {
	l := f.running(f.node("a"))
	l.pause("c1", "c2")
	res := f.stop(l, "user:bob", true)
	f.want(res.Cancelled && res.Ended && res.Actions == 2, "stop %+v", res)
	for _, a := range f.actions(l.Lease.Turn) {
		f.want(a.State == agent.ActionWithdrawn, "action %+v", a)
	}
	want := []agent.Kind{agent.KindTurnPaused, agent.KindActionDecided, agent.KindActionDecided, agent.KindTurnEnded}
	got := f.kinds(l.Session.ID, l.seq)
	f.want(slices.Equal(got, want), "events %v, want %v", got, want)
	f.state(l.Session.ID, agent.SlotIdle)
	f.take(f.begin(l.Session, ""))
}

func stopWaitingNoRight(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	action := l.pause("c1")[0]
	before := len(f.events(l.Session.ID))
	res := f.stop(l, "user:bob", false)
	f.want(!res.Cancelled && !res.Ended && res.Actions == 0 && len(res.Turns) == 0, "stop %+v", res)
	f.state(l.Session.ID, agent.SlotWaiting)
	f.want(len(f.events(l.Session.ID)) == before, "the stop wrote something")
	f.want(f.actions(l.Lease.Turn)[0].State == agent.ActionOpen, "the action is not open any more")
	f.want(l.decide(action, agent.ActionDenied), "the turn was not queued")
}

func stopRunningActions(f *fixture) {
	l := f.running(f.node("a"))
	l.ask("c1")
	res := f.stop(l, "user:bob", true)
	f.want(res.Cancelled && !res.Ended && res.Actions == 1, "stop %+v", res)
	f.want(f.actions(l.Lease.Turn)[0].State == agent.ActionWithdrawn, "actions %+v", f.actions(l.Lease.Turn))
	closed := l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	f.want(closed.Outcome.Kind == agent.Stopped, "closed as %s", closed.Outcome.Kind)
}

func stopKeepsApproval(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	action := l.ask("c1")[0]
	res := f.stop(l, "user:bob", false)
	f.want(res.Cancelled && res.Actions == 0, "stop %+v", res)
	closed := l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	f.want(closed.Outcome.Kind == agent.Stopped, "closed as %s", closed.Outcome.Kind)
	f.want(f.actions(l.Lease.Turn)[0].State == agent.ActionOpen, "actions %+v", f.actions(l.Lease.Turn))
	f.want(!l.decide(action, agent.ActionDenied), "a decision about an ended turn queued something")
	f.state(l.Session.ID, agent.SlotIdle)
	f.take(f.begin(l.Session, node)).answer("not disturbed")
}

// Field report J 64: a stop of a turn that nobody runs ends it, now.
func stopOwnerless(f *fixture) {
	a := f.node("a")
	l := f.running(a)
	l.append(l.say("half"))
	f.kill(a)
	res := f.stop(l, "user:bob", true)
	f.want(res.Cancelled && res.Ended && slices.Contains(res.Turns, l.Lease.Turn), "stop %+v", res)
	end, seq := f.end(l)
	f.want(end.StopReason == agent.ReasonCancelled && end.Stop != nil && end.Stop.By == "user:bob", "end %+v", end)
	f.want(seq >= l.seq+agent.GapWhenClosedForOther, "end is %d, %d was shown", seq, l.seq)
	f.partial(l, l.seq)
	l.gone()
}

func stopUnknown(f *fixture) {
	node := f.node("a")
	l, other := f.running(node), f.running(node)
	for _, at := range [][2]string{
		{l.Session.ID, agent.NewID()}, {agent.NewID(), l.Lease.Turn}, {l.Session.ID, other.Lease.Turn},
	} {
		_, err := f.store.Stop(f.ctx, at[0], at[1], agent.Stop{By: "user:eve"}, true)
		f.want(errors.Is(err, agent.ErrNotFound), "session %s, turn %s: %v, want %v", at[0], at[1], err, agent.ErrNotFound)
	}
	f.want(len(f.asked(node)) == 0, "asked %+v", f.asked(node))
}

func stopIsCleared(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	f.stop(l, "user:bob", true)
	l.answer("cut")
	next := f.take(f.begin(l.Session, node))
	stop, err := next.look()
	f.want(err == nil && stop == nil, "the next turn is asked to stop: %v, %v", stop, err)
	closed := next.answer("done")
	f.want(closed.Outcome.Kind == agent.Answered, "closed as %s", closed.Outcome.Kind)
}

func stopRaceCases() []storeCase {
	return []storeCase{
		{name: "a stop that races the answer is true if and only if the turn ends cancelled", run: stopAgainstSettle},
		{name: "a hundred stops at once are all answered alike", run: stopHundred},
		{name: "a stop that races the pause ends the turn", run: stopAgainstPause},
		{name: "a stop that races a take stops its own turn only", run: stopAgainstTake},
		{name: "a stop that races a sweep is true if and only if the turn ends cancelled", alone: true, run: stopAgainstSweep},
	}
}

// cancelled asserts that a stop's answer is how the turn ended.
func (f *fixture) cancelled(l *leg, res agent.StopResult) {
	f.t.Helper()
	t := f.turn(l.Lease.Turn)
	f.want(t.Status.Final(), "turn %+v has not ended", t)
	f.want(res.Cancelled == (t.StopReason == agent.ReasonCancelled), "stop answered %v, stop reason %q", res.Cancelled, t.StopReason)
}

// Rule in_settle; field reports C 19 and 20.
func stopAgainstSettle(f *fixture) {
	node := f.node("a")
	for range 60 {
		l := f.running(node)
		rows := l.say("the answer")
		var res agent.StopResult
		var closed agent.Closed
		f.race(
			func() (err error) { res, err = f.tryStop(l, "user:bob", true); return err },
			func() (err error) { closed, err = l.trySettle(l.answered("the answer", rows...)); return err },
		)
		f.cancelled(l, res)
		f.want(res.Cancelled == (closed.Outcome.Kind == agent.Stopped), "stop %v, closed as %s", res.Cancelled, closed.Outcome.Kind)
		f.partial(l, l.seq)
	}
}

func stopHundred(f *fixture) {
	l := f.running(f.node("a"))
	rows := l.say("the answer")
	results := make([]agent.StopResult, 101)
	for _, err := range together(101, func(i int) (err error) {
		if i == 50 {
			_, err = l.trySettle(l.answered("the answer", rows...))
			return err
		}
		results[i], err = f.tryStop(l, "user:bob", true)
		return err
	}) {
		f.check(err)
	}
	for i, r := range results {
		if i != 50 {
			f.cancelled(l, r)
		}
	}
}

func stopAgainstPause(f *fixture) {
	node := f.node("a")
	for range 30 {
		l := f.running(node)
		l.ask("c1")
		var res agent.StopResult
		f.race(
			func() (err error) { res, err = f.tryStop(l, "user:bob", true); return err },
			func() error {
				_, err := l.trySettle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
				return err
			},
		)
		f.want(res.Cancelled && res.Actions == 1, "stop %+v", res)
		f.cancelled(l, res)
		f.want(f.actions(l.Lease.Turn)[0].State == agent.ActionWithdrawn, "actions %+v", f.actions(l.Lease.Turn))
	}
}

func stopAgainstTake(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	for range 30 {
		l.answer("done")
		b := f.begin(l.Session, node)
		var res agent.StopResult
		next := l
		f.race(
			func() (err error) { res, err = f.tryStop(l, "user:bob", true); return err },
			func() (err error) { next, err = f.tryTake(b); return err },
		)
		f.want(!res.Cancelled && res.Ended, "stop of the ended turn %+v", res)
		stop, err := next.look()
		f.want(err == nil && stop == nil, "the next turn is asked to stop: %v, %v", stop, err)
		l = next
	}
}

func stopAgainstSweep(f *fixture) {
	b := f.node("b")
	for range 20 {
		a := f.node("a")
		l := f.running(a)
		f.kill(a)
		var res agent.StopResult
		f.race(
			func() (err error) { res, err = f.tryStop(l, "user:bob", true); return err },
			func() error { _, _, err := f.trySweep(b); return err },
		)
		f.want(res.Ended, "stop %+v", res)
		f.cancelled(l, res)
	}
}
