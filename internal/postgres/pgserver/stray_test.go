package pgserver

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestServerEndsWhenItsProcessIsKilled(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	h := startHelper(t, dir, nil)
	run(t, h.url, "CREATE TABLE kept AS SELECT 'here' AS word")
	data := filepath.Join(dir, "data")
	if len(processes(data, 0)) == 0 {
		t.Fatal("the processes of a server are not found")
	}
	h.kill(t)
	awaitNone(t, data)
	s := start(t, Config{Dir: dir})
	if got := ask(t, s.URL(), "SELECT word FROM kept"); got != "here" {
		t.Errorf("got %q", got)
	}
}

func TestStartEndsAServerThatOutlivedItsProcess(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	h := startHelper(t, dir, nil)
	run(t, h.url, "CREATE TABLE kept AS SELECT 'here' AS word")
	if _, err := io.WriteString(h.in, "suspend\n"); err != nil { // it cannot end while it is
		t.Fatal(err)
	}
	h.line(t)
	h.kill(t)
	old := processes(filepath.Join(dir, "data"), 0)
	if len(old) == 0 {
		t.Fatal("the server did not outlive its process: this test shows nothing")
	}
	s := start(t, Config{Dir: dir})
	if got := ask(t, s.URL(), "SELECT word FROM kept"); got != "here" {
		t.Errorf("got %q", got)
	}
	for _, pid := range old {
		if alive(pid) {
			t.Errorf("process %d of the old server is left", pid)
		}
	}
}

func TestStartIgnoresThePidFileOfAServerThatIsGone(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	start(t, Config{Dir: dir}).Stop()
	// the number now belongs to another living process
	file := filepath.Join(dir, "data", "postmaster.pid")
	text := fmt.Sprintf("%d\n%s\n%d\n5432\n\n127.0.0.1\n 1 1\nready\n", os.Getpid(), filepath.Dir(file), time.Now().Unix())
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, start(t, Config{Dir: dir}).URL(), "SELECT 1")
}

func TestServerDoesNotRunAsRoot(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	for _, pid := range processes(s.home.data, 0) {
		if uid, alive := uidOf(t, pid); alive && uid == 0 {
			t.Errorf("process %d runs as root", pid)
		}
	}
}

func TestServerRunsForAUserWhoIsNotRoot(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	dir := workDir(t)
	h := startHelper(t, filepath.Join(dir, "db"), func(cmd *exec.Cmd) {
		if os.Geteuid() != 0 {
			return // every test is this one
		}
		b, err := os.ReadFile(cmd.Path)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Dir = filepath.Join(dir, "helper"), "/"
		if err := os.WriteFile(cmd.Path, b, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	})
	if got := ask(t, h.url, "SELECT current_user"); got != "belay" {
		t.Errorf("current user %q", got)
	}
	for _, pid := range processes(filepath.Join(dir, "db", "data"), 0) {
		if uid, alive := uidOf(t, pid); alive && uid != nobody && uid != os.Geteuid() {
			t.Errorf("process %d runs as %d", pid, uid)
		}
	}
	h.in.Close()
	if err := h.cmd.Wait(); err != nil {
		t.Error(err)
	}
	awaitNone(t, filepath.Join(dir, "db", "data"))
}

func TestFilesThatTheServersUserCannotReachAreKeptElsewhere(t *testing.T) {
	t.Parallel()
	private := filepath.Join(workDir(t), "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(private, "db")
	s := start(t, Config{Dir: dir})
	run(t, s.URL(), "SELECT 1")
	if os.Geteuid() != 0 {
		if s.Dir() != dir {
			t.Errorf("files in %s, want %s", s.Dir(), dir)
		}
		return
	}
	t.Cleanup(func() {
		os.RemoveAll(s.Dir())
		os.Remove(filepath.Dir(s.Dir())) // unless it is in use
	})
	if !strings.HasPrefix(s.Dir(), "/var/lib/belay/db-") {
		t.Errorf("files in %s, want below /var/lib/belay", s.Dir())
	}
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory above was changed: %v %v", info.Mode(), err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	again := start(t, Config{Dir: dir})
	if again.Dir() != s.Dir() {
		t.Errorf("files in %s the second time, in %s the first", again.Dir(), s.Dir())
	}
	again.Stop()
}

func TestSweepRemovesOldTemporaryDirectoriesThatNobodyHolds(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	make := func(name string, age time.Duration) string {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old, young := make(tempPrefix+"old", time.Hour), make(tempPrefix+"young", 0)
	held, foreign := make(tempPrefix+"held", time.Hour), make("other", time.Hour)
	lock, err := lockFile(filepath.Join(held, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	sweep(base)
	if !missing(old) {
		t.Error("an old directory is left")
	}
	for _, dir := range []string{young, held, foreign} {
		if missing(dir) {
			t.Errorf("%s was removed", filepath.Base(dir))
		}
	}
}
