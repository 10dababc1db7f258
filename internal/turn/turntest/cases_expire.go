package turntest

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// All are alone: any of them expires what is overdue.
func expireCases() []storeCase {
	return []storeCase{
		{name: "an overdue request is decided as expired, and its turn goes on", alone: true, run: expireWaiting},
		{name: "what is not overdue, or never expires, stays open", alone: true, run: expireNotYet},
		{name: "a request that expires while its leg runs lets the leg go on", alone: true, run: expireRunning},
		{name: "a decision that comes after the expiry finds it expired", alone: true, run: expireBeforeDecision},
		{name: "what a stop has left expires and nothing goes on", alone: true, run: expireLeft},
		{name: "two expire at once: each request expires once", alone: true, run: expireAtOnce},
		{name: "an expiry that races a decision: one of them decides", alone: true, run: expireAgainstDecide},
	}
}

// askFor opens approvals that stay open for so long.
func (l *leg) askFor(d time.Duration, calls ...string) []string {
	l.f.t.Helper()
	var ids []string
	for _, c := range calls {
		a := agent.Action{ID: agent.NewID(), CallID: c, Type: agent.ActionApproval, Name: "delete", Arguments: []byte(`{}`), Lasts: d}
		ids = append(ids, a.ID)
		l.f.check(l.tryRecord(l.rows(agent.ActionRequested{ActionID: a.ID, CallID: c, Type: a.Type, Name: a.Name, Arguments: a.Arguments}), a))
	}
	return ids
}

func (l *leg) pauseOnly() {
	l.f.t.Helper()
	closed := l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	l.f.want(closed.Outcome.Kind == agent.Waiting, "closed as %s, want waiting", closed.Outcome.Kind)
}

func (f *fixture) tryExpire() (agent.Expired, bool, error) {
	type expired struct {
		agent.Expired
		ok bool
	}
	x, err := again(func() (expired, error) {
		x, ok, err := f.store.Expire(f.ctx)
		return expired{x, ok}, err
	})
	return x.Expired, x.ok, err
}

// expire waits until something has expired.
func (f *fixture) expire() agent.Expired {
	f.t.Helper()
	var out agent.Expired
	f.eventually("something expires", func() bool {
		x, ok, err := f.tryExpire()
		f.check(err)
		out = x
		return ok
	})
	return out
}

const soon = 50 * time.Millisecond

func expireWaiting(f *fixture) {
	node := f.node("a")
	l := f.running(node)
	ids := l.askFor(soon, "c1", "c2")
	for _, id := range ids {
		a := f.getAction(id)
		f.want(a.ExpiresAt.Sub(a.CreatedAt) > 0 && a.ExpiresAt.Sub(a.CreatedAt) <= soon+time.Second, "opened %v, expires %v", a.CreatedAt, a.ExpiresAt)
	}
	l.pauseOnly()
	var all []string
	queued := false
	for len(all) < 2 {
		x := f.expire()
		f.want(x.Session == l.Session.ID && !queued, "expired %+v", x)
		all, queued = append(all, x.Actions...), x.Queued
	}
	f.want(queued && slices.Equal(all, ids), "expired %v, queued %v", all, queued)
	for _, id := range ids {
		a := f.action(id, agent.ActionExpired)
		f.want(a.DecidedBy == "" && !a.DecidedAt.Before(a.ExpiresAt) && f.decisions(l.Session.ID, id) == 1, "action %+v", a)
	}
	next := f.claim(node)
	f.want(next.Lease.Turn == l.Lease.Turn, "claimed %v", next.Lease)
	next.answer("nobody came")
	f.end(next)
	_, ok, err := f.tryExpire()
	f.want(err == nil && !ok, "something expires again: %v", err)
}

