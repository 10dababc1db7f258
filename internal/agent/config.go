package agent

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Config is what an agent is made of. A turn keeps the Config it began with.
type Config struct {
	Model           string    `json:"model" yaml:"model"` // key of a model
	FallbackModels  []string  `json:"fallback_models,omitempty" yaml:"fallback_models,omitempty"`
	Instructions    string    `json:"instructions,omitempty" yaml:"instructions,omitempty"`
	Temperature     *float64  `json:"temperature,omitempty" yaml:"temperature,omitempty"`
	TopP            *float64  `json:"top_p,omitempty" yaml:"top_p,omitempty"`
	MaxOutputTokens int       `json:"max_output_tokens,omitempty" yaml:"max_output_tokens,omitempty"`
	Tools           []ToolRef `json:"tools,omitempty" yaml:"tools,omitempty"`
	// Approvals says of tools by their names whether a person must approve each
	// call: always or never. It goes before what their sources say.
	Approvals map[string]string `json:"approvals,omitempty" yaml:"approvals,omitempty"`
	Limits    Limits            `json:"limits,omitzero" yaml:"limits,omitempty"`
	Execution Execution         `json:"execution,omitzero" yaml:"execution,omitempty"`
}

// Limits bound a turn. Zero is the default given in each comment; a limit that
// is reached ends the turn as limited and keeps the answer.
type Limits struct {
	MaxToolCalls         int     `json:"max_tool_calls,omitempty" yaml:"max_tool_calls,omitempty"`         // 12
	MaxParallelTools     int     `json:"max_parallel_tools,omitempty" yaml:"max_parallel_tools,omitempty"` // 4
	MaxWallClockMS       int64   `json:"max_wall_clock_ms,omitempty" yaml:"max_wall_clock_ms,omitempty"`   // none
	MaxTotalOutputTokens int64   `json:"max_total_output_tokens,omitempty" yaml:"max_total_output_tokens,omitempty"`
	MaxCostUSD           float64 `json:"max_cost_usd,omitempty" yaml:"max_cost_usd,omitempty"`
}

// Execution says how turns of an agent are run.
type Execution struct {
	SyncTimeoutSeconds           int    `json:"sync_timeout_seconds,omitempty" yaml:"sync_timeout_seconds,omitempty"`                       // 300
	BackgroundEnabled            *bool  `json:"background_enabled,omitempty" yaml:"background_enabled,omitempty"`                           // true
	BackgroundMaxDurationMinutes int    `json:"background_max_duration_minutes,omitempty" yaml:"background_max_duration_minutes,omitempty"` // 15
	DefaultMode                  string `json:"default_mode,omitempty" yaml:"default_mode,omitempty"`                                       // sync or background
	ActionExpirySeconds          int    `json:"action_expiry_seconds,omitempty" yaml:"action_expiry_seconds,omitempty"`                     // how long approvals and questions stay open; 0: for ever
	CallbackURL                  string `json:"callback_url,omitempty" yaml:"callback_url,omitempty"`
	CallbackSecret               string `json:"callback_secret,omitempty" yaml:"callback_secret,omitempty"`
}

// Defaults of a Config.
const (
	DefaultMaxToolCalls     = 12
	DefaultMaxParallelTools = 4
	DefaultToolTimeout      = 30 * time.Second
	DefaultSyncTimeout      = 300 * time.Second
	DefaultMaxDuration      = 15 * time.Minute
)

// SyncTimeout is how long a caller may wait for a whole answer in one request.
func (e Execution) SyncTimeout() time.Duration {
	if e.SyncTimeoutSeconds == 0 {
		return DefaultSyncTimeout
	}
	return time.Duration(e.SyncTimeoutSeconds) * time.Second
}

// ActionExpiry is how long a request to a person stays open; 0: for ever.
func (e Execution) ActionExpiry() time.Duration {
	return time.Duration(e.ActionExpirySeconds) * time.Second
}

// maxActionExpiry is a year, in seconds.
const maxActionExpiry = 365 * 24 * 60 * 60

// ModeBackground is the default_mode of agents whose turns are background runs
// where a request does not say otherwise.
const ModeBackground = "background"

// Background says whether a request for a background run may be granted.
func (e Execution) Background() bool { return e.BackgroundEnabled == nil || *e.BackgroundEnabled }

// MaxDuration is how long a background run may work, and be queued at a time.
func (e Execution) MaxDuration() time.Duration {
	return cmp.Or(time.Duration(e.BackgroundMaxDurationMinutes)*time.Minute, DefaultMaxDuration)
}

// Overrides replace parts of an agent's Config for one turn. Nil keeps.
type Overrides struct {
	Instructions    *string
	Additional      string // instructions after those
	Temperature     *float64
	TopP            *float64
	MaxOutputTokens *int // of each model call
	MaxTotalTokens  *int // of output, by all model calls together; the agent's own limit holds too
}

