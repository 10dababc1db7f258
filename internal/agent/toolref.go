package agent

import (
	"fmt"
	"slices"
	"strings"
)

// ToolRef gives an agent tools from a source.
type ToolRef struct {
	Source    string   `json:"source" yaml:"source"`                             // one of Sources
	Key       string   `json:"key" yaml:"key"`                                   // names the source within the agent
	Names     []string `json:"names,omitempty" yaml:"names,omitempty"`           // which of its tools; none: all
	Approval  string   `json:"approval,omitempty" yaml:"approval,omitempty"`     // always or never (default)
	TimeoutMS int      `json:"timeout_ms,omitempty" yaml:"timeout_ms,omitempty"` // per call, default 30,000; of commands in a sandbox what the call asks for

	Sandbox *SandboxSource `json:"sandbox,omitempty" yaml:"sandbox,omitempty"` // with source sandbox only; nil: its defaults
}

// SandboxSource says what commands in a sandbox may use. Zero is the default
// given in each comment.
type SandboxSource struct {
	Network   bool `json:"network,omitempty" yaml:"network,omitempty"`     // the node's network; false: none at all
	MemoryMB  int  `json:"memory_mb,omitempty" yaml:"memory_mb,omitempty"` // of a command's processes together, 512
	Processes int  `json:"processes,omitempty" yaml:"processes,omitempty"` // at once in one session, 128
	DiskMB    int  `json:"disk_mb,omitempty" yaml:"disk_mb,omitempty"`     // of the session's workspace, 256
}

// Defaults of a SandboxSource.
const (
	DefaultSandboxMemoryMB  = 512
	DefaultSandboxProcesses = 128
	DefaultSandboxDiskMB    = 256
)

// Sources of tools.
const (
	SourceFunction = "function" // Go functions that are built into the node
	SourceSandbox  = "sandbox"  // commands and files in a workspace of the session
)

// Sources lists the sources of tools.
var Sources = []string{SourceFunction, SourceSandbox}

func (v *checks) tool(prefix string, t ToolRef) {
	v.that(slices.Contains(Sources, t.Source), prefix+"source", "must be "+strings.Join(Sources, ", "))
	v.key(prefix+"key", t.Key)
	for i, n := range t.Names {
		v.that(namePattern.MatchString(n), fmt.Sprintf("%snames[%d]", prefix, i), toolNameRule)
	}
	v.that(t.Approval == "" || t.Approval == "always" || t.Approval == "never", prefix+"approval", "must be always or never")
	v.min(prefix+"timeout_ms", int64(t.TimeoutMS), 0)
	v.sandbox(prefix+"sandbox", t)
}

func (v *checks) sandbox(field string, t ToolRef) {
	s := t.Sandbox
	if s == nil {
		return
	}
	v.that(t.Source == SourceSandbox, field, "is for source sandbox only")
	v.that(s.MemoryMB >= 0 && s.MemoryMB <= 1<<20, field+".memory_mb", "must be 0 (default 512) to 1048576")
	v.that(s.Processes >= 0 && s.Processes <= 1<<16, field+".processes", "must be 0 (default 128) to 65536")
	v.that(s.DiskMB >= 0 && s.DiskMB <= 1<<20, field+".disk_mb", "must be 0 (default 256) to 1048576")
}

// ToolAuth is how calls to a tool's server prove who they are.
type ToolAuth struct {
	Type     string `json:"type" yaml:"type"`                             // bearer, basic or header
	Header   string `json:"header,omitempty" yaml:"header,omitempty"`     // its name, for header
	Username string `json:"username,omitempty" yaml:"username,omitempty"` // for basic
	Secret   string `json:"secret" yaml:"secret"`                         // key of the project's shared tool that keeps the secret
}

func (v *checks) auth(prefix string, a *ToolAuth) {
	if a == nil {
		return
	}
	v.that(a.Type == "bearer" || a.Type == "basic" || a.Type == "header", prefix+"type", "must be bearer, basic or header")
	v.that(a.Type != "header" || a.Header != "", prefix+"header", "is required: the header's name")
	v.that(a.Type != "basic" || a.Username != "", prefix+"username", "is required")
	v.key(prefix+"secret", a.Secret)
}
