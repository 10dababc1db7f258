package tool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
)

// seen is a source that notes the ref it was opened with.
type seen struct {
	ref agent.ToolRef
	err error
}

func (s *seen) Open(_ context.Context, _ agent.Session, ref agent.ToolRef) ([]agent.Tool, error) {
	s.ref = ref
	return nil, s.err
}

type shelf map[string]agent.SharedTool

func (s shelf) Tool(_ context.Context, _, key string) (agent.SharedTool, error) {
	t, ok := s[key]
	if !ok {
		return t, agent.ErrNotFound
	}
	return t, nil
}

func TestARefWithoutItsBlockIsTheSharedToolOfItsKey(t *testing.T) {
	t.Parallel()
	web := &agent.WebSearchSource{Provider: "searxng", BaseURL: "http://x"}
	server := &agent.MCPSource{URL: "http://x"}
	source := &seen{}
	box := tool.Sharing{Source: source, Tools: shelf{
		"web": {Key: "web", Source: "web_search", WebSearch: web}, "tickets": {Key: "tickets", Source: "mcp", MCP: server},
	}}
	for _, ref := range []agent.ToolRef{
		{Source: "web_search", Key: "web", Approval: "always", TimeoutMS: 5},
		{Source: "mcp", Key: "tickets", Names: []string{"a"}},
		{Source: "mcp", Key: "own", MCP: server},
	} {
		if _, err := box.Open(t.Context(), agent.Session{}, ref); err != nil {
			t.Fatal(err)
		}
		got := source.ref
		if got.Shared() || got.Key != ref.Key || got.Approval != ref.Approval || got.TimeoutMS != ref.TimeoutMS || len(got.Names) != len(ref.Names) {
			t.Errorf("%+v was opened as %+v", ref, got)
		}
	}
	source.err = &agent.FieldError{Field: "mcp.url", Message: "can't be reached"}
	for key, want := range map[string]string{
		"gone": `key: there is no shared tool "gone"`, "web": `key: the source of the shared tool "web" is web_search`,
		"tickets": "key: shared tool tickets: mcp.url: can't be reached",
	} {
		if _, err := box.Open(t.Context(), agent.Session{}, agent.ToolRef{Source: "mcp", Key: key}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
}
