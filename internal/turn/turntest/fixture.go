package turntest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
)

// fixture is what a case of the suite works with. Its methods end the test on an
// error that the case doesn't expect; those that return an error may be called
// from any goroutine.
type fixture struct {
	t     reporter
	ctx   context.Context
	store turn.Store
	hints turn.Hints
	other string // another project
	times Times

	mu       sync.Mutex
	sessions []string
	turns    []string
	answers  map[string][]bool // of stops, by turn
}

// reporter is the part of testing.T that rapid.T has too.
type reporter interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func newFixture(t *testing.T, h Harness) *fixture {
	return &fixture{t: t, ctx: t.Context(), store: h.Store, hints: h.Hints, other: h.Other, times: ShortTimes(), answers: map[string][]bool{}}
}

func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// want ends the test unless ok.
func (f *fixture) want(ok bool, format string, args ...any) {
	f.t.Helper()
	if !ok {
		f.t.Fatalf(format, args...)
	}
}

// lost ends the test unless err says that the lease is lost.
func (f *fixture) lost(what string, err error) {
	f.t.Helper()
	f.want(errors.Is(err, agent.ErrLeaseLost), "%s: %v, want %v", what, err, agent.ErrLeaseLost)
}

func (f *fixture) node(label string) string {
	f.t.Helper()
	id, err := again(func() (string, error) { return f.store.Join(f.ctx, label) })
	f.check(err)
	return id
}

// kill declares a node dead at once. What others do about a dead node depends on
// its row alone, so most cases need not wait a lease.
func (f *fixture) kill(node string) {
	f.t.Helper()
	f.check(again0(func() error { return f.store.Leave(f.ctx, node) }))
}

// session returns a session that is not there yet.
func (f *fixture) session() agent.Session {
	s := agent.Session{ID: agent.NewID(), Project: DefaultProject, Agent: "helper", Owner: "token:ann", Door: agent.DoorClient}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions = append(f.sessions, s.ID)
	return s
}

