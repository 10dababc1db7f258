package client

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

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
	info, err := d.viewed(r)
	if err != nil {
		return err
	}
	w.Header().Add("Vary", "Accept")
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return d.followEvents(w, r, info.ID, after)
	}
	return d.pageOfEvents(w, r, info, after, int(limit))
}

func (d *door) followEvents(w http.ResponseWriter, r *http.Request, session string, after int64) error {
	source := func(ctx context.Context, idle time.Duration) iter.Seq2[[]agent.Event, error] {
		return d.engine.Watch(ctx, session, after, idle)
	}
	return d.streams.Serve(w, r, source, func(dst []byte, e agent.Event) ([]byte, bool, error) {
		dst, err := httpapi.AppendEventFrame(dst, e)
		return dst, false, err
	})
}

// pageOfEvents answers with at most limit events. The state was read before
// them: where it says idle, the last turn's end is in the page or a later one.
func (d *door) pageOfEvents(w http.ResponseWriter, r *http.Request, info agent.SessionInfo, after int64, limit int) error {
	events, err := d.store.Events(r.Context(), info.ID, after, limit)
	if err != nil {
		return err
	}
	out := apigen.EventList{
		Data: make([]apigen.Event, 0, len(events)), NextAfter: after,
		State: apigen.ConversationState(info.StateWord()), HasMore: len(events) > limit,
	}
	for _, e := range events[:min(len(events), limit)] {
		b, err := httpapi.AppendEvent(nil, e)
		if err != nil {
			return err
		}
		out.Data, out.NextAfter = append(out.Data, b), e.Seq
	}
	if len(events) > 0 && !out.HasMore {
		more, err := d.store.Events(r.Context(), info.ID, out.NextAfter, 1)
		if err != nil {
			return err
		}
		out.HasMore = len(more) > 0
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}
