package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool/sandbox"
)

// asNode makes this test binary be a node that runs one command; it names the
// directory of its sandbox.
const asNode = "SANDBOX_TEST_NODE"

func beNode(dir string) {
	box := sandbox.New(sandbox.Config{Dir: dir, Node: "n", Unconfined: os.Getenv("SANDBOX_TEST_UNCONFINED") == "true"})
	list, err := box.Open(context.Background(), agent.Session{ID: "s"}, agent.ToolRef{Source: agent.SourceSandbox, Key: "x"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	in, _ := json.Marshal(sandbox.Exec{
		Command: "setsid sleep 300 & (trap '' TERM; sleep 300; sleep 1) & sleep 300 | cat & wait", TimeoutMS: new(0),
		Env: map[string]string{"MARK": os.Getenv("SANDBOX_TEST_MARK")},
	})
	fmt.Println(list[0].Call(context.Background(), in))
}

func TestOrphansOfADeadNodeAreEnded(t *testing.T) {
	for name, unconfined := range confinements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			mark := filepath.Base(filepath.Dir(dir)) + name
			node := exec.Command(os.Args[0])
			node.Env = append(os.Environ(), asNode+"="+dir, "SANDBOX_TEST_MARK="+mark, fmt.Sprintf("SANDBOX_TEST_UNCONFINED=%v", unconfined))
			node.Stderr = os.Stderr
			if err := node.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "its command runs", func() bool { return len(survivors(t, mark)) >= 6 })
			box := sandbox.New(sandbox.Config{Dir: dir, Node: "n", Unconfined: unconfined})
			if n, err := box.Recover(t.Context()); n != 0 || err != nil {
				t.Errorf("a living node's commands were touched: %d, %v", n, err)
			}
			eventually(t, "its command still runs", func() bool { return len(survivors(t, mark)) >= 6 })
			if err := node.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = node.Wait()
			if n, err := sandbox.New(sandbox.Config{Dir: dir, Node: "other"}).Recover(t.Context()); n != 0 || err != nil {
				t.Errorf("another node's commands were touched: %d, %v", n, err)
			}
			n, err := box.Recover(t.Context())
			if err != nil || unconfined && n != 1 {
				t.Errorf("recovered %d, %v", n, err)
			}
			if left := survivors(t, mark); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "nodes", "n", "*")); len(files) > 0 {
				t.Errorf("left: %q", files)
			}
		})
	}
}

// asUser runs some of these tests as another user.
func asUser(t *testing.T, who *syscall.Credential, tests string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "test"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.run", tests, "-test.v")
	c.Dir = dir
	c.Env = []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("as user %d: %v\n%s", who.Uid, err, out)
	}
}
