package turntest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

func leftCases() []storeCase {
	return []storeCase{
		{name: "a stop without the right to approve ends questions and leaves approvals", run: leftByStop},
		{name: "a turn that waits for a question alone is ended by whoever may stop it", run: leftNoQuestion},
		{name: "an approval that outlived a stop can be denied, and nothing goes on", run: leftDenied},
		{name: "an approval that outlived a stop goes on in a new turn, whose first step is that call", alone: true, run: leftApproved},
		{name: "one that meets another turn stays open, and goes on once that has ended", alone: true, run: leftBusy},
		{name: "one whose turn is still stopping has to wait", run: leftStopping},
		{name: "what is decided while another turn runs is told when that closes", alone: true, run: leftTold},
		{name: "a new message withdraws what a stop has left", run: leftNewMessage},
		{name: "a stop of who may approve withdraws what an earlier one has left", run: leftStopped},
		{name: "a stop that comes after its turn has settled still withdraws", run: leftLateStop},
		{name: "two approve at once what a stop has left: it goes on once", run: leftApprovedAtOnce},
		{name: "an approval of what a stop has left races a new message: one of them has the slot", run: leftAgainstTake},
		{name: "an approval of what a stop has left races a stop: it is one or the other", run: leftAgainstStop},
	}
}

// question opens a question beside approvals.
func (l *leg) question(call string) string {
	l.f.t.Helper()
	a := agent.Action{
		ID: agent.NewID(), Session: l.Lease.Session, Turn: l.Lease.Turn, CallID: call,
		Type: agent.ActionQuestion, Name: "ask_user", Arguments: json.RawMessage(`{"question":"Why?"}`),
	}
	l.f.check(l.tryRecord(l.rows(agent.ActionRequested{ActionID: a.ID, CallID: call, Type: a.Type, Name: a.Name, Arguments: a.Arguments}), a))
	return a.ID
}

// left stops a turn on node while it asks for approvals, without the right to
// answer them, and returns the leg, closed, and what is open.
func (f *fixture) left(node string, calls ...string) (*leg, []string) {
	f.t.Helper()
	l := f.running(node)
	var bodies []agent.Body
	m := agent.Message{Index: l.Turn.Index, Role: agent.RoleAssistant, Status: agent.StatusCompleted}
	for _, c := range calls {
		m.Calls = append(m.Calls, agent.Call{ID: c, Name: "delete", Arguments: json.RawMessage(`{"path":"x"}`)})
	}
	f.check(l.tryRecord(l.rows(append(bodies, m)...)))
	ids := l.ask(calls...)
	res := f.stop(l, "user:bob", false)
	f.want(res.Cancelled && res.Actions == 0, "stop %+v", res)
	closed := l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	f.want(closed.Outcome.Kind == agent.Stopped, "closed as %s", closed.Outcome.Kind)
	for _, id := range ids {
		f.action(id, agent.ActionOpen)
	}
	f.state(l.Session.ID, agent.SlotIdle)
	return l, ids
}

func (f *fixture) getAction(id string) agent.Action {
	f.t.Helper()
	a, err := again(func() (agent.Action, error) {
		a, _, err := f.store.Action(f.ctx, id)
		return a, err
	})
	f.check(err)
	return a
}

// action asserts the state of an action and returns it.
func (f *fixture) action(id string, want agent.ActionState) agent.Action {
	f.t.Helper()
	a := f.getAction(id)
	f.want(a.State == want, "action %+v, want it %s", a, want)
	return a
}

// decisions counts the journal's words on an action.
func (f *fixture) decisions(session, action string) int {
	f.t.Helper()
	n := 0
	for _, e := range f.events(session) {
		if d, ok := e.Body.(agent.ActionDecided); ok && d.ActionID == action {
			n++
		}
	}
	return n
}

func (f *fixture) busy(err error) *agent.BusyError {
	f.t.Helper()
	busy, ok := errors.AsType[*agent.BusyError](err)
	f.want(ok, "%v, want a BusyError", err)
	return busy
}

