package turntest

import (
	"errors"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
)

func takeCases() []storeCase {
	return []storeCase{
		{name: "a take writes the message and turn.started and holds the slot", run: takeWrites},
		{name: "the next message is numbered after the answer", run: takeAfterAnswer},
		{name: "of fifty takes at once one gets the slot and the others are told its turn", run: takeFifty},
		{name: "a take that is sent again returns the same leg", run: takeAgain},
		{name: "takes of one turn at once return one leg", run: takeAgainAtOnce},
		{name: "a take of an unknown session is not found", run: takeUnknown},
		{name: "busy says whether a stop is asked for", run: takeStopping},
		{name: "a dead node takes nothing", run: takeDead},
		{name: "one session's turn is not in another's way", run: takeOther},
		{name: "a take settles what a dead node left in the slot", run: takeOwnerless},
		{name: "a message may refuse to supersede a waiting turn", run: takeNoSupersede},
		{name: "a new message ends the waiting turn", run: takeSupersedes},
		{name: "a turn is read back with its callback", run: takeWithCallback},
		{name: "after a stop the next message is taken as soon as the turn has ended", run: takeAfterStop},
	}
}

func takeWrites(f *fixture) {
	node := f.node("a")
	b := f.begin(f.session(), node)
	l := f.take(b)
	f.want(l.Lease == agent.Lease{Session: b.Session.ID, Turn: b.Turn.ID, Node: node, Fence: l.Lease.Fence} && l.Lease.Fence > 0,
		"lease %+v", l.Lease)
	f.want(l.Seq == 0 && len(l.Events) == 2, "leg %+v", l.Leg)
	msg, ok := l.Events[0].Body.(agent.Message)
	f.want(ok && msg.Role == agent.RoleUser && msg.Text == "hello" && msg.Index == 0, "first event %+v", l.Events[0])
	started, ok := l.Events[1].Body.(agent.TurnStarted)
	f.want(ok && started.Index == 1 && started.Agent == "helper" && started.Version == 3 && started.By == "token:ann",
		"second event %+v", l.Events[1])

	t := f.turn(b.Turn.ID)
	f.want(t.FirstSeq == l.Events[0].Seq && t.Index == 1 && t.Status == agent.StatusRunning, "turn %+v", t)
	f.want(t.Metadata["k"] == "v" && t.Spec.Model == "m" && t.By == "token:ann" && !t.StartedAt.IsZero(), "turn %+v", t)
	found := f.find(b.Session.ID)
	f.want(found.State == agent.SlotRunning && found.Lease == l.Lease && found.Session.Owner == "token:ann", "slot %+v", found)
	stored := f.events(b.Session.ID)
	f.want(len(stored) == 2 && same(stored[0], l.Events[0]) && same(stored[1], l.Events[1]), "journal %+v", stored)
	f.want(stored[0].Seq == 1 && stored[1].Seq == 2, "numbers %d and %d", stored[0].Seq, stored[1].Seq)
}

func takeWithCallback(f *fixture) {
	b := f.begin(f.session(), "")
	b.Callbacks = []agent.Callback{
		{Kind: agent.CallbackA2A, Name: "c1", URL: "https://example.com/push"},
		{Kind: agent.CallbackRun, URL: "https://example.com/hook"},
	}
	l := f.take(b)
	want := agent.Callback{Kind: agent.CallbackRun, URL: "https://example.com/hook", Status: agent.CallbackPending}
	for _, t := range []agent.Turn{l.Turn, f.turn(b.Turn.ID), f.take(b).Turn} {
		f.want(t.Callback != nil && t.Callback.Kind == want.Kind && t.Callback.URL == want.URL && !t.Callback.Signed &&
			t.Callback.Status == want.Status && t.Callback.Attempts == 0, "callback %+v", t.Callback)
	}
	plain := f.take(f.begin(f.session(), ""))
	f.want(f.turn(plain.Turn.ID).Callback == nil, "a turn without one has one")
}

