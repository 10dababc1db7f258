package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"pgregory.net/rapid"
)

// world is one session, two nodes and whatever turns they take, driven by
// random statements of the protocol in random order; also by owners that have
// lost their legs and don't know.
type world struct {
	*bed
	r       *rapid.T
	begin   agent.Begin // of the session
	nodes   [2]string
	legs    []*held // all that were ever had, the newest last
	answers map[string][]bool
	actions []string
}

// held is a leg as its owner sees it.
type held struct {
	agent.Lease
	seq    int64
	index  int
	calls  int
	closed bool // by its own settle
}

// Whatever is done in whatever order: nobody writes for a leg that is not his, a
// stop's answer is the truth, a turn ends once, and the slot can become free.
func TestAnyOrderOfStatementsKeepsThePromises(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{Stray: time.Nanosecond, Lease: time.Hour, Gap: time.Hour})
	rapid.Check(t, func(r *rapid.T) {
		w := &world{bed: b, r: r, nodes: [2]string{b.node(), b.node()}, answers: map[string][]bool{}}
		w.begin = newBegin("")
		r.Repeat(map[string]func(*rapid.T){
			"take": w.take, "queue": w.queue, "claim": w.claim, "append": w.append, "record": w.record, "ask": w.ask,
			"settle": w.settle, "settle2": w.settle, "pause": w.pause, "decide": w.decide, "expire": w.expire, "stop": w.stop, "stop one": w.stopAny,
			"next leg": w.nextLeg, "kill": w.kill, "sweep": w.sweep, "adopt": w.adopt, "give up": w.giveUp, "": w.look,
		})
		w.freeSlot()
	})
}

// draw is one of n; ok is false when there is none.
func (w *world) draw(r *rapid.T, n int) (int, bool) {
	if n == 0 {
		return 0, false
	}
	return rapid.IntRange(0, n-1).Draw(r, "which"), true
}

func (w *world) leg(r *rapid.T) *held {
	i, ok := w.draw(r, len(w.legs))
	if !ok {
		return &held{Lease: agent.Lease{Session: w.begin.Session.ID, Turn: "none"}}
	}
	return w.legs[len(w.legs)-1-i]
}

func (w *world) fatal(err error) {
	if err != nil {
		w.r.Fatal(err)
	}
}

func (w *world) own(l agent.Leg) {
	w.legs = append(w.legs, &held{Lease: l.Lease, seq: l.Seq + int64(len(l.Events)), index: l.Turn.Index, calls: l.Turn.Calls})
}

func (w *world) tryTake(node string) {
	b := w.begin
	b.Turn.ID, b.Node = agent.NewID(), node
	leg, err := w.Take(w.ctx, b)
	if _, busy := errors.AsType[*agent.BusyError](err); busy {
		return
	}
	w.fatal(err)
	if node != "" {
		w.own(leg)
	}
	again, err := w.Take(w.ctx, b)
	w.fatal(err)
	if again.Lease != leg.Lease || again.Seq != leg.Seq {
		w.r.Fatalf("taken again: %v, was %v", again.Lease, leg.Lease)
	}
}

func (w *world) take(r *rapid.T) { i, _ := w.draw(r, 2); w.tryTake(w.nodes[i]) }

func (w *world) queue(*rapid.T) { w.tryTake("") }

func (w *world) claim(r *rapid.T) {
	i, _ := w.draw(r, 2)
	leg, ok, err := w.Claim(w.ctx, w.nodes[i], 0)
	w.fatal(err)
	if ok {
		w.own(leg)
	}
}

// holds is the truth about a leg.
func (w *world) holds(h *held) bool {
	return w.count("SELECT count(*) FROM run_slots WHERE session_id = $1 AND turn_id = $2 AND fence = $3 AND state = 'running'", h.Session, h.Turn, h.Fence) == 1
}

func (w *world) append(r *rapid.T) {
	h := w.leg(r)
	holds := w.holds(h)
	stored, err := w.Append(w.ctx, []agent.Batch{{Lease: h.Lease, Rows: deltas(h.Turn, h.seq, 2)}})
	w.fatal(err)
	if stored[0] != holds {
		w.r.Fatalf("append of %s: %v", h.Lease, stored[0])
	}
	h.seq += 2
}

func (w *world) record(r *rapid.T) { w.write(w.leg(r), nil) }

