package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
)

// remote is a second store on the same database, behind a proxy.
func (b *bed) remote(times postgres.Times) (*postgres.Store, *pgtest.Proxy) {
	b.t.Helper()
	p := pgtest.NewProxy(b.t, b.url)
	s, err := postgres.Open(b.ctx, postgres.Config{URL: p.URL(), Times: times, MaxConns: 4, SettleConns: 1})
	b.check(err)
	b.t.Cleanup(func() {
		p.Cut()
		s.Close()
	})
	return s, p
}

// Rule lock_limit: a client that falls silent with a slot's lock is ended by the
// server, and others go on.
func TestAFrozenClientHoldsASlotNoLongerThanTheIdleLimit(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	remote, proxy := b.remote(postgres.Times{Idle: 700 * time.Millisecond})
	leg := b.take(newBegin(b.node()))
	tx := b.hold(leg.Lease.Session)
	ctx, cancel := context.WithCancel(b.ctx)
	settle := later(func() error { _, err := remote.Settle(ctx, leg.Lease, answer(leg, "done")); return err })
	b.waiting(1)
	proxy.Hang()
	b.check(tx.Rollback(b.ctx)) // the frozen transaction has the lock now

	time.Sleep(50 * time.Millisecond)
	stored, err := b.Append(b.ctx, []agent.Batch{{Lease: leg.Lease, Rows: deltas(leg.Lease.Turn, 2, 1)}})
	if err != nil || stored[0] {
		t.Errorf("appended under a frozen closing: %v, %v", stored, err)
	}
	start := time.Now()
	res, err := b.Stop(b.ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "user:bob"}, true)
	if err != nil || !res.Cancelled {
		t.Errorf("stop after %v: %+v, %v", time.Since(start), res, err)
	}
	cancel()
	proxy.Cut()
	if err := settle(); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("the frozen settle: %v", err)
	}
	closed, err := b.Settle(b.ctx, leg.Lease, answer(leg, "done"))
	if err != nil || closed.Outcome.Kind != agent.Stopped {
		t.Errorf("closed %+v, %v", closed, err)
	}
}

// atCommit makes every commit that changed a turn wait for an advisory lock.
const atCommit = `
CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT OR UPDATE ON turns DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION at_commit();
CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON run_slots DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION at_commit();
CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON actions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION at_commit();`

// loseReply runs a call whose commit is done while its reply is lost, and returns
// what the caller then sees.
func (b *bed) loseReply(proxy *pgtest.Proxy, call func() error) error {
	b.t.Helper()
	b.exec("SELECT pg_advisory_lock(42)")
	reply := make(chan error, 1)
	for committing := false; !committing; {
		go func() { reply <- call() }()
		committing = b.waits(reply)
	}
	proxy.Hang()
	b.exec("SELECT pg_advisory_unlock(42)")
	for b.count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND (wait_event_type = 'Lock' OR state = 'active')") > 1 {
		time.Sleep(time.Millisecond)
	}
	proxy.Cut()
	err := <-reply
	proxy.Restore()
	return err
}

// waits reports whether a call waits for the lock; false: it met a connection
// that the last cut has left broken in the pool.
func (b *bed) waits(reply chan error) bool {
	b.t.Helper()
	for {
		select {
		case err := <-reply:
			if !errors.Is(err, agent.ErrUnavailable) {
				b.t.Fatalf("replied %v before its commit", err)
			}
			return false
		case <-time.After(time.Millisecond):
		}
		if b.count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") > 0 {
			return true
		}
	}
}

