package turntest

import (
	"errors"
	"slices"
	"strings"

	"github.com/belayrun/belay/internal/agent"
)

func settleCases() []storeCase {
	return []storeCase{
		{name: "settling writes the answer, the end and the figures, and frees the slot", run: settleWrites},
		{name: "a stop in the row wins over every other end", run: settleStopWins},
		{name: "a stop that only the owner knew ends the turn as cancelled", run: settleLocalStop},
		{name: "settling again says how it ended, also when another turn runs by now", run: settleAgain},
		{name: "settles at once write one end", run: settleAtOnce},
		{name: "an end is final whatever is settled later", run: settleFinal},
		{name: "a leg that waits is paused, not ended", run: settlePauses},
		{name: "a leg that would wait for nothing goes on, and nothing was written", run: settleGoesOn},
		{name: "an empty answer that was stopped is kept as empty", run: settleEmpty},
		{name: "the figures of all legs add up", alone: true, run: settleUsage},
		{name: "text of any language and any bytes is kept exactly", run: settleText},
	}
}

func usage(call int, status agent.UsageStatus, in, out int64) agent.Usage {
	return agent.Usage{
		Call: call, Model: "m", Status: status, LatencyMS: 12, FirstTokenMS: new(int64(3)), At: now(),
		Tokens: agent.Tokens{Input: in, Output: out, CostUSD: 0.25},
	}
}

func settleWrites(f *fixture) {
	l := f.running(f.node("a"))
	u := usage(1, agent.UsageOK, 10, 4)
	rows := l.say("Hello ", "there")
	c := l.answered("Hello there", rows...)
	c.Draft.Usage, c.Usage = &u, []agent.Usage{u}
	c.Tools = []agent.ToolDone{{CallID: "c1", Name: "look", Outcome: agent.ToolSuccess}}
	closed := l.settle(c)
	f.want(closed.Outcome.Kind == agent.Answered && len(closed.Events) == 2, "closed %+v", closed)

	events := f.events(l.Session.ID)
	f.want(len(events) == 6 && same(events[4], closed.Events[0]) && same(events[5], closed.Events[1]), "journal %v", f.kinds(l.Session.ID, 0))
	for i, e := range events {
		f.want(e.Seq == int64(i+1), "event %d has number %d: a leg has no gaps", i, e.Seq)
	}
	msg := events[4].Body.(agent.Message)
	f.want(msg.Text == "Hello there" && msg.Role == agent.RoleAssistant && msg.Status == agent.StatusCompleted && msg.Index == 1, "answer %+v", msg)
	f.want(msg.Usage != nil && msg.Usage.Call == 1 && msg.Usage.Output == 4, "its usage %+v", msg.Usage)
	end, _ := f.end(l)
	f.want(end.Status == agent.StatusCompleted && end.StopReason == "" && end.Usage.Output == 4 && len(end.Tools) == 1, "end %+v", end)
	t := f.turn(l.Lease.Turn)
	f.want(t.Status == agent.StatusCompleted && t.Usage.Input == 10 && t.Usage.CostUSD == 0.25 && !t.EndedAt.IsZero(), "turn %+v", t)
	found := f.find(l.Session.ID)
	f.want(found.State == agent.SlotIdle && found.Lease.Turn == "", "slot %+v", found)
	l.gone0(closed)
}

// gone0 asserts that a leg that its owner closed can't be written any more, and
// that settling it again is no error.
func (l *leg) gone0(closed agent.Closed) {
	l.f.t.Helper()
	ok, err := l.tryAppend(l.say("too late"))
	l.f.want(err == nil && !ok, "append after the end: %v, %v", ok, err)
	l.f.lost("Record", l.tryRecord(l.say("too late")))
	_, err = l.look()
	l.f.lost("Look", err)
	again := l.answer("too late")
	l.f.want(again.Outcome.Kind == closed.Outcome.Kind, "settled again as %s, was %s", again.Outcome.Kind, closed.Outcome.Kind)
}

// Rule in_settle; field reports C 20 and 22: a stop that was answered true is
// what the turn ends with, whatever the engine made of it.
func settleStopWins(f *fixture) {
	node := f.node("a")
	for _, kind := range []agent.OutcomeKind{agent.Answered, agent.Limited, agent.Failed, agent.Lost, agent.Waiting, agent.Stopped} {
		l := f.running(node)
		l.ask("c1")
		f.stop(l, "user:bob", false)
		c := agent.Closing{End: agent.Outcome{Kind: kind}, Draft: &agent.Draft{Index: 1, Text: "so far"}, Rows: l.say("so far")}
		switch kind {
		case agent.Failed, agent.Lost:
			c.End.Failure = &agent.Failure{Code: agent.CodeModelError, Message: "no"}
		case agent.Stopped:
			c.Stop = &agent.Stop{By: "user:eve", Door: agent.DoorChat}
			c.End.Stop = c.Stop
		}
		closed := l.settle(c)
		f.want(closed.Outcome.Kind == agent.Stopped, "%s: closed as %s", kind, closed.Outcome.Kind)
		end, _ := f.end(l)
		f.want(end.StopReason == agent.ReasonCancelled && end.Stop.By == "user:bob" && end.Error == nil, "%s: end %+v", kind, end)
		t := f.turn(l.Lease.Turn)
		f.want(t.Status == agent.StatusIncomplete && t.StopReason == agent.ReasonCancelled && t.Stop.By == "user:bob" && t.Error == nil, "%s: turn %+v", kind, t)
		f.partial(l, l.seq)
	}
}

