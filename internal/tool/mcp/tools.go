package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belayrun/belay/internal/agent"
)

// maxName is how long a name of a tool a model accepts.
const maxName = 64

// pick makes agents' tools of a server's, all or those of the given names.
func (s *Source) pick(at place, list []*sdk.Tool, names []string) ([]agent.Tool, error) {
	var all []agent.Tool
	taken := make(map[string]bool)
	for _, t := range list {
		name := unique(taken, t.Name)
		made, err := s.tool(at, name, t)
		if err != nil {
			s.cfg.Log.Warn("a tool of an MCP server can't be used", "tool", name, "error", err)
			continue
		}
		all = append(all, made)
	}
	if len(names) == 0 {
		return all, nil
	}
	var out []agent.Tool
	for k, n := range names {
		i := slices.IndexFunc(all, func(t agent.Tool) bool { return t.Spec.Name == n })
		if i < 0 {
			return nil, &agent.FieldError{Field: fmt.Sprintf("names[%d]", k), Message: fmt.Sprintf("the MCP server has no tool %q", n)}
		}
		out = append(out, all[i])
	}
	return out, nil
}

// unique makes a name valid for models and one that is not taken yet, and takes it.
func unique(taken map[string]bool, name string) string {
	valid := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, cmp.Or(name, "tool"))
	out := valid[:min(len(valid), maxName)]
	for i := 2; taken[out]; i++ {
		suffix := "_" + strconv.Itoa(i)
		out = valid[:min(len(valid), maxName-len(suffix))] + suffix
	}
	taken[out] = true
	return out
}

func (s *Source) tool(at place, name string, t *sdk.Tool) (agent.Tool, error) {
	parameters, err := json.Marshal(t.InputSchema)
	if err != nil {
		return agent.Tool{}, err
	}
	if string(parameters) == "null" {
		parameters = []byte(`{"type":"object"}`)
	}
	schema := resolve(parameters)
	theirs := t.Name
	stream := func(ctx context.Context, arguments []byte, emit func(string)) (string, error) {
		arguments, err := check(schema, arguments)
		if err != nil {
			return "", err
		}
		server, err := s.server(at)
		if err != nil {
			return "", err
		}
		result, err := server.call(ctx, theirs, arguments, emit)
		if err != nil {
			return "", err
		}
		return text(result)
	}
	return agent.Tool{
		Spec:      agent.ToolSpec{Name: name, Description: t.Description, Parameters: parameters},
		Abortable: true,
		Timeout:   agent.DefaultToolTimeout,
		Call:      func(ctx context.Context, arguments []byte) (string, error) { return stream(ctx, arguments, nil) },
		Stream:    stream,
	}, nil
}

// resolve returns what arguments are checked with; nil for a schema of a draft or
// with references that we don't know: the server checks by itself.
func resolve(parameters []byte) *jsonschema.Resolved {
	var schema jsonschema.Schema
	if json.Unmarshal(parameters, &schema) != nil {
		return nil
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	return resolved
}

func check(schema *jsonschema.Resolved, arguments []byte) ([]byte, error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = []byte("{}")
	}
	var loose any
	if err := json.Unmarshal(arguments, &loose); err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if _, ok := loose.(map[string]any); !ok {
		return nil, errors.New("the arguments must be a JSON object")
	}
	if schema == nil {
		return arguments, nil
	}
	if err := schema.Validate(loose); err != nil {
		return nil, fmt.Errorf("the arguments do not match the tool's schema: %w", err)
	}
	return arguments, nil
}

// text is a result as the model reads it: its texts, a note in place of each
// thing that is none, and the structured content where no text says the same.
func text(r *sdk.CallToolResult) (string, error) {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, part(c))
	}
	if r.StructuredContent != nil {
		b, err := json.Marshal(r.StructuredContent)
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(parts, func(p string) bool { return sameJSON(p, b) }) {
			parts = append(parts, string(b))
		}
	}
	all := strings.Join(parts, "\n")
	if r.IsError {
		return "", errors.New(cmp.Or(all, "the tool failed and does not say why"))
	}
	if len(r.InputRequests) > 0 {
		return "", errors.New("the tool asks for input that can't be given here")
	}
	return all, nil
}

func part(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return note("image", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return note("audio", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[resource %s: %s]", cmp.Or(c.Title, c.Name), c.URI)
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return "[an empty resource]"
		}
		if c.Resource.Text != "" {
			return c.Resource.Text
		}
		return note("resource "+c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	}
	return "[content of a kind that can't be shown]"
}

func note(what, mime string, size int) string {
	return fmt.Sprintf("[%s, %s, %d bytes, not shown]", what, cmp.Or(mime, "of unknown type"), size)
}

// sameJSON says whether a text is the same value as b, written otherwise perhaps.
func sameJSON(s string, b []byte) bool {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return false
	}
	again, err := json.Marshal(v) // keys sorted, as in b
	return err == nil && bytes.Equal(again, b)
}
