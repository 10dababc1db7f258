package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

// Bounds of the tool calls of one answer.
const (
	maxCalls     = 128
	maxArguments = 16 << 20 // bytes, all calls together
)

// answer turns the chunks of one stream into deltas.
type answer struct {
	yield           func(agent.Delta, error) bool
	chunk           chunk
	text, reasoning seam
	calls           []*partCall
	argBytes        int
	usage           *agent.Tokens
	finish          string // the provider's word, empty until it came
}

// partCall is a tool call of which not all may have arrived.
type partCall struct {
	index    int
	id, name string
	args     []byte
	seam     seam
}

// take reads one chunk and yields what it completes.
func (a *answer) take(data []byte) error {
	if err := a.chunk.decode(data); err != nil {
		return &agent.ModelError{
			Code: agent.CodeModelError, Message: "the model's answer could not be read",
			Err: fmt.Errorf("chunk %.256q: %w", data, err),
		}
	}
	if e := a.chunk.Error; len(e) > 0 && string(e) != "null" {
		return streamError(e)
	}
	if a.chunk.Usage != nil {
		a.usage = a.chunk.Usage.tokens()
	}
	for i := range a.chunk.Choices {
		if c := &a.chunk.Choices[i]; c.Index == 0 {
			if err := a.choice(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *answer) choice(c *choice) error {
	d := &c.Delta
	for _, p := range [...]piece{d.ReasoningContent, d.Reasoning} {
		if err := a.give(agent.Delta{Reasoning: a.reasoning.join(p)}); err != nil {
			return err
		}
		if p != (piece{}) {
			break // a provider that sends both names sends the same twice
		}
	}
	for _, p := range [...]piece{d.Content, d.Refusal} {
		if err := a.give(agent.Delta{Text: a.text.join(p)}); err != nil {
			return err
		}
	}
	for i := range d.ToolCalls {
		if err := a.fragment(&d.ToolCalls[i]); err != nil {
			return err
		}
	}
	if c.FinishReason == "" || a.finish != "" {
		return nil
	}
	a.finish = c.FinishReason
	return a.close()
}

// give yields a delta unless it says nothing.
func (a *answer) give(d agent.Delta) error {
	if d == (agent.Delta{}) || a.yield(d, nil) {
		return nil
	}
	return errLeft
}

// fragment adds to the call of its index. Servers that give no index, or the
// same to all, give each call its own id.
func (a *answer) fragment(f *fragment) error {
	index := len(a.calls) - 1
	if f.Index != nil {
		index = *f.Index
	} else if len(a.calls) > 0 {
		index = a.calls[len(a.calls)-1].index
	}
	call := a.open(index, f.ID)
	if call == nil {
		if len(a.calls) == maxCalls {
			return badCall(fmt.Errorf("more than %d calls", maxCalls))
		}
		call = &partCall{index: index}
		a.calls = append(a.calls, call)
	}
	call.id = cmp.Or(call.id, f.ID)
	call.name = cmp.Or(call.name, f.Function.Name)
	args := call.seam.join(f.Function.Arguments)
	call.args = append(call.args, args...)
	if a.argBytes += len(args); a.argBytes > maxArguments {
		return badCall(fmt.Errorf("more than %d bytes of arguments", maxArguments))
	}
	return nil
}

// open returns the call that a fragment of this index and id continues, nil if
// it begins one.
func (a *answer) open(index int, id string) *partCall {
	for _, c := range slices.Backward(a.calls) {
		if c.index == index {
			if id != "" && c.id != "" && id != c.id {
				return nil
			}
			return c
		}
	}
	return nil
}

// close yields what the end of the answer completes: the calls. Calls of an
// answer that was cut off by a limit or a filter count only as far as they are
// certainly whole.
func (a *answer) close() error {
	if err := a.give(agent.Delta{Reasoning: a.reasoning.rest()}); err != nil {
		return err
	}
	if err := a.give(agent.Delta{Text: a.text.rest()}); err != nil {
		return err
	}
	cut := a.finish == string(agent.FinishLength) || a.finish == string(agent.FinishFilter)
	whole := a.calls[:0:0]
	for _, c := range a.calls {
		c.args = bytes.TrimSpace(append(c.args, c.seam.rest()...))
		if cut && (len(c.args) == 0 || c.check() != nil) {
			continue
		}
		if err := c.check(); err != nil {
			return badCall(err)
		}
		whole = append(whole, c)
	}
	a.calls = whole
	return a.giveCalls()
}

func (a *answer) giveCalls() error {
	ids := make(map[string]bool, len(a.calls))
	for _, c := range a.calls {
		if c.id == "" || ids[c.id] {
			c.id = "call_" + agent.NewID()
		}
		ids[c.id] = true
		call := &agent.Call{ID: c.id, Name: c.name, Arguments: c.args}
		if err := a.give(agent.Delta{Call: call}); err != nil {
			return err
		}
	}
	return nil
}

// check completes a call without arguments and says what is wrong with it.
func (c *partCall) check() error {
	if len(c.args) == 0 {
		c.args = []byte("{}")
	}
	switch {
	case c.name == "":
		return errors.New("a call without a name")
	case !json.Valid(c.args):
		return fmt.Errorf("%w: call of %q: %.256q", errArguments, c.name, c.args)
	}
	return nil
}

// end yields the figures and the finish. A stream may say [DONE] without a
// finish reason; then the answer ends here.
func (a *answer) end() error {
	if a.finish == "" {
		a.finish = string(agent.FinishStop)
		if err := a.close(); err != nil {
			return err
		}
	}
	if err := a.give(agent.Delta{Usage: a.usage}); err != nil {
		return err
	}
	return a.give(agent.Delta{Finish: a.reason()})
}

// reason translates. Some servers end an answer that asks for tools with stop.
func (a *answer) reason() agent.Finish {
	switch f := agent.Finish(a.finish); {
	case f == agent.FinishLength, f == agent.FinishFilter:
		return f
	case len(a.calls) > 0:
		return agent.FinishCalls
	}
	return agent.FinishStop
}
