package openapi

import (
	"maps"
	"regexp"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

const (
	maxSchemaNodes = 2000 // of one operation
	maxSchemaDepth = 32
	maxEnum        = 500
)

// converter turns the schemas of one operation into JSON Schema with all
// references inlined. What refers to itself, and what is more than fits, becomes
// a schema that takes anything: the result is never stricter than the document.
type converter struct {
	left  int                // nodes
	above []*openapi3.Schema // that the current one is in
	loose int                // how many were cut
}

// anything is the schema that takes anything.
func anything() map[string]any { return map[string]any{} }

func (c *converter) schema(ref *openapi3.SchemaRef) any {
	if ref == nil || ref.Value == nil {
		return anything()
	}
	s := ref.Value
	c.left--
	if c.left < 0 || len(c.above) >= maxSchemaDepth || slices.Contains(c.above, s) {
		c.loose++
		return anything()
	}
	if s.Always != nil {
		return *s.Always
	}
	c.above = append(c.above, s)
	defer func() { c.above = c.above[:len(c.above)-1] }()
	out := anything()
	c.annotations(s, out)
	c.types(s, out)
	numbers(s, out)
	sizes(s, out)
	c.object(s, out)
	c.array(s, out)
	c.combined(s, out)
	return out
}

func (c *converter) annotations(s *openapi3.Schema, out map[string]any) {
	set(out, "title", cut(s.Title, 200), s.Title != "")
	set(out, "description", cut(s.Description, maxDescription), s.Description != "")
	set(out, "format", s.Format, s.Format != "")
	set(out, "default", s.Default, s.Default != nil)
}

func (c *converter) types(s *openapi3.Schema, out map[string]any) {
	types := s.Type.Slice()
	if s.Nullable && len(types) > 0 && !slices.Contains(types, "null") {
		types = append(slices.Clone(types), "null")
	}
	switch len(types) {
	case 0:
	case 1:
		out["type"] = types[0]
	default:
		out["type"] = types
	}
	if n := len(s.Enum); n > 0 && n <= maxEnum {
		enum := s.Enum
		if s.Nullable && !slices.Contains(enum, nil) {
			enum = append(slices.Clone(enum), nil)
		}
		out["enum"] = enum
	}
	set(out, "const", s.Const, s.Const != nil)
}

// numbers takes 3.0's exclusive bounds, which are words about minimum and
// maximum, and 3.1's, which are numbers.
func numbers(s *openapi3.Schema, out map[string]any) {
	bound := func(name, exclusive string, n *float64, e openapi3.ExclusiveBound) {
		switch {
		case e.Value != nil:
			out[exclusive] = *e.Value
			set(out, name, n, n != nil)
		case e.Bool != nil && *e.Bool && n != nil:
			out[exclusive] = *n
		default:
			set(out, name, n, n != nil)
		}
	}
	bound("minimum", "exclusiveMinimum", s.Min, s.ExclusiveMin)
	bound("maximum", "exclusiveMaximum", s.Max, s.ExclusiveMax)
	set(out, "multipleOf", s.MultipleOf, s.MultipleOf != nil && *s.MultipleOf > 0)
}

func sizes(s *openapi3.Schema, out map[string]any) {
	for name, n := range map[string]uint64{"minLength": s.MinLength, "minItems": s.MinItems, "minProperties": s.MinProps} {
		set(out, name, n, n > 0)
	}
	for name, n := range map[string]*uint64{"maxLength": s.MaxLength, "maxItems": s.MaxItems, "maxProperties": s.MaxProps} {
		set(out, name, n, n != nil)
	}
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err == nil { // others are JavaScript's alone
			out["pattern"] = s.Pattern
		}
	}
}

// object leaves out what only answers have.
func (c *converter) object(s *openapi3.Schema, out map[string]any) {
	properties := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; p != nil && p.Value != nil && !p.Value.ReadOnly {
			properties[name] = c.schema(p)
		}
	}
	set(out, "properties", properties, len(properties) > 0)
	var required []string
	for _, name := range s.Required {
		if p := s.Properties[name]; (p == nil || p.Value == nil || !p.Value.ReadOnly) && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	set(out, "required", required, len(required) > 0)
	switch more := s.AdditionalProperties; {
	case more.Schema != nil:
		out["additionalProperties"] = c.schema(more.Schema)
	case more.Has != nil:
		out["additionalProperties"] = *more.Has
	}
}

func (c *converter) array(s *openapi3.Schema, out map[string]any) {
	set(out, "uniqueItems", true, s.UniqueItems)
	if len(s.PrefixItems) > 0 {
		out["prefixItems"] = c.list(s.PrefixItems)
	}
	if s.Items != nil {
		out["items"] = c.schema(s.Items)
	}
}

// combined makes anyOf of oneOf, since what was cut may match more than once,
// and leaves out a not in which something was cut: it would refuse too much.
func (c *converter) combined(s *openapi3.Schema, out map[string]any) {
	set(out, "allOf", c.list(s.AllOf), len(s.AllOf) > 0)
	switch {
	case len(s.AnyOf) > 0 && len(s.OneOf) > 0:
		all, _ := out["allOf"].([]any)
		out["allOf"] = append(all, map[string]any{"anyOf": c.list(s.OneOf)})
		out["anyOf"] = c.list(s.AnyOf)
	case len(s.AnyOf) > 0:
		out["anyOf"] = c.list(s.AnyOf)
	case len(s.OneOf) > 0:
		out["anyOf"] = c.list(s.OneOf)
	}
	if s.Not != nil {
		before := c.loose
		if not := c.schema(s.Not); c.loose == before {
			out["not"] = not
		}
	}
}

func (c *converter) list(refs openapi3.SchemaRefs) []any {
	out := make([]any, 0, len(refs))
	for _, r := range refs {
		out = append(out, c.schema(r))
	}
	return out
}

func set(out map[string]any, name string, value any, ok bool) {
	if ok {
		out[name] = value
	}
}
