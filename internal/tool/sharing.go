package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/belayrun/belay/internal/agent"
)

// Shared finds the shared tools of projects.
type Shared interface {
	// Tool returns one without its secret; agent.ErrNotFound.
	Tool(ctx context.Context, project, key string) (agent.SharedTool, error)
}

// Sharing is a Source whose refs may leave it to a shared tool of their key to
// say what the source needs.
type Sharing struct {
	Tools Shared
	Source
}

// Open implements Source. What is wrong with the shared tool is told at the
// ref's key: the rest is not the agent's to mend.
func (s Sharing) Open(ctx context.Context, session agent.Session, ref agent.ToolRef) ([]agent.Tool, error) {
	if !ref.Shared() {
		return s.Source.Open(ctx, session, ref)
	}
	shared, err := s.Tools.Tool(ctx, session.Project, ref.Key)
	if errors.Is(err, agent.ErrNotFound) {
		return nil, &agent.FieldError{Field: "key", Message: fmt.Sprintf("there is no shared tool %q", ref.Key)}
	}
	if err != nil {
		return nil, err
	}
	whole := shared.Ref()
	if whole.Source != ref.Source || whole.Shared() {
		return nil, &agent.FieldError{Field: "key", Message: fmt.Sprintf("the source of the shared tool %q is %s", ref.Key, shared.Source)}
	}
	whole.Names, whole.Approval, whole.TimeoutMS = ref.Names, ref.Approval, ref.TimeoutMS
	tools, err := s.Source.Open(ctx, session, whole)
	if f, ok := errors.AsType[*agent.FieldError](err); ok && !strings.HasPrefix(f.Field, "names[") {
		return nil, &agent.FieldError{Field: "key", Message: fmt.Sprintf("shared tool %s: %v", ref.Key, f)}
	}
	return tools, err
}
