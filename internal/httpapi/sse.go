package httpapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

const (
	burst     = 16 << 10 // bytes that are joined in one write at most, but for one event that is larger
	ahead     = 32       // events that are read ahead of the writer
	maxPooled = 64 << 10 // larger buffers are not kept
)

// Streams writes event streams. The zero value has the defaults.
//
// A stream holds what its client has not taken in a bounded buffer; when that is
// full, the source is not read on. A client that takes nothing for Write is cut
// off, and resumes where it was.
type Streams struct {
	Ping  time.Duration // a comment after so long a silence, default 15 seconds
	Write time.Duration // for each write, default 15 seconds
}

// Render appends what a stream says about an event to dst: whole frames, or
// nothing. done ends the stream after it.
type Render func(dst []byte, e agent.Event) (out []byte, done bool, err error)

// Source makes the events of a stream; they end with ctx.
type Source func(ctx context.Context) iter.Seq2[agent.Event, error]

// Serve streams until render says done, the client goes or the source fails. It
// returns once the source has returned. The client's going is no error; an error
// means that the stream ended too early, and the connection must be cut.
func (s Streams) Serve(w http.ResponseWriter, r *http.Request, source Source, render Render) error {
	out := &stream{w: w, rc: http.NewResponseController(w), ping: orDefault(s.Ping), write: orDefault(s.Write)}
	if err := out.open(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	events := make(chan arrival, ahead)
	var wg sync.WaitGroup
	wg.Go(func() { pump(ctx, source, events) })
	defer wg.Wait()
	defer cancel()
	err := out.run(ctx, events, render)
	if r.Context().Err() != nil {
		return nil
	}
	return err
}

func orDefault(d time.Duration) time.Duration {
	if d <= 0 {
		return 15 * time.Second
	}
	return d
}

// arrival is an event of the source, or its error.
type arrival struct {
	event agent.Event
	err   error
}

// pump reads the source into events until ctx ends, and closes events.
func pump(ctx context.Context, source Source, events chan<- arrival) {
	defer close(events)
	send := func(a arrival) bool {
		select {
		case events <- a:
			return true
		case <-ctx.Done():
			return false
		}
	}
	defer func() {
		if p := recover(); p != nil {
			send(arrival{err: fmt.Errorf("panic in a stream's source: %v\n%s", p, debug.Stack())})
		}
	}()
	for e, err := range source(ctx) {
		if !send(arrival{e, err}) || err != nil {
			return
		}
	}
}

// stream is one open event stream.
type stream struct {
	w           http.ResponseWriter
	rc          *http.ResponseController
	ping, write time.Duration
}

// open sends the headers at once, so that the client knows that it is served.
func (s *stream) open() error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(s.write)); err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	return s.send([]byte(":\n\n"))
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

func (s *stream) run(ctx context.Context, events <-chan arrival, render Render) error {
	ping := time.NewTicker(s.ping)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ping.C:
			if err := s.send([]byte(": ping\n\n")); err != nil {
				return err
			}
		case a, ok := <-events:
			if !ok {
				return errEnded
			}
			ping.Reset(s.ping)
			if done, err := s.relay(a, events, render); done || err != nil {
				return err
			}
		}
	}
}

// errEnded: a source ends with an error or not at all.
var errEnded = errors.New("event stream: the source ended without a word")

// relay sends an event, and in the same write those that are there already.
func (s *stream) relay(a arrival, events <-chan arrival, render Render) (done bool, err error) {
	p := buffers.Get().(*[]byte)
	buf := (*p)[:0]
	defer func() {
		if cap(buf) <= maxPooled {
			*p = buf
			buffers.Put(p)
		}
	}()
	for more := true; more && !done && err == nil; {
		if err = a.err; err == nil {
			buf, done, err = render(buf, a.event)
		}
		if more = len(buf) < burst; more {
			select {
			case a, more = <-events:
			default:
				more = false
			}
		}
	}
	if len(buf) > 0 {
		if werr := s.send(buf); werr != nil {
			return done, werr
		}
	}
	return done, err
}

// send writes and flushes within the deadline.
func (s *stream) send(b []byte) error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(s.write)); err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	if _, err := s.w.Write(b); err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	if err := s.rc.Flush(); err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	return nil
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