func (w *world) ask(r *rapid.T) {
	h, id := w.leg(r), agent.NewID()
	lasts := rapid.SampledFrom([]time.Duration{0, 0, time.Microsecond}).Draw(r, "lasts")
	if w.write(h, []agent.Action{{ID: id, CallID: id, Type: agent.ActionApproval, Name: "n", Lasts: lasts}}) {
		w.actions = append(w.actions, id)
	}
}

func (w *world) write(h *held, open []agent.Action) bool {
	holds := w.holds(h)
	err := w.Record(w.ctx, h.Lease, deltas(h.Turn, h.seq, 1), open)
	_, stopped := errors.AsType[*agent.Stop](err)
	switch {
	case err == nil && holds:
		h.seq++
		return true
	case stopped && holds && len(w.answers[h.Turn]) > 0, errors.Is(err, agent.ErrLeaseLost) && !holds:
		return false
	}
	w.r.Fatalf("record of %s: %v", h.Lease, err)
	return false
}

func (w *world) settle(r *rapid.T) { w.close(w.leg(r), agent.Answered) }

func (w *world) pause(r *rapid.T) { w.close(w.leg(r), agent.Waiting) }

func (w *world) close(h *held, kind agent.OutcomeKind) {
	holds := w.holds(h)
	u := agent.Usage{Call: h.calls + 1, Model: "m", Status: agent.UsageOK, Tokens: agent.Tokens{Output: 3}, At: time.Now()}
	c := agent.Closing{End: agent.Outcome{Kind: kind}, Seq: h.seq, Usage: []agent.Usage{u}, Draft: &agent.Draft{Index: h.index, Text: "x"}}
	closed, err := w.Settle(w.ctx, h.Lease, c)
	switch {
	case errors.Is(err, agent.ErrGoOn) && holds && kind == agent.Waiting:
	case errors.Is(err, agent.ErrLeaseLost) && !holds && !(h.closed && w.newest(h)):
	case err != nil || holds == h.closed:
		w.r.Fatalf("settle of %s: %v, held %v, closed before %v", h.Lease, err, holds, h.closed)
	case holds && (closed.Outcome.Kind == agent.Stopped) != (len(w.answers[h.Turn]) > 0):
		w.r.Fatalf("settled %s as %s, stops answered %v", h.Lease, closed.Outcome.Kind, w.answers[h.Turn])
	default:
		h.closed = true
	}
}

// newest reports whether the turn has no later leg, which may have settled too.
func (w *world) newest(h *held) bool {
	return !slices.ContainsFunc(w.legs, func(o *held) bool { return o.Turn == h.Turn && o.Fence > h.Fence })
}

// nextLeg takes the turn that runs through a pause, if one runs and nobody asked
// to stop it.
func (w *world) nextLeg(r *rapid.T) {
	i := slices.IndexFunc(w.legs, w.holds)
	if i < 0 || len(w.answers[w.legs[i].Turn]) > 0 {
		return
	}
	h := w.legs[i]
	if w.write(h, []agent.Action{{ID: agent.NewID(), CallID: h.Turn + fmt.Sprint(h.Fence), Type: agent.ActionApproval, Name: "n"}}) {
		w.close(h, agent.Waiting)
	}
	open, err := w.Actions(w.ctx, h.Turn)
	w.fatal(err)
	for _, a := range open {
		if a.State == agent.ActionOpen {
			_, _, err := w.Decide(w.ctx, agent.Decision{Action: a.ID, State: agent.ActionDenied, By: "user:eve"})
			if d, late := errors.AsType[*agent.DecidedError](err); !late || d.Action.State != agent.ActionExpired {
				w.fatal(err)
			}
		}
	}
	w.claim(r)
}

func (w *world) decide(r *rapid.T) {
	i, ok := w.draw(r, len(w.actions))
	if !ok {
		return
	}
	_, _, err := w.Decide(w.ctx, agent.Decision{Action: w.actions[i], State: agent.ActionApproved, By: "user:eve"})
	_, decided := errors.AsType[*agent.DecidedError](err)
	if _, busy := errors.AsType[*agent.BusyError](err); !decided && !busy {
		w.fatal(err)
	}
}

// expire ends what may have been asked for no time at all.
func (w *world) expire(*rapid.T) {
	_, _, err := w.Expire(w.ctx)
	w.fatal(err)
}

