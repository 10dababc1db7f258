package openaitest

import (
	"encoding/json"
	"maps"
	"net/http"
	"time"
)

// Reply is what a request is answered: its steps, one after the other. A reply
// without a step that ends it is ended as a provider would: with a finish reason
// (tool_calls if it called, stop otherwise), the usage if it was asked for, and
// [DONE]. When the client is gone no further step is begun.
type Reply []Step

// Step is a part of a Reply.
type Step struct {
	run func(*stream) error
}

// Text sends each chunk of the answer's text as an event, pausing for delay
// before each but the first of the response.
func Text(delay time.Duration, chunks ...string) Step {
	return Step{func(s *stream) error { return s.each(delay, chunks, "content") }}
}

// Reasoning is Text for the shown reasoning (reasoning_content).
func Reasoning(delay time.Duration, chunks ...string) Step {
	return Step{func(s *stream) error { return s.each(delay, chunks, "reasoning_content") }}
}

// Call asks for a tool: an event with id and name, then one for each fragment
// of the arguments. An empty id sends none.
func Call(id, name string, fragments ...string) Step {
	return Step{func(s *stream) error { return s.call(id, name, fragments) }}
}

// Usage sets the counts of tokens that are sent at the end, instead of counted
// words, if the request asks for them.
func Usage(input, cached, output, reasoning int) Step {
	return Step{func(s *stream) error {
		s.usage = newUsage(input, cached, output, reasoning)
		return nil
	}}
}

// NoUsage sends no counts although the request asks for them.
func NoUsage() Step {
	return Step{func(s *stream) error { s.noUsage = true; return nil }}
}

// Finish sends the finish reason. Steps may follow.
func Finish(reason string) Step {
	return Step{func(s *stream) error { return s.finish(reason) }}
}

// Pause waits.
func Pause(d time.Duration) Step {
	return Step{func(s *stream) error { return s.sleep(d) }}
}

// Hold waits until release is closed.
func Hold(release <-chan struct{}) Step {
	return Step{func(s *stream) error {
		if err := s.flush(); err != nil {
			return err
		}
		select {
		case <-release:
			return nil
		case <-s.ctx.Done():
			return errGone
		}
	}}
}

// HangBeforeHeaders waits for the client to give up, sending nothing. It stands
// first.
func HangBeforeHeaders() Step {
	return Step{func(s *stream) error {
		<-s.ctx.Done()
		return errGone
	}}
}

// SilentForever sends the headers, if they are not sent, and waits for the
// client to give up.
func SilentForever() Step {
	return Step{func(s *stream) error {
		if err := s.flush(); err != nil {
			return err
		}
		<-s.ctx.Done()
		return errGone
	}}
}

// Comments sends n comment lines, with delay before each: what a provider keeps
// a connection alive with.
func Comments(n int, delay time.Duration) Step {
	return Step{func(s *stream) error {
		for range n {
			if err := s.sleep(delay); err != nil {
				return err
			}
			if err := s.write([]byte(": keep-alive\n\n")); err != nil {
				return err
			}
		}
		return nil
	}}
}

// Status answers with an HTTP status, headers and a body instead of a stream.
// An empty body becomes an error document. It stands first and ends the reply.
func Status(code int, header http.Header, body string) Step {
	return Step{func(s *stream) error {
		maps.Copy(s.w.Header(), header)
		if body == "" {
			return s.ended(writeError(s.w, code, apiError{http.StatusText(code), errorType(code), nil, nil}))
		}
		s.w.WriteHeader(code)
		_, err := s.w.Write([]byte(body))
		return s.ended(err)
	}}
}

// CutConnection sends the first half of an event and cuts the connection.
func CutConnection() Step {
	return Step{func(s *stream) error {
		if err := s.write([]byte(`data: {"id":"cut","choices":[{"index":0,"delta":{"content":"hal`)); err != nil {
			return err
		}
		return s.cut()
	}}
}

// Malformed sends an event that is not JSON.
func Malformed() Step { return Raw("data: {\"choices\":[{\"delta\":{\"content\":\"x}\n\n") }

// InvalidUTF8 sends an event whose text has bytes between a and z that are not
// UTF-8.
func InvalidUTF8() Step {
	return Raw("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xff\xfe\xc3(z\"}}]}\n\n")
}

// Raw sends bytes as they are.
func Raw(data string) Step {
	return Step{func(s *stream) error { return s.write([]byte(data)) }}
}

// StreamError sends an error document as an event, as providers do that fail
// after they began, and ends the response.
func StreamError(code, message string) Step {
	return Step{func(s *stream) error {
		doc, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": code, "code": code}})
		if err != nil {
			return err
		}
		return s.ended(s.write([]byte("data: " + string(doc) + "\n\n")))
	}}
}

// End ends the response as it is, without finish reason, usage or [DONE].
func End() Step { return Step{func(s *stream) error { return s.ended(s.flush()) }} }

// Done sends [DONE] and ends the response, without finish reason or usage
// unless they were sent before.
func Done() Step {
	return Step{func(s *stream) error { return s.ended(s.write([]byte(doneEvent))) }}
}

// Before makes a step that calls f, for a test to do something at a place of
// the answer.
func Before(f func()) Step {
	return Step{func(s *stream) error { f(); return nil }}
}
