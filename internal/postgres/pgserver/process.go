package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How long a server may take to stop by each of the ways it is asked.
const (
	fastWait      = 10 * time.Second // disconnect all, write the data out
	immediateWait = 5 * time.Second  // leave as after a crash
	killWait      = 10 * time.Second
)

// process is one run of a postmaster.
type process struct {
	cmd  *exec.Cmd
	out  *tail
	done chan struct{} // closed when it has ended and was waited for
}

// startProcess runs a postmaster. The goroutine that starts it keeps its thread
// until the process has ended: the kernel's signal on the death of the parent
// is on the death of the thread that started it.
func startProcess(o owner, log io.Writer, name string, args ...string) (*process, error) {
	p := &process{cmd: command(context.Background(), o, name, args...), out: &tail{to: log}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.WaitDelay = immediateWait // its children may hold the pipe
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is seen in its log
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// runAs runs a program to its end and returns what it printed.
func runAs(ctx context.Context, o owner, name string, args ...string) ([]byte, error) {
	runtime.LockOSThread() // see startProcess
	defer runtime.UnlockOSThread()
	cmd := command(ctx, o, name, args...)
	cmd.WaitDelay = immediateWait
	return cmd.CombinedOutput()
}

// command is a program of Postgres: as its owner, in no directory and with no
// environment of ours (PGDATA, PGPORT and the like), deaf to the terminal's ^C.
func command(ctx context.Context, o owner, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC"}
	if runtime.GOOS != "linux" {
		cmd.Env[1] = "LC_ALL=C"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: o.credential()}
	dieWithParent(cmd.SysProcAttr)
	return cmd
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// wait reports whether the process ended within d.
func (p *process) wait(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// stop ends the process and its children, by force if it must.
func (p *process) stop(data string) error {
	_ = p.cmd.Process.Signal(syscall.SIGINT) // an error: it has ended
	if p.wait(fastWait) {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	if p.wait(immediateWait) {
		return fmt.Errorf("postgres did not stop within %s and was stopped at once", fastWait)
	}
	return errors.Join(errors.New("postgres did not stop and was killed"), p.kill(data))
}

// kill ends the process and its children with SIGKILL and waits for all of them.
func (p *process) kill(data string) error {
	pids := processes(data, p.pid())
	_ = p.cmd.Process.Kill() // first, so that it starts no more
	killAll(pids)
	if !p.wait(killWait) {
		return fmt.Errorf("postgres process %d survived SIGKILL", p.pid())
	}
	return waitGone(data, pids)
}

// ended is the error of a process that was expected to go on.
func (p *process) ended() error {
	return fmt.Errorf("postgres ended (%s): %s", p.cmd.ProcessState, p.out)
}

// killAll kills processes; one that is gone is no matter.
func killAll(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// waitGone waits until none of a server's processes is left.
func waitGone(data string, pids []int) error {
	for end := time.Now().Add(killWait); ; time.Sleep(2 * time.Millisecond) {
		left := processes(data, 0)
		for _, pid := range pids {
			if alive(pid) {
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("postgres processes %v survived SIGKILL", left)
		}
		killAll(left)
	}
}

// alive reports whether a process of that number runs.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return (err == nil || errors.Is(err, syscall.EPERM)) && !defunct(pid)
}

// tail passes on what is written to it, and keeps the end.
type tail struct {
	to  io.Writer
	mu  sync.Mutex
	end []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if n := len(t.end); n > tailSize {
		t.end = append(t.end[:0], t.end[n-tailSize:]...)
	}
	if t.to != nil {
		_, _ = t.to.Write(b) // a log that fails must not stop the server
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.end))
}
