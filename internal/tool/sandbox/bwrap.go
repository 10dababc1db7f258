package sandbox

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	inside   = "/workspace" // the workspace, as commands see it
	tagName  = "BELAY_TAG"  // variable that marks every process of a command
	pathList = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	tmpSize  = 64 << 20
	statusFD = 3 // where bwrap tells of its child
)

// environment is all that a command gets of one.
func environment(home, tag string, more map[string]string) []string {
	env := map[string]string{"PATH": pathList, "HOME": home, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
	maps.Copy(env, more)
	env[tagName] = tag
	var out []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

// argv is what is run for a command.
func (s *Sandbox) argv(w workspace, c command, tag string) []string {
	if !s.confined {
		if s.programs.prlimit == "" {
			return c.argv
		}
		return slices.Concat(s.prlimit(c, false), c.argv)
	}
	args := []string{
		s.programs.bwrap, "--die-with-parent", "--new-session", "--json-status-fd", strconv.Itoa(statusFD),
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox",
	}
	if !c.limits.network {
		args = append(args, "--unshare-net")
	}
	if s.programs.setpriv == "" {
		args = append(args, "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL")
	}
	args = append(args, system(c.limits.network)...)
	args = append(args, mounts(w.dir)...)
	args = append(args, "--chdir", path.Join(inside, c.dir), "--clearenv")
	for _, kv := range environment(inside, tag, c.env) {
		k, v, _ := strings.Cut(kv, "=")
		args = append(args, "--setenv", k, v)
	}
	args = append(args, "--")
	if s.programs.setpriv != "" {
		id := strconv.Itoa(w.uid)
		args = append(args, s.programs.setpriv, "--reuid", id, "--regid", id, "--clear-groups",
			"--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
	}
	return slices.Concat(args, s.prlimit(c, true), c.argv)
}

// prlimit bounds each process; what they use together is watched.
func (s *Sandbox) prlimit(c command, count bool) []string {
	args := []string{
		s.programs.prlimit, "--core=0",
		// Not the address space: language runtimes reserve far more than they use.
		fmt.Sprintf("--data=%d", c.limits.memory),
		fmt.Sprintf("--fsize=%d", c.limits.disk),
	}
	if c.timeout > 0 {
		args = append(args, fmt.Sprintf("--cpu=%d", int(math.Ceil(c.timeout.Seconds()))+int(time.Minute.Seconds())))
	}
	if count { // of one user's processes: the sandbox has a user of its own
		args = append(args, fmt.Sprintf("--nproc=%d", c.limits.processes))
	}
	return append(args, "--")
}

// system mounts what programs need of the machine, read-only.
func system(network bool) []string {
	args := []string{"--ro-bind", "/usr", "/usr"}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64"} {
		if to, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", to, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	args = append(args, "--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", "/etc/ssl")
	etc := []string{"alternatives", "ld.so.cache", "ssl/openssl.cnf"} // each mount takes its time
	if network {
		etc = append(etc, "ssl/certs", "resolv.conf", "hosts", "nsswitch.conf", "services", "protocols", "pki/tls/certs")
	}
	for _, name := range etc {
		args = append(args, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	return args
}

// mounts are what a command can write to, and its own /proc and /dev.
func mounts(workspace string) []string {
	size := strconv.Itoa(tmpSize)
	return []string{
		"--proc", "/proc", "--dev", "/dev",
		"--size", size, "--perms", "1777", "--tmpfs", "/dev/shm",
		"--size", size, "--perms", "1777", "--tmpfs", "/tmp",
		"--bind", workspace, inside,
		"--remount-ro", "/dev", "--remount-ro", "/",
	}
}

// Users of sessions, where the node is root.
const (
	firstUID  = 1 << 30
	manyUIDs  = 1 << 29
	nobodyUID = 65534
)

// uid is the user that a session's commands run as: one that no account has
// and hardly another session. In a container that has fewer users it is nobody.
func (s *Sandbox) uid(session string) int {
	if os.Geteuid() != 0 || !s.confined {
		return os.Geteuid()
	}
	if !mapped(firstUID + manyUIDs) {
		return nobodyUID
	}
	h := fnv.New32a()
	h.Write([]byte(session))
	return firstUID + int(h.Sum32()%manyUIDs)
}

// mapped reports whether the node's user namespace has users up to uid.
func mapped(uid uint64) bool {
	f, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return false
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var first, outer, count uint64
		if n, _ := fmt.Sscan(in.Text(), &first, &outer, &count); n == 3 && first <= firstUID && uid < first+count {
			return true
		}
	}
	return false
}

// shell is bash where the machine has it; commands see the same /bin.
func shell() string {
	if _, err := os.Stat("/bin/bash"); err == nil {
		return "/bin/bash"
	}
	return "/bin/sh"
}