// Each of the calls that lost its reply is made again, and finds what it did.
func TestCallsWhoseCommitIsUnknownMayBeMadeAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	remote, proxy := b.remote(postgres.Times{})
	b.exec(atCommit)
	unknown := func(what string, call func() error) {
		t.Helper()
		if err := b.loseReply(proxy, call); !errors.Is(err, agent.ErrUnavailable) {
			t.Fatalf("%s: %v, want %v", what, err, agent.ErrUnavailable)
		}
		b.again(what, call)
	}
	begin := newBegin(node)
	var leg agent.Leg
	unknown("take", func() (err error) { leg, err = remote.Take(b.ctx, begin); return err })
	if leg.Lease.Fence != 1 || len(leg.Events) != 2 || leg.Seq != 0 || leg.Session.Title != "hello" {
		t.Errorf("took %+v", leg)
	}
	action := agent.Action{ID: agent.NewID(), CallID: "c", Type: agent.ActionApproval, Name: "n"}
	b.check(b.Record(b.ctx, leg.Lease, nil, []agent.Action{action}))
	pause := answer(leg, "may I?")
	pause.End.Kind = agent.Waiting
	var closed agent.Closed
	unknown("pause", func() (err error) { closed, err = remote.Settle(b.ctx, leg.Lease, pause); return err })
	if closed.Outcome.Kind != agent.Waiting || len(closed.Events) != 2 {
		t.Errorf("paused as %+v", closed)
	}
	var queued bool
	yes := agent.Decision{Action: action.ID, State: agent.ActionApproved, By: "user:bob", Answer: "ok"}
	unknown("decide", func() (err error) { _, queued, err = remote.Decide(b.ctx, yes); return err })
	if !queued {
		t.Error("not queued")
	}
	next, ok, err := b.Claim(b.ctx, node, 0)
	if err != nil || !ok || next.Lease.Fence != 2 {
		t.Fatalf("claimed %+v, %v, %v", next, ok, err)
	}
	var res agent.StopResult
	unknown("stop", func() (err error) {
		res, err = remote.Stop(b.ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "user:bob"}, true)
		return err
	})
	if !res.Cancelled || res.Ended {
		t.Errorf("stopped %+v", res)
	}
	end := answer(leg, "cut")
	end.Seq, end.Usage[0].Call = next.Seq, 2
	unknown("settle", func() (err error) { closed, err = remote.Settle(b.ctx, next.Lease, end); return err })
	if closed.Outcome.Kind != agent.Stopped || closed.Outcome.Stop.By != "user:bob" || len(closed.Events) != 2 {
		t.Errorf("closed as %+v", closed)
	}
}

// A claim whose reply was lost is found as a stray.
func TestAClaimWhoseReplyIsLostIsAdopted(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{Stray: time.Millisecond})
	node := b.node()
	remote, proxy := b.remote(postgres.Times{})
	begin := b.take(newBegin(""))
	b.exec(atCommit)
	err := b.loseReply(proxy, func() error { _, _, err := remote.Claim(b.ctx, node, 0); return err })
	if !errors.Is(err, agent.ErrUnavailable) {
		t.Fatalf("claim: %v", err)
	}
	time.Sleep(5 * time.Millisecond)
	legs, err := b.Strays(b.ctx, node, nil)
	b.check(err)
	if len(legs) != 1 || legs[0].Lease.Turn != begin.Lease.Turn || legs[0].Lease.Fence != 2 || len(legs[0].Events) != 0 || legs[0].Seq != 2 {
		t.Errorf("strays %+v", legs)
	}
}

func TestEverythingIsUnavailableWithoutADatabaseAndBackAfterIt(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	remote, proxy := b.remote(postgres.Times{})
	node := b.node()
	leg, stopped := b.take(newBegin(node)), b.take(newBegin(node))
	calls := map[string]func() error{
		"Join":   func() error { _, err := remote.Join(b.ctx, "x"); return err },
		"Renew":  func() error { return remote.Renew(b.ctx, node) },
		"Asked":  func() error { _, err := remote.Asked(b.ctx, node); return err },
		"Look":   func() error { _, err := remote.Look(b.ctx, leg.Lease); return err },
		"Find":   func() error { _, err := remote.Find(b.ctx, leg.Lease.Session); return err },
		"Turn":   func() error { _, _, err := remote.Turn(b.ctx, leg.Lease.Turn); return err },
		"Sweep":  func() error { _, _, err := remote.Sweep(b.ctx, node); return err },
		"Claim":  func() error { _, _, err := remote.Claim(b.ctx, node, 0); return err },
		"Strays": func() error { _, err := remote.Strays(b.ctx, node, nil); return err },
		"Record": func() error { return remote.Record(b.ctx, leg.Lease, nil, nil) },
		"Append": func() error { _, err := remote.Append(b.ctx, []agent.Batch{{Lease: leg.Lease}}); return err },
		"Stop": func() error {
			_, err := remote.Stop(b.ctx, stopped.Lease.Session, stopped.Lease.Turn, agent.Stop{}, false)
			return err
		},
		"Notify": func() error { return remote.Notify(b.ctx, agent.Hint{Kind: agent.HintQueue}) },
	}
	for name, call := range calls {
		b.again(name, call)
		proxy.Cut()
		if err := call(); !errors.Is(err, agent.ErrUnavailable) {
			t.Errorf("%s without a database: %v", name, err)
		}
		proxy.Restore()
		b.again(name, call)
	}
}