// stop stops what is in the slot.
func (w *world) stop(r *rapid.T) { w.stopSlot(rapid.Bool().Draw(r, "may approve")) }

func (w *world) stopSlot(withdraw bool) {
	found, err := w.Find(w.ctx, w.begin.Session.ID)
	if errors.Is(err, agent.ErrNotFound) || found.Lease.Turn == "" {
		return
	}
	w.fatal(err)
	w.stopTurn(found.Lease.Turn, withdraw)
}

// stopAny stops a turn that may be long over.
func (w *world) stopAny(r *rapid.T) {
	if h := w.leg(r); h.Turn != "none" {
		w.stopTurn(h.Turn, rapid.Bool().Draw(r, "may approve"))
	}
}

func (w *world) stopTurn(turn string, withdraw bool) {
	res, err := w.Stop(w.ctx, w.begin.Session.ID, turn, agent.Stop{By: "user:bob"}, withdraw)
	w.fatal(err)
	if !withdraw && !res.Cancelled && !res.Ended {
		return // it waits for an approval, as before
	}
	if res.Cancelled {
		w.answers[turn] = append(w.answers[turn], true)
	} else if n := w.count("SELECT count(*) FROM turns WHERE id = $1 AND ended_at IS NOT NULL AND stop_reason IS DISTINCT FROM 'cancelled'", turn); n != 1 {
		w.r.Fatalf("a stop of %s was answered false", turn)
	}
}

func (w *world) kill(r *rapid.T) {
	i, _ := w.draw(r, 2)
	w.fatal(w.Leave(w.ctx, w.nodes[i]))
	if err := w.Renew(w.ctx, w.nodes[i]); !errors.Is(err, agent.ErrNodeDead) {
		w.r.Fatalf("a dead node renewed: %v", err)
	}
	w.nodes[i] = w.node()
}

func (w *world) sweep(*rapid.T) {
	_, _, err := w.Sweep(w.ctx, w.nodes[0])
	w.fatal(err)
}

func (w *world) adopt(r *rapid.T) {
	i, _ := w.draw(r, 2)
	legs, err := w.Strays(w.ctx, w.nodes[i], nil)
	w.fatal(err)
	for _, l := range legs {
		if !slices.ContainsFunc(w.legs, func(h *held) bool { return h.Lease == l.Lease }) {
			w.r.Fatalf("a stray that was never taken: %s", l.Lease)
		}
	}
}

// giveUp is what a node does about a leg that it had and lost.
func (w *world) giveUp(r *rapid.T) {
	h := w.leg(r)
	holds := w.holds(h)
	if rapid.IntRange(0, 3).Draw(r, "rarely") > 0 {
		return
	}
	_, ok, err := w.CloseFor(w.ctx, h.Lease)
	w.fatal(err)
	if ok != holds {
		w.r.Fatalf("closed %s: %v", h.Lease, ok)
	}
}

// look checks after each step what must always hold.
func (w *world) look(*rapid.T) {
	for turn, stops := range w.answers {
		if n := w.count("SELECT count(*) FROM turns WHERE id = $1 AND ended_at IS NOT NULL AND stop_reason IS DISTINCT FROM 'cancelled'", turn); n > 0 && slices.Contains(stops, true) {
			w.r.Fatalf("turn %s was stopped, and ended otherwise", turn)
		}
	}
	ends := w.count(`SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM events WHERE session_id = $1 AND kind = 'turn.ended' GROUP BY turn_id) x`, w.begin.Session.ID)
	if ends > 1 {
		w.r.Fatal("a turn with two ends")
	}
}

// freeSlot ends whatever is left: from every state the slot can become free.
func (w *world) freeSlot() {
	w.kill(w.r)
	for _, n := range w.nodes {
		w.fatal(w.Leave(w.ctx, n))
	}
	w.nodes = [2]string{w.node(), w.node()}
	for {
		_, ok, err := w.Sweep(w.ctx, w.nodes[0])
		w.fatal(err)
		if !ok {
			break
		}
	}
	w.stopSlot(true)
	w.look(w.r)
	if n := w.count("SELECT count(*) FROM run_slots WHERE state <> 'idle'"); n > 0 {
		w.r.Fatal(fmt.Errorf("%d slots are stuck", n))
	}
	if err := checkInvariants(w.url); err != nil {
		w.r.Fatal(err)
	}
}
