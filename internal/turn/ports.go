package turn

import (
	"context"
	"iter"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// A Model is a way to call one model of a provider.
type Model interface {
	// Stream sends one request, once: no retries. It yields the deltas of the
	// answer as they arrive and at most one error, last; the error is an
	// *agent.ModelError unless the context ended, whose cause it then is.
	// When the iterator has returned, the provider's connection is closed:
	// breaking out of it or ending the context is how a call is aborted.
	Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error]
	// CountTokens estimates what the provider would count for a request and a
	// text it answered, where the provider did not say.
	CountTokens(req agent.Request, output string) agent.Tokens
}

// Models finds a project's models.
type Models interface {
	// Model returns the model of a key; agent.ErrNotFound when there is none.
	Model(ctx context.Context, project, key string) (agent.Model, Model, error)
}

// A Tool is something that a model may call.
type Tool interface {
	Spec() agent.ToolSpec
	// Abortable reports whether Call ends promptly when its context does.
	Abortable() bool
	// Call runs the tool. It returns only after all that it started is dead;
	// where it can't tell, its error wraps agent.ErrUnconfirmed. Other errors
	// are for the model to read.
	Call(ctx context.Context, arguments []byte) (string, error)
}

// Tools makes an agent's toolbox.
type Tools interface {
	// Open returns the tools that the refs name, with their refs.
	Open(ctx context.Context, session agent.Session, refs []agent.ToolRef) ([]BoundTool, error)
}

// BoundTool is a tool as an agent holds it.
type BoundTool struct {
	Tool
	Source   string        // the ref's key
	Approval bool          // a person must agree before each call
	Timeout  time.Duration // of one call
}
