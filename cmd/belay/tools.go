package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/belayrun/belay/internal/tool/mcp"
)

// newMCP makes the source of MCP servers' tools; its Close must be waited for.
func newMCP(s *settings, log *slog.Logger) *mcp.Source {
	return mcp.New(mcp.Config{
		Client:     &http.Client{},
		AllowStdio: s.MCPStdio == "on",
		Env:        mcpEnv(),
		Log:        log,
	})
}

// mcpEnv is what commands get of the node's environment: nothing that is secret.
func mcpEnv() (env []string) {
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
