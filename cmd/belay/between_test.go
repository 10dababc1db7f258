package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// program starts a program of the machine and ends it with the test.
func program(t *testing.T, cmd *exec.Cmd) *lines {
	t.Helper()
	out := newLines()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (make test installs it)", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Path, out)
		}
	})
	return out
}

// lookPath finds a program that may be where only root's PATH leads.
func lookPath(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin") {
		if p := filepath.Join(dir, name); executable(p) {
			return p
		}
	}
	t.Fatalf("%s is not installed: run .ci/install test", name)
	return ""
}

func executable(path string) bool {
	i, err := os.Stat(path)
	return err == nil && !i.IsDir() && i.Mode()&0o111 != 0
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// nobody are the ids of a user that can do nothing, for programs that refuse root.
func nobody() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	return a
}

// bouncer starts pgbouncer in transaction mode before a database and returns
// the database's URL through it.
func bouncer(t *testing.T, url string) string {
	t.Helper()
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "bouncer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	port := freePort(t)
	ini := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 400
server_round_robin = 1
`, cfg.Port, cfg.User, port)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(ini), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(lookPath(t, "pgbouncer"), file)
	cmd.SysProcAttr = nobody()
	program(t, cmd)
	await(t, port)
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable&default_query_exec_mode=exec", cfg.User, port, cfg.Database)
}

func await(t *testing.T, port int) {
	t.Helper()
	eventually(t, fmt.Sprintf("port %d is open", port), func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// 13, 101, 105: through pgbouncer in transaction mode everything works but
// push, and the nodes say so. Server sessions are handed round, so whatever
// relied on session state would break.
func TestBehindPgbouncer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 0)
	through := bouncer(t, c.url)
	for _, name := range []string{"node-1", "node-2"} {
		c.start(name, through, "BELAY_PUSH=off").ready()
	}
	for node := range 2 {
		t.Run(fmt.Sprintf("stop through node %d", node+1), func(t *testing.T) { stopThrough(t, c, node) })
	}
	want(t, "push", c.push(0), "off")
	s := c.stream(0, "slow", `/tool wait {"seconds":0.1}`, nil)
	want(t, "a turn with a tool", s.rest().Type, "response.completed")
	var streams []*stream
	for i := range 60 {
		streams = append(streams, c.stream(i%2, "demo", "/slow 6000", nil))
	}
	for i, s := range streams {
		want(t, "cancelled", c.stop((i+1)%2, s.conv, nil)["cancelled"], true)
	}
	for _, s := range streams {
		want(t, "reason", reason(s.rest()), "cancelled")
	}
	c.whole()
}

// 101: with push on behind such a pooler, LISTEN is dead and nothing says so
// but the node itself: stops still arrive within the promise, by polling.
func TestPushThroughPgbouncerIsNoticed(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 0)
	through := bouncer(t, c.url)
	c.start("node-1", through).ready()
	c.start("node-2", through).ready()
	want(t, "push", c.push(0), "off")
	s := c.stream(0, "demo", "/slow 6000", nil)
	s.until("response.output_text.delta")
	asked := time.Now()
	want(t, "cancelled", c.stop(1, s.conv, nil)["cancelled"], true)
	c.closed(1, asked)
	want(t, "reason", reason(s.rest()), "cancelled")
}

// push is what a node says of its hints.
func (c *cluster) push(node int) any {
	c.t.Helper()
	res, err := http.Get(c.nodes[node].url + "/readyz")
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var a map[string]any
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		c.t.Fatal(err)
	}
	return a["push"]
}

// 87, 88: nginx with its defaults, but for a short read timeout, neither holds
// events back nor cuts a stream in which nothing happens for a while.
func TestBehindNginx(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, "BELAY_PING=1s")
	dir := t.TempDir()
	port := freePort(t)
	conf := fmt.Sprintf(`daemon off;
master_process off;
pid %[1]s/pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server {
    listen 127.0.0.1:%[2]d;
    location / { proxy_pass %[3]s; proxy_read_timeout 3s; }
  }
}
`, dir, port, c.nodes[0].url)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(lookPath(t, "nginx"), "-c", file, "-e", "stderr")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	program(t, cmd)
	await(t, port)
	c.nodes[0].url = fmt.Sprintf("http://127.0.0.1:%d", port)

	s := c.stream(0, "slow", "/tool wait {\"seconds\":8}", nil)
	want(t, "8 silent seconds behind a 3 s timeout", s.rest().Type, "response.completed")

	s = c.stream(0, "demo", "/say words=20 delay=100ms", nil)
	s.rest()
	var at []time.Time
	for _, e := range s.seen {
		if e.Type == "response.output_text.delta" {
			at = append(at, e.At)
		}
	}
	if d := at[len(at)-1].Sub(at[0]); d < time.Second {
		t.Errorf("20 words at 100 ms each arrived within %v: they were held back", d)
	}
}

// 71: leases are judged by the database's clock alone. A node whose own clock is
// ten minutes off steals nothing, and is not robbed.
func TestClocksThatDisagree(t *testing.T) {
	t.Parallel()
	lib := faketime(t)
	for _, offset := range []string{"+600", "-600"} {
		t.Run(offset, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1)
			c.start("node-2", c.url, "LD_PRELOAD="+lib, "FAKETIME="+offset, "FAKETIME_DONT_FAKE_MONOTONIC=1").ready()
			s := c.stream(0, "demo", "/say words=140 delay=100ms", nil)
			skewed := c.stream(1, "demo", "/say words=140 delay=100ms", nil)
			want(t, "true clock", s.rest().Type, "response.completed")
			want(t, "wrong clock", skewed.rest().Type, "response.completed")
			left := c.stream(0, "demo", "/slow 6000", nil)
			left.until("response.output_text.delta")
			c.nodes[0].kill()
			eventually(t, "it still takes over a dead node's turn", func() bool { return c.state(1, left.conv) == "idle" })
			c.whole()
		})
	}
}

func faketime(t *testing.T) string {
	t.Helper()
	for _, pattern := range []string{"/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1", "/opt/homebrew/lib/faketime/libfaketimeMT.*"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	t.Fatal("libfaketime is not installed: run .ci/install test")
	return ""
}
