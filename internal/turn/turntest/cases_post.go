package turntest

import (
	"errors"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
)

func postCases() []storeCase {
	return []storeCase{
		{name: "a take writes a history before the turn's own message", run: takeHistory},
		{name: "a turn without a message of its own begins with turn.started", run: takeNoInput},
		{name: "a session's first turn names its agent, and no other agent gets the slot", run: takeNamesAgent},
		{name: "posted messages are numbered and counted like any", run: postCounts},
		{name: "a posting that is sent again is posted once", run: postAgain},
		{name: "nothing is posted into a session whose turn runs or is queued", run: postBusy},
		{name: "a posted message ends the waiting turn", run: postSupersedes},
		{name: "a posting settles what a dead node left in the slot", run: postOwnerless},
		{name: "a posting to an unknown session is not found", run: postUnknown},
		{name: "postings and takes at once share out the numbers", run: postAgainstTakes},
	}
}

var past = []agent.Prompt{
	{Role: agent.RoleSystem, Text: "be brief"}, {Role: agent.RoleUser, Text: "one"}, {Role: agent.RoleAssistant, Text: "two"},
}

// messages returns a session's messages as index, role and text, and holds the
// indexes to be gapless.
func (f *fixture) messages(session string) (out []string) {
	f.t.Helper()
	for _, e := range f.events(session) {
		if m, ok := e.Body.(agent.Message); ok {
			f.want(m.Index == len(out), "message %q has index %d, want %d", m.Text, m.Index, len(out))
			out = append(out, fmt.Sprintf("%s %s", m.Role, m.Text))
		}
	}
	return out
}

func (f *fixture) said(session string, want ...string) {
	f.t.Helper()
	got := f.messages(session)
	f.want(fmt.Sprint(got) == fmt.Sprint(want), "messages %q, want %q", got, want)
}

func takeHistory(f *fixture) {
	for _, node := range []string{f.node("a"), ""} {
		b := f.begin(f.session(), node)
		b.History = past
		l := f.take(b)
		f.want(l.Seq == 3 && len(l.Events) == 2 && l.Events[0].Seq == 4, "leg %+v", l.Leg)
		t := f.turn(b.Turn.ID)
		f.want(t.FirstSeq == 4 && t.Index == 4, "turn %+v", t)
		for i, e := range f.events(b.Session.ID) {
			f.want((e.Run() == "") == (i < 3), "event %d is of turn %q", e.Seq, e.Run())
		}
		again := f.take(b)
		f.want(again.Lease == l.Lease && again.Seq == l.Seq && len(again.Events) == 2, "leg %+v, then %+v", l.Leg, again.Leg)
		f.said(b.Session.ID, "system be brief", "user one", "assistant two", "user hello")
	}
}

func takeNoInput(f *fixture) {
	node := f.node("a")
	s := f.session()
	b := f.begin(s, node)
	b.History, b.Input, b.NoInput = past[1:2], "", true
	l := f.take(b)
	f.want(l.Seq == 1 && len(l.Events) == 1 && l.Events[0].Kind() == agent.KindTurnStarted, "leg %+v", l.Leg)
	t := f.turn(b.Turn.ID)
	f.want(t.FirstSeq == 2 && t.Index == 1, "turn %+v", t)
	l.append(l.say("hi"))
	again := f.take(b)
	f.want(again.Lease == l.Lease && again.Seq == l.Seq && len(again.Events) == 1, "leg %+v, then %+v", l.Leg, again.Leg)
	l.settle(l.answered("hi"))
	next := f.take(f.begin(s, node))
	f.want(next.Turn.Index == 3, "the next answer has index %d, want 3", next.Turn.Index)
	next.answer("ho")
	f.said(s.ID, "user one", "assistant hi", "user hello", "assistant ho")
}

func takeNamesAgent(f *fixture) {
	node := f.node("a")
	s := f.session()
	s.Agent = ""
	b := f.begin(s, node)
	b.Turn.Agent = "helper"
	l := f.take(b)
	f.want(l.Session.Agent == "helper", "the session is with %q", l.Session.Agent)
	l.answer("hi")
	f.want(f.find(s.ID).Session.Agent == "helper", "the session is with %q", f.find(s.ID).Session.Agent)
	b = f.begin(s, node)
	b.Turn.Agent = "another"
	_, err := f.tryTake(b)
	f.want(errors.Is(err, agent.ErrNotFound), "another agent: %v, want %v", err, agent.ErrNotFound)
}

