//go:build !linux

package pgserver

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent does nothing: there is no such signal. The next Start ends the
// server that outlived its process.
func dieWithParent(*syscall.SysProcAttr) {}

// processes lists the children of a postmaster.
func processes(_ string, postmaster int) []int {
	if postmaster == 0 {
		return nil
	}
	out, _ := exec.Command("ps", "-axo", "pid=,ppid=").Output() // failed: none are found
	var pids []int
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 2 && f[1] == strconv.Itoa(postmaster) {
			pid, _ := strconv.Atoi(f[0])
			pids = append(pids, pid)
		}
	}
	return pids
}

// runsOn reports whether a process is the postmaster of that data directory.
func runsOn(ctx context.Context, pid int, data string) bool {
	out, _ := exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return strings.Contains(string(out), "postgres") && strings.Contains(string(out), data)
}

func defunct(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(string(out), "Z")
}