func settleLocalStop(f *fixture) {
	for _, kind := range []agent.OutcomeKind{agent.Stopped, agent.Answered} {
		l := f.running(f.node("a"))
		stop := &agent.Stop{By: "user:bob", Door: agent.DoorA2A, Node: "a", At: now()}
		c := agent.Closing{End: agent.Outcome{Kind: kind}, Stop: stop, Draft: &agent.Draft{Index: 1, Text: "so far"}, Rows: l.say("so far")}
		if kind == agent.Stopped {
			c.End.Stop = stop
		}
		closed := l.settle(c)
		f.want(closed.Outcome.Kind == agent.Stopped, "%s: closed as %s", kind, closed.Outcome.Kind)
		t := f.turn(l.Lease.Turn)
		f.want(t.StopReason == agent.ReasonCancelled && t.Stop != nil && t.Stop.By == "user:bob" && t.Stop.Door == agent.DoorA2A, "%s: turn %+v", kind, t)
		res := f.stop(l, "user:bob", true)
		f.want(res.Cancelled && res.Ended, "%s: the row write of that stop: %+v", kind, res)
	}
}

// Rule settle_idem: the reply of the commit may get lost.
func settleAgain(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	rows := l.say("the answer")
	c := l.answered("the answer", rows...)
	f.want(l.settle(c).Outcome.Kind == agent.Answered, "not answered")
	before := len(f.events(l.Session.ID))
	f.want(l.settle(c).Outcome.Kind == agent.Answered, "settled again: not answered")
	next := f.take(f.begin(l.Session, node))
	f.stop(next, "user:bob", true)
	f.want(l.settle(c).Outcome.Kind == agent.Answered, "settled again under the next turn: not answered")
	f.want(len(f.events(l.Session.ID)) == before+2, "settling again wrote something: %v", f.kinds(l.Session.ID, 0))
	f.want(next.answer("x").Outcome.Kind == agent.Stopped, "the next turn's stop is gone")
}

func settleAtOnce(f *fixture) {
	node := f.node("a")
	for range 20 {
		l := f.running(node)
		c := l.answered("the answer", l.say("the answer")...)
		for _, err := range together(4, func(int) error { _, err := l.trySettle(c); return err }) {
			f.check(err)
		}
		f.want(len(f.kinds(l.Session.ID, 2)) == 3, "events %v", f.kinds(l.Session.ID, 2))
	}
}

// Field reports C 22, 23 and 25: an end is written once.
func settleFinal(f *fixture) {
	l := f.running(f.node("a"))
	f.stop(l, "user:bob", true)
	l.answer("cut")
	closed := l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Failed, Failure: &agent.Failure{Code: "x", Message: "y"}}})
	f.want(closed.Outcome.Kind == agent.Stopped, "closed as %s", closed.Outcome.Kind)
	t := f.turn(l.Lease.Turn)
	f.want(t.StopReason == agent.ReasonCancelled && t.Error == nil, "turn %+v", t)
}

// Rule paused: a turn that waits has not ended, and is paused once however
// often that is settled.
func settlePauses(f *fixture) {
	l := f.running(f.node("a"))
	ids := l.ask("c1", "c2")
	c := agent.Closing{End: agent.Outcome{Kind: agent.Waiting}, Rows: l.rows(agent.Message{
		Index: 1, Role: agent.RoleAssistant, Status: agent.StatusCompleted,
		Calls: []agent.Call{{ID: "c1", Name: "delete", Arguments: []byte(`{}`)}, {ID: "c2", Name: "delete", Arguments: []byte(`{}`)}},
	})}
	for range 2 {
		closed := l.settle(c)
		f.want(closed.Outcome.Kind == agent.Waiting, "closed as %s", closed.Outcome.Kind)
	}
	kinds := f.kinds(l.Session.ID, 4)
	f.want(slices.Equal(kinds, []agent.Kind{agent.KindMessage, agent.KindTurnPaused}), "events %v", kinds)
	events := f.events(l.Session.ID)
	paused := events[len(events)-1].Body.(agent.TurnPaused)
	slices.Sort(ids)
	f.want(slices.Equal(slices.Sorted(slices.Values(paused.Actions)), ids), "paused for %v, want %v", paused.Actions, ids)
	t := f.turn(l.Lease.Turn)
	f.want(t.Status == agent.StatusWaiting && t.EndedAt.IsZero(), "turn %+v", t)
	found := f.find(l.Session.ID)
	f.want(found.State == agent.SlotWaiting && found.Lease.Turn == l.Lease.Turn && found.Lease.Node == "", "slot %+v", found)
	ok, err := l.tryAppend(l.say("too late"))
	f.want(err == nil && !ok, "append to a paused leg: %v, %v", ok, err)
}

