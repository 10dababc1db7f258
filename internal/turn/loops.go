package turn

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// watch is the stop watch: it asks the database, at every interval whatever the
// hints do, which of this node's legs are to stop.
func (e *Engine) watch(ctx context.Context) {
	every(ctx, e.times.Watch, e.pokeWatch, func(poked bool) {
		id := e.keep.node()
		if id == "" {
			return
		}
		one, cancel := context.WithTimeout(ctx, e.times.Limit)
		defer cancel()
		asked, err := e.store.Asked(one, id)
		if err != nil {
			e.log.Debug("stop watch", "err", err)
			return
		}
		path := PathPoll
		if poked {
			path = PathPush
		}
		for _, a := range asked {
			e.stopLeg(a.Lease, a.Stop, path, a.Age)
		}
	})
}

// stopLeg cancels the leg of that very turn and fence, if it runs here.
func (e *Engine) stopLeg(l agent.Lease, s agent.Stop, path StopPath, age time.Duration) {
	r := e.byLease(l)
	if r != nil {
		r.stop(s, path, age)
	}
}

func (e *Engine) byLease(l agent.Lease) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[leg{l.Turn, l.Fence}]
}

// listen turns hints into pokes. Every (re)connect pokes the watch: what was
// said while nobody listened is in the rows.
func (e *Engine) listen(ctx context.Context) {
	if e.cfg.Hints == nil {
		return
	}
	on := func(h agent.Hint) {
		switch h.Kind {
		case agent.HintStop:
			if h.Subject == e.keep.node() {
				poke(e.pokeWatch)
			}
		case agent.HintEnd:
			if e.hub.followed(h.Subject) {
				poke(e.pokeFeed)
			}
		case agent.HintQueue:
			poke(e.pokeClaim)
		}
	}
	up := func(ok bool) {
		e.push.Store(ok)
		if ok {
			poke(e.pokeWatch)
			poke(e.pokeClaim)
		}
	}
	for ok := true; ok; ok = sleep(ctx, e.times.Redial) {
		if err := e.cfg.Hints.Listen(ctx, on, up); err != nil && ctx.Err() == nil {
			e.log.Error("listening for hints ended", "err", err)
		}
		e.push.Store(false)
	}
}

// notify leaves hints to the hint loop; equal ones that wait are one.
func (e *Engine) notify(hints ...agent.Hint) {
	if e.cfg.Hints == nil {
		return
	}
	e.mu.Lock()
	for _, h := range hints {
		e.hints[h] = struct{}{}
	}
	e.mu.Unlock()
	poke(e.pokeHints)
}

// hintLoop sends hints, all that wait in one statement: two hundred stops at
// once do not queue for two hundred connections. When ctx ends it sends the last.
func (e *Engine) hintLoop(ctx context.Context) {
	for {
		select {
		case <-e.pokeHints:
			e.sendHints(ctx)
		case <-ctx.Done():
			e.sendHints(context.WithoutCancel(ctx))
			return
		}
	}
}

// sendHints sends what waits. What fails is counted, and found by polling.
func (e *Engine) sendHints(ctx context.Context) {
	e.mu.Lock()
	hints := slices.Collect(maps.Keys(e.hints))
	clear(e.hints)
	e.mu.Unlock()
	if len(hints) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.times.Limit)
	defer cancel()
	if err := e.cfg.Hints.Notify(ctx, hints...); err != nil {
		e.obs.NotifyError()
		e.log.Warn("hints not sent", "count", len(hints), "err", err)
	}
}

// flushLoop stores what the node's legs have written, in one statement for all
// of them; the interval stretches with the time that the statement takes.
func (e *Engine) flushLoop(ctx context.Context) {
	pause := e.times.Flush
	for sleep(ctx, pause) {
		began := time.Now()
		e.flush(ctx)
		pause = min(max(e.times.Flush, 2*time.Since(began)), e.times.FlushMax)
	}
}

// maxFlushRows bounds one statement, which holds the locks of all its slots until
// it is done: a stop of any of them waits for so many rows, not for all.
const maxFlushRows = 256

func (e *Engine) flush(ctx context.Context) {
	var batches []agent.Batch
	var from []*run
	rows := 0
	send := func() {
		if len(batches) > 0 {
			e.append(ctx, batches, from, rows)
			batches, from, rows = nil, nil, 0
		}
	}
	for _, r := range e.all() {
		if b := r.journal.flush(); b != nil {
			batches, from, rows = append(batches, agent.Batch{Lease: r.lease, Rows: b}), append(from, r), rows+len(b)
		}
		if rows >= maxFlushRows {
			send()
		}
	}
	send()
}

