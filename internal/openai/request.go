package openai

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"net/http"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/belayrun/belay/internal/agent"
)

// noOutput stands for an empty tool result.
const noOutput = "(no output)"

// zero stands for 0 in go-openai's request, whose zeros are left out of the
// JSON; unmarkZeros puts the 0 back. The smallest float32 is written 1e-45.
const zero = math.SmallestNonzeroFloat32

var (
	markedTemperature = []byte(`"temperature":1e-45`)
	markedTopP        = []byte(`"top_p":1e-45`)
)

func (c *Client) request(req agent.Request) goopenai.ChatCompletionRequest {
	r := goopenai.ChatCompletionRequest{
		Model:         c.model.Model,
		Messages:      make([]goopenai.ChatCompletionMessage, len(req.Prompts)),
		Temperature:   mark(req.Temperature),
		TopP:          mark(req.TopP),
		Stream:        true,
		StreamOptions: &goopenai.StreamOptions{IncludeUsage: true},
	}
	for i, p := range req.Prompts {
		r.Messages[i] = message(p)
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool(t))
	}
	if c.completionTokens {
		r.MaxCompletionTokens = req.MaxOutputTokens
	} else {
		//lint:ignore SA1019 all compatible servers know it, see the package doc
		r.MaxTokens = req.MaxOutputTokens
	}
	return r
}

func message(p agent.Prompt) goopenai.ChatCompletionMessage {
	m := goopenai.ChatCompletionMessage{Role: string(p.Role), Content: p.Text, ToolCallID: p.CallID}
	if p.Role == agent.RoleTool {
		m.Content = cmp.Or(p.Text, noOutput)
	}
	for _, c := range p.Calls {
		m.ToolCalls = append(m.ToolCalls, goopenai.ToolCall{
			ID:       c.ID,
			Type:     goopenai.ToolTypeFunction,
			Function: goopenai.FunctionCall{Name: c.Name, Arguments: string(c.Arguments)},
		})
	}
	return m
}

func tool(t agent.ToolSpec) goopenai.Tool {
	f := &goopenai.FunctionDefinition{Name: t.Name, Description: t.Description}
	if len(t.Parameters) > 0 {
		f.Parameters = t.Parameters
	} else {
		f.Parameters = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return goopenai.Tool{Type: goopenai.ToolTypeFunction, Function: f}
}

func mark(f *float64) float32 {
	switch {
	case f == nil:
		return 0
	case *f == 0:
		return zero
	}
	return float32(*f)
}

// unmarkZeros writes the zeros that mark stood in for. The first match is the
// setting itself: it comes before the tools' schemas, and within the strings of
// the messages quotes are escaped.
func unmarkZeros(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	body = bytes.Replace(body, markedTemperature, []byte(`"temperature":0`), 1)
	body = bytes.Replace(body, markedTopP, []byte(`"top_p":0`), 1)
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, err = req.GetBody()
	return err
}
