package httpapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

const (
	burst     = 16 << 10 // bytes that are joined in one write at most, but for one event that is larger
	maxPooled = 64 << 10 // larger buffers are not kept
)

// Streams writes event streams. The zero value has the defaults.
//
// A stream is its handler's goroutine and no more. While it writes it reads no
// further, so what a client has not taken stays in the source. A client that
// takes nothing for Write is cut off, and resumes where it was.
type Streams struct {
	Ping  time.Duration // a comment after so long a silence, default 15 seconds
	Write time.Duration // for each write, default 15 seconds
}

// Render appends what a stream says about an event to dst: whole frames, or
// nothing. done ends the stream after it. What it appended is not sent where it
// fails.
type Render func(dst []byte, e agent.Event) (out []byte, done bool, err error)

// Source makes the events of a stream in batches, an empty one where there was
// nothing for idle. They end with ctx.
type Source func(ctx context.Context, idle time.Duration) iter.Seq2[[]agent.Event, error]

// Serve streams until render says done, the client goes or the source fails. The
// client's going is no error; an error means that the stream ended too early,
// and the connection must be cut.
func (s Streams) Serve(w http.ResponseWriter, r *http.Request, source Source, render Render) error {
	out := stream{
		w: w, rc: http.NewResponseController(w), render: render,
		ping: orDefault(s.Ping), write: orDefault(s.Write), reset: r.ProtoMajor >= 2,
	}
	err := out.open()
	if err == nil {
		err = out.run(source(r.Context(), out.ping))
	}
	if r.Context().Err() != nil {
		return nil
	}
	return err
}

// ServeFrames streams whole frames as they come; an empty one says that there was
// nothing for as long as Silence. They end with the request's context; when they
// end by themselves the stream does, and all of it was sent. Errors as of Serve.
func (s Streams) ServeFrames(w http.ResponseWriter, r *http.Request, frames iter.Seq2[[]byte, error]) error {
	out := stream{
		w: w, rc: http.NewResponseController(w),
		ping: orDefault(s.Ping), write: orDefault(s.Write), reset: r.ProtoMajor >= 2,
	}
	err := out.open()
	if err == nil {
		err = out.forward(frames)
	}
	if r.Context().Err() != nil {
		return nil
	}
	return err
}

// Silence is how long a stream may have nothing to say.
func (s Streams) Silence() time.Duration { return orDefault(s.Ping) }

func (s *stream) forward(frames iter.Seq2[[]byte, error]) error {
	for b, err := range frames {
		if err != nil {
			return errors.Join(s.flush(b), err)
		}
		if len(b) == 0 {
			b = []byte(": ping\n\n")
		}
		if err := s.send(b); err != nil {
			return err
		}
	}
	return nil
}

func orDefault(d time.Duration) time.Duration {
	if d <= 0 {
		return 15 * time.Second
	}
	return d
}

// stream is one open event stream.
type stream struct {
	w           http.ResponseWriter
	rc          *http.ResponseController
	render      Render
	ping, write time.Duration
	reset       bool      // a deadline that passes ends the stream even if nothing is being written: HTTP/2
	sent        time.Time // when the last write began
	extended    time.Time // when the deadline that stands was set
}

// open sends the headers at once, so that the client knows that it is served.
func (s *stream) open() error {
	s.sent = time.Now()
	if err := s.extend(); err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	return s.send([]byte(":\n\n"))
}

// errEnded: a source ends with an error or not at all.
var errEnded = errors.New("event stream: the source ended without a word")

func (s *stream) run(batches iter.Seq2[[]agent.Event, error]) error {
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if done, err := s.relay(batch); done || err != nil {
			return err
		}
	}
	return errEnded
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// relay sends a batch in as few writes as burst allows, or a ping where there was
// nothing to say for long.
func (s *stream) relay(batch []agent.Event) (done bool, err error) {
	p := buffers.Get().(*[]byte)
	buf := (*p)[:0]
	defer func() {
		if cap(buf) <= maxPooled {
			*p = buf
			buffers.Put(p)
		}
	}()
	for i := 0; i < len(batch) && !done; i++ {
		out, last, err := s.render(buf, batch[i])
		if err != nil {
			return false, errors.Join(s.flush(buf), err)
		}
		if buf, done = out, last; len(buf) >= burst {
			if err := s.send(buf); err != nil {
				return done, err
			}
			buf = buf[:0]
		}
	}
	if len(buf) == 0 && !done && (len(batch) == 0 || time.Since(s.sent) >= s.ping) {
		buf = append(buf, ": ping\n\n"...)
	}
	return done, s.flush(buf)
}

// flush sends what there is.
func (s *stream) flush(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return s.send(b)
}

// send writes and flushes within the deadline.
func (s *stream) send(b []byte) error {
	s.sent = time.Now()
	err := s.extend()
	if err == nil {
		_, err = s.w.Write(b)
	}
	if err == nil {
		err = s.rc.Flush()
	}
	if err == nil && s.reset {
		err = s.rc.SetWriteDeadline(time.Time{})
	}
	if err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	return nil
}

// extend sets the deadline of a write that begins now. One that has been set a
// moment ago is left to stand: setting it costs as much as a small event.
func (s *stream) extend() error {
	if !s.reset && s.sent.Sub(s.extended) < min(s.write/2, time.Second) {
		return nil
	}
	s.extended = s.sent
	return s.rc.SetWriteDeadline(s.sent.Add(s.write))
}

// AppendFrame begins an event of a stream; its data, one line of JSON, and then
// FrameEnd are to be appended.
func AppendFrame(dst []byte, id int64, event string) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, "\nevent: "...)
	dst = append(dst, event...)
	return append(dst, "\ndata: "...)
}

// FrameEnd ends an event of a stream.
const FrameEnd = "\n\n"
