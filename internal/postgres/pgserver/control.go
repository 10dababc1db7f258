package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Kill ends every process of the server with SIGKILL, as a crash would, and
// waits for them. Restart brings it back with what it had committed.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	return p.kill(s.home.data)
}

// Suspend freezes every process of the server: connections stay open and
// nothing answers, until Resume.
func (s *Server) Suspend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return ErrStopped
	}
	pid := s.proc.pid()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("suspend postgres: %w", err)
	}
	for _, child := range processes(s.home.data, pid) {
		err := syscall.Kill(child, syscall.SIGSTOP)
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("suspend postgres: %w", err)
		}
	}
	return nil
}

// Resume lets a suspended server go on.
func (s *Server) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return ErrStopped
	}
	resume(s.proc, s.home.data)
	return nil
}

func resume(p *process, data string) {
	for _, child := range append(processes(data, p.pid()), p.pid()) {
		_ = syscall.Kill(child, syscall.SIGCONT) // an error: it has ended
	}
}

// Restart ends the server, if it runs, and starts it on the same port and data.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("not ready in time"))
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return ErrStopped
	}
	if err := s.end(); err != nil {
		return err
	}
	if err := s.launch(ctx); err != nil {
		return fmt.Errorf("restart postgres in %s: %w", s.home.dir, err)
	}
	return nil
}

// endStrays ends what runs on a home's data although its lock was free: the
// process that started it was killed. A pid file of a process that is gone or
// is no longer a postgres would refuse the next start, and is removed.
func endStrays(ctx context.Context, h *home) error {
	pidFile := filepath.Join(h.data, "postmaster.pid")
	b, err := os.ReadFile(pidFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	master := versionIn(first)
	if master != 0 && !runsOn(ctx, master, h.data) {
		master = 0
	}
	strays := processes(h.data, master)
	if master != 0 {
		strays = append(strays, master)
	}
	killAll(strays)
	if err := waitGone(h.data, strays); err != nil {
		return err
	}
	if err := os.Remove(pidFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