func takeAfterAnswer(f *fixture) {
	node := f.node("a")
	first := f.running(node)
	first.answer("hi")
	second := f.take(f.begin(first.Session, node))
	_, end := f.end(first)
	f.want(second.Seq == end && second.Events[0].Seq == end+1, "the end is %d, the next message %d", end, second.Events[0].Seq)
	f.want(second.Lease.Fence > first.Lease.Fence, "fence %d after %d", second.Lease.Fence, first.Lease.Fence)
	f.want(second.Turn.Index == 3, "the answer has index %d, want 3", second.Turn.Index)
}

// Field reports L 74 and 75: exactly one runs, the others learn which.
func takeFifty(f *fixture) {
	a, b := f.node("a"), f.node("b")
	f.running(a).answer("the session is there")
	s := f.find(f.sessions[0]).Session
	begins := make([]agent.Begin, 50)
	for i := range begins {
		begins[i] = f.begin(s, []string{a, b}[i%2])
	}
	legs := make([]*leg, len(begins))
	errs := together(len(begins), func(i int) (err error) {
		legs[i], err = f.tryTake(begins[i])
		return err
	})
	winner := f.find(s.ID).Lease.Turn
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
			f.want(legs[i].Lease.Turn == winner, "turn %s was given the slot, it names %s", legs[i].Lease.Turn, winner)
			continue
		}
		busy, ok := errors.AsType[*agent.BusyError](err)
		f.want(ok && busy.Turn == winner && busy.Session == s.ID, "%v, want a BusyError that names %s", err, winner)
	}
	f.want(won == 1, "%d of 50 takes got the slot", won)
}

func takeAgain(f *fixture) {
	node := f.node("a")
	for _, b := range []agent.Begin{f.begin(f.session(), node), f.begin(f.session(), "")} {
		first, second := f.take(b), f.take(b)
		f.want(first.Lease == second.Lease && first.Seq == second.Seq, "leg %+v, then %+v", first.Leg, second.Leg)
		f.want(len(second.Events) == 2 && same(first.Events[0], second.Events[0]) && same(first.Events[1], second.Events[1]),
			"events %+v, then %+v", first.Events, second.Events)
		f.want(len(f.events(b.Session.ID)) == 2, "the second take wrote something")
	}
}

func takeAgainAtOnce(f *fixture) {
	b := f.begin(f.session(), f.node("a"))
	legs := make([]*leg, 8)
	for _, err := range together(len(legs), func(i int) (err error) {
		legs[i], err = f.tryTake(b)
		return err
	}) {
		f.check(err)
	}
	for _, l := range legs {
		f.want(l.Lease == legs[0].Lease, "leases %v and %v", l.Lease, legs[0].Lease)
	}
}

func takeUnknown(f *fixture) {
	b := f.begin(f.session(), f.node("a"))
	b.New = false
	_, err := f.tryTake(b)
	f.want(errors.Is(err, agent.ErrNotFound), "%v, want %v", err, agent.ErrNotFound)
	_, err = f.store.Find(f.ctx, b.Session.ID)
	f.want(errors.Is(err, agent.ErrNotFound), "%v, want %v", err, agent.ErrNotFound)
}

func takeStopping(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	for _, stopping := range []bool{false, true} {
		_, err := f.tryTake(f.begin(l.Session, node))
		busy, ok := errors.AsType[*agent.BusyError](err)
		f.want(ok && busy.Turn == l.Lease.Turn && busy.Stopping == stopping && !busy.Waiting, "%+v, want stopping %v", err, stopping)
		f.stop(l, "user:bob", true)
	}
}

// A node's id is its right to take (rule own_id): a dead one has none.
func takeDead(f *fixture) {
	dead, alive := f.node("a"), f.node("b")
	f.kill(dead)
	b := f.begin(f.session(), dead)
	_, err := f.tryTake(b)
	f.want(errors.Is(err, agent.ErrNodeDead), "%v, want %v", err, agent.ErrNodeDead)
	_, err = f.tryTurn(b.Turn.ID)
	f.want(errors.Is(err, agent.ErrNotFound), "the refused turn: %v, want %v", err, agent.ErrNotFound)
	b.Node = alive
	f.take(b)
}

