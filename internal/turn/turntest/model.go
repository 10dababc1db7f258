package turntest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
)

// Model is a scripted turn.Model, as strict as the strictest provider: a request
// whose history is not valid is refused with status 400, and fails the test. It
// answers its n-th request with the n-th Reply.
type Model struct {
	tb testing.TB

	mu      sync.Mutex
	replies [][]Step
	always  []Step
	calls   []*ModelCall
}

var _ turn.Model = (*Model)(nil)

// ModelCall is one request that a Model got and what became of it.
type ModelCall struct {
	Request agent.Request
	Begun   time.Time
	Ended   time.Time // zero: the stream is open, as a provider's connection would be
	Yielded int       // deltas given to the caller
	Err     error     // what the stream ended with
	Aborted bool      // the context ended, or the caller broke off, before the script's end
}

// NewModel returns a model without a script: any request fails the test.
func NewModel(tb testing.TB) *Model { return &Model{tb: tb} }

// Reply adds the answer to the next request and returns the model.
func (m *Model) Reply(steps ...Step) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies = append(m.replies, steps)
	return m
}

// Always sets the answer to all requests that have no Reply and returns the model.
func (m *Model) Always(steps ...Step) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.always = steps
	return m
}

// Calls returns a copy of the account of all requests so far, oldest first.
func (m *Model) Calls() []ModelCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]ModelCall, len(m.calls))
	for i, c := range m.calls {
		out[i] = *c
	}
	return out
}

// Open returns how many streams have not ended.
func (m *Model) Open() int {
	n := 0
	for _, c := range m.Calls() {
		if c.Ended.IsZero() {
			n++
		}
	}
	return n
}

// Stream implements turn.Model.
func (m *Model) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		c, steps, err := m.begin(req)
		if err == nil {
			err = m.play(ctx, c, steps, yield)
		}
		broken := err == errBroken
		m.end(c, err, broken || ctx.Err() != nil)
		if err != nil && !broken {
			yield(agent.Delta{}, err)
		}
	}
}

// begin records a request and finds its answer.
func (m *Model) begin(req agent.Request) (*ModelCall, []Step, error) {
	req.Prompts = slices.Clone(req.Prompts)
	c := &ModelCall{Request: req, Begun: time.Now()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
	if err := CheckHistory(req); err != nil {
		m.tb.Errorf("model request %d: %v", len(m.calls), err)
		return c, nil, &agent.ModelError{Code: agent.CodeModelError, Message: "The provider refused the request.", Status: 400, Err: err}
	}
	steps := m.always
	switch {
	case len(m.replies) > 0:
		steps, m.replies = m.replies[0], m.replies[1:]
	case steps == nil:
		m.tb.Errorf("model request %d: the script has no answer to it", len(m.calls))
		return c, nil, &agent.ModelError{Code: agent.CodeModelError, Message: "No answer is scripted.", Status: 500}
	}
	return c, steps, nil
}

func (m *Model) end(c *ModelCall, err error, aborted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.Ended, c.Err, c.Aborted = time.Now(), err, aborted
}

// errBroken: the caller broke out of the stream.
var errBroken = fmt.Errorf("the caller broke off")

func (m *Model) play(ctx context.Context, c *ModelCall, steps []Step, yield func(agent.Delta, error) bool) error {
	for _, s := range steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s.wait != nil {
			if err := s.wait(ctx); err != nil {
				return err
			}
			continue
		}
		m.mu.Lock()
		c.Yielded++
		m.mu.Unlock()
		if !yield(s.delta, nil) {
			return errBroken
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// CountTokens implements turn.Model: four bytes are a token.
func (m *Model) CountTokens(req agent.Request, output string) agent.Tokens {
	n := 0
	for _, p := range req.Prompts {
		n += len(p.Text)
	}
	return agent.Tokens{Input: int64(n+3) / 4, Output: estimate(output), Estimated: true}
}

// Step is one step of a scripted answer.
type Step struct {
	delta agent.Delta
	wait  func(context.Context) error // instead of a delta
}

// Text streams a piece of the answer.
func Text(s string) Step { return Step{delta: agent.Delta{Text: s}} }

// Reasoning streams a piece of shown reasoning.
func Reasoning(s string) Step { return Step{delta: agent.Delta{Reasoning: s}} }

// Call asks for a tool; arguments are JSON.
func Call(id, name, arguments string) Step {
	return Step{delta: agent.Delta{Call: &agent.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}}
}

// Used gives the provider's count of tokens.
func Used(input, output int64) Step {
	return Step{delta: agent.Delta{Usage: &agent.Tokens{Input: input, Output: output}}}
}

// Finish says why the model ended.
func Finish(f agent.Finish) Step { return Step{delta: agent.Delta{Finish: f}} }

// Pause is silent for d.
func Pause(d time.Duration) Step {
	return Step{wait: func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		}
	}}
}

// Fail ends the stream with an error, which should be an *agent.ModelError.
func Fail(err error) Step { return Step{wait: func(context.Context) error { return err }} }

// Block is silent until the context ends.
func Block() Step {
	return Step{wait: func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}}
}

// Until is silent until ch is closed or has a value, or the context ends.
func Until(ch <-chan struct{}) Step {
	return Step{wait: func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ch:
			return nil
		}
	}}
}

// Do calls f between two pieces of the answer.
func Do(f func()) Step {
	return Step{wait: func(context.Context) error {
		f()
		return nil
	}}
}

// Answer is the usual end of a reply: text, figures and FinishStop.
func Answer(text string) []Step {
	return []Step{Text(text), Used(10, estimate(text)), Finish(agent.FinishStop)}
}
