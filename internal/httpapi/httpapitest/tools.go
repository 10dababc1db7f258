package httpapitest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// Tools returns a project's shared tools by key.
func (w *World) Tools(_ context.Context, project string) ([]agent.SharedTool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []agent.SharedTool
	for _, t := range w.tools {
		if t.Project == project {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b agent.SharedTool) int { return cmp.Compare(a.Key, b.Key) })
	return out, w.down
}

// Tool returns a shared tool.
func (w *World) Tool(_ context.Context, project, key string) (agent.SharedTool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.tools[project+"/"+key]
	if !ok {
		return agent.SharedTool{}, cmp.Or(w.down, agent.ErrNotFound)
	}
	return t, w.down
}

// CreateTool makes a shared tool.
func (w *World) CreateTool(_ context.Context, t agent.SharedTool) (agent.SharedTool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.tools[t.Project+"/"+t.Key]; ok {
		return agent.SharedTool{}, agent.ErrExists
	}
	t.CreatedAt, t.UpdatedAt, t.Secret = Epoch, Epoch, ""
	w.tools[t.Project+"/"+t.Key] = t
	return t, w.down
}

// ReplaceTool replaces a shared tool.
func (w *World) ReplaceTool(_ context.Context, t agent.SharedTool) (agent.SharedTool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, ok := w.tools[t.Project+"/"+t.Key]; !ok || !old.UpdatedAt.Equal(t.UpdatedAt) {
		return agent.SharedTool{}, agent.ErrChanged
	}
	t.UpdatedAt, t.Secret = t.UpdatedAt.Add(time.Second), ""
	w.tools[t.Project+"/"+t.Key] = t
	return t, w.down
}

// DeleteTool deletes a shared tool that no agent's draft names.
func (w *World) DeleteTool(_ context.Context, project, key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var by []string
	for _, a := range w.agents {
		for _, ref := range a.Draft.Tools {
			if a.Project == project && ref.Shared() && ref.Key == key {
				by = append(by, "agent "+a.Key)
			}
		}
	}
	if by != nil {
		return &agent.InUseError{By: by}
	}
	delete(w.tools, project+"/"+key)
	return w.down
}

// OpenTool offers one tool, named by the shared tool's key; a URL with "broken"
// in it can't be used.
func (w *World) OpenTool(_ context.Context, t agent.SharedTool) ([]agent.ToolSpec, error) {
	if w.Opened != nil {
		w.Opened(t)
	}
	if t.MCP != nil && strings.Contains(t.MCP.URL, "broken") {
		return nil, &agent.FieldError{Field: "mcp", Message: "the server did not answer"}
	}
	return []agent.ToolSpec{{Name: "use_" + t.Key, Description: "Uses it.", Parameters: json.RawMessage(`{"type":"object"}`)}}, nil
}
