package pgserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent has the kernel stop the server at once, as after a crash, when
// the thread that started it ends.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }

// processes lists the processes of Postgres that work in a data directory,
// orphans too. They are found by their working directory, so the number of the
// postmaster is not needed here.
func processes(data string, _ int) []int {
	entries, _ := os.ReadDir("/proc") // not there: none are found
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !worksIn(pid, data) {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}

func worksIn(pid int, data string) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil || strings.TrimSuffix(cwd, " (deleted)") != data {
		return false
	}
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.HasPrefix(string(comm), "postgres") && !defunct(pid)
}

// runsOn reports whether a process is a postgres of that data directory.
func runsOn(_ context.Context, pid int, data string) bool { return worksIn(pid, data) }

// defunct reports whether a process has ended and waits to be collected.
func defunct(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // the name before may hold anything
	return len(rest) > 0 && (rest[0] == 'Z' || rest[0] == 'X')
}
