package sandbox

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

const supported = true

// detached gives a command a session of its own, and ends it with the node.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// waitExit returns when a child has ended, and leaves it to be reaped: until
// then nobody else gets its pid.
func waitExit(pid int) error {
	const pPID, wExited, wNoWait = 1, 4, 0x01000000
	var info [128]byte // siginfo_t
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
		switch errno {
		case 0:
			return nil
		case syscall.EINTR:
		default:
			return errno
		}
	}
}

// sealInherited keeps from commands what the node itself has inherited: files
// that Go opens are closed in children as it is.
func sealInherited() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// fSetPipeSize is F_SETPIPE_SZ, which package syscall does not name.
const fSetPipeSize = 1031

// widen lets a pipe hold n bytes where the kernel allows it: a flood is then read
// in fewer, larger steps.
func widen(f *os.File, n int) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, fSetPipeSize, uintptr(n)) })
	}
}