// again makes a call until the database is no longer away.
func (b *bed) again(name string, call func() error) {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := call()
		if err == nil {
			return
		}
		if !errors.Is(err, agent.ErrUnavailable) || time.Now().After(end) {
			b.t.Fatalf("%s: %v", name, err)
		}
	}
}

// The renewal and the stop watch are bounded however silent the database is.
func TestRenewalAndWatchGiveUpOnASilentDatabase(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	remote, proxy := b.remote(postgres.Times{Statement: 200 * time.Millisecond, Dial: 200 * time.Millisecond})
	node := b.node()
	b.check(remote.Renew(b.ctx, node))
	proxy.Hang()
	for range 2 { // the second must dial
		start := time.Now()
		if err := remote.Renew(b.ctx, node); !errors.Is(err, agent.ErrUnavailable) {
			t.Errorf("renewed: %v", err)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("given up after %v", d)
		}
	}
	proxy.Restore()
	b.again("renew", func() error { return remote.Renew(b.ctx, node) })
}

// A busy pool keeps nobody from renewing, watching and closing.
func TestClosingAndRenewingDoNotQueueBehindABusyPool(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	remote, _ := b.remote(postgres.Times{Lock: 20 * time.Second})
	node := b.node()
	busy, leg := b.take(newBegin(node)), b.take(newBegin(node))
	tx := b.hold(busy.Lease.Session)
	var stops []func() error
	for range 6 { // the pool has 4
		stops = append(stops, later(func() error {
			_, err := remote.Stop(b.ctx, busy.Lease.Session, busy.Lease.Turn, agent.Stop{By: "x"}, true)
			return err
		}))
	}
	b.waiting(4)
	_, err := remote.Settle(b.ctx, leg.Lease, answer(leg, "done"))
	b.check(err)
	b.check(remote.Renew(b.ctx, node))
	_, err = remote.Asked(b.ctx, node)
	b.check(err)
	b.check(tx.Rollback(b.ctx))
	for _, stop := range stops {
		b.check(stop())
	}
}

func TestALockThatIsNotToBeHadIsUnavailableInTheEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{Lock: 50 * time.Millisecond})
	leg := b.take(newBegin(b.node()))
	tx := b.hold(leg.Lease.Session)
	_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "x"}, true)
	if !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("stopped: %v", err)
	}
	b.check(tx.Rollback(b.ctx))
	res, err := b.Stop(b.ctx, leg.Lease.Session, leg.Lease.Turn, agent.Stop{By: "x"}, true)
	if err != nil || !res.Cancelled {
		t.Errorf("stopped: %+v, %v", res, err)
	}
}

func TestListenComesBackAfterItsConnectionIsGone(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	remote, proxy := b.remote(postgres.Times{Redial: 10 * time.Millisecond})
	ctx, cancel := context.WithCancel(b.ctx)
	hints, ups := make(chan agent.Hint, 10), make(chan bool, 100)
	listen := later(func() error {
		return remote.Listen(ctx, func(h agent.Hint) { hints <- h }, func(up bool) { ups <- up })
	})
	for i := range 2 {
		if up := <-ups; !up {
			t.Error("down before it is up")
		}
		want := agent.Hint{Kind: agent.HintStop, Subject: agent.NewID()}
		if i == 1 {
			want = agent.Hint{Kind: agent.HintQueue}
		}
		b.check(b.Notify(b.ctx, want))
		if got := <-hints; got != want {
			t.Errorf("hint %+v, want %+v", got, want)
		}
		if i == 0 {
			proxy.Cut()
			proxy.Restore()
			if up := <-ups; up {
				t.Error("up, up")
			}
		}
	}
	cancel()
	if err := listen(); !errors.Is(err, context.Canceled) {
		t.Errorf("listened until %v", err)
	}
}
