package bench

import (
	"fmt"
	"runtime"
)

// Machine is where a run was made.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	Cores int    `json:"cores"`
	CPU   string `json:"cpu"` // empty: not known
}

// ThisMachine describes the machine of this process.
func ThisMachine() Machine {
	return Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), CPU: cpuName()}
}

func (m Machine) String() string {
	s := fmt.Sprintf("%d cores, %s/%s", m.Cores, m.OS, m.Arch)
	if m.CPU != "" {
		s += ", " + m.CPU
	}
	return s
}
