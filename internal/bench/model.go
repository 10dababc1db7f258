package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Model is a provider of chat completions that costs next to nothing, because it
// shares its cores with what is measured: all its streams are written by one
// goroutine, Run, instead of one timer each. It answers the calls that were
// announced by Call and refuses others.
//
// Every chunk's text is "@SEQUENCE:TIME " with the time of its sending on this
// process's clock, so that whoever reads it knows how old it is and whether one
// is missing.
type Model struct {
	epoch time.Time
	pacer pacer
	sent  atomic.Int64

	mu    sync.Mutex
	calls map[string]*Call
	next  int
}

// NewModel returns a model that streams so many chunks per second in each call.
func NewModel(perSecond int) *Model {
	m := &Model{epoch: time.Now(), calls: make(map[string]*Call)}
	m.pacer.interval = time.Second / time.Duration(max(perSecond, 1))
	m.pacer.slots = make([][]*Call, max(int(m.pacer.interval/time.Millisecond), 1))
	return m
}

const promptMark = "belay-bench "

// Call announces a call: the one whose last user message is its Prompt. It is
// answered with so many chunks, 0 for as many as there are until Finish.
func (m *Model) Call(chunks int) *Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	c := &Call{
		Prompt: promptMark + strconv.Itoa(m.next), model: m, limit: chunks,
		closed: make(chan time.Time, 1), called: make(chan struct{}), over: make(chan struct{}),
		head: fmt.Appendf(nil, `data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{"index":0,"delta":{"content":"`, m.next),
	}
	m.calls[c.Prompt] = c
	return c
}

// Sent is how many chunks were sent in all.
func (m *Model) Sent() int64 { return m.sent.Load() }

// age is how long ago a chunk was sent that is stamped so.
func (m *Model) age(stamp int64) time.Duration { return time.Since(m.epoch) - time.Duration(stamp) }

// ServeHTTP implements http.Handler.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := m.take(r)
	if err != nil {
		http.Error(w, `{"error":{"message":"`+err.Error()+`","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	c.begin(w)
	select {
	case <-r.Context().Done(): // the server reads ahead: FIN or RST has come
		c.closed <- time.Now()
	case <-c.over:
	}
	c.leave()
}

var errUnknownCall = errors.New("no such call was announced")

// take finds the call that a request is and takes it from those announced.
func (m *Model) take(r *http.Request) (*Call, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var req struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &req); err != nil || len(req.Messages) == 0 {
		return nil, errUnknownCall
	}
	var text string
	if json.Unmarshal(req.Messages[len(req.Messages)-1].Content, &text) != nil {
		return nil, errUnknownCall
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[strings.TrimSpace(text)]
	if c == nil {
		return nil, errUnknownCall
	}
	delete(m.calls, c.Prompt)
	return c, nil
}

// Call is one call of a Model.
type Call struct {
	Prompt string

	model  *Model
	limit  int
	closed chan time.Time
	called chan struct{} // closed when it was made
	over   chan struct{} // closed when the answer was sent to its end
	head   []byte
	sent   atomic.Int64

	beganAt, endedAt time.Time // written before called and over are closed

	mu     sync.Mutex // held while w is used
	w      http.ResponseWriter
	flush  *http.ResponseController
	gone   bool // w must not be used any more
	ending bool
	buf    []byte
}

// Sent is how many chunks were sent.
func (c *Call) Sent() int64 { return c.sent.Load() }

// Closed gets the moment at which the caller's end of the connection was seen
// to close before the answer's end.
func (c *Call) Closed() <-chan time.Time { return c.closed }

// Called is closed when the call was made.
func (c *Call) Called() <-chan struct{} { return c.called }

// Over is closed when the call was answered to its end.
func (c *Call) Over() <-chan struct{} { return c.over }

// Finish ends the answer after the chunk that is sent next.
func (c *Call) Finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
}

// begin sends the first chunk at once and leaves the rest to the pacer.
func (c *Call) begin(w http.ResponseWriter) {
	c.mu.Lock()
	c.w, c.flush, c.beganAt = w, http.NewResponseController(w), time.Now()
	c.mu.Unlock()
	close(c.called)
	if c.write() {
		c.model.pacer.add(c)
	}
}

// leave returns once nobody writes any more.
func (c *Call) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
}

const tail = `"},"finish_reason":null}]}` + "\n\n"

// write sends a chunk, and after the last one the end. It reports whether there
// is more to send.
func (c *Call) write() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return false
	}
	n := c.sent.Load() + 1
	b := append(c.buf[:0], c.head...)
	b = append(b, '@')
	b = strconv.AppendInt(b, n, 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(time.Since(c.model.epoch)), 10)
	b = append(b, ' ')
	b = append(b, tail...)
	last := c.ending || c.limit > 0 && n >= int64(c.limit)
	if last {
		b = fmt.Appendf(b, `data: {"id":"end","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"end","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[],"usage":{"prompt_tokens":4,"completion_tokens":%d,"total_tokens":%d}}

data: [DONE]

`, 8*n, 8*n+4)
	}
	c.buf = b
	if _, err := c.w.Write(b); err != nil || c.flush.Flush() != nil {
		c.gone = true // the handler sees the connection's end by itself
		return false
	}
	c.sent.Store(n)
	c.model.sent.Add(1)
	if last {
		c.gone, c.endedAt = true, time.Now()
		close(c.over)
	}
	return !last
}
