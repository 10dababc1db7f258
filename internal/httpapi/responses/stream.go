package responses

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// stream writes the response's events, those that out wants, and the terminal one
// in any case. Where the turn pauses, ends says whether that is as far as it has
// got: a later leg may be in the journal already.
func (d *door) stream(w http.ResponseWriter, r *http.Request, out *renderer, ends func(agent.Event) (bool, error)) error {
	source := func(ctx context.Context, idle time.Duration) iter.Seq2[[]agent.Event, error] {
		return d.engine.Watch(ctx, out.turn.Session, httpapi.Before(&out.turn), idle)
	}
	return d.streams.Serve(w, r, source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
		dst, err := out.Step(dst, e)
		if err != nil || out.end != nil || e.Kind() != agent.KindTurnPaused || e.Turn != out.turn.ID {
			return dst, out.end != nil, err
		}
		last, err := ends(e)
		if err != nil || !last {
			return dst, false, err
		}
		dst, err = out.Pause(dst)
		return dst, true, err
	})
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