// begin returns a turn to be taken by a node, or queued where node is empty.
func (f *fixture) begin(s agent.Session, node string) agent.Begin {
	b := agent.Begin{
		Session: s, New: true, Input: "hello", Node: node,
		Turn: agent.Turn{
			ID: agent.NewID(), Session: s.ID, Agent: s.Agent, Version: 3, Door: agent.DoorClient, By: "token:ann",
			Background: node == "", Metadata: map[string]string{"k": "v"}, Spec: agent.Config{Model: "m"},
		},
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turns = append(f.turns, b.Turn.ID)
	return b
}

// child returns a turn of another session below the leg of l.
func (f *fixture) child(l *leg, node string) agent.Begin {
	b := f.begin(f.session(), node)
	b.Turn.Parent, b.Turn.Depth = new(l.Lease), l.Turn.Depth+1
	return b
}

func (f *fixture) tryTake(b agent.Begin) (*leg, error) {
	l, err := again(func() (agent.Leg, error) { return f.store.Take(f.ctx, b) })
	return f.leg(l), err
}

func (f *fixture) take(b agent.Begin) *leg {
	f.t.Helper()
	l, err := f.tryTake(b)
	f.check(err)
	return l
}

// running returns a leg of a new session on a node.
func (f *fixture) running(node string) *leg {
	f.t.Helper()
	return f.take(f.begin(f.session(), node))
}

// queued returns a turn that waits to be claimed.
func (f *fixture) queued() *leg {
	f.t.Helper()
	return f.take(f.begin(f.session(), ""))
}

func (f *fixture) tryClaim(node string) (*leg, bool, error) { return f.tryClaimOf(node, 0) }

func (f *fixture) tryClaimOf(node string, most int) (*leg, bool, error) {
	type claimed struct {
		agent.Leg
		ok bool
	}
	c, err := again(func() (claimed, error) {
		l, ok, err := f.store.Claim(f.ctx, node, most)
		return claimed{l, ok}, err
	})
	return f.leg(c.Leg), c.ok, err
}

// claim takes a queued turn, which must be there.
func (f *fixture) claim(node string) *leg {
	f.t.Helper()
	l, ok, err := f.tryClaim(node)
	f.check(err)
	f.want(ok, "nothing to claim")
	return l
}

func (f *fixture) tryStop(l *leg, by string, withdraw bool) (agent.StopResult, error) {
	stop := agent.Stop{By: by, Door: agent.DoorStudio, Node: "door-node"}
	res, err := again(func() (agent.StopResult, error) {
		return f.store.Stop(f.ctx, l.Lease.Session, l.Lease.Turn, stop, withdraw)
	})
	left := !withdraw && !res.Cancelled && !res.Ended // it waits for a person, as before
	if err == nil && !left {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.answers[l.Lease.Turn] = append(f.answers[l.Lease.Turn], res.Cancelled)
	}
	return res, err
}

func (f *fixture) stop(l *leg, by string, withdraw bool) agent.StopResult {
	f.t.Helper()
	res, err := f.tryStop(l, by, withdraw)
	f.check(err)
	return res
}

func (f *fixture) trySweep(node string) (agent.Swept, bool, error) {
	type closed struct {
		agent.Swept
		ok bool
	}
	c, err := again(func() (closed, error) {
		s, ok, err := f.store.Sweep(f.ctx, node)
		return closed{s, ok}, err
	})
	return c.Swept, c.ok, err
}

// sweep closes the leg of a dead node, which must be there.
func (f *fixture) sweep(node string) agent.Swept {
	f.t.Helper()
	var s agent.Swept
	f.eventually("sweep", func() bool { // a locked slot is skipped
		var ok bool
		var err error
		s, ok, err = f.trySweep(node)
		f.check(err)
		return ok
	})
	return s
}

func (f *fixture) turn(id string) agent.Turn {
	f.t.Helper()
	t, err := f.tryTurn(id)
	f.check(err)
	return t
}

func (f *fixture) tryTurn(id string) (agent.Turn, error) {
	return again(func() (agent.Turn, error) {
		t, _, err := f.store.Turn(f.ctx, id)
		return t, err
	})
}

func (f *fixture) find(session string) agent.Found {
	f.t.Helper()
	found, err := again(func() (agent.Found, error) { return f.store.Find(f.ctx, session) })
	f.check(err)
	return found
}

// state asserts the state of a session's slot.
func (f *fixture) state(session string, want agent.SlotState) {
	f.t.Helper()
	if got := f.find(session).State; got != want {
		f.t.Fatalf("the slot is %s, want %s", got, want)
	}
}

func (f *fixture) actions(turn string) []agent.Action {
	f.t.Helper()
	a, err := again(func() ([]agent.Action, error) { return f.store.Actions(f.ctx, turn) })
	f.check(err)
	return a
}

// events returns a session's journal, read page by page.
func (f *fixture) events(session string) []agent.Event {
	f.t.Helper()
	var out []agent.Event
	for after := int64(0); ; after = out[len(out)-1].Seq {
		page, err := again(func() ([]agent.Event, error) { return f.store.Events(f.ctx, session, after, 500) })
		f.check(err)
		if len(page) == 0 {
			return out
		}
		out = append(out, page...)
	}
}

// kinds returns the kinds of a session's events after a number.
func (f *fixture) kinds(session string, after int64) []agent.Kind {
	f.t.Helper()
	var out []agent.Kind
	for _, e := range f.events(session) {
		if e.Seq > after {
			out = append(out, e.Kind())
		}
	}
	return out
}

// end returns the one turn.ended of a turn.
func (f *fixture) end(l *leg) (agent.TurnEnded, int64) {
	f.t.Helper()
	var end agent.TurnEnded
	var seq int64
	for _, e := range f.events(l.Lease.Session) {
		if b, ok := e.Body.(agent.TurnEnded); ok && e.Turn == l.Lease.Turn {
			f.want(seq == 0, "two turn.ended: %d and %d", seq, e.Seq)
			end, seq = b, e.Seq
		}
	}
	f.want(seq > 0, "no turn.ended of turn %s", l.Lease.Turn)
	return end, seq
}

// together runs n functions at once and returns their errors by index.
func together(n int, run func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = run(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// race runs two functions at once and ends the test if one fails.
func (f *fixture) race(a, b func() error) {
	f.t.Helper()
	for _, err := range together(2, func(i int) error { return []func() error{a, b}[i]() }) {
		f.check(err)
	}
}

// same reports whether two events say the same under the same number.
func same(a, b agent.Event) bool {
	x, errA := json.Marshal(a.Body)
	y, errB := json.Marshal(b.Body)
	return errA == nil && errB == nil && string(x) == string(y) &&
		a.Kind() == b.Kind() && a.Seq == b.Seq && a.Turn == b.Turn && a.Session == b.Session
}

// verify holds every session and turn of the case to what is always true.
func (f *fixture) verify() {
	f.t.Helper()
	ended := map[string]bool{}
	for _, s := range f.sessions {
		if err := checkEvents(f.events(s), ended); err != nil {
			f.t.Errorf("session %s: %v", s, err)
		}
	}
	for _, id := range f.turns {
		t, err := f.tryTurn(id)
		if err != nil {
			continue // never taken
		}
		if err := f.checkTurn(t, ended[id]); err != nil {
			f.t.Errorf("turn %s: %v", id, err)
		}
	}
}

// checkEvents: numbers grow, a turn ends once, and nothing of it comes after.
func checkEvents(events []agent.Event, ended map[string]bool) error {
	last := int64(0)
	for _, e := range events {
		if e.Seq <= last {
			return fmt.Errorf("event %d follows %d", e.Seq, last)
		}
		last = e.Seq
		if ended[e.Turn] && e.Kind() != agent.KindActionDecided {
			return fmt.Errorf("event %d (%s) of turn %s comes after its end", e.Seq, e.Kind(), e.Turn)
		}
		ended[e.Turn] = ended[e.Turn] || e.Kind() == agent.KindTurnEnded
	}
	return nil
}

// checkTurn: a stop that was answered true ended its turn as cancelled, one that
// was answered false did not, and a turn is in its slot until it ends.
func (f *fixture) checkTurn(t agent.Turn, ended bool) error {
	found, err := again(func() (agent.Found, error) { return f.store.Find(f.ctx, t.Session) })
	if err != nil {
		return err
	}
	cancelled := t.StopReason == agent.ReasonCancelled
	switch {
	case t.Status.Final() != ended:
		return fmt.Errorf("is %s, turn.ended stored: %v", t.Status, ended)
	case t.Status.Final() == (found.Lease.Turn == t.ID):
		return fmt.Errorf("is %s, the slot holds %q (%s)", t.Status, found.Lease.Turn, found.State)
	case t.Status.Final() && slices.Contains(f.answers[t.ID], !cancelled):
		return fmt.Errorf("ended with stop reason %q, its stops were answered %v", t.StopReason, f.answers[t.ID])
	case cancelled && t.Stop == nil:
		return fmt.Errorf("was cancelled by nobody")
	}
	return nil
}
