package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// Reading says how a follower reads. A follower of a load is as lazy as it may
// be: what it costs is taken from the nodes, which share its cores.
type Reading struct {
	Every time.Duration             // read only so often; 0: at once
	Age   func(int64) time.Duration // with it, every chunk's age and number are looked at
}

// End is how a stream ended.
type End struct {
	At        time.Time
	Event     string // the terminal event, empty if the stream broke
	Cancelled bool   // it says that the turn was stopped
	Kept      int64  // chunks in the answer that it carries
	Last      int64  // number of the last of them
	Err       error  // nil after a terminal event
}

// Follower reads the stream of one turn.
type Follower struct {
	Conversation, Run string

	how    Reading
	deltas atomic.Int64
	first  chan time.Time // gets the moment of the first text
	done   chan struct{}

	idle bool // between deltas: there is time to be lazy

	// To be read after done only.
	ages []time.Duration
	gaps int64 // chunks that are missing before one that came
	seq  int64
	end  End
}

func newFollower(how Reading) *Follower {
	return &Follower{how: how, first: make(chan time.Time, 1), done: make(chan struct{})}
}

// Deltas is how many pieces of text have come.
func (f *Follower) Deltas() int64 { return f.deltas.Load() }

// First gets the moment of the first text.
func (f *Follower) First() <-chan time.Time { return f.first }

// Done is closed when the stream has ended.
func (f *Follower) Done() <-chan struct{} { return f.done }

// End is how the stream ended. It may be called after Done.
func (f *Follower) End() End { return f.end }

const (
	deltaEvent   = "response.output_text.delta"
	createdEvent = "response.created"
)

var terminalEvents = map[string]bool{"response.completed": true, "response.incomplete": true, "response.failed": true}

// follow reads the first event and then goes on in a goroutine that ends with
// the stream.
func (f *Follower) follow(body io.ReadCloser) error {
	r := bufio.NewReaderSize(body, 4<<10)
	event, data, err := f.event(r, true)
	if err == nil && event != createdEvent {
		err = fmt.Errorf("the stream begins with %q", event)
	}
	var created struct {
		Response struct {
			Conversation string `json:"conversation_id"`
			Run          string `json:"run_id"`
		}
	}
	if err == nil {
		err = json.Unmarshal(data, &created)
	}
	if err != nil {
		body.Close()
		return err
	}
	f.Conversation, f.Run = created.Response.Conversation, created.Response.Run
	go func() {
		defer close(f.done)
		defer body.Close()
		f.end = f.read(r)
		_, _ = io.Copy(io.Discard, io.LimitReader(body, 4<<10)) // so that the connection can be used again
	}()
	return nil
}

// read reads until the terminal event.
func (f *Follower) read(r *bufio.Reader) End {
	for {
		event, data, err := f.event(r, f.how.Age != nil)
		switch {
		case err != nil:
			return End{At: time.Now(), Err: err}
		case event == deltaEvent:
			if f.deltas.Add(1) == 1 {
				f.first <- time.Now()
			}
			if f.how.Age != nil {
				f.look(data)
			}
		case terminalEvents[event]:
			return terminal(event, data)
		}
	}
}

func terminal(event string, data []byte) End {
	e := End{At: time.Now(), Event: event, Cancelled: bytes.Contains(data, []byte(`"stop_reason":"cancelled"`))}
	e.Kept = int64(bytes.Count(data, []byte("@")))
	number, _, _ := bytes.Cut(data[bytes.LastIndexByte(data, '@')+1:], []byte(":"))
	if n, err := strconv.ParseInt(string(number), 10, 64); err == nil && e.Kept > 0 {
		e.Last = n
	}
	return e
}

// event reads the next event. Its data is kept only if it is wanted or ends the
// stream: the rest of an event is passed over unread. Data is good until the
// next call.
func (f *Follower) event(r *bufio.Reader, data bool) (event string, _ []byte, err error) {
	for {
		if f.idle && event == "" && r.Buffered() == 0 {
			time.Sleep(f.how.Every)
		}
		line, err := r.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !long {
			return "", nil, err
		}
		switch {
		case bytes.HasPrefix(line, []byte("event: ")):
			event = known(bytes.TrimSpace(line[len("event: "):]))
			f.idle = event == deltaEvent && f.how.Every > 0
			if !data && event == deltaEvent {
				return event, nil, nil
			}
		case event != "" && bytes.HasPrefix(line, []byte("data: ")):
			text := line[len("data: "):]
			if long {
				text, err = rest(r, text)
			}
			return event, text, err
		case long:
			if _, err := rest(r, nil); err != nil {
				return "", nil, err
			}
		}
	}
}

// known returns a name without making a string of the ones that come often.
func known(name []byte) string {
	if string(name) == deltaEvent {
		return deltaEvent
	}
	return string(name)
}

// rest reads a line to its end, after what was read of it.
func rest(r *bufio.Reader, begun []byte) ([]byte, error) {
	all := append([]byte(nil), begun...)
	for {
		more, err := r.ReadSlice('\n')
		all = append(all, more...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return all, err
		}
	}
}

// look reads a chunk's number and the time of its sending.
func (f *Follower) look(data []byte) {
	_, chunk, ok := bytes.Cut(data, []byte(`"delta":"@`))
	number, stamp, ok2 := bytes.Cut(chunk, []byte(":"))
	i := bytes.IndexByte(stamp, ' ')
	if !ok || !ok2 || i < 0 {
		f.gaps++ // not a chunk of ours: as good as lost
		return
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	at, err2 := strconv.ParseInt(string(stamp[:i]), 10, 64)
	if err != nil || err2 != nil || n != f.seq+1 {
		f.gaps++
	}
	f.seq = n
	f.ages = append(f.ages, f.how.Age(at))
}
