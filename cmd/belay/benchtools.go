package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/bench"
	"github.com/belayrun/belay/internal/openai/openaitest"
	"github.com/belayrun/belay/internal/tool/sandbox"
)

// shellAgent is the agent of the bench's cluster that has a sandbox.
const shellAgent = "bench-shell"

const benchToolsManifest = `kind: model
key: bench
base_url: ${BENCH_MODEL_URL}
model: bench
retries: 0
---
kind: agent
key: bench
config:
  model: bench
  tools:
    - source: openapi
      key: upstream
      openapi:
        base_url: ${BENCH_UPSTREAM_URL}
        document: |DOCUMENT
      timeout_ms: 60000
---
kind: agent
key: bench-shell
config:
  model: bench
  tools:
    - {source: sandbox, key: shell}
`

func benchToolsCommand() *cobra.Command {
	o := &benchOptions{tools: &benchTools{}}
	var n int
	c := o.command("tools", "How long a stop takes to end a tool: an HTTP request, a tree of processes; and what a sandbox costs",
		func(ctx context.Context, env *bench.Env) (*bench.Report, error) {
			o.tools.options.N = n
			return bench.Tools(ctx, env, o.tools.options)
		},
		func() error {
			if o.url != "" {
				return errors.New("--url: tools are measured on a cluster of the bench's own")
			}
			return within("--n", n, 1, 10_000)
		})
	c.Flags().IntVar(&n, "n", 100, "stops for each path; of commands, 50 at most")
	return c
}

// benchTools is what the bench of tools needs beside its cluster.
type benchTools struct {
	options  bench.ToolsOptions
	upstream string
	dir      string // of workspaces
}

// start starts the scripted model and the upstream, and looks for a sandbox.
func (b *benchTools) start(ctx context.Context, env *bench.Env, ends *ends) (err error) {
	model, err := startModel("127.0.0.1:0", openaitest.WithRate(0), openaitest.WithKeep(10))
	if err != nil {
		return err
	}
	ends.add(model.Close)
	b.options.Upstream, b.options.Shell = &bench.Upstream{}, shellAgent
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	up := &modelServer{srv: &http.Server{Handler: b.options.Upstream, ReadHeaderTimeout: 10 * time.Second}, done: make(chan struct{})}
	go func() {
		defer close(up.done)
		_ = up.srv.Serve(l) // ends with ErrServerClosed at Close
	}()
	ends.add(up.Close)
	b.upstream = "http://" + l.Addr().String()
	env.ModelURL, env.UpstreamURL = model.url, b.upstream
	if b.dir, err = os.MkdirTemp("", "belay-bench-sandbox-"); err != nil {
		return err
	}
	ends.add(func() error { return os.RemoveAll(b.dir) })
	if err := os.Chmod(b.dir, 0o711); err != nil { // commands may run as other users
		return err
	}
	return b.sandbox(ctx, env)
}

// sandbox opens a sandbox of this process, as the environment says.
func (b *benchTools) sandbox(ctx context.Context, env *bench.Env) error {
	s := &settings{Node: "bench", Sandbox: cmp.Or(os.Getenv("BELAY_SANDBOX"), "bwrap"), SandboxDir: b.dir}
	sand := s.newSandbox(slog.New(slog.DiscardHandler))
	if sand == nil {
		b.options.NoSandbox = "BELAY_SANDBOX is off"
		return nil
	}
	if err := sand.Check(ctx); err != nil {
		b.options.NoSandbox = err.Error()
		return nil
	}
	env.Notes = append(env.Notes, "BELAY_SANDBOX is "+s.Sandbox)
	tools, err := sand.Open(ctx, agent.Session{ID: agent.NewID()}, agent.ToolRef{Source: agent.SourceSandbox, Names: []string{"exec"}})
	if err != nil {
		return err
	}
	b.options.Command = func(ctx context.Context, line string, emit func(string)) error {
		arguments, err := json.Marshal(sandbox.Exec{Command: line})
		if err != nil {
			return err
		}
		_, err = tools[0].Stream(ctx, arguments, emit)
		return err
	}
	return nil
}

// manifest is what the cluster is seeded with; vars gets its variables.
func (b *benchTools) manifest(vars map[string]string) string {
	vars["BENCH_UPSTREAM_URL"] = b.upstream
	return strings.Replace(benchToolsManifest, "DOCUMENT", strings.ReplaceAll(strings.TrimRight(bench.UpstreamDocument, "\n"), "\n", "\n          "), 1)
}

// environment is what its nodes are told beside.
func (b *benchTools) environment() []string {
	return []string{loopbackAllowed, "BELAY_SANDBOX_DIR=" + b.dir}
}

// loopbackAllowed lets tools reach the bench's own servers.
const loopbackAllowed = "BELAY_OUTBOUND_ALLOW=127.0.0.1"
