package openai

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/belayrun/belay/internal/agent"
)

// chunk is what is read of a chat completion chunk. go-openai's own type has
// some forty fields more; decoding them costs more than all else here.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        delta  `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

// delta has two names for reasoning: providers are divided over them.
type delta struct {
	Content          piece      `json:"content"`
	Refusal          piece      `json:"refusal"`
	ReasoningContent piece      `json:"reasoning_content"`
	Reasoning        piece      `json:"reasoning"`
	ToolCalls        []fragment `json:"tool_calls"`
}

// fragment is a part of a tool call.
type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments piece  `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	PromptTokens        int64 `json:"prompt_tokens"`
	CompletionTokens    int64 `json:"completion_tokens"`
	CacheHitTokens      int64 `json:"prompt_cache_hit_tokens"` // DeepSeek's name
	PromptTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// tokens returns nil for a usage that counts nothing: some servers send zeros
// where they do not count.
func (u *usage) tokens() *agent.Tokens {
	in, out := max(u.PromptTokens, 0), max(u.CompletionTokens, 0)
	if in == 0 && out == 0 {
		return nil
	}
	cached := max(u.PromptTokensDetails.CachedTokens, u.CacheHitTokens, 0)
	return &agent.Tokens{
		Input: in, CachedInput: min(cached, in),
		Output: out, Reasoning: min(max(u.CompletionTokensDetails.ReasoningTokens, 0), out),
	}
}

// decode reads data into c, whose memory it reuses.
func (c *chunk) decode(data []byte) error {
	c.reset()
	if c.skim(data) {
		return nil
	}
	c.reset()
	return json.Unmarshal(data, c)
}

func (c *chunk) reset() {
	clear(c.Choices[:cap(c.Choices)])
	*c = chunk{Choices: c.Choices[:0]}
}

// A piece is a JSON string of a stream: its text where that stands by itself,
// otherwise the string as it was sent, for a seam to join with its neighbours.
type piece struct {
	text string
	raw  string
}

// UnmarshalJSON implements json.Unmarshaler. Other values than strings, null
// among them, are no text.
func (p *piece) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' {
		return nil
	}
	switch in := b[1 : len(b)-1]; {
	case bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in):
		p.text = string(in)
	case !utf8.Valid(in) || bytes.Contains(in, []byte(`\ud`)) || bytes.Contains(in, []byte(`\uD`)):
		p.raw = string(in)
	default:
		return json.Unmarshal(b, &p.text)
	}
	return nil
}

// A seam joins the pieces of a text. A provider that cuts its stream by bytes
// may cut within a character: the part before the cut is held back until the
// next piece. What never becomes a character is U+FFFD.
type seam struct{ held string }

func (s *seam) join(p piece) string {
	if s.held == "" && p.raw == "" {
		return p.text
	}
	raw := p.raw
	if raw == "" {
		if p.text == "" {
			return ""
		}
		raw = quoted(p.text)
	}
	raw = s.held + raw
	cut := len(raw) - openEnd(raw)
	s.held = raw[cut:]
	return unquoted(raw[:cut])
}

// rest returns what is held back when no more pieces come.
func (s *seam) rest() string {
	held := s.held
	s.held = ""
	return unquoted(held)
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b[1 : len(b)-1])
}

func unquoted(raw string) string {
	if raw == "" {
		return ""
	}
	var s string
	if json.Unmarshal([]byte(`"`+raw+`"`), &s) != nil {
		return "\uFFFD"
	}
	return s
}

// openEnd returns how many bytes at the end of the inside of a JSON string are
// the beginning of a character: of a UTF-8 sequence, or the first half of a
// surrogate pair as an escape.
func openEnd(raw string) int {
	for n := 1; n < utf8.UTFMax && n <= len(raw); n++ {
		tail := raw[len(raw)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return n
			}
			break
		}
	}
	if n := len(raw) - len(`\ud83d`); n >= 0 && isHighSurrogate(raw[n:]) && backslashes(raw[:n])%2 == 0 {
		return len(`\ud83d`)
	}
	return 0
}

func isHighSurrogate(esc string) bool {
	if esc[0] != '\\' || esc[1] != 'u' || esc[2]|0x20 != 'd' {
		return false
	}
	switch esc[3] {
	case '8', '9', 'a', 'b', 'A', 'B':
		return true
	}
	return false
}

func backslashes(s string) (n int) {
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n
}
