package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// request is the body of a POST. Raw fields that nothing reads are accepted and
// ignored: OpenAI's clients always send some of them.
type request struct {
	Model          string            `json:"model"`
	Messages       []json.RawMessage `json:"messages"`
	ConversationID string            `json:"conversation_id"`
	Version        *int              `json:"version"`
	Stream         bool              `json:"stream"`
	StreamOptions  struct {
		IncludeUsage       bool            `json:"include_usage"`
		IncludeObfuscation json.RawMessage `json:"include_obfuscation"`
	} `json:"stream_options"`
	Temperature         *float64          `json:"temperature"`
	TopP                *float64          `json:"top_p"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	MaxTokens           *int              `json:"max_tokens"`
	Metadata            map[string]string `json:"metadata"`

	N                *int              `json:"n"`
	Tools            []json.RawMessage `json:"tools"`
	ToolChoice       json.RawMessage   `json:"tool_choice"`
	Functions        []json.RawMessage `json:"functions"`
	FunctionCall     json.RawMessage   `json:"function_call"`
	ResponseFormat   json.RawMessage   `json:"response_format"`
	Modalities       []string          `json:"modalities"`
	Stop             json.RawMessage   `json:"stop"`
	Logprobs         bool              `json:"logprobs"`
	TopLogprobs      int               `json:"top_logprobs"`
	LogitBias        map[string]any    `json:"logit_bias"`
	PresencePenalty  float64           `json:"presence_penalty"`
	FrequencyPenalty float64           `json:"frequency_penalty"`

	Store                json.RawMessage `json:"store"`
	User                 json.RawMessage `json:"user"`
	Seed                 json.RawMessage `json:"seed"`
	ServiceTier          json.RawMessage `json:"service_tier"`
	ReasoningEffort      json.RawMessage `json:"reasoning_effort"`
	Verbosity            json.RawMessage `json:"verbosity"`
	ParallelToolCalls    json.RawMessage `json:"parallel_tool_calls"`
	PromptCacheKey       json.RawMessage `json:"prompt_cache_key"`
	PromptCacheRetention json.RawMessage `json:"prompt_cache_retention"`
	SafetyIdentifier     json.RawMessage `json:"safety_identifier"`
}

// check looks at what is not looked at elsewhere.
func (q *request) check() error {
	switch {
	case q.Model == "":
		return httpapi.Invalid("model", "is required: the key of an agent")
	case len(q.Messages) == 0:
		return httpapi.Invalid("messages", "is required: a list of messages")
	case q.Version != nil && *q.Version < 0:
		return httpapi.Invalid("version", "must be 0 (the draft) or a published version")
	case outside(q.Temperature, 2):
		return httpapi.Invalid("temperature", "must be between 0 and 2")
	case outside(q.TopP, 1):
		return httpapi.Invalid("top_p", "must be between 0 and 1")
	case q.MaxCompletionTokens != nil && *q.MaxCompletionTokens < 1:
		return httpapi.Invalid("max_completion_tokens", "must be 1 or more")
	case q.MaxTokens != nil && *q.MaxTokens < 1:
		return httpapi.Invalid("max_tokens", "must be 1 or more")
	}
	if err := q.refuse(); err != nil {
		return err
	}
	return httpapi.CheckMetadata(q.Metadata)
}

func outside(f *float64, most float64) bool { return f != nil && (*f < 0 || *f > most) }

// refuse refuses what would have to change the answer, and would not.
func (q *request) refuse() error {
	for _, c := range []struct {
		asked       bool
		param, must string
	}{
		{q.N != nil && *q.N != 1, "n", "must be 1: there is one answer"},
		{len(q.Tools) > 0, "tools", "must be empty: an agent has its own tools"},
		{len(q.Functions) > 0, "functions", "must be empty: an agent has its own tools"},
		{chosen(q.ToolChoice), "tool_choice", "must be auto or none"},
		{chosen(q.FunctionCall), "function_call", "must be auto or none"},
		{len(q.Modalities) > 1 || len(q.Modalities) == 1 && q.Modalities[0] != "text", "modalities", `must be ["text"]`},
		{!httpapi.Absent(q.Stop) && string(q.Stop) != "[]", "stop", "must be empty: an answer has no stop sequences"},
		{q.Logprobs, "logprobs", "must be false"},
		{q.TopLogprobs != 0, "top_logprobs", "must be 0"},
		{len(q.LogitBias) > 0, "logit_bias", "must be empty"},
		{q.PresencePenalty != 0, "presence_penalty", "must be 0"},
		{q.FrequencyPenalty != 0, "frequency_penalty", "must be 0"},
	} {
		if c.asked {
			return httpapi.Invalid(c.param, "%s", c.must)
		}
	}
	return checkFormat(q.ResponseFormat)
}

// chosen reports whether a choice of tools asks for more than what is so anyway.
func chosen(raw json.RawMessage) bool {
	return !httpapi.Absent(raw) && string(raw) != `"auto"` && string(raw) != `"none"`
}

func checkFormat(raw json.RawMessage) error {
	if httpapi.Absent(raw) {
		return nil
	}
	var format map[string]any
	if err := httpapi.Decode(raw, "response_format", &format); err != nil {
		return err
	}
	if format["type"] != "text" || len(format) > 1 {
		return httpapi.Invalid("response_format", `must be {"type": "text"}`)
	}
	return nil
}

// maxTokens is the limit by either of its names, nil for none.
func (q *request) maxTokens() *int { return cmp.Or(q.MaxCompletionTokens, q.MaxTokens) }

// message is one message of the list. Clients send back what they were given, so
// what an answer of ours or of another provider has beside its text is ignored.
type message struct {
	Role      string            `json:"role"`
	Content   json.RawMessage   `json:"content"`
	ToolCalls []json.RawMessage `json:"tool_calls"`

	Name             json.RawMessage `json:"name"`
	Refusal          json.RawMessage `json:"refusal"`
	Annotations      json.RawMessage `json:"annotations"`
	Audio            json.RawMessage `json:"audio"`
	FunctionCall     json.RawMessage `json:"function_call"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	ID               json.RawMessage `json:"id"`
	ToolCallID       json.RawMessage `json:"tool_call_id"`
}

