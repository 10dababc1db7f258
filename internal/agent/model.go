package agent

import (
	"encoding/json"
	"fmt"
	"time"
)

// Role is whose message it is.
type Role string

// The roles of messages in a history.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Call is a tool call as a model asked for it. Arguments is a whole JSON value:
// a call whose arguments did not arrive whole never becomes a Call.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Prompt is one message of what a model is given.
type Prompt struct {
	Role   Role
	Text   string
	Calls  []Call // RoleAssistant
	CallID string // RoleTool: the call that Text is the result of
}

// ToolSpec is what a model is told about a tool.
type ToolSpec struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema of type object
}

// Request is one model call.
type Request struct {
	Prompts         []Prompt
	Tools           []ToolSpec
	Temperature     *float64
	TopP            *float64
	MaxOutputTokens int // 0: the provider's own limit
}

// Delta is one piece of a model's stream. Exactly one group of fields is set:
// text, reasoning, a whole call, or the figures at the end.
type Delta struct {
	Text      string
	Reasoning string
	Call      *Call
	Usage     *Tokens // as the provider counted them
	Finish    Finish  // why the model ended
}

// Finish is why a model ended its stream.
type Finish string

// The reasons a model gives. Anything else a provider says is FinishStop.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length"
	FinishCalls  Finish = "tool_calls"
	FinishFilter Finish = "content_filter"
)

// Tokens are counts of tokens and what they cost. CachedInput is a part of
// Input, Reasoning a part of Output.
type Tokens struct {
	Input       int64   `json:"input_tokens"`
	CachedInput int64   `json:"cached_input_tokens"`
	Output      int64   `json:"output_tokens"`
	Reasoning   int64   `json:"reasoning_tokens"`
	Estimated   bool    `json:"estimated,omitempty"` // the provider did not count; we did
	CostUSD     float64 `json:"cost_usd"`
}

// Add returns the sum; it is estimated if a part is.
func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{
		Input: t.Input + u.Input, CachedInput: t.CachedInput + u.CachedInput,
		Output: t.Output + u.Output, Reasoning: t.Reasoning + u.Reasoning,
		Estimated: t.Estimated || u.Estimated, CostUSD: t.CostUSD + u.CostUSD,
	}
}

// Pricing is in US dollars per million tokens.
type Pricing struct {
	Input       float64 `json:"input" yaml:"input"`
	CachedInput float64 `json:"cached_input" yaml:"cached_input"`
	Output      float64 `json:"output" yaml:"output"`
}

// Cost returns what the tokens cost in US dollars.
func (p Pricing) Cost(t Tokens) float64 {
	cached := p.CachedInput
	if cached == 0 {
		cached = p.Input
	}
	return (float64(t.Input-t.CachedInput)*p.Input + float64(t.CachedInput)*cached + float64(t.Output)*p.Output) / 1e6
}

// UsageStatus is how a model call ended.
type UsageStatus string

// Cancelled is a call that a stop aborted: never an error.
const (
	UsageOK        UsageStatus = "ok"
	UsageError     UsageStatus = "error"
	UsageCancelled UsageStatus = "cancelled"
)

// Usage is the account of one model call: one request to a provider, retried
// and fallen-back ones each on their own.
type Usage struct {
	Call   int         `json:"call"`  // within the turn, from 1
	Model  string      `json:"model"` // the model's key
	Status UsageStatus `json:"status"`
	Tokens
	LatencyMS    int64     `json:"latency_ms"`               // from sending to the end of the stream
	FirstTokenMS *int64    `json:"first_token_ms,omitempty"` // nil: none came
	At           time.Time `json:"at"`
}

// ModelError is a model call that failed. Message is fit for the caller: it
// holds neither keys nor addresses.
type ModelError struct {
	Code       string // one of the Code constants
	Message    string
	Status     int           // HTTP status, 0 where there was none
	Retryable  bool          // true only before the first byte of an answer
	RetryAfter time.Duration // what the provider asked for, 0: nothing
	Err        error         // for the log
}

func (e *ModelError) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return fmt.Sprintf("%s: %v", e.Message, e.Err)
}

func (e *ModelError) Unwrap() error { return e.Err }
