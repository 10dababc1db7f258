package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/manifest"
	"github.com/belayrun/belay/internal/outbound"
	"github.com/belayrun/belay/internal/tool"
	"github.com/belayrun/belay/internal/tool/mcp"
	"github.com/belayrun/belay/internal/tool/openapi"
	"github.com/belayrun/belay/internal/tool/sandbox"
	"github.com/belayrun/belay/internal/tool/websearch"
)

// sharedTools is where shared tools and their secrets are. *postgres.Store is one.
type sharedTools interface {
	tool.Shared
	tool.Secrets
}

// toolbox is what a node's agents get their tools from.
func toolbox(shared sharedTools, memories tool.MemoryStore, guard *outbound.Guard, servers *mcp.Source, sand *sandbox.Sandbox) tool.Toolbox {
	box := tool.Toolbox{
		agent.SourceFunction: tool.Demo(),
		// A call is bounded by its tool's timeout, so the client has none.
		agent.SourceOpenAPI:   tool.Sharing{Tools: shared, Source: openapi.New(openapi.Config{Client: guard.Client(0), Secrets: shared})},
		agent.SourceMCP:       tool.Sharing{Tools: shared, Source: servers},
		agent.SourceMemory:    tool.Memories{Store: memories},
		agent.SourceQuestion:  tool.Questions{},
		agent.SourceWebSearch: tool.Sharing{Tools: shared, Source: websearch.New(websearch.Config{Client: guard.Client(0), Secrets: shared})},
	}
	if sand != nil {
		box[agent.SourceSandbox] = sand
	}
	return box
}

// declared has the shared tools of a manifest before those that are stored.
type declared struct {
	manifest.Manifest
	stored sharedTools
}

// Tool implements tool.Shared.
func (d declared) Tool(ctx context.Context, project, key string) (agent.SharedTool, error) {
	if t, ok := d.find(key); ok {
		return t, nil
	}
	return d.stored.Tool(ctx, project, key)
}

// Secret implements tool.Secrets.
func (d declared) Secret(ctx context.Context, project, key string) (string, error) {
	if t, ok := d.find(key); ok && t.Secret != "" {
		return t.Secret, nil
	}
	return d.stored.Secret(ctx, project, key)
}

func (d declared) find(key string) (agent.SharedTool, bool) {
	i := slices.IndexFunc(d.Tools, func(t agent.SharedTool) bool { return t.Key == key })
	if i < 0 {
		return agent.SharedTool{}, false
	}
	return d.Tools[i], true
}

// checkTools opens the tools that a manifest declares, as a node would: what
// can't be used is told now, with its place, and not by the first turn.
func checkTools(ctx context.Context, s *settings, stored sharedTools, project string, m manifest.Manifest) error {
	guard, err := s.guard()
	if err != nil {
		return err
	}
	defer guard.Transport().CloseIdleConnections()
	shared := declared{m, stored}
	servers := newMCP(s, shared, guard, slog.New(slog.DiscardHandler))
	defer servers.Close()
	box := toolbox(shared, nil, guard, servers, s.newSandbox(slog.New(slog.DiscardHandler)))
	return m.CheckTools(func(ref agent.ToolRef) (names []string, err error) {
		if ref.MCP != nil && len(ref.MCP.Command) > 0 {
			return nil, nil // a program of the nodes' machines, which this one need not have
		}
		source, ok := box[ref.Source]
		if !ok {
			return nil, &agent.FieldError{Field: "source", Message: fmt.Sprintf("there is no source %q", ref.Source)}
		}
		tools, err := source.Open(ctx, agent.Session{ID: agent.NewID(), Project: project}, ref) // of a session that never is
		for _, t := range tools {
			names = append(names, t.Spec.Name)
		}
		return names, cmp.Or(context.Cause(ctx), err)
	})
}

// opener opens shared tools as agents' turns would, with sources of its own: what
// is not stored leaves nothing behind.
type opener struct {
	s      *settings
	stored sharedTools
	guard  *outbound.Guard
}

// openLimit bounds one opening; a turn does not wait longer for it.
const openLimit = 20 * time.Second

// OpenTool implements client.Opener.
func (o opener) OpenTool(ctx context.Context, t agent.SharedTool) ([]agent.ToolSpec, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, openLimit, fmt.Errorf("it did not answer within %v", openLimit))
	defer cancel()
	shared := draft{t, o.stored}
	servers := newMCP(o.s, shared, o.guard, slog.New(slog.DiscardHandler))
	defer servers.Close()
	source, ok := toolbox(shared, nil, o.guard, servers, nil)[t.Source]
	if !ok {
		return nil, &agent.FieldError{Field: "source", Message: fmt.Sprintf("there is no source %q", t.Source)}
	}
	tools, err := source.Open(ctx, agent.Session{Project: t.Project}, t.Ref())
	if err == nil {
		specs := make([]agent.ToolSpec, len(tools))
		for i := range tools {
			specs[i] = tools[i].Spec
		}
		return specs, nil
	}
	if _, ok := errors.AsType[*agent.FieldError](err); ok || errors.Is(err, agent.ErrUnavailable) || errors.Is(err, agent.ErrNoSecretKey) {
		return nil, err
	}
	return nil, &agent.FieldError{Field: t.Source, Message: cmp.Or(context.Cause(ctx), err).Error()}
}

// draft has a shared tool as it is to be stored before those that are stored.
type draft struct {
	tool   agent.SharedTool
	stored sharedTools
}

// Tool implements tool.Shared.
func (d draft) Tool(ctx context.Context, project, key string) (agent.SharedTool, error) {
	if key == d.tool.Key {
		return d.tool, nil
	}
	return d.stored.Tool(ctx, project, key)
}

// Secret implements tool.Secrets.
func (d draft) Secret(ctx context.Context, project, key string) (string, error) {
	switch {
	case key != d.tool.Key || d.tool.Secret == "" && d.tool.HasSecret:
		return d.stored.Secret(ctx, project, key)
	case d.tool.Secret == "":
		return "", agent.ErrNotFound
	}
	return d.tool.Secret, nil
}

// newMCP makes the source of MCP servers' tools; its Close must be waited for.
func newMCP(s *settings, secrets tool.Secrets, guard *outbound.Guard, log *slog.Logger) *mcp.Source {
	return mcp.New(mcp.Config{
		Client:     guard.Client(0),
		Secrets:    secrets,
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