// Field report L 76: busy is one session, not all of them.
func takeOther(f *fixture) {
	node := f.node("a")
	f.running(node)
	f.running(node)
}

// Field reports J 64 and K 69: the new owner has a higher fence and numbers far
// above whatever the old one may have shown.
func takeOwnerless(f *fixture) {
	a, b := f.node("a"), f.node("b")
	old := f.running(a)
	old.append(old.say("half an ans"))
	f.kill(a)
	l := f.take(f.begin(old.Session, b))
	t := f.turn(old.Lease.Turn)
	f.want(t.Status == agent.StatusFailed && t.Error != nil && t.Error.Code == agent.CodeWorkerLost, "the old turn %+v", t)
	_, end := f.end(old)
	f.want(end >= old.seq+agent.GapWhenClosedForOther && l.Events[0].Seq > end, "last shown %d, end %d, next message %d", old.seq, end, l.Events[0].Seq)
	f.want(l.Lease.Fence > old.Lease.Fence, "fence %d after %d", l.Lease.Fence, old.Lease.Fence)
	old.gone()
}

func takeNoSupersede(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	l.pause("c1")
	b := f.begin(l.Session, node)
	b.NoSupersede = true
	_, err := f.tryTake(b)
	busy, ok := errors.AsType[*agent.BusyError](err)
	f.want(ok && busy.Waiting && busy.Turn == l.Lease.Turn, "%+v, want a BusyError that says waiting", err)
	f.want(f.actions(l.Lease.Turn)[0].State == agent.ActionOpen, "the action is not open any more")
	f.state(l.Session.ID, agent.SlotWaiting)
}

// Rule supersede; field report O 91: an approval that nobody answers must not
// lock a conversation for ever.
func takeSupersedes(f *fixture) {
	node := f.node("a")
	old := f.running(node)
	action := old.pause("c1")[0]
	l := f.take(f.begin(old.Session, node))
	t := f.turn(old.Lease.Turn)
	f.want(t.StopReason == agent.ReasonCancelled && t.StopDetail == agent.DetailSuperseded, "the old turn %+v", t)
	a := f.actions(old.Lease.Turn)[0]
	f.want(a.ID == action && a.State == agent.ActionWithdrawn, "its action %+v", a)
	want := fmt.Sprint([]agent.Kind{agent.KindActionDecided, agent.KindTurnEnded, agent.KindMessage, agent.KindTurnStarted})
	got := f.kinds(old.Session.ID, old.seq+1) // after turn.paused
	f.want(fmt.Sprint(got) == want, "events %v, want %v", got, want)
	f.want(l.Lease.Fence > old.Lease.Fence, "fence %d after %d", l.Lease.Fence, old.Lease.Fence)
	_, _, err := old.tryDecide(action, agent.ActionApproved, "user:bob")
	decided, ok := errors.AsType[*agent.DecidedError](err)
	f.want(ok && decided.Action.State == agent.ActionWithdrawn, "%v, want a DecidedError", err)
}

// Field report L 77: stop, then send at once, over and over.
func takeAfterStop(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	for range 20 {
		f.stop(l, "user:bob", true)
		l.answer("cut")
		l = f.take(f.begin(l.Session, node))
	}
}

func claimCases() []storeCase {
	return []storeCase{
		{name: "a queued turn starts when it is claimed", alone: true, run: claimStarts},
		{name: "two nodes that claim at once claim a turn once", alone: true, run: claimOnce},
		{name: "continuations are claimed first, then the oldest", alone: true, run: claimOrder},
		{name: "a dead node claims nothing", alone: true, run: claimDead},
		{name: "a queued turn that was stopped is never claimed", alone: true, run: claimStopped},
		{name: "a stop and a claim at once: the turn never runs on unstopped", alone: true, run: claimAgainstStop},
	}
}

