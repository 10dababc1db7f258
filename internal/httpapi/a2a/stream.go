package a2a

import (
	"context"
	"iter"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// flow is a stream: a task as it is, and then what changes of it.
type flow struct {
	view *view
	// opens says of the events that come first which is the one that the stream
	// opens at; nil: the view has seen all that was there, and it opens at once.
	opens func(agent.Event) bool
	// stays: it goes on where the task needs somebody, and ends with the task only.
	stays bool

	opened bool
}

// serve streams. The stream is a rendering of the journal, so it is the same on
// every node; one that breaks is taken up again by a subscription.
func (d *door) serve(c *call, f *flow) error {
	t := &f.view.turn
	httpapi.Note(c.r.Context(), t.Session, t.ID)
	after := f.view.seq
	source := func(ctx context.Context, idle time.Duration) iter.Seq2[[]agent.Event, error] {
		return func(yield func([]agent.Event, error) bool) {
			if f.opens == nil && !yield([]agent.Event{{}}, nil) {
				return
			}
			d.watcher.Watch(ctx, t.Session, after, idle)(yield)
		}
	}
	return d.streams.Serve(c.w, c.r, source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
		return f.render(c, dst, e)
	})
}

// render appends what the stream says about an event; one without a body opens
// the stream.
func (f *flow) render(c *call, dst []byte, e agent.Event) ([]byte, bool, error) {
	var changes []change
	if e.Body != nil {
		changes = f.view.step(e)
	}
	if !f.opened {
		if e.Body != nil && !f.opens(e) {
			return dst, false, nil
		}
		return f.open(c, dst)
	}
	var err error
	for _, x := range changes {
		if dst, err = c.frame(dst, c.v.event(f.view, x, x.state && f.over())); err != nil {
			return dst, false, err
		}
	}
	return dst, f.over(), nil
}

// open appends the task. A stream that a message began says its last word in any
// case: clients wait for it.
func (f *flow) open(c *call, dst []byte) ([]byte, bool, error) {
	f.opened = true
	dst, err := c.frame(dst, c.v.stream(f.view))
	if err != nil || !f.over() || f.stays {
		return dst, f.over(), err
	}
	dst, err = c.frame(dst, c.v.event(f.view, change{state: true}, true))
	return dst, true, err
}

// over reports whether the stream has said all that it has to say.
func (f *flow) over() bool {
	return f.view.state.terminal() || f.view.state == inputRequired && !f.stays
}

// stream returns a task as a stream's event.
func (b binding) stream(v *view) any { return b.sent(v, whole) }

// frame appends one event of a stream: an answer to the call.
func (c *call) frame(dst []byte, result any) ([]byte, error) {
	dst, err := httpapi.AppendJSON(append(dst, "data: "...), envelope{"2.0", c.id, result})
	return append(dst, httpapi.FrameEnd...), err
}