func (e *Engine) append(ctx context.Context, batches []agent.Batch, from []*run, rows int) {
	began := time.Now()
	one, cancel := context.WithTimeout(ctx, e.times.Write)
	defer cancel()
	stored, err := e.store.Append(one, batches)
	e.obs.Flush(rows, time.Since(began), err)
	if err != nil && len(batches) > 1 && !errors.Is(err, agent.ErrUnavailable) {
		// Something in there can't be stored: it must not hold up the others.
		for i := range from {
			e.append(ctx, batches[i:i+1], from[i:i+1], len(batches[i].Rows))
		}
		return
	}
	if err != nil {
		e.log.Warn("journal not written; it will be sent again", "rows", rows, "err", err)
	}
	for i, r := range from {
		n := 0
		if err == nil && stored[i] {
			n = len(batches[i].Rows)
		}
		r.journal.flushed(n)
		if err == nil && !stored[i] {
			e.doubt(ctx, r)
		}
	}
}

// doubt looks whether a leg whose rows were refused still holds its lease.
func (e *Engine) doubt(ctx context.Context, r *run) {
	one, cancel := context.WithTimeout(ctx, e.times.Limit)
	defer cancel()
	if _, err := e.store.Look(one, r.lease); errors.Is(err, agent.ErrLeaseLost) {
		r.cancel(agent.ErrLeaseLost)
	}
}

// feedLoop brings followers here the events of turns that run elsewhere.
func (e *Engine) feedLoop(ctx context.Context) {
	every(ctx, e.times.Feed, e.pokeFeed, func(bool) {
		cursors := e.hub.remote()
		if len(cursors) == 0 {
			return
		}
		one, cancel := context.WithTimeout(ctx, e.times.Write)
		defer cancel()
		events, err := e.store.News(one, cursors)
		if err != nil {
			e.log.Debug("feed", "err", err)
			return
		}
		for len(events) > 0 {
			n := 1
			for n < len(events) && events[n].Session == events[0].Session {
				n++
			}
			e.hub.fed(events[0].Session, cursors[events[0].Session], events[:n])
			events = events[n:]
		}
	})
}

// claimLoop takes queued turns while this node has room for them.
func (e *Engine) claimLoop(ctx context.Context) {
	every(ctx, e.times.Claim, e.pokeClaim, func(bool) {
		for !e.draining.Load() && e.room() && e.claim(ctx) {
		}
	})
}

func (e *Engine) room() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queued < e.cfg.MaxQueued
}

// claim takes one queued turn and reports whether there may be more.
func (e *Engine) claim(ctx context.Context) bool {
	id := e.keep.node()
	if !e.keep.fresh(id) {
		return false
	}
	if !e.enter() {
		return false
	}
	defer e.wg.Done()
	e.claims.Add(1)
	defer e.claims.Add(-1)
	one, cancel := context.WithTimeout(ctx, e.times.Write)
	defer cancel()
	l, ok, err := e.store.Claim(one, id, e.cfg.ProjectRunning)
	if err != nil {
		e.log.Warn("claim", "err", err)
		return false
	}
	if ok && e.keep.node() == id {
		e.obs.Claimed(l.Queued)
		e.start(l, true)
	}
	return ok
}

// janitor declares silent nodes dead, closes the legs of dead ones, ends requests
// that nobody decided in time, and looks for rows of its own that nothing here runs.
func (e *Engine) janitor(ctx context.Context) {
	every(ctx, e.times.Sweep, nil, func(bool) {
		id := e.keep.node()
		if !e.keep.fresh(id) {
			return
		}
		e.declare(ctx, id)
		e.sweep(ctx, id)
		e.expire(ctx)
		e.reconcile(ctx, id)
	})
}

func (e *Engine) declare(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, e.times.Write)
	defer cancel()
	n, err := e.store.DeclareDead(ctx, id)
	switch {
	case err != nil:
		e.log.Debug("declare dead", "err", err)
	case n > 0:
		e.log.Warn("declared a silent node dead")
		e.obs.NodeDead()
	}
}

