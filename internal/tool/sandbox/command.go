package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

const (
	watchEvery = 250 * time.Millisecond // between looks at memory and disk
	drainWait  = 500 * time.Millisecond // for output, after all that could write is dead
)

// command is one run of a program in a workspace.
type command struct {
	argv    []string
	dir     string // below the workspace
	env     map[string]string
	timeout time.Duration // 0: none
	limits  limits
	emit    func(text string) // nil: nobody watches
}

// Result is what a command came to, as the model reads it.
type Result struct {
	ExitCode  int    `json:"exit_code"`       // -1: it did not end normally; 128 and more in a shell's sense
	TimedOut  bool   `json:"timed_out"`       // its time limit ended it
	Canceled  bool   `json:"canceled"`        // a stop ended it
	Truncated bool   `json:"truncated"`       // there was more output than 1 MiB, or it was left before its end
	Error     string `json:"error,omitempty"` // why else it was ended
	Stderr    string `json:"stderr"`          // each is the head, with a note of how much more there was
	Stdout    string `json:"stdout"`          // last: what cuts the result cuts here
}

// cause is what ended a command. The first one counts.
type cause int

const (
	byItself cause = iota
	byStop
	byTime
	byMemory
	byDisk
)

// run runs a command to its end. It returns when everything that the command
// started is proven gone, or an error that wraps agent.ErrUnconfirmed. A stop
// that ended it is an error too, the context's cause; the Result holds what it
// had come to.
func (s *Sandbox) run(ctx context.Context, w workspace, c command) (Result, error) {
	if err := context.Cause(ctx); err != nil {
		return Result{ExitCode: -1, Canceled: true}, err
	}
	r, err := s.start(w, c)
	if err != nil {
		return Result{ExitCode: -1}, err
	}
	why := r.watch(ctx)
	r.told, err = r.tree.end(why != byItself)
	if err == nil {
		err = r.reap()
	} else {
		go func() { // when it ends at last it is not left a zombie; its state stays, for Recover
			<-r.exited
			_ = r.cmd.Wait()
		}()
	}
	return r.finish(ctx, why, err)
}

// running is a command that was started.
type running struct {
	workspace workspace
	command   command
	cmd       *exec.Cmd
	tree      *tree
	out       *output
	quota     int64
	file      string        // its state file
	exited    chan struct{} // the leader has ended; it is not reaped yet
	waitErr   error         // set before exited is closed
	heard     chan struct{} // bwrap has said all that it says
	status    status        // set before heard is closed
	told      int           // how many processes were asked to end
}

// status is what bwrap tells.
type status struct {
	ran  bool // the command was started and has ended
	code int
}

// start starts a command and what listens to it.
func (s *Sandbox) start(w workspace, c command) (*running, error) {
	s.sealed.Do(sealInherited)
	r := &running{
		workspace: w, command: c, out: newOutput(c.emit),
		exited: make(chan struct{}), heard: make(chan struct{}),
		quota: max(w.quota, w.size()), // one that is over it may still tidy up
	}
	tag := strings.ToLower(rand.Text())
	argv := s.argv(w, c, tag)
	r.cmd = exec.Command(argv[0], argv[1:]...)
	r.cmd.SysProcAttr = detached()
	r.cmd.WaitDelay = drainWait
	r.cmd.Env = []string{tagName + "=" + tag}
	if !s.confined {
		r.cmd.Env = environment(w.dir, tag, c.env)
		r.cmd.Dir = filepath.Join(w.dir, c.dir)
	}
	var err error
	if r.file, err = s.remember(tag, identity{}); err != nil {
		return nil, err
	}
	if err := r.launch(s, tag); err != nil {
		_ = os.Remove(r.file)
		return nil, fmt.Errorf("the command could not start: %w", err)
	}
	go func() {
		r.waitErr = waitExit(r.cmd.Process.Pid)
		close(r.exited)
	}()
	return r, nil
}

// launch connects the pipes and starts the process.
func (r *running) launch(s *Sandbox, tag string) error {
	stdout, err := newPipe()
	if err != nil {
		return err
	}
	defer stdout.w.Close()
	stderr, err := newPipe()
	if err != nil {
		stdout.r.Close()
		return err
	}
	defer stderr.w.Close()
	told, err := newPipe()
	if err != nil {
		stdout.r.Close()
		stderr.r.Close()
		return err
	}
	defer told.w.Close()
	r.cmd.Stdout, r.cmd.Stderr = stdout.w, stderr.w
	if s.confined {
		r.cmd.ExtraFiles = []*os.File{told.w}
	}
	if err := r.cmd.Start(); err != nil {
		stdout.r.Close()
		stderr.r.Close()
		told.r.Close()
		return err
	}
	leader, err := readProc(r.cmd.Process.Pid) // not reaped: it is there
	if err != nil {
		leader = proc{pid: r.cmd.Process.Pid}
	}
	r.tree = newTree(tag, leader.identity(), s.confined)
	if f, err := s.remember(tag, leader.identity()); err != nil {
		s.log.Warn("a command's state was not kept", "file", f, "error", err)
	}
	r.out.read(stdout.r, stderr.r)
	go r.listen(told.r)
	return nil
}

