//go:build !linux

package sandbox

import (
	"errors"
	"syscall"
)

const supported = false // what is gone is read from /proc

func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func waitExit(int) error { return errors.ErrUnsupported }

func sealInherited() {}
