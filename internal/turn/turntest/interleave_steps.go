package turntest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/belayrun/belay/internal/agent"
)

func (w *world) takeStep() (step, bool) { return w.newTurn(w.node()), true }

func (w *world) queueStep() (step, bool) { return w.newTurn("", false), true }

func (w *world) newTurn(node string, dead bool) step {
	b := w.begin(w.session, node)
	b.NoSupersede = rapid.Bool().Draw(w.rt, "no supersede")
	t := &wturn{begin: b}
	w.turns[b.Turn.ID], w.order = t, append(w.order, b.Turn.ID)
	s := w.sendTake(t)
	return step{s.send, func() {
		s.learn()
		w.want(!dead || t.leg == nil, "tool: dead node %s took %s", node, b.Turn.ID)
	}}
}

// retakeStep sends a take again, as after a reply that was lost.
func (w *world) retakeStep() (step, bool) {
	if len(w.order) == 0 {
		return step{}, false
	}
	t := w.turns[w.order[len(w.order)-1]]
	if t.leg == nil || t.begin.Turn.ID == "" {
		return step{}, false
	}
	return w.sendTake(t), true
}

func (w *world) sendTake(t *wturn) step {
	var l *leg
	var err error
	return step{
		func() { l, err = w.tryTake(t.begin) },
		func() {
			busy, isBusy := errors.AsType[*agent.BusyError](err)
			switch {
			case isBusy:
				other := w.known(busy.Turn)
				w.want(other != nil && other != t, "busy with %s", busy.Turn)
			case errors.Is(err, agent.ErrNodeDead):
			case err != nil:
				w.rt.Fatalf("take: %v", err)
			case t.leg != nil:
				w.want(t.leg.Lease == l.Lease, "taken as %v, then as %v", t.leg.Lease, l.Lease)
			default:
				t.leg = l
				if t.begin.Node != "" {
					w.adopt(l)
				}
			}
		},
	}
}

func (w *world) claimStep() (step, bool) {
	node, dead := w.node()
	var l *leg
	var ok bool
	var err error
	return step{
		func() { l, ok, err = w.tryClaim(node) },
		func() {
			w.want(!dead || !ok, "tool: dead node %s claimed", node)
			w.want(err == nil || errors.Is(err, agent.ErrNodeDead), "claim: %v", err)
			if !ok {
				return
			}
			t := w.known(l.Lease.Turn)
			w.want(t != nil, "claimed a turn of nobody: %v", l.Lease)
			if t.begin.Turn.ID == "" && t.leg == nil {
				t.leg = l
			}
			w.want(!w.before(t), "claimed a turn that has ended: %v", l.Lease)
			for _, have := range w.legs {
				w.want(have.Lease.Turn != l.Lease.Turn || have.Lease.Fence < l.Lease.Fence, "claimed %v, %v was there before", l.Lease, have.Lease)
			}
			w.adopt(l)
		},
	}, true
}

// appendStep sends new text, or what was sent before and not answered.
func (w *world) appendStep() (step, bool) {
	l := w.anyLeg()
	if l == nil {
		return step{}, false
	}
	if !l.busy {
		s := rapid.SampledFrom(anyText()).Draw(w.rt, "text")
		l.text += s
		l.unsent = append(l.unsent, l.say(s)...)
	}
	rows, over := l.unsent, l.over
	var ok bool
	var err error
	return step{
		func() { ok, err = l.tryAppend(rows) },
		func() {
			w.check(err)
			w.want(!ok || !over, "writer: text is accepted under %v, which is closed", l.Lease)
		},
	}, true
}

// recordStep sends what a record stores, and the text before it. What is refused
// was never shown.
func (w *world) recordStep(l *wleg, body agent.Body, open ...agent.Action) (step, *error) {
	before, kept := l.seq, l.unsent
	rows := append(append([]agent.Row(nil), l.unsent...), l.rows(body)...)
	l.busy = true
	over, told := l.over, l.turn.told
	err := new(error)
	return step{
		func() { *err = l.tryRecord(rows, open...) },
		func() {
			l.busy = false
			_, stopped := errors.AsType[*agent.Stop](*err)
			switch {
			case *err == nil:
				w.want(!over, "writer: a record is accepted under %v, which is closed", l.Lease)
				w.want(!told, "tool: a tool starts after a stop of %s was answered true", l.Lease.Turn)
				l.unsent = rows
			case stopped || errors.Is(*err, agent.ErrLeaseLost):
				l.seq, l.unsent = before, kept
			default:
				w.rt.Fatalf("record: %v", *err)
			}
		},
	}, err
}

