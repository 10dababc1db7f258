package turntest

import (
	"encoding/json"

	"github.com/belayrun/belay/internal/agent"
)

// leg is a leg as its owner sees it: it counts the numbers.
type leg struct {
	agent.Leg
	f   *fixture
	seq int64 // the last number used
}

func (f *fixture) leg(l agent.Leg) *leg {
	out := &leg{Leg: l, f: f, seq: l.Seq}
	if n := len(l.Events); n > 0 {
		out.seq = l.Events[n-1].Seq
	}
	return out
}

// rows numbers bodies and packs them.
func (l *leg) rows(bodies ...agent.Body) []agent.Row {
	l.f.t.Helper()
	events := numbered(l.Lease.Session, l.Lease.Turn, l.seq, bodies...)
	l.seq += int64(len(bodies))
	rows, err := agent.Pack(events)
	l.f.check(err)
	return rows
}

// say returns rows of text.
func (l *leg) say(texts ...string) []agent.Row {
	l.f.t.Helper()
	bodies := make([]agent.Body, len(texts))
	for i, s := range texts {
		bodies[i] = agent.TextDelta{Text: s}
	}
	return l.rows(bodies...)
}

func (l *leg) tryAppend(rows []agent.Row) (bool, error) {
	stored, err := again(func() ([]bool, error) {
		return l.f.store.Append(l.f.ctx, []agent.Batch{{Lease: l.Lease, Rows: rows}})
	})
	return err == nil && stored[0], err
}

// append stores rows; the lease must hold. A slot that is locked for the moment
// is skipped, so it is sent again.
func (l *leg) append(rows []agent.Row) {
	l.f.t.Helper()
	l.f.eventually("append", func() bool {
		ok, err := l.tryAppend(rows)
		l.f.check(err)
		return ok
	})
}

func (l *leg) tryRecord(rows []agent.Row, open ...agent.Action) error {
	return again0(func() error { return l.f.store.Record(l.f.ctx, l.Lease, rows, open) })
}

func (l *leg) look() (*agent.Stop, error) {
	return again(func() (*agent.Stop, error) { return l.f.store.Look(l.f.ctx, l.Lease) })
}

// startTool stores the call of a tool and its start, as an engine does.
func (l *leg) startTool(call string, usage *agent.Usage) {
	l.f.t.Helper()
	args := json.RawMessage(`{"x":1}`)
	rows := l.rows(
		agent.Message{
			Index: l.Turn.Index, Role: agent.RoleAssistant, Text: "let me see", Status: agent.StatusCompleted, Usage: usage,
			Calls: []agent.Call{{ID: call, Name: "look", Arguments: args}},
		},
		agent.ToolStarted{CallID: call, Name: "look", Arguments: args, Abortable: true},
	)
	l.f.check(l.tryRecord(rows))
}

// ask opens an action for each call, and returns their ids.
func (l *leg) ask(calls ...string) []string {
	l.f.t.Helper()
	var bodies []agent.Body
	var open []agent.Action
	var ids []string
	for _, c := range calls {
		a := agent.Action{
			ID: agent.NewID(), Session: l.Lease.Session, Turn: l.Lease.Turn, CallID: c,
			Type: agent.ActionApproval, Name: "delete", Arguments: json.RawMessage(`{"path":"x"}`), State: agent.ActionOpen,
		}
		ids, open = append(ids, a.ID), append(open, a)
		bodies = append(bodies, agent.ActionRequested{ActionID: a.ID, CallID: c, Type: a.Type, Name: a.Name, Arguments: a.Arguments})
	}
	l.f.check(l.tryRecord(l.rows(bodies...), open...))
	return ids
}

func (l *leg) trySettle(c agent.Closing) (agent.Closed, error) {
	c.Seq = l.seq
	return again(func() (agent.Closed, error) { return l.f.store.Settle(l.f.ctx, l.Lease, c) })
}

func (l *leg) settle(c agent.Closing) agent.Closed {
	l.f.t.Helper()
	closed, err := l.trySettle(c)
	l.f.check(err)
	return closed
}

// answered is how an engine closes a leg that has said text.
func (l *leg) answered(text string, rows ...agent.Row) agent.Closing {
	return agent.Closing{
		End: agent.Outcome{Kind: agent.Answered}, Rows: rows, Draft: &agent.Draft{Index: l.Turn.Index, Text: text},
	}
}

// answer says text and ends the turn with it.
func (l *leg) answer(text string) agent.Closed {
	l.f.t.Helper()
	return l.settle(l.answered(text, l.say(text)...))
}

// pause opens an action for each call and closes the leg to wait for them.
func (l *leg) pause(calls ...string) []string {
	l.f.t.Helper()
	ids := l.ask(calls...)
	closed := l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	l.f.want(closed.Outcome.Kind == agent.Waiting, "closed as %s, want waiting", closed.Outcome.Kind)
	return ids
}

func (l *leg) tryDecide(action string, state agent.ActionState, by string) (agent.Action, bool, error) {
	type decided struct {
		agent.Action
		queued bool
	}
	d, err := again(func() (decided, error) {
		a, queued, err := l.f.store.Decide(l.f.ctx, agent.Decision{Action: action, State: state, By: by})
		return decided{a, queued}, err
	})
	return d.Action, d.queued, err
}

// decide decides an open action and reports whether the turn goes on.
func (l *leg) decide(action string, state agent.ActionState) bool {
	l.f.t.Helper()
	_, queued, err := l.tryDecide(action, state, "user:bob")
	l.f.check(err)
	return queued
}

// gone asserts that the lease is lost to every statement of its owner, and that
// none of them stored anything.
func (l *leg) gone() {
	l.f.t.Helper()
	before := len(l.f.events(l.Lease.Session))
	ok, err := l.tryAppend(l.say("too late"))
	l.f.check(err)
	l.f.want(!ok, "text was stored under a lost lease")
	l.f.lost("Record", l.tryRecord(l.say("too late")))
	_, err = l.look()
	l.f.lost("Look", err)
	_, err = l.trySettle(l.answered("too late", l.say("too late")...))
	l.f.lost("Settle", err)
	l.f.want(len(l.f.events(l.Lease.Session)) == before, "something was written under a lost lease")
}
