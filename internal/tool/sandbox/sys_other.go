//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"syscall"
)

const supported = false // what is gone is read from /proc

func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func waitExit(int) error { return errors.ErrUnsupported }

func sealInherited() {}

// widen does nothing: pipes have the size that they have.
func widen(*os.File, int) {}
