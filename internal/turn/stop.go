package turn

import (
	"context"
	"errors"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// Stop stops what runs in a session, from any node: it answers once the turn
// has been told and that is durable, not when it has ended, unless asked to
// wait. Nothing running is no error. It goes on when its caller has gone.
//
// Errors: agent.ErrNotFound (unknown, or of another project),
// agent.ErrForbidden, agent.BusyError (RunningOnly, and it waits),
// NotRecordedError while the database is away. A stop binds
// to the turn that it found: it can never hit a later one.
func (e *Engine) Stop(ctx context.Context, q StopRequest) (StopAnswer, error) {
	began := time.Now()
	s := agent.Stop{By: q.Principal.ID, Door: q.Door, Node: e.cfg.Label, At: began, Address: q.Principal.Address}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.times.Write)
	defer cancel()
	f, told, err := e.find(bound, q, s, began)
	if err != nil {
		return StopAnswer{}, err
	}
	a := StopAnswer{Session: f.Session.ID, Status: StopNone}
	withdraw := q.Principal.Can(agent.PermAgentApprove)
	if f.Lease.Turn == "" {
		return e.stopLeft(bound, q, a, withdraw && !q.RunningOnly)
	}
	if q.RunningOnly && f.State == agent.SlotWaiting {
		return a, &agent.BusyError{Session: f.Session.ID, Turn: f.Lease.Turn, Waiting: true}
	}
	res, err := retry(bound, func() (agent.StopResult, error) {
		return e.store.Stop(bound, f.Session.ID, f.Lease.Turn, s, withdraw)
	})
	if err != nil {
		return a, &NotRecordedError{Told: told, Err: err}
	}
	for _, n := range res.Notify {
		e.hintStop(n)
	}
	if res.Ended {
		poke(e.pokeFeed)
		e.notify(agent.Hint{Kind: agent.HintEnd, Subject: f.Session.ID})
	}
	a.Cancelled, a.Turns, a.Actions = res.Cancelled, res.Turns, res.Actions
	a.Status = e.stopStatus(ctx, q, f, res)
	return a, nil
}

// find finds what the stop is for and, where that runs here under a fresh
// lease, tells it at once. The lease is empty when there is nothing to stop.
func (e *Engine) find(ctx context.Context, q StopRequest, s agent.Stop, began time.Time) (f agent.Found, told bool, err error) {
	if r := e.localTurn(q); r != nil {
		if err := q.Principal.MayAct(r.session); err != nil {
			return f, false, err
		}
		if e.tell(r, s, began) {
			return agent.Found{Session: r.session, Lease: r.lease, State: agent.SlotRunning}, true, nil
		}
	}
	if q.Index != 0 {
		return f, false, &NotRecordedError{Told: e.tellStale(q, s, began), Err: agent.ErrUnavailable}
	}
	f, err = e.findRow(ctx, q)
	if errors.Is(err, agent.ErrUnavailable) {
		return f, false, &NotRecordedError{Told: e.tellStale(q, s, began), Err: err}
	}
	if err == nil && f.Lease.Turn != "" && f.State == agent.SlotRunning {
		if r := e.byLease(f.Lease); r != nil {
			told = e.tell(r, s, began)
		}
	}
	return f, told, err
}

// means reports whether a request for the session of a leg is for its turn.
func (q StopRequest) means(r *run) bool {
	return (q.Turn == "" || q.Turn == r.lease.Turn) && (q.Index == 0 || q.Index == r.turn.Index)
}

// localTurn returns the leg here that the request means, if the lease is fresh:
// a stale one may have been followed by another elsewhere.
func (e *Engine) localTurn(q StopRequest) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.bySession[q.Session]
	if q.Session == "" {
		for k, x := range e.runs {
			if k.turn == q.Turn {
				r = x
			}
		}
	}
	if r == nil || r.settling || !q.means(r) || !e.keep.fresh(r.lease.Node) {
		return nil
	}
	return r
}

