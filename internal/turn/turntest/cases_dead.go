package turntest

import (
	"slices"
	"strings"

	"github.com/belayrun/belay/internal/agent"
)

func deadCases() []storeCase {
	return []storeCase{
		{name: "a node that dies in the middle of its answer leaves exactly what was stored", alone: true, run: deadMidText},
		{name: "a node that dies while a tool runs leaves the call unconfirmed", alone: true, run: deadMidTool},
		{name: "a node that dies after a stop leaves a stopped turn", alone: true, run: deadAfterStop},
		{name: "turn.stopping is said once, whoever ends the turn", alone: true, run: deadAfterStopping},
		{name: "a turn that went on after a pause is settled with all its text", alone: true, run: deadSecondLeg},
		{name: "what no dead node runs is not swept", alone: true, run: deadOnly},
		{name: "sweeps at once close each leg once", alone: true, run: deadSweptOnce},
		{name: "a settle that races a sweep: one of them ends the turn", alone: true, run: deadAgainstSettle},
	}
}

// Field reports F 42 and G 48, 49: the partial is kept and its call is counted.
func deadMidText(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l := f.running(a)
	text := anyText()
	l.append(l.say(text[:5]...))
	l.append(l.rows(agent.ReasoningDelta{Text: "hm"}))
	l.append(l.say(text[5:]...))
	shown := l.seq + 40 // the owner had shown more when it died
	f.kill(a)
	swept := f.sweep(b)
	f.want(swept.Lease == l.Lease && swept.Outcome == agent.Lost, "swept %+v", swept)

	end, seq := f.end(l)
	f.want(end.Status == agent.StatusFailed && end.StopReason == "" && end.Error != nil && end.Error.Code == agent.CodeWorkerLost, "end %+v", end)
	f.want(seq > shown && seq >= l.seq+agent.GapWhenClosedForOther, "the end is %d, %d was shown", seq, shown)
	f.partial(l, l.seq)
	m := f.answer(l)
	f.want(m.Text == strings.Join(text, "") && m.Status == agent.StatusIncomplete && m.Index == l.Turn.Index, "answer %+v", m)
	t := f.turn(l.Lease.Turn)
	f.want(t.Status == agent.StatusFailed && t.Stop == nil && t.Error.Code == agent.CodeWorkerLost, "turn %+v", t)
	f.want(t.Usage.Output > 0 && t.Usage.Estimated && end.Usage == t.Usage, "the call under way is not counted: %+v", t.Usage)
	l.gone()
	f.take(f.begin(l.Session, b))
}

// answer returns the last assistant message of a turn.
func (f *fixture) answer(l *leg) agent.Message {
	f.t.Helper()
	for _, e := range slices.Backward(f.events(l.Lease.Session)) {
		if m, ok := e.Body.(agent.Message); ok && e.Turn == l.Lease.Turn && m.Role == agent.RoleAssistant {
			return m
		}
	}
	f.t.Fatalf("no answer of turn %s", l.Lease.Turn)
	return agent.Message{}
}

// Field reports E 33, G 52, J 64 and P 98: the call has a result, nobody runs it
// again, and what was used before is not lost.
func deadMidTool(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l := f.running(a)
	u := usage(1, agent.UsageOK, 10, 4)
	l.append(l.say("let me", " see"))
	l.startTool("c0", &u)
	l.append(l.rows(agent.ToolFinished{CallID: "c0", Name: "look", Outcome: agent.ToolSuccess, Output: "seen"}))
	u.Call, u.Output = 2, 6
	l.startTool("c1", &u)
	l.append(l.rows(agent.ToolOutput{CallID: "c1", Text: "50 %"}))
	f.kill(a)
	f.sweep(b)

	var results []agent.ToolFinished
	for _, e := range f.events(l.Session.ID) {
		if r, ok := e.Body.(agent.ToolFinished); ok {
			results = append(results, r)
		}
	}
	f.want(len(results) == 2 && results[1].CallID == "c1" && results[1].Outcome == agent.ToolUnconfirmed && results[1].Name == "look", "results %+v", results)
	end, _ := f.end(l)
	f.want(slices.ContainsFunc(end.Tools, func(d agent.ToolDone) bool {
		return d.CallID == "c1" && d.Outcome == agent.ToolUnconfirmed
	}), "the end says %+v", end.Tools)
	t := f.turn(l.Lease.Turn)
	f.want(t.Usage.Input >= 20 && t.Usage.Output >= 10 && end.Usage == t.Usage, "used %+v, the end says %+v", t.Usage, end.Usage)
	l.gone()
}

