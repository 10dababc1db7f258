package responses

import (
	"context"
	"iter"
	"net/http"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// stream writes the response's events numbered above after, and the terminal one
// in any case. Where the turn pauses, ends says whether that is as far as it has
// got: a later leg may be in the journal already.
func (d *door) stream(w http.ResponseWriter, r *http.Request, t agent.Turn, after int64, ends func(agent.Event) (bool, error)) error {
	out := newRenderer(t)
	source := func(ctx context.Context) iter.Seq2[agent.Event, error] {
		return d.engine.Follow(ctx, t.Session, before(t))
	}
	return d.streams.Serve(w, r, source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
		events, err := out.Step(e)
		if err != nil {
			return dst, false, err
		}
		dst = appendEvents(dst, events, after)
		if out.end != nil || e.Kind() != agent.KindTurnPaused || e.Turn != t.ID {
			return dst, out.end != nil, nil
		}
		last, err := ends(e)
		if err != nil || !last {
			return dst, false, err
		}
		events, err = out.Pause()
		return appendEvents(dst, events, after), true, err
	})
}

// appendEvents appends frames. A follower that says it has seen more than there
// is gets the end: retention has made the response shorter since.
func appendEvents(dst []byte, events []event, after int64) []byte {
	for _, ev := range events {
		if ev.number <= after && !ev.terminal {
			continue
		}
		dst = httpapi.AppendFrame(dst, ev.number, ev.kind)
		dst = append(dst, ev.data...)
		dst = append(dst, httpapi.FrameEnd...)
	}
	return dst
}

// lastPause tells, of a pause in the journal of a turn, whether the turn still
// waits there.
func (d *door) lastPause(ctx context.Context, pause agent.Event) (bool, error) {
	t, _, err := d.store.Turn(ctx, pause.Turn)
	if err != nil || t.Status != agent.StatusWaiting {
		return false, err
	}
	for after := pause.Seq; ; {
		events, err := d.store.Events(ctx, pause.Session, after, page)
		if err != nil || len(events) == 0 {
			return err == nil, err
		}
		for _, e := range events {
			if e.Turn == pause.Turn && e.Kind() != agent.KindActionDecided {
				return false, nil
			}
			after = e.Seq
		}
	}
}
