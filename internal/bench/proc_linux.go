package bench

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU times in /proc: USER_HZ is 100 on every
// architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// ownGroup keeps a terminal's Ctrl-C from a child, which is ended by its parent,
// and has the kernel end it when the parent dies without a word.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// threadCPU is what the calling thread has used.
func threadCPU() time.Duration { return usage(syscall.RUSAGE_THREAD) }

func cpuName() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// loadAverage is that of the last minute, empty where it is not known.
func loadAverage() string {
	b, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(b), " ")
	return load
}

// TreeCPU is what a process, its living children and those that it has waited
// for have used; 0 where that can't be read.
func TreeCPU(pid int) time.Duration {
	_, own, waited := procTimes(pid)
	total := own + waited
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if child, err := strconv.Atoi(e.Name()); err == nil {
			if parent, own, _ := procTimes(child); parent == pid {
				total += own
			}
		}
	}
	return total
}

// procTimes reads a process's parent, its own CPU time and that of children
// that it has waited for.
func procTimes(pid int) (parent int, own, waited time.Duration) {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := bytes.Cut(b, []byte(") ")) // the name before may hold anything
	f := strings.Fields(string(rest))
	if len(f) < 15 {
		return 0, 0, 0
	}
	tick := func(i int) time.Duration {
		n, _ := strconv.ParseInt(f[i], 10, 64)
		return time.Duration(n) * clockTick
	}
	parent, _ = strconv.Atoi(f[1])
	return parent, tick(11) + tick(12), tick(13) + tick(14)
}
