package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ToolRef gives an agent tools from a source.
type ToolRef struct {
	Source    string   `json:"source" yaml:"source"`                             // one of Sources
	Key       string   `json:"key" yaml:"key"`                                   // names the source within the agent
	Names     []string `json:"names,omitempty" yaml:"names,omitempty"`           // which of its tools; none: all
	Approval  string   `json:"approval,omitempty" yaml:"approval,omitempty"`     // always or never (default)
	TimeoutMS int      `json:"timeout_ms,omitempty" yaml:"timeout_ms,omitempty"` // per call, default 30,000; of an agent 300,000, of commands in a sandbox what the call asks for

	// OpenAPI is what source openapi reads; nil: the project's shared tool of the
	// same key says it.
	OpenAPI *OpenAPISource `json:"openapi,omitempty" yaml:"openapi,omitempty"`

	MCP *MCPSource `json:"mcp,omitempty" yaml:"mcp,omitempty"` // of SourceMCP; nil: as with OpenAPI

	Sandbox *SandboxSource `json:"sandbox,omitempty" yaml:"sandbox,omitempty"` // with source sandbox only; nil: its defaults

	Agent *AgentSource `json:"agent,omitempty" yaml:"agent,omitempty"` // for SourceAgent only

	WebSearch *WebSearchSource `json:"web_search,omitempty" yaml:"web_search,omitempty"` // of SourceWebSearch; nil: as with OpenAPI
}

// Shared reports whether the ref leaves it to the project's shared tool of its
// key to say what its source needs.
func (t ToolRef) Shared() bool {
	return slices.Contains(sharedSources, t.Source) && t.OpenAPI == nil && t.MCP == nil && t.WebSearch == nil
}

// Needs reports whether the ref can't do without a shared tool: it leaves its
// block to it, or its own block names the tool's secret.
func (t ToolRef) Needs(s SharedTool) bool {
	if t.Shared() {
		return t.Key == s.Key && t.Source == s.Source
	}
	auth := t.Auth()
	return auth != nil && auth.Secret == s.Key
}

// Auth is how the ref's own block proves who calls; nil: it has none.
func (t ToolRef) Auth() *ToolAuth {
	switch {
	case t.OpenAPI != nil:
		return t.OpenAPI.Auth
	case t.MCP != nil:
		return t.MCP.Auth
	case t.WebSearch != nil:
		return t.WebSearch.Auth
	}
	return nil
}

// MCPSource says where an MCP server is: at a URL, or a command that the node
// runs and speaks to by its standard input and output.
type MCPSource struct {
	URL     string            `json:"url,omitempty" yaml:"url,omitempty"`         // of its streamable HTTP endpoint
	Command []string          `json:"command,omitempty" yaml:"command,omitempty"` // the program and its arguments; runs only where the operator allows it
	Env     map[string]string `json:"env,omitempty" yaml:"env,omitempty"`         // for the command; it gets nothing of the node's own
	Auth    *ToolAuth         `json:"auth,omitempty" yaml:"auth,omitempty"`       // for the URL; nil: none
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

// The sources of tools.
const (
	SourceFunction  = "function"   // Go functions that are built into the node
	SourceOpenAPI   = "openapi"    // operations of an HTTP API, as its document has them
	SourceMCP       = "mcp"        // the tools of an MCP server
	SourceSandbox   = "sandbox"    // commands and files in a workspace of the session
	SourceMemory    = "memory"     // what was remembered for the session's owner
	SourceQuestion  = "question"   // a person answers
	SourceWebSearch = "web_search" // a search of the web
)

// Sources lists the sources of tools.
var Sources = []string{SourceFunction, SourceOpenAPI, SourceMCP, SourceSandbox, SourceAgent, SourceMemory, SourceQuestion, SourceWebSearch}

// Whether a person must approve each call of a tool.
const (
	ApprovalAlways = "always"
	ApprovalNever  = "never"
)

const approvalRule = "must be always or never"

func (v *checks) approvals(rules map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		field := "approvals." + name
		v.that(namePattern.MatchString(name), field, "the name of a tool "+toolNameRule)
		v.that(rules[name] == ApprovalAlways || rules[name] == ApprovalNever, field, approvalRule)
	}
}

// sharedSources are those that a shared tool may have.
var sharedSources = []string{SourceOpenAPI, SourceMCP, SourceWebSearch}

