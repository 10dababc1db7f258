package turntest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

func reconcileCases() []storeCase {
	return []storeCase{
		{name: "a node finds its own running legs once they are old enough", alone: true, run: straysFound},
		{name: "a leg whose reply was lost can be adopted and answered", alone: true, run: straysAdopted},
		{name: "a leg is closed for its owner by turn and fence only", run: closeForExact},
		{name: "a leg that is closed for its owner ends like a dead node's", run: closeForEnds},
		{name: "a stopped leg that is closed for its owner ends cancelled", run: closeForStopped},
	}
}

func (f *fixture) strays(node string) []agent.Leg {
	f.t.Helper()
	legs, err := again(func() ([]agent.Leg, error) { return f.store.Strays(f.ctx, node, nil) })
	f.check(err)
	return legs
}

// Rule reconcile.
func straysFound(f *fixture) {
	a, b := f.node("a"), f.node("b")
	since := time.Now()
	l := f.running(a)
	q := f.queued()
	early := f.strays(a)
	if took := time.Since(since); took < f.times.Stray {
		f.want(len(early) == 0, "a leg of %v is a stray", took)
	}
	f.eventually("a stray", func() bool { return len(f.strays(a)) == 1 })
	got := f.strays(a)[0]
	f.want(got.Lease == l.Lease && got.Session.Owner == l.Session.Owner && got.Turn.ID == l.Turn.ID, "stray %+v", got)
	f.want(len(f.strays(b)) == 0, "another node's leg is a stray")
	l.answer("done")
	f.want(len(f.strays(a)) == 0, "an ended leg is a stray")
	f.state(q.Session.ID, agent.SlotQueued)
}

// Rules adopt and map_first: the leg goes on as if the reply had come.
func straysAdopted(f *fixture) {
	node := f.node("a")
	taken := f.running(node)
	q := f.queued()
	claimed := f.claim(node)
	f.want(claimed.Lease.Turn == q.Lease.Turn, "claimed %v", claimed.Lease)
	f.eventually("two strays", func() bool { return len(f.strays(node)) == 2 })
	for _, stray := range f.strays(node) {
		l := f.leg(stray)
		want := taken
		if stray.Lease.Turn == q.Lease.Turn {
			want = claimed
		}
		f.want(l.Lease == want.Lease && l.seq == want.seq && l.Turn.Spec.Model == "m", "stray %+v, it was taken as %+v", stray, want.Leg)
		f.sameEvents(stray.Events, want.Events)
		stop, err := l.look()
		f.want(err == nil && stop == nil, "the first look: %v, %v", stop, err)
		l.append(l.say("adop", "ted"))
		closed := l.settle(l.answered("adopted"))
		f.want(closed.Outcome.Kind == agent.Answered, "closed as %s", closed.Outcome.Kind)
		f.partial(l, l.seq)
	}
}

func (f *fixture) closeFor(l agent.Lease) (agent.Swept, bool) {
	f.t.Helper()
	type closed struct {
		agent.Swept
		ok bool
	}
	c, err := again(func() (closed, error) {
		s, ok, err := f.store.CloseFor(f.ctx, l)
		return closed{s, ok}, err
	})
	f.check(err)
	return c.Swept, c.ok
}

func closeForExact(f *fixture) {
	l := f.running(f.node("a"))
	for _, change := range []func(*agent.Lease){
		func(x *agent.Lease) { x.Fence++ },
		func(x *agent.Lease) { x.Turn = agent.NewID() },
		func(x *agent.Lease) { x.Session = agent.NewID() },
	} {
		other := l.Lease
		change(&other)
		_, ok := f.closeFor(other)
		f.want(!ok, "closed %v, the leg is %v", other, l.Lease)
	}
	l.answer("nobody closed it")
	_, ok := f.closeFor(l.Lease)
	f.want(!ok, "closed a leg that its owner had closed")
}

func closeForEnds(f *fixture) {
	l := f.running(f.node("a"))
	l.append(l.say("half an ans"))
	swept, ok := f.closeFor(l.Lease)
	f.want(ok && swept.Lease == l.Lease && swept.Outcome == agent.Lost, "closed %v: %+v", ok, swept)
	end, seq := f.end(l)
	f.want(end.Error != nil && end.Error.Code == agent.CodeWorkerLost && seq >= l.seq+agent.GapWhenClosedForOther, "end %d %+v", seq, end)
	f.partial(l, l.seq)
	l.gone()
	_, ok = f.closeFor(l.Lease)
	f.want(!ok, "closed it twice")
}

func closeForStopped(f *fixture) {
	l := f.running(f.node("a"))
	f.stop(l, "user:bob", true)
	swept, ok := f.closeFor(l.Lease)
	f.want(ok && swept.Outcome == agent.Stopped, "closed %v: %+v", ok, swept)
	end, _ := f.end(l)
	f.want(end.StopReason == agent.ReasonCancelled && end.Stop.By == "user:bob", "end %+v", end)
}

// hintsArrive: a hint is sent until it arrives, as one may get lost.
func hintsArrive(f *fixture) {
	if f.hints == nil {
		return
	}
	ctx, cancel := context.WithCancel(f.ctx)
	var got [2]atomic.Int64
	var up [2]atomic.Bool
	want := agent.Hint{Kind: agent.HintStop, Subject: agent.NewID()}
	done := make(chan []error, 1)
	go func() {
		done <- together(2, func(i int) error {
			return f.hints.Listen(ctx, func(h agent.Hint) {
				if h == want {
					got[i].Add(1)
				}
			}, up[i].Store)
		})
	}()
	f.eventually("listeners up", func() bool { return up[0].Load() && up[1].Load() })
	f.eventually("a hint", func() bool {
		f.check(again0(func() error { return f.hints.Notify(f.ctx, want) }))
		f.check(again0(func() error { return f.hints.Notify(f.ctx, agent.Hint{Kind: agent.HintQueue}) }))
		return got[0].Load() > 0 && got[1].Load() > 0
	})
	cancel()
	select {
	case errs := <-done:
		f.want(errs[0] == nil || errors.Is(errs[0], context.Canceled), "Listen: %v", errs[0])
	case <-time.After(patience):
		f.t.Fatal("Listen does not end with its context")
	}
}
