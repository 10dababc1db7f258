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
		after, ok := e.catchUp(ctx, session, after, yield)
		if !ok {
			return
		}
		t := e.hub.follow(session, after)
		defer e.hub.leave(t, false)
		for {
			if ctx.Err() != nil {
				yield(agent.Event{}, context.Cause(ctx))
				return
			}
			events, changed, behind, base := t.after(after)
			if behind {
				var err error
				if events, err = e.readPage(ctx, session, after); err != nil {
					yield(agent.Event{}, err)
					return
				}
				if len(events) == 0 {
					after = base
				}
			}
			for _, ev := range events {
				if ev.Seq <= after {
					continue
				}
				after = ev.Seq
				if !yield(ev, nil) {
					return
				}
			}
			if changed == nil {
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(agent.Event{}, context.Cause(ctx))
				return
			case <-e.over:
				yield(agent.Event{}, agent.ErrDraining)
				return
			}
		}
	}
}

// catchUp yields what the database has of a session that nobody here runs or
// follows yet, so that the feed begins at its end.
func (e *Engine) catchUp(ctx context.Context, session string, after int64, yield func(agent.Event, error) bool) (int64, bool) {
	for !e.hub.has(session) {
		events, err := e.readPage(ctx, session, after)
		if err != nil {
			yield(agent.Event{}, err)
			return after, false
		}
		if len(events) == 0 {
			break
		}
		for _, ev := range events {
			if after = ev.Seq; !yield(ev, nil) {
				return after, false
			}
		}
	}
	return after, true
}

// readPage reads a page of the journal, trying on until the database answers;
// one that hangs is one that is away.
func (e *Engine) readPage(ctx context.Context, session string, after int64) ([]agent.Event, error) {
	for {
		one, cancel := context.WithTimeout(ctx, e.times.Write)
		events, err := e.store.Events(one, session, after, page)
		cancel()
		if err == nil || ctx.Err() == nil && !errors.Is(err, agent.ErrUnavailable) {
			return events, err
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-e.over:
			return nil, agent.ErrDraining
		}
	}
}