func (v *checks) tool(prefix string, t ToolRef) {
	v.that(slices.Contains(Sources, t.Source), prefix+"source", "must be "+strings.Join(Sources, ", "))
	v.key(prefix+"key", t.Key)
	for i, n := range t.Names {
		v.that(namePattern.MatchString(n), fmt.Sprintf("%snames[%d]", prefix, i), toolNameRule)
	}
	v.that(t.Approval == "" || t.Approval == ApprovalAlways || t.Approval == ApprovalNever, prefix+"approval", approvalRule)
	v.min(prefix+"timeout_ms", int64(t.TimeoutMS), 0)
	v.that(t.OpenAPI == nil || t.Source == SourceOpenAPI, prefix+"openapi", "belongs to source openapi")
	v.openapi(prefix+"openapi.", t.OpenAPI)
	v.mcp(prefix+"mcp", t)
	v.sandbox(prefix+"sandbox", t)
	v.agentSource(prefix, t)
	v.webSearch(prefix+"web_search", t)
}

// OpenAPISource is an HTTP API: each operation of its document is a tool.
type OpenAPISource struct {
	Document    string `json:"document,omitempty" yaml:"document,omitempty"`         // OpenAPI 3.0 or 3.1 itself, YAML or JSON
	DocumentURL string `json:"document_url,omitempty" yaml:"document_url,omitempty"` // where it is, in place of Document
	// DocumentFile is a file that becomes Document where a manifest is read: a
	// server opens no files that callers name.
	DocumentFile string    `json:"-" yaml:"document_file,omitempty"`
	BaseURL      string    `json:"base_url,omitempty" yaml:"base_url,omitempty"` // what paths are below; default the document's first server
	Auth         *ToolAuth `json:"auth,omitempty" yaml:"auth,omitempty"`         // nil: none
}

func (v *checks) openapi(prefix string, s *OpenAPISource) {
	if s == nil {
		return
	}
	v.that(s.Document != "" || s.DocumentURL != "", prefix+"document", "is required, or document_url")
	v.that(s.Document == "" || s.DocumentURL == "", prefix+"document_url", "give document or document_url, not both")
	if s.DocumentURL != "" {
		v.url(prefix+"document_url", s.DocumentURL)
	}
	if s.BaseURL != "" {
		v.url(prefix+"base_url", s.BaseURL)
	}
	v.auth(prefix+"auth.", s.Auth)
}

// SharedTool is a source of tools that a project declares once: agents name it
// by its key. It keeps the secret that its calls, or those of others, prove
// themselves with.
type SharedTool struct {
	Project   string           `json:"-" yaml:"-"`
	Key       string           `json:"key" yaml:"key"`
	Source    string           `json:"source" yaml:"source"` // one of Sources, not function
	OpenAPI   *OpenAPISource   `json:"openapi,omitempty" yaml:"openapi,omitempty"`
	MCP       *MCPSource       `json:"mcp,omitempty" yaml:"mcp,omitempty"`
	WebSearch *WebSearchSource `json:"web_search,omitempty" yaml:"web_search,omitempty"`
	Secret    string           `json:"-" yaml:"secret,omitempty"` // kept encrypted, never returned

	HasSecret            bool      `json:"-" yaml:"-"` // one is kept
	CreatedAt, UpdatedAt time.Time `json:"-" yaml:"-"`
}

// Ref returns the ref that an agent would have to give in place of the tool.
func (t SharedTool) Ref() ToolRef {
	return ToolRef{Source: t.Source, Key: t.Key, OpenAPI: t.OpenAPI, MCP: t.MCP, WebSearch: t.WebSearch}
}

// Validate returns the first fault of a SharedTool; fields are named below
// prefix.
func (t SharedTool) Validate(prefix string) error {
	v := checks{prefix: prefix}
	v.key("key", t.Key)
	v.that(slices.Contains(sharedSources, t.Source), "source", "must be "+strings.Join(sharedSources, ", "))
	v.that(t.Source != SourceOpenAPI || t.OpenAPI != nil, "openapi", "is required: the document and how to reach the API")
	v.that(t.Source != SourceMCP || t.MCP != nil, "mcp", "is required: the server's url or command")
	v.that(t.Source != SourceWebSearch || t.WebSearch != nil, "web_search", "is required: the provider")
	v.that(t.OpenAPI == nil || t.Source == SourceOpenAPI, "openapi", "belongs to source openapi")
	v.openapi("openapi.", t.OpenAPI)
	v.mcp("mcp", t.Ref())
	v.webSearch("web_search", t.Ref())
	return v.err
}

func (v *checks) mcp(field string, t ToolRef) {
	m := t.MCP
	v.that(m == nil || t.Source == SourceMCP, field, "is for source: mcp")
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
