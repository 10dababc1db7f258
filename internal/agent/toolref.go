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
	TimeoutMS int      `json:"timeout_ms,omitempty" yaml:"timeout_ms,omitempty"` // per call, default 30,000

	WebSearch *WebSearchSource `json:"web_search,omitempty" yaml:"web_search,omitempty"` // of SourceWebSearch, and of no other
}

// The sources of tools.
const (
	SourceFunction  = "function"   // Go functions that are built into the node
	SourceMemory    = "memory"     // what was remembered for the session's owner
	SourceQuestion  = "question"   // a person answers
	SourceWebSearch = "web_search" // a search of the web
)

// Sources lists the sources of tools.
var Sources = []string{SourceFunction, SourceMemory, SourceQuestion, SourceWebSearch}

func (v *checks) tool(prefix string, t ToolRef) {
	v.that(slices.Contains(Sources, t.Source), prefix+"source", "must be "+strings.Join(Sources, ", "))
	v.key(prefix+"key", t.Key)
	for i, n := range t.Names {
		v.that(namePattern.MatchString(n), fmt.Sprintf("%snames[%d]", prefix, i), toolNameRule)
	}
	v.that(t.Approval == "" || t.Approval == "always" || t.Approval == "never", prefix+"approval", "must be always or never")
	v.min(prefix+"timeout_ms", int64(t.TimeoutMS), 0)
	v.webSearch(prefix+"web_search", t)
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