// tellStale tells what runs here although nobody can say now whether it is still
// this node's to run: with the database away, aborting it is all that a stop can do.
func (e *Engine) tellStale(q StopRequest, s agent.Stop, began time.Time) bool {
	e.mu.Lock()
	r := e.bySession[q.Session]
	for k, x := range e.runs {
		if k.turn == q.Turn {
			r = x
		}
	}
	e.mu.Unlock()
	switch {
	case r == nil, !q.means(r), q.Session != "" && q.Session != r.lease.Session, q.Principal.MayAct(r.session) != nil:
		return false
	}
	return e.tell(r, s, began)
}

// tell cancels a leg that has not begun to settle, and reports whether it did.
func (e *Engine) tell(r *run, s agent.Stop, began time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.settling {
		return false
	}
	r.stop(s, PathLocal, time.Since(began))
	return true
}

// findRow reads the slot. A turn asked for by id that is not in the slot is left
// empty: it has ended.
func (e *Engine) findRow(ctx context.Context, q StopRequest) (agent.Found, error) {
	f, err := e.findEither(ctx, q)
	if err == nil {
		err = q.Principal.MayAct(f.Session)
	}
	if err == nil && q.Session != "" && q.Session != f.Session.ID {
		err = agent.ErrNotFound
	}
	return f, err
}

func (e *Engine) findEither(ctx context.Context, q StopRequest) (agent.Found, error) {
	if q.Turn != "" {
		return e.store.FindTurn(ctx, q.Turn)
	}
	return e.store.Find(ctx, q.Session)
}

// stopLeft is the stop of a session where nothing runs, or of a turn that has
// ended: approvals that an earlier stop has left open are answered "no" by who may
// approve. That is all that Cancelled then means.
func (e *Engine) stopLeft(ctx context.Context, q StopRequest, a StopAnswer, withdraw bool) (StopAnswer, error) {
	if !withdraw {
		return a, nil
	}
	n, err := retry(ctx, func() (int, error) { return e.store.Withdraw(ctx, a.Session, q.Turn, q.Principal.ID) })
	switch {
	case errors.Is(err, agent.ErrNotFound): // deleted meanwhile
		return a, err
	case err != nil:
		return a, &NotRecordedError{Err: err}
	}
	if a.Actions, a.Cancelled = n, n > 0; a.Cancelled {
		poke(e.pokeFeed)
		e.notify(agent.Hint{Kind: agent.HintEnd, Subject: a.Session})
	}
	return a, nil
}

// hintStop makes a node look at its rows.
func (e *Engine) hintStop(node string) {
	if node == e.keep.node() {
		poke(e.pokeWatch)
		return
	}
	e.notify(agent.Hint{Kind: agent.HintStop, Subject: node})
}

// stopStatus says how far what was stopped has got, after waiting if asked to.
func (e *Engine) stopStatus(ctx context.Context, q StopRequest, f agent.Found, res agent.StopResult) StopStatus {
	switch {
	case res.Ended && res.Cancelled:
		return StopStopped
	case res.Ended:
		return StopFinished
	case !res.Cancelled:
		return StopNone
	case q.Wait <= 0:
		return StopStopping
	}
	ctx, cancel := context.WithTimeout(ctx, q.Wait)
	defer cancel()
	for {
		t, _, err := e.store.Turn(ctx, f.Lease.Turn)
		switch {
		case err == nil && t.Status.Final() && t.StopReason == agent.ReasonCancelled:
			return StopStopped
		case err == nil && t.Status.Final():
			return StopFinished
		}
		if !e.awaitClose(ctx, f.Lease) {
			return StopStopping
		}
	}
}

// awaitClose waits until a leg here has closed, or a moment where it runs
// elsewhere; false when ctx has ended.
func (e *Engine) awaitClose(ctx context.Context, l agent.Lease) bool {
	e.mu.Lock()
	r := e.bySession[l.Session]
	e.mu.Unlock()
	if r == nil || r.lease.Turn != l.Turn {
		return sleep(ctx, 50*time.Millisecond)
	}
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
		return false
	}
}
