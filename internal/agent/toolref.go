package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ToolRef gives an agent tools from a source.
type ToolRef struct {
	Source    string   `json:"source" yaml:"source"`                             // one of Sources
	Key       string   `json:"key" yaml:"key"`                                   // names the source within the agent
	Names     []string `json:"names,omitempty" yaml:"names,omitempty"`           // which of its tools; none: all
	Approval  string   `json:"approval,omitempty" yaml:"approval,omitempty"`     // always or never (default)
	TimeoutMS int      `json:"timeout_ms,omitempty" yaml:"timeout_ms,omitempty"` // per call, default 30,000

	MCP *MCPSource `json:"mcp,omitempty" yaml:"mcp,omitempty"` // of SourceMCP, and of no other
}

// MCPSource says where an MCP server is: at a URL, or a command that the node
// runs and speaks to by its standard input and output.
type MCPSource struct {
	URL     string            `json:"url,omitempty" yaml:"url,omitempty"`         // of its streamable HTTP endpoint
	Command []string          `json:"command,omitempty" yaml:"command,omitempty"` // the program and its arguments; runs only where the operator allows it
	Env     map[string]string `json:"env,omitempty" yaml:"env,omitempty"`         // for the command; it gets nothing of the node's own
	Auth    *ToolAuth         `json:"auth,omitempty" yaml:"auth,omitempty"`       // for the URL; nil: none
}

// The sources of tools.
const (
	SourceFunction = "function" // Go functions that are built into the node
	SourceMCP      = "mcp"      // the tools of an MCP server
)

// Sources lists the sources of tools.
var Sources = []string{SourceFunction, SourceMCP}

func (v *checks) tool(prefix string, t ToolRef) {
	v.that(slices.Contains(Sources, t.Source), prefix+"source", "must be "+strings.Join(Sources, ", "))
	v.key(prefix+"key", t.Key)
	for i, n := range t.Names {
		v.that(namePattern.MatchString(n), fmt.Sprintf("%snames[%d]", prefix, i), toolNameRule)
	}
	v.that(t.Approval == "" || t.Approval == "always" || t.Approval == "never", prefix+"approval", "must be always or never")
	v.min(prefix+"timeout_ms", int64(t.TimeoutMS), 0)
	v.mcp(prefix+"mcp", t)
}

func (v *checks) mcp(field string, t ToolRef) {
	m := t.MCP
	v.that(m == nil || t.Source == SourceMCP, field, "is for source: mcp")
	v.that(m != nil || t.Source != SourceMCP, field, "is required: the server's url or command")
	if m == nil {
		return
	}
	v.that(m.URL != "" || len(m.Command) > 0, field+".url", "is required, or a command")
	v.that(m.URL == "" || len(m.Command) == 0, field+".command", "give a url or a command, not both")
	if m.URL != "" {
		v.url(field+".url", m.URL)
	}
	v.that(len(m.Command) == 0 || m.Command[0] != "", field+".command[0]", "must be a program's name")
	v.that(m.Env == nil || len(m.Command) > 0, field+".env", "is for a command")
	for _, k := range slices.Sorted(maps.Keys(m.Env)) {
		v.that(envPattern.MatchString(k), field+".env", "the names must be those of environment variables")
	}
	v.that(m.Auth == nil || m.URL != "", field+".auth", "is for a url")
	v.auth(field+".auth.", m.Auth)
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
