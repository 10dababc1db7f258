// Package tool makes the tools that agents are given: a typed Go function is
// one, and a toolbox holds those that an agent's configuration names.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/belayrun/belay/internal/agent"
)

// Option changes a tool that New makes.
type Option func(*agent.Tool)

// NotAbortable marks a tool that must not be interrupted: after a stop it runs
// on to its timeout and its result is dropped.
func NotAbortable() Option { return func(t *agent.Tool) { t.Abortable = false } }

// Timeout bounds one call; the default is agent.DefaultToolTimeout.
func Timeout(d time.Duration) Option { return func(t *agent.Tool) { t.Timeout = d } }

// New makes a tool of a function. The schema of its arguments is that of In, a
// struct with json and jsonschema tags; arguments that do not match it are an
// error that the model reads, and f is not called. A string is answered as it
// is, any other Out as JSON. New panics on a name that no model would accept or
// an In that has no schema: both are mistakes of the program.
//
// f must return soon after its context ends, with all that it started ended,
// unless NotAbortable is given; it may be called from many goroutines.
func New[In, Out any](name, description string, f func(context.Context, In) (Out, error), options ...Option) agent.Tool {
	t := NewStream(name, description, func(ctx context.Context, in In, _ func(string)) (Out, error) { return f(ctx, in) }, options...)
	t.Stream = nil
	return t
}

// NewStream is New for a function that shows text while it runs, by emit. emit
// is called from one goroutine at a time, and not after f has returned.
func NewStream[In, Out any](name, description string, f func(ctx context.Context, in In, emit func(text string)) (Out, error), options ...Option) agent.Tool {
	if err := agent.CheckToolName("name", name); err != nil {
		panic(err)
	}
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	parameters, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	t := agent.Tool{
		Spec:      agent.ToolSpec{Name: name, Description: description, Parameters: parameters},
		Abortable: true, Timeout: agent.DefaultToolTimeout,
	}
	for _, o := range options {
		o(&t)
	}
	t.Check = func(arguments []byte) error { return match(resolved, arguments) }
	stream := func(ctx context.Context, arguments []byte, emit func(string)) (string, error) {
		in, err := decode[In](resolved, arguments)
		if err != nil {
			return "", err
		}
		out, err := f(ctx, in, emit)
		if err != nil {
			return "", err
		}
		return encode(out)
	}
	t.Stream = stream
	t.Call = func(ctx context.Context, arguments []byte) (string, error) {
		return stream(ctx, arguments, func(string) {})
	}
	return t
}

func decode[In any](schema *jsonschema.Resolved, arguments []byte) (in In, err error) {
	if err := match(schema, arguments); err != nil {
		return in, err
	}
	return in, json.Unmarshal(arguments, &in)
}

func encode(out any) (string, error) {
	if s, ok := out.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(out)
	return string(b), err
}

// A Source gives the tools that a ref of its kind names.
type Source interface {
	// Open returns them, not bound yet. Its agent.FieldErrors name fields of the
	// ref. ctx bounds the opening only; the tools are used after it.
	Open(ctx context.Context, session agent.Session, ref agent.ToolRef) ([]agent.Tool, error)
}

// Toolbox makes agents' tools from the sources that a node has, by the names
// that refs use for them.
type Toolbox map[string]Source

// Open returns the tools that the refs name, each bound as its ref says; refs of
// agent.SourceAgent are passed over, those tools are the engine's own. It fails on a source that the node does not have, and on a tool that two refs
// give: fields are named as in an agent's configuration.
func (b Toolbox) Open(ctx context.Context, session agent.Session, refs []agent.ToolRef) ([]agent.Tool, error) {
	var out []agent.Tool
	for i, ref := range refs {
		if ref.Source == agent.SourceAgent {
			continue
		}
		source, ok := b[ref.Source]
		if !ok {
			return nil, &agent.FieldError{Field: fmt.Sprintf("tools[%d].source", i), Message: fmt.Sprintf("there is no source %q", ref.Source)}
		}
		tools, err := source.Open(ctx, session, ref)
		if f, ok := errors.AsType[*agent.FieldError](err); ok {
			return nil, &agent.FieldError{Field: fmt.Sprintf("tools[%d].%s", i, f.Field), Message: f.Message}
		}
		if err != nil {
			return nil, fmt.Errorf("tools[%d] (%s): %w", i, ref.Key, err)
		}
		for _, t := range tools {
			if slices.ContainsFunc(out, func(o agent.Tool) bool { return o.Spec.Name == t.Spec.Name }) {
				return nil, &agent.FieldError{Field: fmt.Sprintf("tools[%d].names", i), Message: fmt.Sprintf("two sources give a tool named %s", t.Spec.Name)}
			}
			out = append(out, bind(t, ref))
		}
	}
	return out, nil
}

// bind makes a source's tool the agent's: every tool has its arguments checked,
// and a question, which a person answers anyway, is not asked for approval too.
func bind(t agent.Tool, ref agent.ToolRef) agent.Tool {
	t.Kind, t.Source = ref.Source, ref.Key
	if t.Check == nil {
		t.Check = matching(t.Spec.Parameters)
	}
	t.Asks = t.Asks.AsksBy(ref.Approval)
	if ref.TimeoutMS > 0 {
		t.Timeout = time.Duration(ref.TimeoutMS) * time.Millisecond
	}
	return t
}

// Functions are the Go functions that this program offers to agents.
type Functions []agent.Tool

// Open implements Source. A ref without names means all functions.
func (f Functions) Open(_ context.Context, _ agent.Session, ref agent.ToolRef) ([]agent.Tool, error) {
	return choose(f, ref.Names, ref.Source)
}

// choose returns the tools of these names, all where there are none; a name that
// the source does not have is a fault of the ref's names.
func choose(tools []agent.Tool, names []string, source string) ([]agent.Tool, error) {
	if len(names) == 0 {
		return tools, nil
	}
	var out []agent.Tool
	for k, n := range names {
		i := slices.IndexFunc(tools, func(t agent.Tool) bool { return t.Spec.Name == n })
		if i < 0 {
			return nil, &agent.FieldError{Field: fmt.Sprintf("names[%d]", k), Message: fmt.Sprintf("there is no %s %q", source, n)}
		}
		out = append(out, tools[i])
	}
	return out, nil
}

// Secrets opens what shared tools keep.
type Secrets interface {
	// Secret returns the secret of a project's shared tool; agent.ErrNotFound.
	Secret(ctx context.Context, project, key string) (string, error)
}
