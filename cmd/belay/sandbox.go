package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/belayrun/belay/internal/tool/sandbox"
)

// newSandbox is nil where the node has none.
func (s *settings) newSandbox(log *slog.Logger) *sandbox.Sandbox {
	if s.Sandbox == "off" {
		return nil
	}
	return sandbox.New(sandbox.Config{Dir: s.sandboxDir(), Node: s.Node, Unconfined: s.Sandbox == "unconfined", Log: log})
}

func (s *settings) sandboxDir() string {
	if s.SandboxDir != "" {
		return s.SandboxDir
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "belay", "sandbox")
	}
	return "/var/lib/belay/sandbox"
}

// endOrphans ends commands that a node of this name has left when it was killed.
// The node starts whatever comes of it: the log says what could not be ended.
func endOrphans(ctx context.Context, sand *sandbox.Sandbox, log *slog.Logger) {
	if sand == nil {
		return
	}
	n, err := sand.Recover(ctx)
	if n > 0 {
		log.Warn("ended commands that an earlier node of this name had left", "commands", n)
	}
	if err != nil {
		log.Error("commands that an earlier node of this name had left may still run", "error", err)
	}
}

func checkSandbox(ctx context.Context, r *report, s *settings) {
	sand := s.newSandbox(slog.New(slog.DiscardHandler))
	if sand == nil {
		r.ok("sandbox", "off")
		return
	}
	if err := sand.Check(ctx); err != nil {
		r.warn("sandbox", err.Error(), "agents with a sandbox can't run until this is mended; BELAY_SANDBOX=off says that you want none")
		return
	}
	how := "commands run under bubblewrap"
	if s.Sandbox == "unconfined" {
		how = "commands run unconfined: they can do whatever the node can"
	}
	r.ok("sandbox", "%s", fmt.Sprintf("%s, workspaces in %s", how, s.sandboxDir()))
}
