package studio

import (
	"context"
	"iter"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

func (d *door) transcript(w http.ResponseWriter, r *http.Request) error {
	before, err := httpapi.QueryInt(r, "before", 0, 1, math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := httpapi.QueryInt(r, "limit", 200, 1, 1000)
	if err != nil {
		return err
	}
	v, err := d.session(r, agent.Principal.MayView)
	if err != nil {
		return err
	}
	events, whole, err := d.store.TranscriptPage(r.Context(), v.ID, before, int(limit)+1)
	if err != nil {
		return noSession(err)
	}
	out := wire.Transcript{FollowAfter: whole, State: wire.SessionState(v.StateWord()), RunId: ptr(v.Turn)}
	if len(events) > int(limit) {
		events = events[1:]
		out.NextBefore = &events[0].Seq
	}
	if out.Data, err = eventsOut(events); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func eventsOut(events []agent.Event) ([]apigen.Event, error) {
	out := make([]apigen.Event, 0, len(events))
	for _, e := range events {
		b, err := httpapi.AppendEvent(nil, e)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// events answers with a page of the journal, or follows it for ever.
func (d *door) events(w http.ResponseWriter, r *http.Request) error {
	after, err := httpapi.ReadCursor(r)
	if err != nil {
		return err
	}
	limit, err := httpapi.QueryInt(r, "limit", 200, 1, 1000)
	if err != nil {
		return err
	}
	v, err := d.session(r, agent.Principal.MayView)
	if err != nil {
		return err
	}
	w.Header().Add("Vary", "Accept")
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		source := func(ctx context.Context, idle time.Duration) iter.Seq2[[]agent.Event, error] {
			return d.Engine.Watch(ctx, v.ID, after, idle)
		}
		return d.Streams.Serve(w, r, source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
			dst, err := httpapi.AppendEventFrame(dst, e)
			return dst, false, err
		})
	}
	return d.pageOfEvents(w, r, v, after, int(limit))
}

// pageOfEvents answers with at most limit events. The state was read before
// them: where it says idle, the last turn's end is in the page or a later one.
func (d *door) pageOfEvents(w http.ResponseWriter, r *http.Request, v agent.SessionView, after int64, limit int) error {
	events, err := d.store.Events(r.Context(), v.ID, after, limit)
	if err != nil {
		return err
	}
	page := events[:min(len(events), limit)]
	out := wire.EventPage{NextAfter: after, State: wire.SessionState(v.StateWord()), HasMore: len(events) > limit}
	if out.Data, err = eventsOut(page); err != nil {
		return err
	}
	if n := len(page); n > 0 {
		out.NextAfter = page[n-1].Seq
	}
	if len(events) > 0 && !out.HasMore {
		more, err := d.store.Events(r.Context(), v.ID, out.NextAfter, 1)
		if err != nil {
			return err
		}
		out.HasMore = len(more) > 0
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}
