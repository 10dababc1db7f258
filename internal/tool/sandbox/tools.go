package sandbox

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
)

const (
	defaultTimeout = time.Minute
	longest        = 24 * time.Hour // of a command without a time limit; the turn's own comes first
	fileTimeout    = 30 * time.Second
	maxArgument    = 100 << 10 // the kernel takes no more than 128 KiB
	maxEnvironment = 64
)

// Exec is what exec takes.
type Exec struct {
	Command   string            `json:"command" jsonschema:"a shell command line"`
	Cwd       string            `json:"cwd,omitempty" jsonschema:"directory to run it in, relative to the workspace; default the workspace"`
	Env       map[string]string `json:"env,omitempty" jsonschema:"more environment variables"`
	TimeoutMS *int              `json:"timeout_ms,omitempty" jsonschema:"time limit in milliseconds; default 60000; 0 for no limit but the turn's"`
}

// RunCode is what run_code takes.
type RunCode struct {
	Language string `json:"language" jsonschema:"python, javascript or bash"`
	Code     string `json:"code" jsonschema:"the program"`
}

// ReadFile is what read_file takes.
type ReadFile struct {
	Path   string `json:"path" jsonschema:"relative to the workspace"`
	Offset int64  `json:"offset,omitempty" jsonschema:"byte to begin at"`
}

// WriteFile is what write_file takes.
type WriteFile struct {
	Path    string `json:"path" jsonschema:"relative to the workspace; directories are made"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

// ListFiles is what list_files takes.
type ListFiles struct {
	Path string `json:"path,omitempty" jsonschema:"directory, relative to the workspace; default the workspace"`
}

// tools are those of one session.
func (s *Sandbox) tools(session string, ref agent.ToolRef) []agent.Tool {
	b := bound{sandbox: s, session: session, limits: limitsOf(ref.Sandbox)}
	if ref.TimeoutMS > 0 { // end it a moment before the engine does: then the model sees what it printed
		b.most = time.Duration(ref.TimeoutMS) * time.Millisecond
		b.most -= min(b.most/10, 500*time.Millisecond)
	}
	files := []tool.Option{tool.NotAbortable(), tool.Timeout(fileTimeout)}
	return []agent.Tool{
		tool.NewStream("exec", "Runs a shell command in the workspace and returns its output and exit code. "+
			"Everything that it started is ended with it.", b.exec, tool.Timeout(longest)),
		tool.NewStream("run_code", "Runs a program in the workspace and returns its output and exit code.", b.runCode, tool.Timeout(longest)),
		tool.New("read_file", "Reads a text file of the workspace, 64 KiB at a time.", func(_ context.Context, in ReadFile) (fileText, error) {
			w, err := b.workspace()
			if err != nil {
				return fileText{}, err
			}
			return w.readFile(in.Path, in.Offset)
		}, files...),
		tool.New("write_file", "Writes a text file of the workspace, in place of what it held.", func(_ context.Context, in WriteFile) (string, error) {
			w, err := b.workspace()
			if err != nil {
				return "", err
			}
			return w.writeFile(in.Path, in.Content)
		}, files...),
		tool.New("list_files", "Lists the files of the workspace, 1000 at most.", func(_ context.Context, in ListFiles) (listing, error) {
			w, err := b.workspace()
			if err != nil {
				return listing{}, err
			}
			return w.listFiles(in.Path)
		}, files...),
	}
}

// bound is a sandbox for one session, as a ref gives it.
type bound struct {
	sandbox *Sandbox
	session string
	limits  limits
	most    time.Duration // of one call; 0: the ref sets none
}

func (b bound) workspace() (workspace, error) {
	w, err := b.sandbox.workspace(b.session, b.limits.disk)
	if err != nil {
		b.sandbox.log.Error("a workspace can't be made", "session_id", b.session, "error", err)
		return w, errors.New("the workspace can't be made")
	}
	return w, nil
}

// timeout is the time limit of a call that asks for one.
func (b bound) timeout(asked time.Duration) time.Duration {
	if b.most > 0 && (asked == 0 || asked > b.most) {
		return b.most
	}
	return asked
}

func (b bound) exec(ctx context.Context, in Exec, emit func(string)) (Result, error) {
	timeout := defaultTimeout
	if in.TimeoutMS != nil {
		if *in.TimeoutMS < 0 {
			return Result{}, errors.New("timeout_ms must be 0 or more")
		}
		timeout = time.Duration(*in.TimeoutMS) * time.Millisecond
	}
	if err := checkEnvironment(in.Env); err != nil {
		return Result{}, err
	}
	return b.run(ctx, in.Cwd, command{argv: []string{shell(), "-c", in.Command}, env: in.Env, timeout: timeout, emit: emit})
}

func (b bound) runCode(ctx context.Context, in RunCode, emit func(string)) (Result, error) {
	argv, ok := map[string][]string{
		"python": {"python3", "-c"}, "javascript": {"node", "-e"}, "bash": {"bash", "-c"},
	}[in.Language]
	if !ok {
		return Result{}, fmt.Errorf("language must be python, javascript or bash, not %q", in.Language)
	}
	return b.run(ctx, "", command{argv: append(argv, in.Code), timeout: defaultTimeout, emit: emit})
}

func (b bound) run(ctx context.Context, cwd string, c command) (Result, error) {
	if b.sandbox.problem != nil {
		return Result{}, b.sandbox.problem
	}
	if text := c.argv[len(c.argv)-1]; len(text) > maxArgument {
		return Result{}, fmt.Errorf("that is %d bytes, and %d are the most: write it to a file and run that", len(text), maxArgument)
	}
	w, err := b.workspace()
	if err != nil {
		return Result{}, err
	}
	if c.dir, err = w.directory(cwd); err != nil {
		return Result{}, fmt.Errorf("cwd: %w", err)
	}
	c.timeout, c.limits = b.timeout(c.timeout), b.limits
	return b.sandbox.run(ctx, w, c)
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func checkEnvironment(env map[string]string) error {
	if len(env) > maxEnvironment {
		return fmt.Errorf("env: %d variables are the most", maxEnvironment)
	}
	for k, v := range env {
		if !envName.MatchString(k) {
			return fmt.Errorf("env: %q is not the name of a variable", k)
		}
		if len(v) > maxArgument {
			return fmt.Errorf("env: %s is longer than %d bytes", k, maxArgument)
		}
	}
	return nil
}
