package mcp

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// ownGroup makes a command lead a process group. The kernel kills it when the
// node dies, however that dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// survivors are the processes that belong to a group or carry a mark in their
// environment, and are not dead: a zombie is.
func survivors(group int, mark string) (pids []int) {
	dir, err := os.ReadDir("/proc")
	if err != nil {
		return []int{group} // not known to be gone
	}
	for _, d := range dir {
		pid, err := strconv.Atoi(d.Name())
		if err == nil && pid != os.Getpid() && belongs(d.Name(), group, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func belongs(pid string, group int, mark string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false // it has ended meanwhile
	}
	// pid (name) state parent group ...; the name may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return false
	}
	if string(fields[2]) == strconv.Itoa(group) {
		return true
	}
	env, err := os.ReadFile("/proc/" + pid + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00"))
}
