//go:build !linux

package mcp

import "syscall"

// ownGroup makes a command lead a process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// survivors is the group where it has members, be they zombies: what left the
// group is not seen here.
func survivors(group int, _ string) []int {
	if syscall.Kill(-group, 0) == syscall.ESRCH {
		return nil
	}
	return []int{group}
}