type pipe struct{ r, w *os.File }

func newPipe() (p pipe, err error) {
	p.r, p.w, err = os.Pipe()
	return p, err
}

// listen hears from bwrap which process its PID namespace lives with, and how
// the command ended.
func (r *running) listen(from *os.File) {
	defer close(r.heard)
	defer from.Close()
	for dec := json.NewDecoder(from); ; {
		var doc struct {
			Child int  `json:"child-pid"`
			Code  *int `json:"exit-code"`
		}
		if dec.Decode(&doc) != nil {
			return // bwrap has ended
		}
		if doc.Child > 0 {
			if p, err := readProc(doc.Child); err == nil && p.ppid == r.tree.leader.PID {
				r.tree.setInit(p.identity())
			}
		}
		if doc.Code != nil {
			r.status = status{ran: true, code: *doc.Code}
		}
	}
}

// watch waits for the first thing that ends the command.
func (r *running) watch(ctx context.Context) cause {
	var timeout <-chan time.Time
	if r.command.timeout > 0 {
		t := time.NewTimer(r.command.timeout)
		defer t.Stop()
		timeout = t.C
	}
	look := time.NewTimer(watchEvery)
	defer look.Stop()
	for {
		why := byItself
		select {
		case <-r.exited:
			return byItself
		case <-ctx.Done():
			why = byStop
		case <-timeout:
			why = byTime
		case <-look.C:
			began := time.Now()
			why = r.over()
			look.Reset(max(watchEvery, 10*time.Since(began)))
		}
		select {
		case <-r.exited: // before anything was done to it
			return byItself
		default:
		}
		if why != byItself {
			return why
		}
	}
}

// over says which limit the command is over, if any.
func (r *running) over() cause {
	var used int64
	list, _ := r.tree.members() // those that can't be read are not counted
	for _, p := range list {
		used += memory(p.pid)
	}
	switch {
	case used > r.command.limits.memory:
		return byMemory
	case r.workspace.size() > r.quota:
		return byDisk
	}
	return byItself
}

// reap waits for the leader, whose tree is dead, and for the end of its output.
func (r *running) reap() error {
	<-r.exited
	err := r.cmd.Wait()
	<-r.heard
	r.out.close(drainWait)
	_ = os.Remove(r.file)
	if _, ok := errors.AsType[*exec.ExitError](err); ok || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return cmp.Or(r.waitErr, err)
}

// finish says what the command came to.
func (r *running) finish(ctx context.Context, why cause, err error) (Result, error) {
	res := Result{ExitCode: -1}
	if err != nil {
		if !errors.Is(err, agent.ErrUnconfirmed) {
			err = fmt.Errorf("%w: %w", agent.ErrUnconfirmed, err)
		}
		r.out.close(0)
		res.Stdout, res.Stderr, res.Truncated = r.out.text()
		return res, err
	}
	res.Stdout, res.Stderr, res.Truncated = r.out.text()
	ran, code := r.status.ran, r.status.code
	if !r.tree.confined {
		code = r.cmd.ProcessState.ExitCode()
		ran = code >= 0
		if !ran && why == byItself {
			res.Error = "the command was ended by a " + r.cmd.ProcessState.String()
		}
	}
	// With one process left that ends well, it was about to end by itself.
	if ran && code == 0 && r.told <= 1 {
		why = byItself
	}
	switch {
	case ran && why == byItself:
		res.ExitCode = code
		return res, nil
	case why == byItself && r.tree.confined:
		return res, fmt.Errorf("the sandbox could not start: %s", strings.TrimSpace(res.Stderr))
	}
	switch why {
	case byStop:
		res.Canceled = true
		return res, context.Cause(ctx)
	case byTime:
		res.TimedOut = true
	case byMemory:
		res.Error = fmt.Sprintf("ended: it used more than its %d MB of memory", r.command.limits.memory>>20)
	case byDisk:
		res.Error = fmt.Sprintf("ended: the workspace holds more than its %d MB", r.workspace.quota>>20)
	}
	return res, nil
}