// Field report O 91.
func leftByStop(f *fixture) {
	l := f.running(f.node("a"))
	approval, question := l.ask("c1")[0], l.question("c2")
	res := f.stop(l, "user:bob", false)
	f.want(res.Cancelled && res.Actions == 1, "stop %+v", res)
	f.action(approval, agent.ActionOpen)
	a := f.action(question, agent.ActionWithdrawn)
	f.want(a.DecidedBy == "user:bob", "withdrawn by %q", a.DecidedBy)
	l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	f.action(approval, agent.ActionOpen)
	f.want(f.decisions(l.Session.ID, question) == 1 && f.decisions(l.Session.ID, approval) == 0, "the journal has other decisions")

	// The same where the turn is told here and settles before the row is written.
	l = f.running(f.node("a"))
	approval, question = l.ask("c1")[0], l.question("c2")
	stop := &agent.Stop{By: "user:bob", Door: agent.DoorStudio}
	l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Stopped, Stop: stop}, Stop: stop})
	f.action(approval, agent.ActionOpen)
	f.action(question, agent.ActionWithdrawn)

	// And where it waits for both: nothing runs, so nothing is stopped.
	l = f.running(f.node("a"))
	question = l.question("c2")
	approval = l.pause("c1")[0]
	res = f.stop(l, "user:bob", false)
	f.want(!res.Cancelled && res.Actions == 0, "stop %+v", res)
	f.action(approval, agent.ActionOpen)
	f.action(question, agent.ActionOpen)
}

func leftNoQuestion(f *fixture) {
	l := f.running(f.node("a"))
	id := l.question("c1")
	l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	res := f.stop(l, "user:bob", false)
	f.want(res.Cancelled && res.Ended && res.Actions == 1, "stop %+v", res)
	f.action(id, agent.ActionWithdrawn)
	f.state(l.Session.ID, agent.SlotIdle)
}

func leftDenied(f *fixture) {
	l, ids := f.left(f.node("a"), "c1")
	before := f.events(l.Session.ID)
	f.want(!l.decide(ids[0], agent.ActionDenied), "a decision about an ended turn queued something")
	f.state(l.Session.ID, agent.SlotIdle)
	f.action(ids[0], agent.ActionDenied)
	after := f.events(l.Session.ID)[len(before):]
	f.want(len(after) == 1 && after[0].Kind() == agent.KindActionDecided && after[0].Turn == l.Lease.Turn, "events %+v", after)
	_, _, err := l.tryDecide(ids[0], agent.ActionApproved, "user:eve")
	_, ok := errors.AsType[*agent.DecidedError](err)
	f.want(ok, "approved after it was denied: %v", err)
}

func leftApproved(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l, ids := f.left(a, "c1")
	d := agent.Decision{Action: ids[0], State: agent.ActionApproved, By: "user:eve", Door: agent.DoorStudio, Arguments: []byte(`{"path":"y"}`)}
	got, queued, err := f.store.Decide(f.ctx, d)
	f.want(err == nil && queued && got.State == agent.ActionApproved, "decided %+v, %v, %v", got, queued, err)
	f.want(got.Turn != l.Lease.Turn && got.CallID != "c1", "the action is still that of its first turn: %+v", got)
	for range 2 { // pressed again
		same, _, err := f.store.Decide(f.ctx, d)
		f.want(err == nil && same.Turn == got.Turn && same.CallID == got.CallID, "decided again %+v, %v", same, err)
	}
	f.state(l.Session.ID, agent.SlotQueued)
	later := f.queued() // which came later, and goes later
	next := f.claim(b)
	f.want(next.Lease.Turn == got.Turn && next.Session.ID == l.Session.ID, "claimed %+v", next.Leg)
	t := next.Turn
	f.want(t.By == "user:eve" && t.Door == agent.DoorStudio && t.Spec.Model == "m" && t.Version == 3 && !t.Background && t.Parent == nil, "turn %+v", t)
	events := f.events(l.Session.ID)
	tail := events[len(events)-3:]
	started, isStarted := tail[1].Body.(agent.TurnStarted)
	m, isMessage := tail[2].Body.(agent.Message)
	f.want(tail[0].Kind() == agent.KindActionDecided && tail[0].Turn == l.Lease.Turn, "event %+v", tail[0])
	f.want(isStarted && started.Index == t.Index && started.By == "user:eve" && started.Model == "m" && tail[1].Seq == t.FirstSeq && tail[1].Turn == t.ID, "event %+v", tail[1])
	f.want(isMessage && m.Role == agent.RoleAssistant && m.Index == t.Index-1 && len(m.Calls) == 1, "event %+v", tail[2])
	f.want(m.Calls[0].ID == got.CallID && m.Calls[0].Name == "delete" && string(m.Calls[0].Arguments) == `{"path":"x"}`, "call %+v", m.Calls)
	actions := f.actions(t.ID)
	f.want(len(actions) == 1 && actions[0].ID == ids[0] && string(actions[0].Arguments) == `{"path":"y"}`, "actions %+v", actions)
	f.want(next.Seq == tail[2].Seq, "the leg begins after %d, the journal ends with %d", next.Seq, tail[2].Seq)
	next.answer("done")
	f.end(next)
	after := f.take(f.begin(l.Session, a))
	f.want(after.Turn.Index == t.Index+2, "the next turn's index is %d, after %d", after.Turn.Index, t.Index)
	after.answer("and on")
	f.claim(b).answer("later")
	f.end(later)
}

