package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool/sandbox"
)

func TestACommandSeesNothingOfTheNode(t *testing.T) {
	t.Setenv("BELAY_SECRET_KEY", "not-for-models")
	dir := t.TempDir()
	box := sandbox.New(sandbox.Config{Dir: dir, Node: "n"})
	ref := agent.ToolRef{Source: agent.SourceSandbox, Key: "shell"}
	a, b := session(t, box, "s1", ref), session(t, box, "s2", ref)
	a.exec("echo mine > secret; chmod 600 secret")
	for _, line := range []string{
		"cat /etc/shadow", "cat /etc/passwd", "ls " + dir, "ls /root /home", "cat /workspace/secret",
		"grep -z BELAY_SECRET /proc/*/environ", "touch /usr/x", "touch /x", "touch /dev/x", "touch /etc/x", "ls /sys",
		"cat /proc/1/root/etc/shadow", "mount -t tmpfs x /tmp", "chown 0 /workspace", "su -c id",
		"kill -9 1 && sleep 1 && false",
	} {
		if r := b.exec(line); r.ExitCode == 0 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if r := b.exec("env"); strings.Contains(r.Stdout, "not-for-models") || !strings.Contains(r.Stdout, "HOME=/workspace\n") {
		t.Errorf("env: %+v", r)
	}
	if r := b.exec("id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status"); strings.HasPrefix(r.Stdout, "0\n") ||
		!strings.Contains(r.Stdout, "CapEff:\t0000000000000000\n") || !strings.Contains(r.Stdout, "NoNewPrivs:\t1\n") {
		t.Errorf("id: %+v", r)
	}
	// The tests' own processes and the machine's other ones are not there.
	if r := b.exec("ls -d /proc/[0-9]* | wc -l"); len(r.Stdout) > 2 {
		t.Errorf("processes: %+v", r)
	}
	if r := b.exec("ls -l /proc/self/fd | wc -l"); r.Stdout != "5\n" { // total, 0, 1, 2 and its own
		t.Errorf("descriptors: %+v", b.exec("ls -l /proc/self/fd"))
	}
}

func TestThereIsNoNetworkUnlessAskedFor(t *testing.T) {
	for network, want := range map[bool]string{false: "lo", true: ""} {
		e := open(t, false, &agent.SandboxSource{Network: network})
		r := e.exec("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")
		if alone := strings.TrimSpace(r.Stdout) == "lo"; want == "lo" && !alone {
			t.Errorf("network %v: %+v", network, r)
		}
	}
}

func TestLimits(t *testing.T) {
	e := open(t, false, &agent.SandboxSource{MemoryMB: 64, Processes: 20, DiskMB: 4})
	if r := e.exec("x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo ${#x}"); r.ExitCode == 0 {
		t.Errorf("one process took 100 MB: %+v", r)
	}
	r := e.exec("for i in 1 2 3 4; do (x=$(head -c 25000000 /dev/zero | tr '\\0' x); sleep 20) & done; wait")
	if !strings.Contains(r.Error, "memory") || r.ExitCode != -1 || r.TimedOut || r.Canceled {
		t.Errorf("four processes took 100 MB: %+v", r)
	}
	if r := e.exec("for i in $(seq 50); do sleep 5 & done; exit 0"); !strings.Contains(r.Stderr, "fork") {
		t.Errorf("50 processes: %+v", r)
	}
	if r := e.exec("head -c 5000000 /dev/zero > big; ls -l big"); !strings.Contains(r.Stdout, " 4194304 ") {
		t.Errorf("a file of 5 MB: %+v", r)
	}
	e.exec("rm big")
	if r := e.exec("for i in $(seq 9); do head -c 1000000 /dev/zero > f$i; sleep 0.2; done"); !strings.Contains(r.Error, "4 MB") {
		t.Errorf("9 files of 1 MB: %+v", r)
	}
	if out := e.call("write_file", sandbox.WriteFile{Path: "more", Content: "x"}); !strings.Contains(out, "4 MB") {
		t.Errorf("written over the quota: %s", out)
	}
	if r := e.exec("rm f*"); r.ExitCode != 0 || r.Error != "" { // it may still tidy up
		t.Errorf("rm: %+v", r)
	}
	if out := e.call("write_file", sandbox.WriteFile{Path: "more", Content: "x"}); strings.Contains(out, "error") {
		t.Errorf("written under the quota: %s", out)
	}
	if r := e.exec("df -k /tmp | tail -1; head -c 100000000 /dev/zero > /tmp/x"); r.ExitCode == 0 {
		t.Errorf("/tmp took 100 MB: %+v", r)
	}
}

func TestFilesStayInTheWorkspace(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := open(t, false, nil)
	e.exec("ln -s " + outside + " link; ln -s / root; mkfifo pipe; ln -s ../../.. up; mkdir d")
	for _, path := range []string{outside, "link", "root" + outside, "../s2/x", "../../../etc/passwd", "d/../../x", "up/x", "pipe", "/etc/passwd", "d", "", "a\x00b"} {
		if out := e.call("read_file", sandbox.ReadFile{Path: path}); !strings.HasPrefix(out, "error: ") {
			t.Errorf("read %q: %s", path, out)
		}
		if out := e.call("write_file", sandbox.WriteFile{Path: path, Content: "x"}); !strings.HasPrefix(out, "error: ") {
			t.Errorf("wrote %q: %s", path, out)
		}
	}
	if b, _ := os.ReadFile(outside); string(b) != "secret" {
		t.Errorf("outside holds %q", b)
	}
	for _, cwd := range []string{"root", "..", "/etc", "link", "missing"} {
		if out := e.call("exec", sandbox.Exec{Command: "pwd", Cwd: cwd}); !strings.HasPrefix(out, "error: cwd: ") {
			t.Errorf("cwd %q: %s", cwd, out)
		}
	}
	if out := e.call("exec", sandbox.Exec{Command: "pwd", Cwd: "/workspace/d"}); !strings.Contains(out, `/workspace/d\n`) {
		t.Errorf("cwd: %s", out)
	}
}

func TestFilesAndCommandsShareAWorkspace(t *testing.T) {
	e := open(t, false, nil)
	if out := e.call("write_file", sandbox.WriteFile{Path: "/workspace/a/b/c.txt", Content: "héllo"}); out != "wrote 6 bytes" {
		t.Fatal(out)
	}
	if r := e.exec("cat a/b/c.txt && echo more >> a/b/c.txt && touch a/b/d && rm a/b/d"); r.ExitCode != 0 || r.Stdout != "héllo" {
		t.Errorf("cat: %+v", r)
	}
	if out := e.call("read_file", sandbox.ReadFile{Path: "a/b/c.txt"}); out != `{"size":11,"offset":0,"content":"héllomore\n"}` {
		t.Error(out)
	}
	if out := e.call("list_files", sandbox.ListFiles{}); out != `{"files":[{"path":"a","type":"directory"},{"path":"a/b","type":"directory"},{"path":"a/b/c.txt","type":"file","size":11}],"truncated":false}` {
		t.Error(out)
	}
	e.exec("head -c 100000 /dev/zero | tr '\\0' x > long")
	if out := e.call("read_file", sandbox.ReadFile{Path: "long", Offset: 90000}); len(out) < 10000 || strings.Contains(out, "next_offset") {
		t.Error(out)
	}
	if out := e.call("read_file", sandbox.ReadFile{Path: "long"}); !strings.Contains(out, `"next_offset":65536`) {
		t.Error(out[:100])
	}
	for _, name := range []string{"read_file", "write_file", "list_files"} {
		if e.tools[name].Abortable || !e.tools["exec"].Abortable || !e.tools["run_code"].Abortable {
			t.Errorf("%s, or a command, is of the wrong kind", name)
		}
	}
}

func TestItSaysWhatIsMissing(t *testing.T) {
	box := sandbox.New(sandbox.Config{Dir: t.TempDir(), Node: "n", Bwrap: "no-such-bwrap"})
	ref := agent.ToolRef{Source: agent.SourceSandbox, Key: "shell"}
	if out := session(t, box, "s", ref).call("exec", sandbox.Exec{Command: "true"}); !strings.Contains(out, "apt-get install bubblewrap") || box.Check(t.Context()) == nil {
		t.Errorf("without bwrap: %s", out)
	}
	box = sandbox.New(sandbox.Config{Dir: t.TempDir(), Node: "n", Bwrap: "/bin/false"})
	if err := box.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "could not start") {
		t.Errorf("err = %v", err)
	}
	box = sandbox.New(sandbox.Config{Dir: t.TempDir(), Node: "n"})
	if err := box.Check(t.Context()); err != nil {
		t.Error(err)
	}
	ref.Names = []string{"exec", "fly"}
	if _, err := box.Open(t.Context(), agent.Session{ID: "s"}, ref); err == nil || !strings.Contains(err.Error(), "names[1]") {
		t.Errorf("err = %v", err)
	}
	if _, err := box.Open(t.Context(), agent.Session{ID: "../s"}, agent.ToolRef{}); err == nil {
		t.Error("a session's id led out of the directory")
	}
}

// Where the node is not root, a user namespace makes the difference.
func TestItWorksForAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // all the other tests have done this already
	}
	asUser(t, &syscall.Credential{Uid: 12345, Gid: 12345}, "^(TestLimits|TestResultsSayHowACommandEnded|TestFiles.*|TestACommandSeesNothingOfTheNode|TestAnotherUsersProcessIsUnconfirmed)$")
}
