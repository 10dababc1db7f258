package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// proc is a process as /proc shows it. Its pid and start together name it: a
// pid alone may have become another's.
type proc struct {
	pid, ppid, pgrp, session int
	state                    byte
	start                    uint64 // ticks since boot
}

// dead reports that it runs no more, reaped or not.
func (p proc) dead() bool { return p.state == 'Z' || p.state == 'X' || p.state == 'x' }

// is reports whether it is the process of an identity.
func (p proc) is(id identity) bool { return p.pid == id.PID && p.start == id.Start && id.PID > 0 }

func (p proc) identity() identity { return identity{p.pid, p.start} }

// identity names a process for as long as the machine is up.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// gone reports that a read failed because there is no such process.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// readProc reads a process; gone tells an error that means there is none.
func readProc(pid int) (proc, error) {
	var buf [maxStat]byte
	return readStat(pid, buf[:])
}

// maxStat is more than a line of /proc/PID/stat has.
const maxStat = 2048

// readStat is readProc with a buffer to read into: all processes are looked at
// again and again while a command runs.
func readStat(pid int, buf []byte) (proc, error) {
	fd, err := whole(func() (int, error) {
		return syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return proc{}, err
	}
	defer syscall.Close(fd)
	n, err := whole(func() (int, error) { return syscall.Read(fd, buf) })
	if err != nil {
		return proc{}, err
	}
	return parseStat(buf[:n])
}

// whole makes a system call until no signal cuts it short.
func whole(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// parseStat reads a line of /proc/PID/stat. The name in parentheses may hold
// anything, parentheses too.
func parseStat(b []byte) (p proc, err error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return p, fmt.Errorf("not a process's status: %q", b)
	}
	var errs [5]error
	p.pid, errs[0] = strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	n := 0
	for f := range bytes.FieldsSeq(b[end+1:]) {
		switch n++; n {
		case 1:
			if len(f) == 1 {
				p.state = f[0]
			}
		case 2:
			p.ppid, errs[1] = strconv.Atoi(string(f))
		case 3:
			p.pgrp, errs[2] = strconv.Atoi(string(f))
		case 4:
			p.session, errs[3] = strconv.Atoi(string(f))
		case 20:
			p.start, errs[4] = strconv.ParseUint(string(f), 10, 64)
		}
	}
	if n < 20 || p.state == 0 {
		return proc{}, fmt.Errorf("not a process's status: %q", b)
	}
	return p, errors.Join(errs[:]...)
}

// processes lists all that there are. Those that could not be read are counted.
func processes() (all []proc, unread int, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, 0, err
	}
	var buf [maxStat]byte
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		p, err := readStat(pid, buf[:])
		switch {
		case err == nil:
			all = append(all, p)
		case !gone(err):
			unread++
		}
	}
	return all, unread, nil
}

// hasTag reports whether a process was started with a tag in its environment.
func hasTag(pid int, tag string) (bool, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false, err
	}
	return bytes.Contains(append([]byte{0}, b...), []byte("\x00"+tagName+"="+tag+"\x00")), nil
}

// ownedBy reports whether a process belongs to a user; where that can't be read
// it does, unless it is gone.
func ownedBy(pid, uid int) bool {
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return !gone(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == uid
}

// send signals a process if it still is the one that was seen. The handle that
// it is sent by can't become another's.
func send(id identity, sig syscall.Signal) error {
	if id.PID <= 1 || id.PID == os.Getpid() {
		return fmt.Errorf("refused to signal process %d", id.PID)
	}
	h, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer func() { _ = h.Release() }()
	p, err := readProc(id.PID)
	if err != nil {
		return err
	}
	if !p.is(id) || p.dead() {
		return os.ErrProcessDone
	}
	return h.Signal(sig)
}

// memory is what a process has in memory and shares with nobody, in bytes.
func memory(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	var size, resident, shared int64
	if _, err := fmt.Sscan(string(b), &size, &resident, &shared); err != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}

// bootID names the time since the machine's start: pids and starts of another
// boot mean nothing.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}