// Apply returns the Config with the overrides in it.
func (o Overrides) Apply(c Config) Config {
	if o.Instructions != nil {
		c.Instructions = *o.Instructions
	}
	c.Instructions = JoinInstructions(c.Instructions, o.Additional)
	if o.Temperature != nil {
		c.Temperature = o.Temperature
	}
	if o.TopP != nil {
		c.TopP = o.TopP
	}
	if o.MaxOutputTokens != nil {
		c.MaxOutputTokens = *o.MaxOutputTokens
	}
	if most := o.MaxTotalTokens; most != nil && (c.Limits.MaxTotalOutputTokens == 0 || int64(*most) < c.Limits.MaxTotalOutputTokens) {
		c.Limits.MaxTotalOutputTokens = int64(*most)
	}
	return c
}

// JoinInstructions puts instructions one after the other, a blank line between.
func JoinInstructions(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// Agent is a configured assistant: a draft, and the versions published of it.
type Agent struct {
	Project   string
	Key       string
	Name      string
	Active    bool
	Draft     Config
	Published int // newest published version, 0: none
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Model is a provider's model and how to reach it.
type Model struct {
	Project       string            `json:"-" yaml:"-"`
	Key           string            `json:"key" yaml:"key"`
	BaseURL       string            `json:"base_url" yaml:"base_url"`
	Model         string            `json:"model" yaml:"model"` // the provider's name of it
	APIKeyEnv     string            `json:"api_key_env,omitempty" yaml:"api_key_env,omitempty"`
	APIKey        string            `json:"-" yaml:"api_key,omitempty"` // kept encrypted, never returned
	Pricing       Pricing           `json:"pricing,omitzero" yaml:"pricing,omitempty"`
	Headers       map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	TimeoutMS     int               `json:"timeout_ms,omitempty" yaml:"timeout_ms,omitempty"`           // of a whole call, default 10 minutes
	IdleTimeoutMS int               `json:"idle_timeout_ms,omitempty" yaml:"idle_timeout_ms,omitempty"` // no bytes for so long, default 60,000
	Retries       *int              `json:"retries,omitempty" yaml:"retries,omitempty"`                 // before the first byte only, default 2
}

// Timeout bounds one call as a whole.
func (m Model) Timeout() time.Duration { return orMS(m.TimeoutMS, 10*time.Minute) }

// IdleTimeout is the longest silence of a provider that a call outlives.
func (m Model) IdleTimeout() time.Duration { return orMS(m.IdleTimeoutMS, time.Minute) }

// MaxRetries is how often a call is sent again that failed before its first byte.
func (m Model) MaxRetries() int {
	if m.Retries == nil {
		return 2
	}
	return *m.Retries
}

func orMS(ms int, d time.Duration) time.Duration {
	if ms == 0 {
		return d
	}
	return time.Duration(ms) * time.Millisecond
}

const maxDurationMinutes = 30 * 24 * 60

var (
	keyPattern  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	envPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

const keyRule = "must be 1 to 63 of a-z, 0-9, - and _, starting with a letter or digit"

// CheckKey says whether a key of an agent, model or tool source is well formed.
func CheckKey(field, key string) error {
	if !keyPattern.MatchString(key) {
		return &FieldError{field, keyRule}
	}
	return nil
}

// reservedKeys would hide behind other routes of the APIs.
var reservedKeys = []string{"actions", "audit", "callbacks", "conversations", "responses", "runs", "validate"}

// CheckAgentKey says whether an agent may have a key.
func CheckAgentKey(field, key string) error {
	if err := CheckKey(field, key); err != nil {
		return err
	}
	if slices.Contains(reservedKeys, key) {
		return &FieldError{field, key + " is a word of the API: choose another key"}
	}
	return nil
}

// MaxName is how many bytes the name of an agent, a member or a token may have.
const MaxName = 200

// CheckName says whether a name may be given.
func CheckName(field, name string) error {
	if len(name) > MaxName {
		return &FieldError{field, "must be 200 bytes or less"}
	}
	return nil
}

// Validate returns the first fault of a Config, nil if there is none; fields
// are named below prefix ("" or one that ends in a dot). Whether its models
// exist is not looked at.
func (c Config) Validate(prefix string) error {
	v := checks{prefix: prefix}
	v.config(c)
	return v.err
}

// Faults returns all faults of a Config, one a field, where Validate returns the
// first.
func (c Config) Faults(prefix string) []FieldError {
	v := checks{prefix: prefix}
	v.config(c)
	return v.all
}

func (v *checks) config(c Config) {
	v.key("model", c.Model)
	for i, m := range c.FallbackModels {
		v.key(fmt.Sprintf("fallback_models[%d]", i), m)
	}
	v.rangeF("temperature", c.Temperature, 0, 2)
	v.rangeF("top_p", c.TopP, 0, 1)
	v.min("max_output_tokens", int64(c.MaxOutputTokens), 0)
	for i, t := range c.Tools {
		v.tool(fmt.Sprintf("tools[%d].", i), t)
	}
	v.askedOnce(c.Tools)
	v.approvals(c.Approvals)
	v.limits(c.Limits)
	v.execution(c.Execution)
}

// Validate returns the first fault of a Model; fields are named below prefix.
func (m Model) Validate(prefix string) error {
	v := checks{prefix: prefix}
	v.key("key", m.Key)
	v.url("base_url", m.BaseURL)
	v.that(m.Model != "", "model", "is required: the provider's name of the model")
	v.that(m.APIKey == "" || m.APIKeyEnv == "", "api_key", "give api_key or api_key_env, not both")
	v.that(m.APIKeyEnv == "" || envPattern.MatchString(m.APIKeyEnv), "api_key_env", "must be the name of an environment variable")
	v.that(m.Pricing.Input >= 0, "pricing.input", "must not be negative")
	v.that(m.Pricing.CachedInput >= 0, "pricing.cached_input", "must not be negative")
	v.that(m.Pricing.Output >= 0, "pricing.output", "must not be negative")
	v.min("timeout_ms", int64(m.TimeoutMS), 0)
	v.min("idle_timeout_ms", int64(m.IdleTimeoutMS), 0)
	v.that(m.MaxRetries() >= 0 && m.MaxRetries() <= 10, "retries", "must be 0 to 10")
	return v.err
}

// checks keeps the first fault, and all, one a field.
type checks struct {
	prefix string
	err    error
	all    []FieldError
}

func (v *checks) that(ok bool, field, message string) {
	field = v.prefix + field
	if ok || slices.ContainsFunc(v.all, func(f FieldError) bool { return f.Field == field }) {
		return
	}
	v.all = append(v.all, FieldError{field, message})
	if v.err == nil {
		v.err = &FieldError{field, message}
	}
}

func (v *checks) key(field, key string) {
	v.that(key != "", field, "is required")
	v.that(keyPattern.MatchString(key), field, keyRule)
}

func (v *checks) min(field string, n, least int64) {
	v.that(n >= least, field, fmt.Sprintf("must be %d or more", least))
}

func (v *checks) rangeF(field string, f *float64, lo, hi float64) {
	v.that(f == nil || *f >= lo && *f <= hi, field, fmt.Sprintf("must be between %g and %g", lo, hi))
}

func (v *checks) url(field, s string) {
	u, err := url.Parse(s)
	v.that(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", field, "must be an http or https URL")
}

func (v *checks) limits(l Limits) {
	v.min("limits.max_tool_calls", int64(l.MaxToolCalls), 0)
	v.min("limits.max_parallel_tools", int64(l.MaxParallelTools), 0)
	v.that(l.MaxParallelTools <= 64, "limits.max_parallel_tools", "must be 64 or less")
	v.min("limits.max_wall_clock_ms", l.MaxWallClockMS, 0)
	v.min("limits.max_total_output_tokens", l.MaxTotalOutputTokens, 0)
	v.that(l.MaxCostUSD >= 0, "limits.max_cost_usd", "must not be negative")
}

func (v *checks) execution(e Execution) {
	v.that(e.SyncTimeoutSeconds >= 0 && e.SyncTimeoutSeconds <= 3600, "execution.sync_timeout_seconds", "must be 0 (default 300) to 3600")
	v.min("execution.background_max_duration_minutes", int64(e.BackgroundMaxDurationMinutes), 0)
	v.that(e.BackgroundMaxDurationMinutes <= maxDurationMinutes, "execution.background_max_duration_minutes", "must be 43200 (30 days) or less")
	v.that(e.DefaultMode == "" || e.DefaultMode == "sync" || e.DefaultMode == "background", "execution.default_mode", "must be sync or background")
	v.that(e.ActionExpirySeconds >= 0 && e.ActionExpirySeconds <= maxActionExpiry, "execution.action_expiry_seconds",
		fmt.Sprintf("must be 0 (default: never) to %d", maxActionExpiry))
	if e.CallbackURL != "" {
		v.url("execution.callback_url", e.CallbackURL)
	}
}

// CheckToolName says whether a model would accept a tool of this name.
func CheckToolName(field, name string) error {
	if !namePattern.MatchString(name) {
		return &FieldError{field, toolNameRule}
	}
	return nil
}

const toolNameRule = "must be 1 to 64 of a-z, A-Z, 0-9, - and _"
