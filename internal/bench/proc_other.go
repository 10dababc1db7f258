//go:build !linux

package bench

import (
	"syscall"
	"time"
)

// ownGroup keeps a terminal's Ctrl-C from a child, which is ended by its parent.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// threadCPU is not known here: the model's share counts as the client's.
func threadCPU() time.Duration { return 0 }

func cpuName() string { return "" }

func loadAverage() string { return "" }

// TreeCPU is not known here.
func TreeCPU(int) time.Duration { return 0 }