func leftBusy(f *fixture) {
	node := f.node("a")
	l, ids := f.left(node, "c1", "c2")
	f.want(l.decide(ids[0], agent.ActionApproved), "nothing was queued")
	first := f.getAction(ids[0]).Turn
	for _, state := range []agent.SlotState{agent.SlotQueued, agent.SlotRunning, agent.SlotWaiting} {
		f.state(l.Session.ID, state)
		_, _, err := l.tryDecide(ids[1], agent.ActionApproved, "user:bob")
		busy := f.busy(err)
		f.want(busy.Turn == first && !busy.Stopping, "%+v", busy)
		f.action(ids[1], agent.ActionOpen)
		switch state {
		case agent.SlotQueued:
			l = f.claim(node)
		case agent.SlotRunning:
			l.pause("c9")
		}
	}
	f.want(l.decide(f.actions(first)[1].ID, agent.ActionDenied), "the turn does not go on")
	f.claim(node).answer("done")
	f.action(ids[1], agent.ActionOpen)
	f.want(l.decide(ids[1], agent.ActionApproved), "nothing was queued")
	next := f.claim(node)
	f.want(next.Lease.Turn == f.getAction(ids[1]).Turn && next.Lease.Turn != first, "claimed %v", next.Lease)
	next.answer("done too")
}

func leftStopping(f *fixture) {
	l := f.running(f.node("a"))
	id := l.ask("c1")[0]
	f.stop(l, "user:bob", false)
	_, _, err := l.tryDecide(id, agent.ActionApproved, "user:eve")
	busy := f.busy(err)
	f.want(busy.Stopping && busy.Turn == l.Lease.Turn, "%+v", busy)
	f.action(id, agent.ActionOpen)
	l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	f.want(l.decide(id, agent.ActionApproved), "nothing was queued")
}

func leftTold(f *fixture) {
	node := f.node("a")
	l, ids := f.left(node, "c1", "c2")
	f.want(l.decide(ids[0], agent.ActionApproved), "nothing was queued")
	next := f.claim(node)
	l.decide(ids[1], agent.ActionDenied)
	f.want(f.decisions(l.Session.ID, ids[1]) == 0, "told while another's leg runs")
	next.answer("done")
	f.want(f.decisions(l.Session.ID, ids[1]) == 1, "not told")
	f.take(f.begin(l.Session, node)).answer("next")
	f.want(f.decisions(l.Session.ID, ids[1]) == 1, "told twice")
}

func leftNewMessage(f *fixture) {
	node := f.node("a")
	for _, on := range []string{node, ""} {
		l, ids := f.left(node, "c1", "c2")
		next := f.take(f.begin(l.Session, on))
		for _, id := range ids {
			a := f.action(id, agent.ActionWithdrawn)
			f.want(a.DecidedBy == next.Turn.By && f.decisions(l.Session.ID, id) == 1, "action %+v", a)
		}
		_, _, err := l.tryDecide(ids[0], agent.ActionApproved, "user:eve")
		_, ok := errors.AsType[*agent.DecidedError](err)
		f.want(ok, "approved after a new message: %v", err)
	}
	l, ids := f.left(node, "c1")
	dead := f.node("dead")
	f.kill(dead)
	_, err := f.tryTake(f.begin(l.Session, dead))
	f.want(errors.Is(err, agent.ErrNodeDead), "taken by a dead node: %v", err)
	f.action(ids[0], agent.ActionOpen)
}