// context reads the list as what was said before and the message to answer.
func (q *request) context() (history []agent.Prompt, input string, err error) {
	history = make([]agent.Prompt, len(q.Messages))
	for i, raw := range q.Messages {
		at := fmt.Sprintf("messages[%d]", i)
		if history[i], err = readMessage(raw, at); err != nil {
			return nil, "", err
		}
		if history[i].Role == agent.RoleUser && strings.TrimSpace(history[i].Text) == "" {
			return nil, "", httpapi.Invalid(at+".content", "must not be empty")
		}
	}
	last := history[len(history)-1]
	if last.Role != agent.RoleUser {
		return nil, "", httpapi.Invalid(fmt.Sprintf("messages[%d].role", len(history)-1), "must be user: the last message is the one to answer")
	}
	return history[:len(history)-1], last.Text, nil
}

// lastUser reads the list's last user message. The rest is not looked at: the
// conversation is kept here.
func (q *request) lastUser() (string, error) {
	for i := len(q.Messages) - 1; i >= 0; i-- {
		var kind struct{ Role any }
		if json.Unmarshal(q.Messages[i], &kind) != nil || kind.Role != "user" {
			continue
		}
		at := fmt.Sprintf("messages[%d]", i)
		m, err := readMessage(q.Messages[i], at)
		if err == nil && strings.TrimSpace(m.Text) == "" {
			err = httpapi.Invalid(at+".content", "must not be empty")
		}
		return m.Text, err
	}
	return "", httpapi.Invalid("messages", "must have a user message")
}

var roles = map[string]agent.Role{
	"system": agent.RoleSystem, "developer": agent.RoleSystem, "user": agent.RoleUser, "assistant": agent.RoleAssistant,
}

func readMessage(raw json.RawMessage, at string) (agent.Prompt, error) {
	var m message
	if err := httpapi.Decode(raw, at, &m); err != nil {
		return agent.Prompt{}, err
	}
	role, ok := roles[m.Role]
	switch {
	case !ok:
		return agent.Prompt{}, httpapi.Invalid(at+".role", "must be system, developer, user or assistant: an agent's tools run here")
	case len(m.ToolCalls) > 0:
		return agent.Prompt{}, httpapi.Invalid(at+".tool_calls", "must be empty: an agent's tools run here")
	case httpapi.Absent(m.Content) && role == agent.RoleAssistant:
		return agent.Prompt{Role: role}, nil
	case httpapi.Absent(m.Content):
		return agent.Prompt{}, httpapi.Invalid(at+".content", "is required: a string or a list of text parts")
	}
	text, err := httpapi.ReadContent(m.Content, at+".content", "text")
	return agent.Prompt{Role: role, Text: text}, err
}
