package assistants

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

func (d *door) stream(w http.ResponseWriter, r *http.Request, out *renderer) error {
	source := func(ctx context.Context, idle time.Duration) iter.Seq2[[]agent.Event, error] {
		return d.engine.Watch(ctx, out.turn.Session, httpapi.Before(&out.turn), idle)
	}
	return d.streams.Serve(w, r, source, out.Step)
}

// renderer turns the journal's events of one turn into the events of a run.
type renderer struct {
	run
	thread *apigen.Thread // made for the run; nil: it was there

	began bool
	over  bool
	index int    // of the message under way
	open  bool   // it was shown
	text  []byte // of it so far
}

// Step appends to dst the frames that an event of the journal adds to the stream,
// and reports whether they are the last.
func (r *renderer) Step(dst []byte, e agent.Event) ([]byte, bool, error) {
	if e.Turn != r.turn.ID || r.over {
		return dst, r.over, nil
	}
	stopping := r.stopping
	r.over = r.see(e)
	var err error
	switch b := e.Body.(type) {
	case agent.TurnStarted:
		dst, err = r.start(dst, b)
	case agent.TextDelta:
		dst, err = r.delta(dst, b.Text, e)
	case agent.Message:
		dst, err = r.message(dst, b, e)
	case agent.TurnStopping:
		if !stopping {
			dst, err = frame(dst, "thread.run.cancelling", r.object())
		}
	case agent.TurnPaused, agent.TurnEnded:
		dst, err = r.finish(dst, e)
	}
	return dst, r.over, err
}

// start tells of the run what clients want to have seen of every run.
func (r *renderer) start(dst []byte, b agent.TurnStarted) (out []byte, err error) {
	if r.began {
		return dst, nil
	}
	r.began, r.index = true, b.Index
	if r.thread != nil {
		if dst, err = frame(dst, "thread.created", r.thread); err != nil {
			return dst, err
		}
	}
	queued := r.object()
	queued.Status, queued.StartedAt = apigen.ThreadRunStatusQueued, nil
	for _, kind := range []string{"thread.run.created", "thread.run.queued"} {
		if dst, err = frame(dst, kind, queued); err != nil {
			return dst, err
		}
	}
	return frame(dst, "thread.run.in_progress", r.object())
}

// show begins the message under way, if it has not begun.
func (r *renderer) show(dst []byte, e agent.Event) (out []byte, err error) {
	if r.open {
		return dst, nil
	}
	r.open = true
	m := emptyMessage(r.turn.Session, r.index)
	m.CreatedAt, m.Status, m.Role = e.At.Unix(), "in_progress", string(agent.RoleAssistant)
	m.RunId, m.AssistantId = new(prefixRun+r.turn.ID), new(prefixAssistant+r.turn.Agent)
	for _, kind := range []string{"thread.message.created", "thread.message.in_progress"} {
		if dst, err = frame(dst, kind, m); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// delta is most of all events, so nothing here reflects.
func (r *renderer) delta(dst []byte, s string, e agent.Event) ([]byte, error) {
	if s == "" {
		return dst, nil
	}
	dst, err := r.show(dst, e)
	if err != nil {
		return dst, err
	}
	r.text = append(r.text, s...)
	dst = append(dst, "event: thread.message.delta\ndata: {\"id\":\""...)
	dst = append(dst, httpapi.MessageID(r.turn.Session, r.index)...)
	dst = append(dst, `","object":"thread.message.delta","delta":{"content":[{"index":0,"type":"text","text":{"value":`...)
	dst = append(httpapi.AppendString(dst, s), `,"annotations":[]}}]}}`...)
	return append(dst, httpapi.FrameEnd...), nil
}

// message takes a whole message for what it is: text that was not streamed, or
// is no longer there, is made up for.
func (r *renderer) message(dst []byte, m agent.Message, e agent.Event) (out []byte, err error) {
	if m.Role != agent.RoleAssistant {
		return dst, nil
	}
	r.index = m.Index
	if r.open || shown(m) {
		if dst, err = r.show(dst, e); err != nil {
			return dst, err
		}
		if n := len(r.text); n <= len(m.Text) && m.Text[:n] == string(r.text) {
			if dst, err = r.delta(dst, m.Text[n:], e); err != nil {
				return dst, err
			}
		}
		whole := messageOf(e, r.turn.Agent)
		if dst, err = frame(dst, "thread.message."+whole.Status, whole); err != nil {
			return dst, err
		}
	}
	r.index, r.open, r.text = m.Index+1, false, nil
	return dst, nil
}

// finish tells how the run ended, or that it waits. A message that the journal
// has no end of is closed first.
func (r *renderer) finish(dst []byte, e agent.Event) (out []byte, err error) {
	if r.open {
		cut := e
		cut.Body = agent.Message{Index: r.index, Role: agent.RoleAssistant, Text: string(r.text), Status: agent.StatusIncomplete, StopReason: r.turn.StopReason}
		if dst, err = r.message(dst, messageIn(cut), cut); err != nil {
			return dst, err
		}
	}
	x := r.object()
	if dst, err = frame(dst, "thread.run."+string(x.Status), x); err != nil {
		return dst, err
	}
	return append(dst, "event: done\ndata: [DONE]"+httpapi.FrameEnd...), nil
}

// frame appends an event that nobody resumes at, so it has no id.
func frame(dst []byte, kind string, v any) ([]byte, error) {
	dst = append(append(append(dst, "event: "...), kind...), "\ndata: "...)
	dst, err := httpapi.AppendJSON(dst, v)
	return append(dst, httpapi.FrameEnd...), err
}
