package openaitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const doneEvent = "data: [DONE]\n\n"

var (
	errGone = errors.New("the client is gone")
	errEnd  = errors.New("the reply has ended")
)

// stream is one answer as it is sent. A request that did not ask for a stream
// gets its events collected and sent as one document.
type stream struct {
	w       http.ResponseWriter
	flusher *http.ResponseController
	ctx     context.Context
	rec     *record
	req     Request
	timer   *time.Timer
	buf     *[]byte

	head, tail string // around the JSON string of a text event
	field      string // which head is for

	collect   *collected // nil: streamed
	open      bool       // headers are sent
	calls     int
	words     int
	usage     *wireUsage
	noUsage   bool
	finishing string
}

// collected is an answer that is sent in one piece.
type collected struct {
	text, reasoning strings.Builder
	calls           []map[string]any
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

func newStream(w http.ResponseWriter, ctx context.Context, rec *record, req Request) *stream {
	s := &stream{w: w, flusher: http.NewResponseController(w), ctx: ctx, rec: rec, req: req, buf: buffers.Get().(*[]byte)}
	if !req.Stream {
		s.collect = new(collected)
	}
	return s
}

func (s *stream) free() {
	if s.timer != nil {
		s.timer.Stop()
	}
	if cap(*s.buf) <= 64<<10 {
		buffers.Put(s.buf)
	}
	s.buf = nil
}

// run takes the steps and then ends the answer, unless a step did.
func (s *stream) run(reply Reply) {
	for _, step := range reply {
		if s.ctx.Err() != nil {
			return
		}
		if err := step.run(s); err != nil {
			return
		}
	}
	s.ended(s.close())
}

// ended notes that the answer is complete, if err is nil.
func (s *stream) ended(err error) error {
	s.rec.whole.Store(err == nil)
	return errEnd
}

// sleep waits with what was sent on its way to the client.
func (s *stream) sleep(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if s.timer == nil {
		s.timer = time.NewTimer(d)
	} else {
		s.timer.Reset(d)
	}
	select {
	case <-s.timer.C:
		return nil
	case <-s.ctx.Done():
		return errGone
	}
}

// begin sends the headers.
func (s *stream) begin() {
	if s.open || s.collect != nil {
		return
	}
	s.open = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) write(event []byte) error {
	s.begin()
	s.rec.chunks.Add(1)
	if s.collect != nil {
		return nil
	}
	if _, err := s.w.Write(event); err != nil {
		return errGone
	}
	return s.flush()
}

func (s *stream) flush() error {
	if s.begin(); s.collect == nil && s.flusher.Flush() != nil {
		return errGone
	}
	return nil
}

func (s *stream) each(delay time.Duration, chunks []string, field string) error {
	for _, c := range chunks {
		if s.open || s.words > 0 {
			if err := s.sleep(delay); err != nil {
				return err
			}
		}
		if err := s.piece(field, c); err != nil {
			return err
		}
	}
	return nil
}

// piece sends a text event. All but the text of it is made once per answer.
func (s *stream) piece(field, text string) error {
	s.words++
	if s.collect != nil {
		s.collect.add(field, text)
		return s.write(nil)
	}
	if s.field != field {
		s.field = field
		s.head = s.chunkHead() + `"choices":[{"index":0,"delta":{"` + field + `":`
		s.tail = `},"finish_reason":null}]}` + "\n\n"
	}
	b := append((*s.buf)[:0], s.head...)
	b = appendString(b, text)
	b = append(b, s.tail...)
	*s.buf = b
	return s.write(b)
}

func (c *collected) add(field, text string) {
	if field == "content" {
		c.text.WriteString(text)
	} else {
		c.reasoning.WriteString(text)
	}
}

// chunkHead is the beginning of every event of this answer.
func (s *stream) chunkHead() string {
	return fmt.Sprintf(`data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":%d,"model":%s,`,
		s.req.N, s.req.ArrivedAt.Unix(), appendString(nil, s.req.Model))
}

// appendString appends a JSON string. Plain text, most of all there is, takes
// the short way.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			q, _ := json.Marshal(s) // a string always marshals
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// event sends an event with these choices and usage.
func (s *stream) event(choices, usage string) error {
	b := append((*s.buf)[:0], s.chunkHead()...)
	b = append(b, `"choices":`...)
	b = append(b, choices...)
	b = append(b, usage...)
	b = append(b, "}\n\n"...)
	*s.buf = b
	return s.write(b)
}

func (s *stream) delta(delta string) error {
	return s.event(`[{"index":0,"delta":`+delta+`,"finish_reason":null}]`, "")
}

func (s *stream) call(id, name string, fragments []string) error {
	index := strconv.Itoa(s.calls)
	s.calls++
	if s.collect != nil {
		s.collect.calls = append(s.collect.calls, map[string]any{"id": id, "type": "function",
			"function": map[string]any{"name": name, "arguments": strings.Join(fragments, "")}})
		return s.write(nil)
	}
	var withID string
	if id != "" {
		withID = `"id":` + string(appendString(nil, id)) + `,`
	}
	err := s.delta(`{"tool_calls":[{"index":` + index + `,` + withID + `"type":"function","function":{"name":` +
		string(appendString(nil, name)) + `,"arguments":""}}]}`)
	for _, f := range fragments {
		if err != nil {
			return err
		}
		s.words++
		err = s.delta(`{"tool_calls":[{"index":` + index + `,"function":{"arguments":` + string(appendString(nil, f)) + `}}]}`)
	}
	return err
}

func (s *stream) finish(reason string) error {
	s.finishing = reason
	if s.collect != nil {
		return nil
	}
	return s.event(`[{"index":0,"delta":{},"finish_reason":`+string(appendString(nil, reason))+`}]`, "")
}

// close ends an answer as a provider does.
func (s *stream) close() error {
	if s.finishing == "" {
		reason := "stop"
		if s.calls > 0 {
			reason = "tool_calls"
		}
		if err := s.finish(reason); err != nil {
			return err
		}
	}
	if s.usage == nil {
		s.usage = newUsage(s.req.promptTokens(), 0, max(s.words, 1), 0)
	}
	if s.collect != nil {
		return s.document()
	}
	if s.req.IncludeUsage && !s.noUsage {
		u, err := json.Marshal(s.usage)
		if err != nil {
			return err
		}
		if err := s.event(`[]`, `,"usage":`+string(u)); err != nil {
			return err
		}
	}
	return s.write([]byte(doneEvent))
}

// cut closes the connection under the response.
func (s *stream) cut() error {
	conn, _, err := s.flusher.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2 resets the stream
	}
	conn.Close()
	return errEnd
}
