package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

type wireUsage struct {
	PromptTokens        int            `json:"prompt_tokens"`
	CompletionTokens    int            `json:"completion_tokens"`
	TotalTokens         int            `json:"total_tokens"`
	PromptTokensDetails map[string]int `json:"prompt_tokens_details"`
	OutputTokensDetails map[string]int `json:"completion_tokens_details"`
}

func newUsage(in, cached, out, reasoning int) *wireUsage {
	return &wireUsage{in, out, in + out, map[string]int{"cached_tokens": cached}, map[string]int{"reasoning_tokens": reasoning}}
}

// promptTokens is a rough count: four bytes a token, four tokens a message.
func (r Request) promptTokens() int {
	n := 3
	for _, m := range r.Messages {
		n += 4 + (len(m.Content)+3)/4
		for _, c := range m.ToolCalls {
			n += (len(c.Name) + len(c.Arguments) + 3) / 4
		}
	}
	return n
}

// document sends a collected answer.
func (s *stream) document() error {
	message := map[string]any{"role": "assistant", "content": s.collect.text.String()}
	if s.collect.reasoning.Len() > 0 {
		message["reasoning_content"] = s.collect.reasoning.String()
	}
	if s.collect.calls != nil {
		message["tool_calls"] = s.collect.calls
	}
	doc := map[string]any{
		"id":      fmt.Sprintf("chatcmpl-%d", s.req.N),
		"object":  "chat.completion",
		"created": s.req.ArrivedAt.Unix(),
		"model":   s.req.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": s.finishing}},
	}
	if !s.noUsage {
		doc["usage"] = s.usage
	}
	return writeJSON(s.w, http.StatusOK, doc)
}

// apiError is OpenAI's error document. Param and Code may be null.
type apiError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"`
	Code    any    `json:"code"`
}

func writeError(w http.ResponseWriter, status int, e apiError) error {
	return writeJSON(w, status, map[string]any{"error": e})
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(b)
	return err
}

func errorType(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}
