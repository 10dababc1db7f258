package turn

import (
	"context"
	"iter"

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

// Addresses knows where callbacks may lead.
type Addresses interface {
	// CheckURL says why a URL could not be reached as things are. A name that does
	// not resolve passes.
	CheckURL(ctx context.Context, url string) error
}

// Tools makes an agent's toolbox.
type Tools interface {
	// Open returns the tools that the refs name. A ref that can't be had now is
	// an error that names it: a turn does not run with half its tools. Refs of
	// agent.SourceAgent are passed over: those tools are the engine's own.
	Open(ctx context.Context, session agent.Session, refs []agent.ToolRef) ([]agent.Tool, error)
}
