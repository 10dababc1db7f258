package turn

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// page is how many rows a follower that is behind reads at once.
const page = 500

// Follow yields the events of a session numbered above after, in order, each
// once: first those that are there, then new ones as they come, for ever and
// across turns. It ends when ctx does (with its cause), when this node shuts
// down (agent.ErrDraining: resume on another), or when the caller breaks. Who
// reads slowly is not waited for and loses nothing. While the database is away
// it goes on with what runs here, and waits for the rest.
//
// The caller has checked that the session may be read.
func (e *Engine) Follow(ctx context.Context, session string, after int64) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		for events, err := range e.Watch(ctx, session, after, 0) {
			if err != nil {
				yield(agent.Event{}, err)
				return
			}
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// Watch is Follow in batches: all events that are there when the caller asks
// for the next. An empty batch says that there was nothing for idle (0: never
// said), so that who writes to a network can show that it lives, with no
// goroutine of its own. The caller must not keep a batch.
func (e *Engine) Watch(ctx context.Context, session string, after int64, idle time.Duration) iter.Seq2[[]agent.Event, error] {
	return func(yield func([]agent.Event, error) bool) {
		w := &watcher{e: e, session: session, after: after, idle: idle, yield: yield, spoke: time.Now()}
		if t := w.join(ctx); t != nil {
			defer e.hub.leave(t, false)
			w.run(ctx, t)
		}
	}
}

// watcher is one follower: a cursor on a session's tail.
type watcher struct {
	e       *Engine
	session string
	after   int64         // the last number that the caller has
	idle    time.Duration // 0: silence is not told
	timer   *time.Timer   // of idle, made when first needed
	spoke   time.Time     // when the caller last heard something
	yield   func([]agent.Event, error) bool
}

// run follows the tail until the caller has enough or there is no more.
func (w *watcher) run(ctx context.Context, t *tail) {
	for {
		if ctx.Err() != nil {
			w.yield(nil, context.Cause(ctx))
			return
		}
		events, changed, behind, base := t.after(w.after)
		ok := true
		switch {
		case behind:
			if events, ok = w.page(ctx, w.after); ok && len(events) == 0 {
				w.after = base
			}
		case changed != nil:
			ok = w.wait(ctx, changed)
		}
		if !ok || !w.give(events) {
			return
		}
	}
}

// give hands events to the caller, without those that it has.
func (w *watcher) give(events []agent.Event) bool {
	for len(events) > 0 && events[0].Seq <= w.after {
		events = events[1:]
	}
	if len(events) == 0 {
		return true
	}
	w.after, w.spoke = events[len(events)-1].Seq, time.Now()
	return w.yield(events, nil)
}

// join returns the session's tail, which is to be given back. Where nobody here
// runs or follows the session yet, it first gives what the database has, so that
// the feed begins at its end. Nil: there is no more to do, and the caller knows.
func (w *watcher) join(ctx context.Context) *tail {
	for {
		if t := w.e.hub.join(w.session); t != nil {
			return t
		}
		events, ok := w.page(ctx, w.after)
		if !ok || len(events) > 0 && !w.give(events) {
			return nil
		}
		if len(events) > 0 {
			continue
		}
		stored, ok := w.end(ctx)
		if !ok {
			return nil
		}
		return w.e.hub.follow(w.session, stored)
	}
}

// end returns a number up to which the database has all, where it has nothing
// above the cursor. That may be less than the cursor: who comes from the turn's
// own node knows what is not stored yet, so it looks close behind the cursor
// first. Taking the cursor for it would hide from others here what is stored
// after it is asked.
func (w *watcher) end(ctx context.Context) (int64, bool) {
	for back := int64(1); w.after > 0; back *= 64 {
		from := max(0, w.after-back)
		events, ok := w.page(ctx, from)
		if !ok {
			return 0, false
		}
		if n := len(events); n > 0 {
			return events[n-1].Seq, true
		}
		if from == 0 {
			break
		}
	}
	return 0, true
}

// page reads a page of the journal, trying on until the database answers; one
// that hangs is one that is away. It has told the caller where it returns false.
func (w *watcher) page(ctx context.Context, after int64) ([]agent.Event, bool) {
	for {
		one, cancel := context.WithTimeout(ctx, w.e.times.Write)
		events, err := w.e.store.Events(one, w.session, after, page)
		cancel()
		switch {
		case err == nil:
			return events, true
		case ctx.Err() == nil && !errors.Is(err, agent.ErrUnavailable):
			w.yield(nil, err)
			return nil, false
		case !w.pause(ctx):
			return nil, false
		}
	}
}

// pause waits a moment before the database is asked again.
func (w *watcher) pause(ctx context.Context) bool {
	again := make(chan struct{})
	t := time.AfterFunc(250*time.Millisecond, func() { close(again) })
	defer t.Stop()
	return w.wait(ctx, again)
}

// wait waits for a change, and tells the caller each time that nothing came for
// idle. false: there is no more to wait for, and the caller knows.
func (w *watcher) wait(ctx context.Context, changed <-chan struct{}) bool {
	for {
		select {
		case <-changed:
			return true
		case <-w.silence():
			w.spoke = time.Now()
			if !w.yield(nil, nil) {
				return false
			}
		case <-ctx.Done():
			w.yield(nil, context.Cause(ctx))
			return false
		case <-w.e.over:
			w.yield(nil, agent.ErrDraining)
			return false
		}
	}
}

// silence fires when the caller has heard nothing for idle.
func (w *watcher) silence() <-chan time.Time {
	left := w.idle - time.Since(w.spoke)
	switch {
	case w.idle <= 0:
		return nil
	case w.timer == nil:
		w.timer = time.NewTimer(left)
	default:
		w.timer.Reset(left)
	}
	return w.timer.C
}