func (f *fixture) posting(session string, messages ...agent.Prompt) agent.Posting {
	return agent.Posting{ID: agent.NewPostID(), Session: session, By: "token:ann", Door: agent.DoorAssistants, Messages: messages}
}

func (f *fixture) tryPost(p agent.Posting) ([]agent.Event, error) {
	return again(func() ([]agent.Event, error) { return f.store.Post(f.ctx, p) })
}

func (f *fixture) post(p agent.Posting) []agent.Event {
	f.t.Helper()
	events, err := f.tryPost(p)
	f.check(err)
	return events
}

func postCounts(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	l.answer("hi")
	_, end := f.end(l)
	events := f.post(f.posting(l.Session.ID, past[1], past[2]))
	f.want(len(events) == 2 && events[0].Seq == end+1 && events[1].Seq == end+2, "the end is %d, posted %+v", end, events)
	f.state(l.Session.ID, agent.SlotIdle)
	b := f.begin(l.Session, node)
	b.NoInput = true
	next := f.take(b)
	f.want(next.Seq == end+2 && next.Turn.Index == 4, "leg %+v", next.Leg)
	next.answer("three")
	f.said(l.Session.ID, "user hello", "assistant hi", "user one", "assistant two", "assistant three")
}

func postAgain(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	l.answer("hi")
	p := f.posting(l.Session.ID, past[1])
	first := f.post(p)
	f.take(f.begin(l.Session, node))
	f.sameEvents(f.post(p), first) // whatever is in the slot by now
	f.said(l.Session.ID, "user hello", "assistant hi", "user one", "user hello")
}

// Field reports L 74 and 75: the answer names the turn in the way.
func postBusy(f *fixture) {
	node := f.node("a")
	for _, l := range []*leg{f.running(node), f.queued()} {
		_, err := f.tryPost(f.posting(l.Session.ID, past[1]))
		busy, ok := errors.AsType[*agent.BusyError](err)
		f.want(ok && busy.Turn == l.Lease.Turn && !busy.Stopping, "%v, want a BusyError that names %s", err, l.Lease.Turn)
		f.said(l.Session.ID, "user hello")
	}
	l := f.running(node)
	f.stop(l, "user:bob", true)
	_, err := f.tryPost(f.posting(l.Session.ID, past[1]))
	busy, ok := errors.AsType[*agent.BusyError](err)
	f.want(ok && busy.Stopping, "%v, want a BusyError that says stopping", err)
}

func postSupersedes(f *fixture) {
	l := f.running(f.node("a"))
	action := l.pause("c1")[0]
	f.post(f.posting(l.Session.ID, past[1]))
	t := f.turn(l.Lease.Turn)
	f.want(t.StopReason == agent.ReasonCancelled && t.StopDetail == agent.DetailSuperseded && t.Stop.By == "token:ann", "the waiting turn %+v", t)
	a := f.actions(l.Lease.Turn)[0]
	f.want(a.ID == action && a.State == agent.ActionWithdrawn, "its action %+v", a)
	f.state(l.Session.ID, agent.SlotIdle)
}

func postOwnerless(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	l.append(l.say("half"))
	f.kill(node)
	events := f.post(f.posting(l.Session.ID, past[1]))
	t := f.turn(l.Lease.Turn)
	f.want(t.Status == agent.StatusFailed && t.Error.Code == agent.CodeWorkerLost, "the lost turn %+v", t)
	f.want(events[0].Seq > l.seq+agent.GapWhenClosedForOther, "posted %+v, last shown %d", events, l.seq)
	f.said(l.Session.ID, "user hello", "assistant half", "user one")
	l.gone()
}

func postUnknown(f *fixture) {
	_, err := f.tryPost(f.posting(agent.NewID(), past[1]))
	f.want(errors.Is(err, agent.ErrNotFound), "%v, want %v", err, agent.ErrNotFound)
}

func postAgainstTakes(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	l.answer("hi")
	for range 15 {
		var next *leg
		f.race(
			func() (err error) {
				_, err = f.tryPost(f.posting(l.Session.ID, past[1]))
				if _, busy := errors.AsType[*agent.BusyError](err); busy {
					return nil
				}
				return err
			},
			func() (err error) { next, err = f.tryTake(f.begin(l.Session, node)); return err },
		)
		next.answer("ok")
		f.messages(l.Session.ID)
	}
}
