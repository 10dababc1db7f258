package openaitest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Request is what a client asked for and what became of it. It is a copy: it
// does not change after it was handed out.
type Request struct {
	// N numbers the requests in the order of their arrival, from 1.
	N        int
	Path     string
	Header   http.Header
	Body     []byte // as it was sent
	Model    string
	Messages []Message
	Tools    []Tool
	// Temperature and TopP are nil where they were not sent.
	Temperature *float64
	TopP        *float64
	// MaxTokens is max_tokens or max_completion_tokens, 0 if neither was sent.
	MaxTokens    int
	Stream       bool
	IncludeUsage bool

	ArrivedAt time.Time
	// Rejected is why the request was answered with 400, empty if it was not.
	Rejected string
	// Chunks is how many events (of a response that is not streamed: steps) were sent.
	Chunks int
	// AbortedAt is when the client's end of the connection was seen to close
	// before the answer was complete; zero: it was not.
	AbortedAt time.Time
	// EndedAt is when the answer ended, in whatever way; zero: it has not.
	EndedAt time.Time
	// Finished: the answer was sent to its end.
	Finished bool
}

// Aborted reports whether the client dropped the request.
func (r Request) Aborted() bool { return !r.AbortedAt.IsZero() }

// Last returns the text of the last message of a role, "" if there is none.
func (r Request) Last(role string) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == role {
			return r.Messages[i].Content
		}
	}
	return ""
}

// results returns the tool messages since the last user message.
func (r Request) results() []Message {
	var out []Message
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			out = nil
		case "tool":
			out = append(out, m)
		}
	}
	return out
}

// Message is one message of a history.
type Message struct {
	Role       string
	Content    string // parts of type text are joined
	ToolCalls  []ToolCall
	ToolCallID string

	missing bool // no content at all, or null
}

// ToolCall is a call as the client sent it back.
type ToolCall struct {
	ID, Name, Arguments string
}

// Tool is a tool that the model may ask for.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

type wireRequest struct {
	Model               string        `json:"model"`
	Messages            []wireMessage `json:"messages"`
	Tools               []wireTool    `json:"tools"`
	Temperature         *float64      `json:"temperature"`
	TopP                *float64      `json:"top_p"`
	MaxTokens           int           `json:"max_tokens"`
	MaxCompletionTokens int           `json:"max_completion_tokens"`
	Stream              bool          `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// decode reads a request's body and then holds it to the rules.
func (r *Request) decode() error {
	var w wireRequest
	if err := json.Unmarshal(r.Body, &w); err != nil {
		return &rejection{Message: "We could not parse the JSON body of your request."}
	}
	r.Model, r.Stream, r.IncludeUsage = w.Model, w.Stream, w.StreamOptions.IncludeUsage
	r.Temperature, r.TopP = w.Temperature, w.TopP
	r.MaxTokens = max(w.MaxTokens, w.MaxCompletionTokens)
	for i, m := range w.Messages {
		message, err := m.decode(i)
		if err != nil {
			return err
		}
		r.Messages = append(r.Messages, message)
	}
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, Tool(t.Function))
	}
	return validate(&w, r.Messages)
}

func (w wireMessage) decode(i int) (Message, error) {
	m := Message{Role: w.Role, ToolCallID: w.ToolCallID}
	for _, c := range w.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, ToolCall{c.ID, c.Function.Name, c.Function.Arguments})
	}
	content := bytes.TrimSpace(w.Content)
	m.missing = len(content) == 0 || string(content) == "null"
	if m.missing || json.Unmarshal(content, &m.Content) == nil {
		return m, nil
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return m, reject(i, "content", "must be a string or an array of parts")
	}
	var text strings.Builder
	for _, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return m, reject(i, "content", "must have parts of type text, with a text")
		}
		text.WriteString(*p.Text)
	}
	m.Content = text.String()
	return m, nil
}