// Field reports J 64 and 66: the stop was answered true, so that is how it ends.
func deadAfterStop(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l := f.running(a)
	l.append(l.say("so ", "far"))
	f.stop(l, "user:bob", true)
	f.kill(a)
	swept := f.sweep(b)
	f.want(swept.Outcome == agent.Stopped, "swept %+v", swept)
	end, _ := f.end(l)
	f.want(end.StopReason == agent.ReasonCancelled && end.Stop != nil && end.Stop.By == "user:bob" && end.Error == nil, "end %+v", end)
	want := []agent.Kind{agent.KindTurnStopping, agent.KindMessage, agent.KindTurnEnded}
	got := f.kinds(l.Session.ID, l.seq)
	f.want(slices.Equal(got, want), "events %v, want %v", got, want)
	m := f.answer(l)
	f.want(m.Text == "so far" && m.StopReason == agent.ReasonCancelled, "answer %+v", m)
	f.want(m.Usage == nil || m.Usage.Status == agent.UsageCancelled, "its usage %+v", m.Usage)
}

func deadAfterStopping(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l := f.running(a)
	f.stop(l, "user:bob", true)
	l.append(l.rows(agent.TurnStopping{By: "user:bob", Door: agent.DoorStudio, Node: "door-node"}))
	f.kill(a)
	f.sweep(b)
	n := 0
	for _, k := range f.kinds(l.Session.ID, 0) {
		if k == agent.KindTurnStopping {
			n++
		}
	}
	f.want(n == 1, "turn.stopping is there %d times", n)
}

func deadSecondLeg(f *fixture) {
	a, b := f.node("a"), f.node("b")
	first := f.running(a)
	first.append(first.rows(agent.TextDelta{Text: "I will delete it."}, agent.Message{
		Index: 1, Role: agent.RoleAssistant, Text: "I will delete it.", Status: agent.StatusCompleted,
		Calls: []agent.Call{{ID: "c1", Name: "delete", Arguments: []byte(`{}`)}},
	}))
	first.decide(first.pause("c1")[0], agent.ActionApproved)
	l := f.claim(a)
	l.append(l.rows(agent.ToolFinished{CallID: "c1", Name: "delete", Outcome: agent.ToolSuccess, Output: "gone"}))
	l.append(l.say("It is ", "done"))
	f.kill(a)
	f.sweep(b)
	m := f.answer(l)
	f.want(m.Text == "It is done" && m.Index == 2, "answer %+v", m)
	f.partial(l, l.seq)
	l.gone()
}

// Rule only_dead: looks are not enough, not even of a node that is silent.
func deadOnly(f *fixture) {
	a, b := f.node("a"), f.node("b")
	l := f.running(a)
	f.silence(a, 2*f.times.Lease)
	_, ok, err := f.trySweep(b)
	f.want(err == nil && !ok, "swept a node that nobody declared dead: %v, %v", ok, err)
	l.answer("alive after all")

	dead := f.node("c")
	paused := f.running(dead)
	paused.pause("c1")
	q := f.queued()
	f.kill(dead)
	_, ok, err = f.trySweep(b)
	f.want(err == nil && !ok, "swept what nobody ran: %v, %v", ok, err)
	f.state(paused.Session.ID, agent.SlotWaiting)
	f.state(q.Session.ID, agent.SlotQueued)
}

func deadSweptOnce(f *fixture) {
	a := f.node("a")
	nodes := []string{f.node("b"), f.node("c")}
	legs := map[string]*leg{}
	for range 10 {
		l := f.running(a)
		legs[l.Lease.Turn] = l
	}
	f.kill(a)
	got := make([][]agent.Swept, 4)
	for _, err := range together(len(got), func(i int) error {
		for {
			s, ok, err := f.trySweep(nodes[i%2])
			if err != nil || !ok {
				return err
			}
			got[i] = append(got[i], s)
		}
	}) {
		f.check(err)
	}
	swept := slices.Concat(got...)
	for len(swept) < len(legs) { // one that another had locked was skipped
		swept = append(swept, f.sweep(nodes[0]))
	}
	for _, s := range swept {
		f.want(legs[s.Lease.Turn] != nil && legs[s.Lease.Turn].Lease == s.Lease, "swept %+v twice, or another's", s)
		delete(legs, s.Lease.Turn)
	}
}

func deadAgainstSettle(f *fixture) {
	b := f.node("b")
	for range 20 {
		a := f.node("a")
		l := f.running(a)
		c := l.answered("the answer", l.say("the answer")...)
		f.kill(a)
		var settled error
		var swept bool
		f.race(
			func() error { _, settled = l.trySettle(c); return nil },
			func() (err error) { _, swept, err = f.trySweep(b); return err },
		)
		end, _ := f.end(l)
		if settled == nil {
			f.want(!swept && end.Status == agent.StatusCompleted, "settled and swept (%v), end %+v", swept, end)
			continue
		}
		f.lost("Settle", settled)
		f.want(swept && end.Status == agent.StatusFailed, "neither settled nor swept (%v), end %+v", swept, end)
	}
}