// Rule count_open: the decisions came before the pause.
func settleGoesOn(f *fixture) {
	l := f.running(f.node("a"))
	action := l.ask("c1")[0]
	f.want(!l.decide(action, agent.ActionApproved), "a decision about a running turn queued it")
	before := len(f.events(l.Session.ID))
	_, err := l.trySettle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}, Usage: []agent.Usage{usage(1, agent.UsageOK, 1, 1)}})
	f.want(errors.Is(err, agent.ErrGoOn), "%v, want %v", err, agent.ErrGoOn)
	f.want(len(f.events(l.Session.ID)) == before, "something was written")
	found := f.find(l.Session.ID)
	f.want(found.State == agent.SlotRunning && found.Lease == l.Lease, "slot %+v", found)
	l.append(l.say("on it goes"))
	closed := l.settle(l.answered("on it goes"))
	f.want(closed.Outcome.Kind == agent.Answered, "closed as %s", closed.Outcome.Kind)
}

func settleEmpty(f *fixture) {
	l := f.running(f.node("a"))
	f.stop(l, "user:bob", true)
	l.settle(l.answered(""))
	kinds := f.kinds(l.Session.ID, 2)
	f.want(slices.Equal(kinds, []agent.Kind{agent.KindMessage, agent.KindTurnEnded}), "events %v", kinds)
	m := f.events(l.Session.ID)[2].Body.(agent.Message)
	f.want(m.Text == "" && m.Status == agent.StatusIncomplete && m.StopReason == agent.ReasonCancelled, "answer %+v", m)
}

func settleUsage(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	action := l.ask("c1")[0]
	l.settle(agent.Closing{
		End:   agent.Outcome{Kind: agent.Waiting},
		Usage: []agent.Usage{usage(1, agent.UsageError, 5, 0), usage(2, agent.UsageOK, 10, 3)},
	})
	t := f.turn(l.Lease.Turn)
	f.want(t.Usage.Input == 15 && t.Usage.Output == 3, "a waiting turn has used %+v", t.Usage)
	l.decide(action, agent.ActionApproved)
	second := f.claim(node)
	cut := usage(3, agent.UsageCancelled, 20, 7)
	cut.Estimated = true
	f.stop(second, "user:bob", true)
	c := second.answered("x", second.say("x")...)
	c.Usage = []agent.Usage{usage(2, agent.UsageOK, 10, 3), cut} // one call is counted once
	second.settle(c)
	t = f.turn(l.Lease.Turn)
	want := agent.Tokens{Input: 35, Output: 10, Estimated: true, CostUSD: 0.75}
	f.want(t.Usage == want, "used %+v, want %+v", t.Usage, want)
	end, _ := f.end(l)
	f.want(end.Usage == want, "turn.ended says %+v, want %+v", end.Usage, want)
}

// anyText is what models have been seen to say, cut where a stream may cut.
func anyText() []string {
	return []string{
		"Grüße, ", "世界", "! ", "👩‍👩‍👧‍👦", "\u200b", "e\u0301", "\u0000", "\t\r\n", `"quoted" \u0000 \\`, "</script>", "\u2028", "", "\ufffd", "𝔘𝔫𝔦", "שלום ", "'; --",
	}
}

func settleText(f *fixture) {
	l := f.running(f.node("a"))
	text := anyText()
	var whole strings.Builder
	for _, s := range text {
		whole.WriteString(s)
	}
	rows := l.say(text...)
	f.want(len(rows) == 1, "%d rows", len(rows))
	l.append(rows)
	l.settle(l.answered(whole.String()))
	f.partial(l, l.seq)
	f.texts(l, 2, text)
}

// texts asserts the deltas after a number, one by one.
func (f *fixture) texts(l *leg, after int64, want []string) {
	f.t.Helper()
	events, err := again(func() ([]agent.Event, error) { return f.store.Events(f.ctx, l.Session.ID, after, 1000) })
	f.check(err)
	i := 0
	for _, e := range events {
		if d, ok := e.Body.(agent.TextDelta); ok {
			f.want(i < len(want) && d.Text == want[i] && e.Seq == after+int64(i)+1, "after %d: delta %d is %q with number %d", after, i, d.Text, e.Seq)
			i++
		}
	}
	f.want(i == len(want), "after %d: %d deltas, want %d", after, i, len(want))
}