func (w *world) toolStep() (step, bool) {
	l := w.idleLeg()
	if l == nil {
		return step{}, false
	}
	s, _ := w.recordStep(l, agent.ToolOutput{CallID: "c", Text: "stands for the start of a tool"})
	return s, true
}

func (w *world) askStep() (step, bool) {
	l := w.idleLeg()
	if l == nil {
		return step{}, false
	}
	return w.ask(l), true
}

func (w *world) ask(l *wleg) step {
	a := agent.Action{
		ID: agent.NewID(), Session: l.Lease.Session, Turn: l.Lease.Turn, CallID: agent.NewID(),
		Type: agent.ActionApproval, Name: "delete", Arguments: json.RawMessage(`{}`), State: agent.ActionOpen,
		Lasts: rapid.SampledFrom([]time.Duration{0, 0, 0, time.Microsecond}).Draw(w.rt, "lasts"),
	}
	s, err := w.recordStep(l, agent.ActionRequested{ActionID: a.ID, CallID: a.CallID, Type: a.Type, Name: a.Name, Arguments: a.Arguments}, a)
	learn := s.learn
	s.learn = func() {
		learn()
		if *err == nil {
			w.asked, w.actions = append(w.asked, a.ID), append(w.actions, l)
		}
	}
	return s
}

func (w *world) lookStep() (step, bool) {
	l := w.anyLeg()
	if l == nil {
		return step{}, false
	}
	over, told := l.over, l.turn.told
	var stop *agent.Stop
	var err error
	return step{
		func() { stop, err = l.look() },
		func() {
			if errors.Is(err, agent.ErrLeaseLost) {
				l.over = true
				return
			}
			w.check(err)
			w.want(!over, "writer: the first look lets %v run, which is closed", l.Lease)
			w.want(!told || stop != nil, "answer: a stop of %s was answered true, its leg sees none", l.Lease.Turn)
		},
	}, true
}

// settleStep closes a leg as its engine would, or sends that again.
func (w *world) settleStep() (step, bool) {
	l := w.idleLeg()
	if l == nil {
		return step{}, false
	}
	kinds := []agent.OutcomeKind{agent.Answered, agent.Waiting, agent.Failed, agent.Stopped}
	return w.settle(l, rapid.SampledFrom(kinds).Draw(w.rt, "end")), true
}

func (w *world) settle(l *wleg, kind agent.OutcomeKind) step {
	c := agent.Closing{
		End: agent.Outcome{Kind: kind}, Rows: l.unsent, Draft: &agent.Draft{Index: l.Turn.Index, Text: l.text},
	}
	switch c.End.Kind {
	case agent.Failed:
		c.End.Failure = &agent.Failure{Code: agent.CodeModelError, Message: "no"}
	case agent.Stopped:
		c.Stop = &agent.Stop{By: "local:" + l.Lease.Turn, Door: agent.DoorChat, At: now()}
		c.End.Stop = c.Stop
	}
	l.busy = true
	over, told := l.over, l.turn.told
	var closed agent.Closed
	var err error
	return step{
		func() { closed, err = l.trySettle(c) },
		func() {
			l.busy = false
			w.settled(l, c, closed, err, over, told)
		},
	}
}

func (w *world) settled(l *wleg, c agent.Closing, closed agent.Closed, err error, over, told bool) {
	switch {
	case errors.Is(err, agent.ErrGoOn):
		w.want(c.End.Kind == agent.Waiting && !over && !told, "settle of %v as %s: %v", l.Lease, c.End.Kind, err)
	case errors.Is(err, agent.ErrLeaseLost):
		// What it closed itself as paused may have gone on and been closed again.
		w.want(l.own == "" || l.own == agent.Waiting, "ended: %v was settled as %s and is called lost", l.Lease, l.own)
		l.over = true
	case err != nil:
		w.rt.Fatalf("settle: %v", err)
	case l.own != "":
		w.want(closed.Outcome.Kind == l.own, "ended: %v was settled as %s, then as %s", l.Lease, l.own, closed.Outcome.Kind)
	default:
		w.want(!over, "writer: %v is closed, and is settled as %s", l.Lease, closed.Outcome.Kind)
		w.want(!told || closed.Outcome.Kind == agent.Stopped, "answer: a stop was answered true, %v is settled as %s", l.Lease, closed.Outcome.Kind)
		l.own = closed.Outcome.Kind
		w.closed(l.Lease)
		if l.own != agent.Waiting {
			w.ended(l.Lease.Turn)
		}
	}
}

