package responses

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// request is the body of a POST. Raw fields that nothing reads are accepted and
// ignored: OpenAI's clients always send some of them.
type request struct {
	Model              string            `json:"model"`
	Input              json.RawMessage   `json:"input"`
	Stream             bool              `json:"stream"`
	PreviousResponseID string            `json:"previous_response_id"`
	Conversation       json.RawMessage   `json:"conversation"`
	Version            *int              `json:"version"`
	Metadata           map[string]string `json:"metadata"`
	Instructions       *string           `json:"instructions"`
	Temperature        *float64          `json:"temperature"`
	TopP               *float64          `json:"top_p"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	CallbackURL        string            `json:"callback_url"`
	CallbackSecret     string            `json:"callback_secret"`
	Background         *bool             `json:"background"`
	Tools              []json.RawMessage `json:"tools"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	Text               struct {
		Format    json.RawMessage `json:"format"`
		Verbosity json.RawMessage `json:"verbosity"`
	} `json:"text"`

	Store             json.RawMessage `json:"store"`
	Include           json.RawMessage `json:"include"`
	Reasoning         json.RawMessage `json:"reasoning"`
	Truncation        json.RawMessage `json:"truncation"`
	User              json.RawMessage `json:"user"`
	ServiceTier       json.RawMessage `json:"service_tier"`
	ParallelToolCalls json.RawMessage `json:"parallel_tool_calls"`
	PromptCacheKey    json.RawMessage `json:"prompt_cache_key"`
	SafetyIdentifier  json.RawMessage `json:"safety_identifier"`
	StreamOptions     json.RawMessage `json:"stream_options"`
}

// keyHeader carries a key that makes a request for a background run begin one
// run, however often it is sent.
const keyHeader = "Idempotency-Key"

const maxKey = 255 // bytes

func idempotencyKey(r *http.Request) (string, error) {
	key := r.Header.Get(keyHeader)
	switch {
	case len(key) > maxKey:
		return "", &httpapi.Error{Status: http.StatusBadRequest, Code: "idempotency_key_too_long", Param: keyHeader,
			Message: fmt.Sprintf("The header %s may have %d characters at most.", keyHeader, maxKey)}
	case strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }):
		return "", httpapi.Invalid(keyHeader, "must be printable ASCII")
	}
	return key, nil
}

// hash tells whether two requests through a door are the same; how they are
// written makes no difference.
func (q *request) hash(through agent.Door) [32]byte {
	b, err := json.Marshal(struct {
		Door agent.Door
		*request
	}{through, q})
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return sha256.Sum256(b)
}

// check looks at what is not looked at elsewhere.
func (q *request) check() error {
	switch {
	case q.Model == "":
		return httpapi.Invalid("model", "is required: the key of an agent")
	case httpapi.Absent(q.Input):
		return httpapi.Invalid("input", "is required: a string or a list of messages")
	case q.Version != nil && *q.Version < 0:
		return httpapi.Invalid("version", "must be 0 (the draft) or a published version")
	case q.MaxOutputTokens != nil && *q.MaxOutputTokens < 1:
		return httpapi.Invalid("max_output_tokens", "must be 1 or more")
	case outside(q.Temperature, 2):
		return httpapi.Invalid("temperature", "must be between 0 and 2")
	case outside(q.TopP, 1):
		return httpapi.Invalid("top_p", "must be between 0 and 1")
	case len(q.Tools) > 0:
		return httpapi.Invalid("tools", "must be empty: an agent has its own tools")
	}
	if c := string(q.ToolChoice); !httpapi.Absent(q.ToolChoice) && c != `"auto"` && c != `"none"` {
		return httpapi.Invalid("tool_choice", "must be auto or none")
	}
	if err := q.checkFormat(); err != nil {
		return err
	}
	return httpapi.CheckMetadata(q.Metadata)
}

func outside(f *float64, most float64) bool { return f != nil && (*f < 0 || *f > most) }

func (q *request) checkFormat() error {
	if httpapi.Absent(q.Text.Format) {
		return nil
	}
	var format map[string]any
	if err := httpapi.Decode(q.Text.Format, "text.format", &format); err != nil {
		return err
	}
	if format["type"] != "text" || len(format) > 1 {
		return httpapi.Invalid("text.format", `must be {"type": "text"}`)
	}
	return nil
}

func (q *request) overrides() agent.Overrides {
	return agent.Overrides{
		Instructions: q.Instructions, Temperature: q.Temperature, TopP: q.TopP, MaxOutputTokens: q.MaxOutputTokens,
	}
}

// message is one message of an input list.
type message struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	ID      json.RawMessage `json:"id"`
	Status  json.RawMessage `json:"status"`
}

// text reads what the user says: a string, or user messages, which are joined
// by a blank line. The conversation is kept here, so a caller's copy of earlier
// messages is refused rather than taken for new ones.
func (q *request) text() (string, error) {
	var text string
	var err error
	switch q.Input[0] {
	case '"':
		err = httpapi.Decode(q.Input, "input", &text)
	case '[':
		text, err = joinMessages(q.Input)
	default:
		err = httpapi.Invalid("input", "must be a string or a list of messages")
	}
	if err == nil && strings.TrimSpace(text) == "" {
		err = httpapi.Invalid("input", "must not be empty")
	}
	return text, err
}

func joinMessages(raw json.RawMessage) (string, error) {
	var list []json.RawMessage
	if err := httpapi.Decode(raw, "input", &list); err != nil {
		return "", err
	}
	texts := make([]string, len(list))
	for i, b := range list {
		var err error
		if texts[i], err = readMessage(b, fmt.Sprintf("input[%d]", i)); err != nil {
			return "", err
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

func readMessage(b json.RawMessage, at string) (string, error) {
	var kind struct{ Type any }
	if json.Unmarshal(b, &kind) == nil && kind.Type != nil && kind.Type != "message" {
		return "", httpapi.Invalid(at+".type", "must be message: the conversation is kept here, so an input holds only what is new")
	}
	var m message
	if err := httpapi.Decode(b, at, &m); err != nil {
		return "", err
	}
	switch {
	case m.Role != "user":
		return "", httpapi.Invalid(at+".role", "must be user: the conversation is kept here (previous_response_id), and instructions go in instructions")
	case httpapi.Absent(m.Content):
		return "", httpapi.Invalid(at+".content", "is required: a string or a list of input_text parts")
	}
	return httpapi.ReadContent(m.Content, at+".content", "input_text")
}

// conversation reads the id of the conversation parameter, empty if not given.
func (q *request) conversation() (string, error) {
	if httpapi.Absent(q.Conversation) {
		return "", nil
	}
	var c struct {
		ID string `json:"id"`
	}
	var err error
	if q.Conversation[0] == '"' {
		err = httpapi.Decode(q.Conversation, "conversation", &c.ID)
	} else {
		err = httpapi.Decode(q.Conversation, "conversation", &c)
	}
	if err == nil && c.ID == "" {
		err = httpapi.Invalid("conversation", "must be the id of a conversation, or an object with its id")
	}
	return c.ID, err
}
