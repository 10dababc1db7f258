package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/belayrun/belay/internal/agent"
)

// operation is one that can be called.
type operation struct {
	spec      agent.ToolSpec
	arguments *jsonschema.Resolved
	method    string
	path      string // with {names} in it
	params    []param
	body      *body // nil: it takes none
}

// param is where an argument goes to.
type param struct {
	argument string // what the model calls it
	name     string
	in       string // path, query, header or cookie
	style    string
	explode  bool
	json     bool // it is sent as JSON text
	required bool
}

// body is how the argument of that name is sent.
type body struct {
	argument string
	media    string // its content type
	form     bool   // as a form, else as it is
	text     bool   // it is a text, sent without quotes
}

// reservedHeaders are ours to set: a document may not have the model do it.
var reservedHeaders = []string{
	"accept", "authorization", "connection", "content-length", "content-type", "cookie", "host", "keep-alive",
	"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

// newOperation reads an operation; its error says why it can't be called.
func newOperation(method, path string, shared openapi3.Parameters, o *openapi3.Operation) (*operation, error) {
	op := &operation{method: method, path: path}
	properties, required := map[string]any{}, []string{}
	taken := map[string]bool{}
	conv := &converter{left: maxSchemaNodes}
	for _, p := range merged(shared, o.Parameters) {
		if p.In == openapi3.ParameterInHeader && slices.Contains(reservedHeaders, strings.ToLower(p.Name)) {
			continue
		}
		at, schema := newParam(p, conv)
		at.argument = uniqueName(taken, p.Name)
		properties[at.argument] = schema
		if at.required {
			required = append(required, at.argument)
		}
		op.params = append(op.params, at)
	}
	if err := op.pathIsFilled(); err != nil {
		return nil, err
	}
	if o.RequestBody != nil && o.RequestBody.Value != nil {
		b, schema, err := newBody(o.RequestBody.Value, conv)
		if err != nil {
			return nil, err
		}
		if b != nil {
			b.argument = uniqueName(taken, "body")
			properties[b.argument] = schema
			if o.RequestBody.Value.Required {
				required = append(required, b.argument)
			}
			op.body = b
		}
	}
	return op, op.describe(o, properties, required)
}

// describe makes the operation's spec and what its arguments are checked by.
func (op *operation) describe(o *openapi3.Operation, properties map[string]any, required []string) error {
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	b, err := json.Marshal(schema)
	if err != nil {
		return errors.New("its schema is not JSON")
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("its schema can't be read: %s", cut(firstLine(err.Error()), 200))
	}
	if op.arguments, err = s.Resolve(nil); err != nil {
		return fmt.Errorf("its schema can't be used: %s", cut(firstLine(err.Error()), 200))
	}
	op.spec = specOf(o, op.method, op.path, b)
	return nil
}

// merged returns the parameters of an operation: its own win over those that its
// path gives to all.
func merged(shared, own openapi3.Parameters) []*openapi3.Parameter {
	var out []*openapi3.Parameter
	for _, list := range []openapi3.Parameters{own, shared} {
		for _, ref := range list {
			if ref == nil || ref.Value == nil {
				continue
			}
			p := ref.Value
			if !slices.ContainsFunc(out, func(o *openapi3.Parameter) bool { return o.Name == p.Name && o.In == p.In }) {
				out = append(out, p)
			}
		}
	}
	return out
}

func newParam(p *openapi3.Parameter, conv *converter) (param, any) {
	at := param{name: p.Name, in: p.In, style: p.Style, required: p.Required || p.In == openapi3.ParameterInPath}
	if at.style == "" {
		at.style = "simple"
		if p.In == openapi3.ParameterInQuery || p.In == openapi3.ParameterInCookie {
			at.style = "form"
		}
	}
	at.explode = at.style == "form"
	if p.Explode != nil {
		at.explode = *p.Explode
	}
	ref := p.Schema
	if ref == nil {
		for _, media := range slices.Sorted(maps.Keys(p.Content)) {
			if m := p.Content[media]; m != nil {
				ref, at.json = m.Schema, isJSON(media)
				break
			}
		}
	}
	schema := conv.schema(ref)
	if m, ok := schema.(map[string]any); ok && p.Description != "" && m["description"] == nil {
		m["description"] = cut(p.Description, maxDescription)
	}
	return at, schema
}

// pathIsFilled reports a {name} that no parameter stands for.
func (op *operation) pathIsFilled() error {
	rest := op.path
	for {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return nil
		}
		name, tail, ok := strings.Cut(after, "}")
		if !ok || !slices.ContainsFunc(op.params, func(p param) bool { return p.in == openapi3.ParameterInPath && p.name == name }) {
			return fmt.Errorf("its path has {%s}, which is no parameter", cut(name, 64))
		}
		rest = tail
	}
}

func isJSON(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// newBody chooses how a body is sent: as JSON, else as a form, else as text. It
// is nil where none of it can be sent and it may be left out.
func newBody(r *openapi3.RequestBody, conv *converter) (*body, any, error) {
	medias := slices.Sorted(maps.Keys(r.Content))
	find := func(ok func(string) bool) string {
		if i := slices.IndexFunc(medias, ok); i >= 0 {
			return medias[i]
		}
		return ""
	}
	schemaOf := func(media string) any {
		if m := r.Content[media]; m != nil {
			s := conv.schema(m.Schema)
			if o, ok := s.(map[string]any); ok && r.Description != "" && o["description"] == nil {
				o["description"] = cut(r.Description, maxDescription)
			}
			return s
		}
		return map[string]any{}
	}
	if m := find(isJSON); m != "" {
		return &body{media: m}, schemaOf(m), nil
	}
	if m := find(func(s string) bool { return s == "*/*" || s == "application/*" }); m != "" {
		return &body{media: "application/json"}, schemaOf(m), nil
	}
	if m := find(func(s string) bool { return s == "application/x-www-form-urlencoded" }); m != "" {
		return &body{media: m, form: true}, schemaOf(m), nil
	}
	if m := find(func(s string) bool { return !strings.HasPrefix(s, "multipart/") && !strings.Contains(s, "*") }); m != "" {
		return &body{media: m, text: true}, map[string]any{"type": "string", "description": "Sent as " + cut(m, 100)}, nil
	}
	if r.Required && len(medias) > 0 {
		return nil, nil, fmt.Errorf("its body is %s, which can't be sent", cut(medias[0], 100))
	}
	return nil, nil, nil
}