func (e *Engine) sweep(ctx context.Context, id string) {
	for ctx.Err() == nil {
		one, cancel := context.WithTimeout(ctx, e.times.Write)
		s, ok, err := e.store.Sweep(one, id)
		cancel()
		if err != nil {
			e.log.Debug("sweep", "err", err)
		}
		if err != nil || !ok {
			return
		}
		e.swept(s)
	}
}

func (e *Engine) swept(s agent.Swept) {
	if s.Lease.Node == "" {
		e.log.Warn("ended a run that no node took in time", "session_id", s.Lease.Session, "turn_id", s.Lease.Turn)
		e.obs.RunExpired()
	} else {
		e.log.Warn("closed a lost turn", "session_id", s.Lease.Session, "turn_id", s.Lease.Turn, "outcome", s.Outcome)
		e.obs.LegSwept()
	}
	e.notify(agent.Hint{Kind: agent.HintEnd, Subject: s.Lease.Session})
	poke(e.pokeFeed)
}

// expire ends what was open for too long; the turns that waited for it go on, on
// any node.
func (e *Engine) expire(ctx context.Context) {
	for ctx.Err() == nil {
		one, cancel := context.WithTimeout(ctx, e.times.Write)
		x, ok, err := e.store.Expire(one)
		cancel()
		if err != nil {
			e.log.Debug("expire", "err", err)
		}
		if err != nil || !ok {
			return
		}
		e.log.Info("requests expired", "session_id", x.Session, "action_ids", x.Actions)
		poke(e.pokeFeed)
		e.notify(agent.Hint{Kind: agent.HintEnd, Subject: x.Session})
		if x.Queued {
			poke(e.pokeClaim)
			e.notify(agent.Hint{Kind: agent.HintQueue})
		}
	}
}

// reconcile adopts legs of this node that it never ran, because the answer of
// their taking was lost, and closes those that it had and gave up.
func (e *Engine) reconcile(ctx context.Context, id string) {
	if e.claims.Load() > 0 {
		return
	}
	known := e.known()
	one, cancel := context.WithTimeout(ctx, e.times.Write)
	defer cancel()
	strays, err := e.store.Strays(one, id, e.leases())
	if err != nil {
		e.log.Debug("reconcile", "err", err)
		return
	}
	for _, l := range strays {
		e.reclaim(one, l, known)
	}
	e.forget(known, strays)
}

// leases are those of the legs that run here.
func (e *Engine) leases() []agent.Lease {
	var out []agent.Lease
	for _, r := range e.all() {
		out = append(out, r.lease)
	}
	return out
}

// known says which legs this node has now; fence 0 stands for a turn that it is
// about to have. To be called
// before the rows are read: a turn that ends while they are being read is still
// among them, and must not be taken for one that nobody ran.
func (e *Engine) known() map[leg]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[leg]bool, len(e.runs)+len(e.taking)+len(e.abandoned))
	for k := range e.runs {
		out[k] = true
	}
	for t := range e.taking {
		out[leg{turn: t}] = true
	}
	for k := range e.abandoned {
		out[k] = true
	}
	return out
}

// forget drops what was abandoned and has no row that runs any more: it was
// closed after all. A row shows only once it is two seconds old, so what was
// given up within the last lease is left.
func (e *Engine) forget(known map[leg]bool, strays []agent.Leg) {
	rows := make(map[leg]bool, len(strays))
	for _, l := range strays {
		rows[leg{l.Lease.Turn, l.Lease.Fence}] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for k, x := range e.abandoned {
		if known[k] && !rows[k] && time.Since(x.since) > e.times.Lease {
			delete(e.abandoned, k)
		}
	}
}

func (e *Engine) reclaim(ctx context.Context, l agent.Leg, known map[leg]bool) {
	k := leg{l.Lease.Turn, l.Lease.Fence}
	e.mu.Lock()
	_, runs := e.runs[k]
	_, taking := e.taking[k.turn]
	_, had := e.abandoned[k]
	e.mu.Unlock()
	switch {
	case runs || taking:
	case had:
		s, ok, err := e.store.CloseFor(ctx, l.Lease)
		if err != nil {
			e.log.Warn("closing an abandoned turn", "turn_id", k.turn, "err", err)
			return
		}
		e.mu.Lock()
		delete(e.abandoned, k)
		e.mu.Unlock()
		if ok {
			e.swept(s)
		}
	case known[k], known[leg{turn: k.turn}], !e.enter():
	default:
		defer e.wg.Done()
		e.log.Warn("running a turn whose taking was never answered", "turn_id", k.turn)
		e.start(l, l.Turn.Background)
	}
}
