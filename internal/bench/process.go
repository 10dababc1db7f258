package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// selfCPU is what this process has used.
func selfCPU() time.Duration { return usage(syscall.RUSAGE_SELF) }

func usage(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Limits of a node's process.
const (
	startLimit = 20 * time.Second
	stopLimit  = 5 * time.Second
	keptLines  = 20 // of its log, for an error
)

// Node is a node that runs as a child process.
type Node struct {
	URL string

	cmd  *exec.Cmd
	wg   sync.WaitGroup
	done chan struct{}
	log  nodeLog
}

// StartNode runs a node and returns once it serves. The command is to log JSON
// lines to stderr, among them "serving" with the address that it listens on.
// ctx bounds the start only; Stop must follow.
func StartNode(ctx context.Context, exe string, args, env []string) (*Node, error) {
	n := &Node{cmd: exec.Command(exe, args...), done: make(chan struct{})}
	n.log.serving = make(chan string, 1)
	n.cmd.Env, n.cmd.SysProcAttr = env, ownGroup()
	stderr, err := n.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a node: %w", err)
	}
	n.wg.Go(func() {
		defer close(n.done)
		n.log.read(stderr)
		_ = n.cmd.Wait() // how it ended is in its log
	})
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errors.New("not serving in time"))
	defer cancel()
	select {
	case addr := <-n.log.serving:
		n.URL = "http://" + addr
		return n, nil
	case <-n.done:
		return nil, fmt.Errorf("a node ended at its start:\n%s", n.log.tail())
	case <-ctx.Done():
		n.Stop()
		return nil, fmt.Errorf("start a node: %w\n%s", context.Cause(ctx), n.log.tail())
	}
}

// Stop ends the process and waits for its end: it may drain for a moment, then
// it is killed. What it served is of no more interest.
func (n *Node) Stop() {
	_ = n.cmd.Process.Signal(syscall.SIGTERM) // an error: it has ended
	select {
	case <-n.done:
	case <-time.After(stopLimit):
		_ = n.cmd.Process.Kill()
	}
	n.wg.Wait()
}

// nodeLog reads what a node logs and keeps the end of it.
type nodeLog struct {
	serving chan string

	mu    sync.Mutex
	lines []string
}

func (l *nodeLog) read(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 4<<10), 1<<20)
	for s.Scan() {
		l.take(s.Bytes())
	}
	_, _ = io.Copy(io.Discard, r) // after a line that is too long
}

func (l *nodeLog) take(line []byte) {
	if bytes.Contains(line, []byte(`"msg":"serving"`)) {
		var s struct{ Addr string }
		if json.Unmarshal(line, &s) == nil && s.Addr != "" {
			select {
			case l.serving <- s.Addr:
			default:
			}
		}
	}
	if bytes.Contains(line, []byte(`"level":"INFO"`)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == keptLines {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
	l.lines = append(l.lines, string(line))
}

// tail is the newest lines above level info.
func (l *nodeLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
