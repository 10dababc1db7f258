// Package sandbox runs a model's commands and code, each session in a workspace
// of its own, and says truthfully how they ended: a call returns once every
// process that it started is proven gone, or its error wraps
// agent.ErrUnconfirmed.
//
// Commands run under bubblewrap: their own PID, mount, IPC, UTS and (unless a
// ref asks for it) network namespace, a read-only system, a private /tmp, and
// none of the node's environment. Where the node is root they run as a user that
// nobody else has, one per session, with no capabilities; elsewhere in a user
// namespace. No system calls are filtered: the kernel is the boundary. A
// command's processes die with the node; those of unconfined commands are found
// by Recover when a node of the same name starts.
//
// What an unconfined command has started is known by its session, its parents
// and a tag in its environment. One that sheds all three before it was seen once
// is not found: without a PID namespace nothing is promised of programs that hide.
//
// A workspace is a directory of the machine, kept until somebody removes it. A
// session that goes on on another machine finds it there only where Config.Dir
// is on storage that both mount.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// Config says where and how commands run.
type Config struct {
	Dir        string // holds workspaces and the state of running commands; made when it is missing
	Node       string // label of the node, unique among those that share Dir
	Bwrap      string // bubblewrap's program; empty: bwrap, as PATH finds it
	Unconfined bool   // run commands as plain children of the node: they can do whatever the node can
	Log        *slog.Logger
}

// Sandbox gives agents the tools exec, run_code, read_file, write_file and
// list_files. It may be used from many goroutines.
type Sandbox struct {
	dir      string
	node     string
	confined bool
	programs programs
	problem  error // why no command can run, for people to read
	log      *slog.Logger
	sealed   sync.Once
}

// programs are paths of what commands are run with.
type programs struct {
	bwrap, prlimit, setpriv string
}

// New makes a Sandbox. Where commands can't run, each call answers why.
func New(cfg Config) *Sandbox {
	s := &Sandbox{dir: cfg.Dir, node: cfg.Node, confined: !cfg.Unconfined, log: cfg.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if abs, err := filepath.Abs(cfg.Dir); err == nil {
		s.dir = abs // bwrap starts elsewhere
	}
	s.problem = s.find(cmp.Or(cfg.Bwrap, "bwrap"))
	if s.problem == nil && !filepath.IsLocal(s.node) {
		s.problem = fmt.Errorf("the node's name %q can't be that of a directory", s.node)
	}
	return s
}

// find looks for the programs that are needed.
func (s *Sandbox) find(bwrap string) error {
	if !supported {
		return errors.New("the sandbox needs Linux")
	}
	s.programs.prlimit, _ = exec.LookPath("prlimit") // unconfined commands do without it
	if !s.confined {
		return nil
	}
	var err error
	if s.programs.bwrap, err = exec.LookPath(bwrap); err != nil {
		return fmt.Errorf("%s is not installed: install bubblewrap (apt-get install bubblewrap), or set BELAY_SANDBOX=unconfined to run commands without any confinement", bwrap)
	}
	if s.programs.prlimit == "" {
		return errors.New("prlimit is not installed: install util-linux")
	}
	if os.Geteuid() != 0 {
		return nil
	}
	if s.programs.setpriv, err = exec.LookPath("setpriv"); err != nil {
		return errors.New("setpriv is not installed: install util-linux")
	}
	return nil
}

// Check runs an empty command, and says why commands can't run.
func (s *Sandbox) Check(ctx context.Context) error {
	if s.problem != nil {
		return s.problem
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(s.dir, "check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := workspace{dir: dir, uid: s.uid("check"), quota: 1 << 20}
	res, err := s.run(ctx, w, command{argv: []string{"true"}, timeout: 10 * time.Second, limits: limitsOf(nil)})
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("an empty command ended with %d: %s%s", res.ExitCode, res.Stderr, res.Error)
	}
	return nil
}

// Open implements tool.Source. A ref without names means all tools.
func (s *Sandbox) Open(_ context.Context, session agent.Session, ref agent.ToolRef) ([]agent.Tool, error) {
	if session.ID == "" || !filepath.IsLocal(session.ID) || filepath.Base(session.ID) != session.ID {
		return nil, fmt.Errorf("a session %q has no workspace", session.ID)
	}
	all := s.tools(session.ID, ref)
	if len(ref.Names) == 0 {
		return all, nil
	}
	var out []agent.Tool
	for k, n := range ref.Names {
		i := slices.IndexFunc(all, func(t agent.Tool) bool { return t.Spec.Name == n })
		if i < 0 {
			return nil, &agent.FieldError{Field: fmt.Sprintf("names[%d]", k), Message: fmt.Sprintf("there is no tool %q in a sandbox", n)}
		}
		out = append(out, all[i])
	}
	return out, nil
}

// limits are what a command may use.
type limits struct {
	network   bool
	memory    int64 // bytes, all of its processes together
	processes int
	disk      int64 // bytes, of the workspace
}

func limitsOf(src *agent.SandboxSource) limits {
	if src == nil {
		src = &agent.SandboxSource{}
	}
	return limits{
		network:   src.Network,
		memory:    int64(cmp.Or(src.MemoryMB, agent.DefaultSandboxMemoryMB)) << 20,
		processes: cmp.Or(src.Processes, agent.DefaultSandboxProcesses),
		disk:      int64(cmp.Or(src.DiskMB, agent.DefaultSandboxDiskMB)) << 20,
	}
}
