package turntest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belayrun/belay/internal/agent"
)

// CheckInterleavings drives a store with random orders of the protocol's
// statements, up to three of them at once: two nodes that die, freeze and come
// back with the leases they had, a few turns of one session, stops, decisions and
// replies that are lost (a statement sent again). After each step it holds the
// answers to what had been answered before, and in the end to what the model
// (slot_model.py) checks:
//
//	writer   nothing is accepted under a leg that is known to be closed
//	answer   a stop answered true: its turn ends cancelled; false: it does not; nobody stopped: not cancelled
//	ended    each turn ends once, and nothing of it comes after
//	later    no stop reaches another turn than its own
//	tool     no tool starts after a stop was answered true
//	stuck    the slot can always be made free by the protocol's own steps
//
// The number of runs is rapid's: -rapid.checks.
func CheckInterleavings(t *testing.T, open func(t *testing.T, times Times) Harness) {
	h := open(t, ShortTimes())
	ctx := t.Context()
	rapid.Check(t, func(rt *rapid.T) {
		f := &fixture{t: rt, ctx: ctx, store: h.Store, times: ShortTimes(), answers: map[string][]bool{}}
		w := &world{fixture: f, rt: rt, session: f.session(), turns: map[string]*wturn{}}
		w.nodes = []string{f.node("a"), f.node("b")}
		for range rapid.IntRange(1, 25).Draw(rt, "groups") {
			if rapid.IntRange(0, 7).Draw(rt, "round") == 0 {
				w.round()
				continue
			}
			w.group(rapid.IntRange(1, 3).Draw(rt, "at once"))
		}
		w.quiesce()
		f.verify()
		w.verify()
	})
	if h.Check != nil {
		if err := h.Check(); err != nil {
			t.Errorf("the store's own check: %v", err)
		}
	}
}

// world is one run: what has been answered so far.
type world struct {
	*fixture
	rt      *rapid.T
	session agent.Session
	nodes   []string
	dead    []string
	legs    []*wleg
	order   []string // turns, in the order they were sent
	turns   map[string]*wturn
	actions []*wleg // the leg that opened each of asked
	asked   []string
	stops   int
	epoch   int // counts the groups
}

// wturn is what is known of a turn.
type wturn struct {
	begin agent.Begin
	leg   *leg // as the take was answered, nil: it was not
	told  bool // a stop of it was answered true
	ended int  // the group in which it was known to have ended, 0: not yet
}

// wleg is a leg as a node has it, which may be closed since.
type wleg struct {
	*leg
	turn   *wturn
	unsent []agent.Row
	text   string
	busy   bool // its engine is in a statement that ends the text so far
	over   bool // known to be closed
	own    agent.OutcomeKind
}

// step is a statement on its way: send runs beside others, then learn runs alone.
type step struct {
	send  func()
	learn func()
}

// group draws n statements, sends them at once and learns from the answers.
func (w *world) group(n int) {
	w.epoch++
	var steps []step
	for range n {
		if s, ok := w.draw(); ok {
			steps = append(steps, s)
		}
	}
	together(len(steps), func(i int) error {
		steps[i].send()
		return nil
	})
	for _, s := range steps {
		s.learn()
	}
}

// round lets the newest leg wait for a person, who agrees, and the turn go on in
// another leg, or a part of that: few random orders get so far.
func (w *world) round() {
	w.epoch++
	if len(w.legs) == 0 {
		w.do(w.newTurn(w.nodes[0], false))
	}
	if len(w.legs) == 0 {
		return
	}
	l := w.legs[len(w.legs)-1]
	far := rapid.IntRange(1, 3).Draw(w.rt, "far")
	w.do(w.ask(l))
	w.do(w.settle(l, agent.Waiting))
	if far == 1 {
		return
	}
	for i, by := range w.actions {
		if by.turn == l.turn {
			w.do(w.decide(i, agent.ActionApproved))
		}
	}
	if far == 3 {
		s, _ := w.claimStep()
		w.do(s)
	}
}

// do sends one statement alone.
func (w *world) do(s step) {
	s.send()
	s.learn()
}

// draw prepares one statement; ok is false where there is nothing to send it for.
func (w *world) draw() (step, bool) {
	steps := map[string]func() (step, bool){
		"take": w.takeStep, "take again": w.retakeStep, "queue": w.queueStep, "claim": w.claimStep,
		"append": w.appendStep, "start tool": w.toolStep, "ask": w.askStep, "look": w.lookStep,
		"settle": w.settleStep, "stop": w.stopStep, "decide": w.decideStep,
		"die": w.dieStep, "sweep": w.sweepStep, "give up": w.closeForStep, "expire": w.expireStep,
	}
	names := []string{
		"take", "take", "take again", "queue", "claim", "claim", "append", "append", "append", "start tool", "ask", "ask", "look",
		"settle", "settle", "settle", "stop", "stop", "decide", "decide", "die", "sweep", "sweep", "give up", "expire",
	}
	return steps[rapid.SampledFrom(names).Draw(w.rt, "step")]()
}

// node draws an id; now and then one that is dead, as of a process that does not
// know it yet.
func (w *world) node() (id string, dead bool) {
	if len(w.dead) > 0 && rapid.IntRange(0, 5).Draw(w.rt, "dead") == 0 {
		return rapid.SampledFrom(w.dead).Draw(w.rt, "node"), true
	}
	return rapid.SampledFrom(w.nodes).Draw(w.rt, "node"), false
}

// anyLeg draws a leg that a node has or had, mostly a late one.
func (w *world) anyLeg() *wleg {
	if len(w.legs) == 0 {
		return nil
	}
	late := w.legs[max(0, len(w.legs)-2):]
	if rapid.IntRange(0, 4).Draw(w.rt, "stale") == 0 {
		late = w.legs
	}
	return rapid.SampledFrom(late).Draw(w.rt, "leg")
}