func claimStarts(f *fixture) {
	node := f.node("a")
	_, ok, err := f.tryClaim(node)
	f.want(err == nil && !ok, "claimed from nothing: %v, %v", ok, err)
	q := f.queued()
	f.state(q.Session.ID, agent.SlotQueued)
	t := f.turn(q.Lease.Turn)
	f.want(t.Status == agent.StatusQueued && t.StartedAt.IsZero(), "turn %+v", t)
	l := f.claim(node)
	f.want(l.Lease.Turn == q.Lease.Turn && l.Lease.Node == node && l.Lease.Fence > q.Lease.Fence, "claimed %v of %v", l.Lease, q.Lease)
	f.want(l.Seq == q.seq && len(l.Events) == 0, "the claim wrote something: leg %+v", l.Leg)
	t = f.turn(q.Lease.Turn)
	f.want(t.Status == agent.StatusRunning && !t.StartedAt.IsZero(), "turn %+v", t)
	l.answer("done")
}

func claimOnce(f *fixture) {
	nodes := []string{f.node("a"), f.node("b")}
	const turns = 12
	for range turns {
		f.queued()
	}
	got := make([][]*leg, 8)
	for _, err := range together(len(got), func(i int) error {
		for {
			l, ok, err := f.tryClaim(nodes[i%2])
			if err != nil || !ok {
				return err
			}
			got[i] = append(got[i], l)
		}
	}) {
		f.check(err)
	}
	seen := map[string]bool{}
	for _, legs := range got {
		for _, l := range legs {
			f.want(!seen[l.Lease.Turn], "turn %s was claimed twice", l.Lease.Turn)
			seen[l.Lease.Turn] = true
		}
	}
	for len(seen) < turns { // a row that another claim had locked was skipped
		seen[f.claim(nodes[0]).Lease.Turn] = true
	}
}

func claimOrder(f *fixture) {
	node := f.node("a")
	cont := f.running(node)
	action := cont.pause("c1")[0]
	first := f.queued()
	second := f.queued()
	f.want(cont.decide(action, agent.ActionApproved), "the turn was not queued")
	for i, want := range []string{cont.Lease.Turn, first.Lease.Turn, second.Lease.Turn} {
		got := f.claim(node).Lease.Turn
		f.want(got == want, "claim %d got turn %s, want %s", i+1, got, want)
	}
}

func claimDead(f *fixture) {
	dead := f.node("a")
	q := f.queued()
	f.kill(dead)
	_, ok, err := f.tryClaim(dead)
	f.want(errors.Is(err, agent.ErrNodeDead) && !ok, "%v, want %v", err, agent.ErrNodeDead)
	f.state(q.Session.ID, agent.SlotQueued)
}

// Field reports D 26, 27 and 30: nobody ever runs it.
func claimStopped(f *fixture) {
	node := f.node("a")
	q, next := f.queued(), f.queued()
	res := f.stop(q, "user:bob", true)
	f.want(res.Cancelled && res.Ended, "stop %+v", res)
	got := f.claim(node)
	f.want(got.Lease.Turn == next.Lease.Turn, "claimed %s, want %s", got.Lease.Turn, next.Lease.Turn)
	_, ok, err := f.tryClaim(node)
	f.want(err == nil && !ok, "claimed more: %v, %v", ok, err)
}

// Field report C 21: the stop reads a queued turn, which then runs.
func claimAgainstStop(f *fixture) {
	node := f.node("a")
	for range 30 {
		q := f.queued()
		var res agent.StopResult
		var l *leg
		var ok bool
		f.race(
			func() (err error) { res, err = f.tryStop(q, "user:bob", true); return err },
			func() (err error) { l, ok, err = f.tryClaim(node); return err },
		)
		f.want(res.Cancelled, "stop %+v", res)
		if !ok {
			f.want(res.Ended, "nobody runs the turn, and the stop did not end it: %+v", res)
			continue
		}
		if stop, err := l.look(); !errors.Is(err, agent.ErrLeaseLost) {
			f.want(err == nil && stop != nil, "the first look sees no stop: %v, %v", stop, err)
			closed := l.answer("")
			f.want(closed.Outcome.Kind == agent.Stopped, "closed as %s", closed.Outcome.Kind)
		}
	}
}
