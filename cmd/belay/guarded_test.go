package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/outbound"
)

// 114: every source of tools that takes an address reaches it by the guard, and
// says why it did not: when it is opened, or when it is called.
func TestEverySourceOfToolsIsGuarded(t *testing.T) {
	t.Parallel()
	s := &settings{}
	guard, err := s.guard()
	if err != nil {
		t.Fatal(err)
	}
	none := shelf{}
	servers := newMCP(s, none, guard, slog.New(slog.DiscardHandler))
	t.Cleanup(servers.Close)
	box := toolbox(none, nil, guard, servers, nil)
	for _, at := range []string{"http://127.0.0.1:1", "http://169.254.169.254", "http://[::ffff:10.0.0.1]", "http://localhost:1"} {
		for name, ref := range map[string]agent.ToolRef{
			"document_url": {Source: agent.SourceOpenAPI, OpenAPI: &agent.OpenAPISource{DocumentURL: at + "/openapi.yaml"}},
			"base_url":     {Source: agent.SourceOpenAPI, OpenAPI: &agent.OpenAPISource{Document: ordersDocument, BaseURL: at}, Names: []string{"slow_report"}},
			"mcp":          {Source: agent.SourceMCP, MCP: &agent.MCPSource{URL: at + "/mcp"}},
			"web_search":   {Source: agent.SourceWebSearch, WebSearch: &agent.WebSearchSource{Provider: agent.SearchSearXNG, BaseURL: at}},
		} {
			ref.Key = "k"
			tools, err := box.Open(t.Context(), agent.Session{}, []agent.ToolRef{ref})
			if err == nil {
				arguments := `{}`
				if ref.WebSearch != nil {
					arguments = `{"query":"x"}`
				}
				_, err = tools[0].Call(t.Context(), []byte(arguments))
			}
			if err == nil || !errors.Is(err, outbound.ErrRefused) && !strings.Contains(err.Error(), "the address is not allowed") {
				t.Errorf("%s at %s: %v", name, at, err)
			}
		}
	}
}