// idleLeg is anyLeg, but none whose engine is in a statement.
func (w *world) idleLeg() *wleg {
	if l := w.anyLeg(); l != nil && !l.busy {
		return l
	}
	return nil
}

// ended notes that a turn has ended, and that all its legs are closed.
func (w *world) ended(turn string) {
	if t := w.turns[turn]; t != nil && t.ended == 0 {
		t.ended = w.epoch
	}
	for _, l := range w.legs {
		l.over = l.over || l.Lease.Turn == turn
	}
}

// known returns a turn of the session, nil for none. One that nobody sent goes on
// with an approval that a stop has left.
func (w *world) known(id string) *wturn {
	if t := w.turns[id]; t != nil {
		return t
	}
	turn, err := w.tryTurn(id)
	w.check(err)
	for _, e := range w.events(w.session.ID) {
		if e.Seq == turn.FirstSeq && e.Turn == id && e.Kind() == agent.KindTurnStarted {
			w.turns[id], w.order = &wturn{}, append(w.order, id)
			return w.turns[id]
		}
	}
	return nil
}

// before reports whether a turn was known to have ended before this group was
// sent: within a group, answers may be learned in another order than the store's.
func (w *world) before(t *wturn) bool { return t.ended != 0 && t.ended < w.epoch }

// closed notes that a leg is closed, and all before it.
func (w *world) closed(lease agent.Lease) {
	for _, l := range w.legs {
		l.over = l.over || l.Lease.Turn == lease.Turn && l.Lease.Fence <= lease.Fence
	}
}

// adopt makes a leg of an answer, unless the node has it already.
func (w *world) adopt(l *leg) {
	for _, have := range w.legs {
		if have.Lease == l.Lease {
			return
		}
	}
	w.legs = append(w.legs, &wleg{leg: l, turn: w.turns[l.Lease.Turn]})
}

// quiesce lets both nodes die and a new one end whatever is left.
func (w *world) quiesce() {
	for _, n := range w.nodes {
		w.kill(n)
	}
	me := w.fixture.node("last")
	for range 50 {
		for ok := true; ok; {
			var err error
			_, ok, err = w.trySweep(me)
			w.check(err)
		}
		if len(w.order) == 0 {
			return
		}
		found, err := again(func() (agent.Found, error) { return w.store.Find(w.ctx, w.session.ID) })
		if err != nil || found.State == agent.SlotIdle {
			return // no turn was ever taken, or the slot is free
		}
		w.free(found, me)
	}
	w.rt.Fatalf("stuck: the slot does not become free: %+v", w.find(w.session.ID))
}

// free takes the one step that a slot in this state needs.
func (w *world) free(found agent.Found, me string) {
	switch found.State {
	case agent.SlotQueued:
		if l, ok, err := w.tryClaim(me); ok {
			l.answer("the rest")
		} else {
			w.check(err)
		}
	case agent.SlotWaiting:
		open := 0
		for _, a := range w.fixture.actions(found.Lease.Turn) {
			if a.State == agent.ActionOpen {
				open++
				_, _, err := w.leg(agent.Leg{Lease: found.Lease}).tryDecide(a.ID, agent.ActionDenied, "user:last")
				if d, late := errors.AsType[*agent.DecidedError](err); !late || d.Action.State != agent.ActionExpired {
					w.check(err)
				}
			}
		}
		w.want(open > 0, "stuck: turn %s waits for nothing", found.Lease.Turn)
	case agent.SlotRunning:
		w.rt.Fatalf("stuck: the slot runs %v, whose node is dead, and is not swept", found.Lease)
	}
}

// verify holds the journal to the answers.
func (w *world) verify() {
	for _, id := range w.order {
		t, err := w.tryTurn(id)
		if err != nil {
			continue
		}
		if err := w.checkStop(t); err != nil {
			w.rt.Errorf("turn %s: %v", id, err)
		}
		if n := len(w.fixture.actions(id)); w.turns[id].begin.Turn.ID == "" && n < 1 {
			w.rt.Errorf("turn %s goes on with no action", id)
		}
		if deltas, answers := w.said(id); deltas != answers {
			w.rt.Errorf("turn %s said %q, its messages are %q", id, deltas, answers)
		}
	}
}

// checkStop: who is said to have stopped a turn has stopped that very turn.
func (w *world) checkStop(t agent.Turn) error {
	for _, e := range w.events(w.session.ID) {
		if e.Turn == t.ID && e.Kind() == agent.KindTurnEnded && t.Error != nil && t.Error.Code == agent.CodeWorkerLost &&
			e.Seq <= agent.GapWhenClosedForOther {
			return fmt.Errorf("writer: others ended it with number %d", e.Seq)
		}
	}
	switch {
	case t.Stop == nil || t.StopDetail == agent.DetailSuperseded:
		return nil
	case !strings.HasSuffix(t.Stop.By, t.ID):
		return fmt.Errorf("later: it was stopped by %s", t.Stop.By)
	case t.StopReason != agent.ReasonCancelled:
		return fmt.Errorf("answer: %s asked for a stop, it ended as %s %q", t.Stop.By, t.Status, t.StopReason)
	}
	return nil
}

// said returns a turn's text as it streamed and as its messages have it.
func (w *world) said(turn string) (deltas, answers string) {
	for _, e := range w.events(w.session.ID) {
		if e.Turn != turn {
			continue
		}
		switch b := e.Body.(type) {
		case agent.TextDelta:
			deltas += b.Text
		case agent.Message:
			if b.Role == agent.RoleAssistant {
				answers += b.Text
			}
		}
	}
	return deltas, answers
}
