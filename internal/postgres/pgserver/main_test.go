package pgserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// helperEnv makes the test binary a process that runs a server in the directory
// it names, says where, and stops it when its input ends.
const helperEnv = "BELAY_PGSERVER_HELPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		if err := help(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// help obeys one word per line: suspend. The end of its input: stop.
func help(dir string) error {
	s, err := Start(context.Background(), Config{Dir: dir, Fast: true})
	if err != nil {
		return err
	}
	fmt.Println(s.TCPURL())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := s.Suspend(); err != nil {
			return err
		}
		fmt.Println("suspended")
	}
	return s.Stop()
}

// helper is this test binary as another process.
type helper struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	url string
}

func startHelper(t *testing.T, dir string, change func(*exec.Cmd)) *helper {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &helper{cmd: exec.CommandContext(t.Context(), exe)}
	h.cmd.Env = append(os.Environ(), helperEnv+"="+dir)
	h.cmd.Stderr = t.Output()
	if change != nil {
		change(h.cmd)
	}
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.url = h.line(t)
	return h
}

func (h *helper) line(t *testing.T) string {
	t.Helper()
	s, err := h.out.ReadString('\n')
	if err != nil {
		t.Fatal("the helper process: ", err)
	}
	return strings.TrimSpace(s)
}

// kill ends the helper with SIGKILL.
func (h *helper) kill(t *testing.T) {
	t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.cmd.Wait() // it was killed
}

// start runs a server that the test's end stops.
func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Fast = true
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if left := processes(s.home.data, 0); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
	return s
}

// workDir is a directory that every user may pass; t.TempDir lies below one
// that only its owner may.
func workDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "belay-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Second)
		defer cancel()
		c.Close(ctx)
	})
	return c
}

func run(t *testing.T, url, q string) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), q); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, url, q string) (answer string) {
	t.Helper()
	if err := connect(t, url).QueryRow(t.Context(), q).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// awaitNone fails the test unless every process of the server ends by itself.
func awaitNone(t *testing.T, data string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); len(processes(data, 0)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("processes %v are left", processes(data, 0))
		}
	}
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}

// uidOf returns whose a process is; false where it has ended meanwhile, as some of
// Postgres' own do.
func uidOf(t *testing.T, pid int) (int, bool) {
	t.Helper()
	info, err := os.Stat(filepath.Join("/proc", fmt.Sprint(pid)))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), true
}