func expireNotYet(f *fixture) {
	l := f.running(f.node("a"))
	ids := append(l.askFor(time.Hour, "c1"), l.ask("c2")...)
	l.pauseOnly()
	_, ok, err := f.tryExpire()
	f.want(err == nil && !ok, "expired: %v", err)
	f.want(f.action(ids[1], agent.ActionOpen).ExpiresAt.IsZero(), "expires %v", f.getAction(ids[1]).ExpiresAt)
	f.action(ids[0], agent.ActionOpen)
	f.state(l.Session.ID, agent.SlotWaiting)
	short := f.running(f.node("a"))
	first := short.askFor(soon, "c1")[0]
	short.ask("c2")
	short.pauseOnly()
	x := f.expire()
	f.want(slices.Equal(x.Actions, []string{first}) && !x.Queued, "expired %+v", x)
	f.state(short.Session.ID, agent.SlotWaiting)
}

func expireRunning(f *fixture) {
	l := f.running(f.node("a"))
	id := l.askFor(soon, "c1")[0]
	x := f.expire()
	f.want(!x.Queued && f.decisions(l.Session.ID, id) == 0, "expired %+v", x)
	_, err := l.trySettle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	f.want(errors.Is(err, agent.ErrGoOn), "%v, want %v", err, agent.ErrGoOn)
	l.answer("on we go")
	f.want(f.decisions(l.Session.ID, id) == 1, "not told")
}

func expireBeforeDecision(f *fixture) {
	l := f.running(f.node("a"))
	id := l.askFor(soon, "c1")[0]
	l.pauseOnly()
	time.Sleep(2 * soon)
	_, _, err := l.tryDecide(id, agent.ActionApproved, "user:bob")
	d, ok := errors.AsType[*agent.DecidedError](err)
	f.want(ok && d.Action.State == agent.ActionExpired, "approved when it was overdue: %v", err)
	a := f.action(id, agent.ActionExpired)
	f.want(a.DecidedBy == "" && a.Answer == "" && f.decisions(l.Session.ID, id) == 1, "action %+v", a)
	f.state(l.Session.ID, agent.SlotQueued)
}

func expireLeft(f *fixture) {
	l := f.running(f.node("a"))
	id := l.askFor(soon, "c1")[0]
	f.stop(l, "user:bob", false)
	l.settle(agent.Closing{End: agent.Outcome{Kind: agent.Waiting}})
	f.want(!f.expire().Queued, "an ended turn was queued")
	f.action(id, agent.ActionExpired)
	f.state(l.Session.ID, agent.SlotIdle)
	f.want(f.decisions(l.Session.ID, id) == 1, "not told")
}

func expireAtOnce(f *fixture) {
	node := f.node("a")
	for range 10 {
		f.running(node).pauseFor(soon)
	}
	var n, queued atomic.Int64
	f.eventually("all expire", func() bool {
		for _, err := range together(4, func(int) error {
			x, _, err := f.tryExpire()
			n.Add(int64(len(x.Actions)))
			if x.Queued {
				queued.Add(1)
			}
			return err
		}) {
			f.check(err)
		}
		return n.Load() >= 10
	})
	f.want(n.Load() == 10 && queued.Load() == 10, "%d expired, %d queued", n.Load(), queued.Load())
}

func (l *leg) pauseFor(d time.Duration) string {
	l.f.t.Helper()
	id := l.askFor(d, "c1")[0]
	l.pauseOnly()
	return id
}

func expireAgainstDecide(f *fixture) {
	node := f.node("a")
	for range 10 {
		l := f.running(node)
		id := l.pauseFor(soon)
		time.Sleep(soon - 2*time.Millisecond)
		var decided error
		f.race(
			func() error { _, _, decided = l.tryDecide(id, agent.ActionApproved, "user:eve"); return nil },
			func() error { _, _, err := f.tryExpire(); return err },
		)
		want := agent.ActionApproved
		if decided != nil {
			d, ok := errors.AsType[*agent.DecidedError](decided)
			f.want(ok && d.Action.State == agent.ActionExpired, "%v", decided)
			want = agent.ActionExpired
		}
		f.action(id, want)
		f.state(l.Session.ID, agent.SlotQueued)
	}
}