// stopStep stops the turn that a door has found, however late.
func (w *world) stopStep() (step, bool) {
	var taken []*wturn
	for _, id := range w.order {
		if t := w.turns[id]; t.leg != nil {
			taken = append(taken, t)
		}
	}
	if len(taken) == 0 {
		return step{}, false
	}
	t := rapid.SampledFrom(taken[max(0, len(taken)-3):]).Draw(w.rt, "turn")
	w.stops++
	by := fmt.Sprintf("stop-%d:%s", w.stops, t.leg.Lease.Turn)
	withdraw := rapid.Bool().Draw(w.rt, "withdraw")
	told, ended := t.told, t.ended != 0
	var res agent.StopResult
	var err error
	return step{
		func() { res, err = w.tryStop(t.leg, by, withdraw) },
		func() {
			w.check(err)
			w.want(!ended || res.Ended, "ended: a stop of %s, which has ended, is answered %+v", t.leg.Lease.Turn, res)
			w.want(!told || res.Cancelled, "answer: a stop of %s was answered true, a later one %+v", t.leg.Lease.Turn, res)
			t.told = t.told || res.Cancelled
			if res.Ended {
				w.ended(t.leg.Lease.Turn)
			}
		},
	}, true
}

func (w *world) expireStep() (step, bool) {
	var x agent.Expired
	var ok bool
	var err error
	return step{
		func() { x, ok, err = w.tryExpire() },
		func() {
			w.check(err)
			w.want(!ok || len(x.Actions) > 0, "expired nothing: %+v", x)
		},
	}, true
}

func (w *world) decideStep() (step, bool) {
	if len(w.asked) == 0 {
		return step{}, false
	}
	i := rapid.IntRange(max(0, len(w.asked)-3), len(w.asked)-1).Draw(w.rt, "action")
	states := []agent.ActionState{agent.ActionApproved, agent.ActionDenied, agent.ActionExpired}
	return w.decide(i, rapid.SampledFrom(states).Draw(w.rt, "state")), true
}

func (w *world) decide(i int, state agent.ActionState) step {
	l := w.actions[i]
	var queued bool
	var err error
	return step{
		func() { _, queued, err = l.tryDecide(w.asked[i], state, "user:"+agent.NewID()) },
		func() {
			_, decided := errors.AsType[*agent.DecidedError](err)
			_, busy := errors.AsType[*agent.BusyError](err)
			w.want(err == nil || decided || busy && state == agent.ActionApproved, "decide: %v", err)
			w.want(!queued || err == nil, "queued with an error: %v", err)
		},
	}
}

// dieStep declares a node dead that does not know it: it goes on to use the
// leases that it has, beside its successor under a new id.
func (w *world) dieStep() (step, bool) {
	i := rapid.IntRange(0, len(w.nodes)-1).Draw(w.rt, "node")
	dead := w.nodes[i]
	var err error
	return step{
		func() { err = again0(func() error { return w.store.Leave(w.ctx, dead) }) },
		func() {
			w.check(err)
			if w.nodes[i] == dead {
				w.nodes[i], w.dead = w.fixture.node("again"), append(w.dead, dead)
			}
		},
	}, true
}

func (w *world) sweepStep() (step, bool) {
	node, _ := w.node()
	var s agent.Swept
	var ok bool
	var err error
	return step{
		func() { s, ok, err = w.trySweep(node) },
		func() {
			w.check(err)
			if ok {
				w.swept(s)
			}
		},
	}, true
}

// closeForStep gives a leg up, as a node does that lost its engine.
func (w *world) closeForStep() (step, bool) {
	l := w.idleLeg()
	if l == nil {
		return step{}, false
	}
	over := l.over
	l.busy = true
	var s agent.Swept
	var ok bool
	var err error
	return step{
		func() {
			type closed struct {
				agent.Swept
				ok bool
			}
			var c closed
			c, err = again(func() (closed, error) {
				s, ok, err := w.store.CloseFor(w.ctx, l.Lease)
				return closed{s, ok}, err
			})
			s, ok = c.Swept, c.ok
		},
		func() {
			l.busy = false
			w.check(err)
			w.want(!ok || !over, "writer: %v was closed, and is closed for its owner", l.Lease)
			if ok {
				w.swept(s)
			}
		},
	}, true
}

func (w *world) swept(s agent.Swept) {
	t := w.known(s.Lease.Turn)
	w.want(t != nil, "swept a turn of nobody: %+v", s)
	w.want(!w.before(t), "ended: %v had ended, and is swept", s.Lease)
	w.want(!t.told || s.Outcome == agent.Stopped, "answer: a stop of %s was answered true, it is swept as %s", s.Lease.Turn, s.Outcome)
	w.ended(s.Lease.Turn)
}