func leftStopped(f *fixture) {
	node := f.node("a")
	l, ids := f.left(node, "c1", "c2")
	n, err := f.store.Withdraw(f.ctx, l.Session.ID, agent.NewID(), "user:eve")
	f.want(err == nil && n == 0, "withdrew %d of another turn, %v", n, err)
	n, err = f.store.Withdraw(f.ctx, l.Session.ID, l.Lease.Turn, "user:eve")
	f.want(err == nil && n == 2, "withdrew %d, %v", n, err)
	for _, id := range ids {
		a := f.action(id, agent.ActionWithdrawn)
		f.want(a.DecidedBy == "user:eve" && f.decisions(l.Session.ID, id) == 1, "action %+v", a)
	}
	n, err = f.store.Withdraw(f.ctx, l.Session.ID, "", "user:eve")
	f.want(err == nil && n == 0, "withdrew %d again, %v", n, err)
	_, err = f.store.Withdraw(f.ctx, agent.NewID(), "", "user:eve")
	f.want(errors.Is(err, agent.ErrNotFound), "an unknown session: %v", err)

	l, ids = f.left(node, "c1", "c2")
	l.decide(ids[0], agent.ActionApproved)
	queued := f.leg(agent.Leg{Lease: agent.Lease{Session: l.Session.ID, Turn: f.getAction(ids[0]).Turn}})
	res := f.stop(queued, "user:eve", true)
	f.want(res.Cancelled && res.Ended && res.Actions == 1, "stop of the turn that goes on: %+v", res)
	f.action(ids[0], agent.ActionApproved)
	f.action(ids[1], agent.ActionWithdrawn)
	f.want(f.decisions(l.Session.ID, ids[1]) == 1, "not told")
	f.state(l.Session.ID, agent.SlotIdle)
}

// The turn is told to stop on its own node at once, and may have settled before
// the stop is written.
func leftLateStop(f *fixture) {
	l := f.running(f.node("a"))
	id := l.ask("c1")[0]
	stop := &agent.Stop{By: "user:bob", Door: agent.DoorStudio}
	l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Stopped, Stop: stop}, Stop: stop})
	f.action(id, agent.ActionOpen)
	res := f.stop(l, "user:bob", true)
	f.want(res.Cancelled && res.Ended && res.Actions == 1 && slices.Equal(res.Turns, []string{l.Lease.Turn}), "stop %+v", res)
	f.action(id, agent.ActionWithdrawn)
	f.want(f.decisions(l.Session.ID, id) == 1, "not told")
}

func leftApprovedAtOnce(f *fixture) {
	node := f.node("a")
	for range 20 {
		l, ids := f.left(node, "c1", "c2")
		won := 0
		for i, err := range together(4, func(i int) error {
			_, _, err := l.tryDecide(ids[i%2], agent.ActionApproved, fmt.Sprint("user:", i))
			return err
		}) {
			if err == nil {
				won++
				continue
			}
			_, decided := errors.AsType[*agent.DecidedError](err)
			_, busy := errors.AsType[*agent.BusyError](err)
			f.want(decided || busy, "decider %d: %v", i, err)
		}
		f.want(won == 1, "%d decided", won)
		f.state(l.Session.ID, agent.SlotQueued)
	}
}

func leftAgainstTake(f *fixture) {
	node := f.node("a")
	for range 20 {
		l, ids := f.left(node, "c1")
		b := f.begin(l.Session, node)
		var decided, taken error
		f.race(
			func() error { _, _, decided = l.tryDecide(ids[0], agent.ActionApproved, "user:eve"); return nil },
			func() error { _, taken = f.tryTake(b); return nil },
		)
		if taken != nil {
			f.want(decided == nil && f.busy(taken).Turn == f.action(ids[0], agent.ActionApproved).Turn, "decide %v, take %v", decided, taken)
			continue
		}
		_, ok := errors.AsType[*agent.DecidedError](decided)
		f.want(ok, "decide %v, take %v", decided, taken)
		f.action(ids[0], agent.ActionWithdrawn)
	}
}

func leftAgainstStop(f *fixture) {
	node := f.node("a")
	for range 20 {
		l, ids := f.left(node, "c1")
		var decided error
		var n int
		f.race(
			func() error { _, _, decided = l.tryDecide(ids[0], agent.ActionApproved, "user:eve"); return nil },
			func() (err error) {
				n, err = again(func() (int, error) { return f.store.Withdraw(f.ctx, l.Session.ID, "", "user:bob") })
				return err
			},
		)
		if decided == nil {
			f.want(n == 0, "approved, and withdrawn %d", n)
			f.state(l.Session.ID, agent.SlotQueued)
			continue
		}
		_, ok := errors.AsType[*agent.DecidedError](decided)
		f.want(ok && n == 1, "decide %v, withdrawn %d", decided, n)
		f.state(l.Session.ID, agent.SlotIdle)
	}
}
