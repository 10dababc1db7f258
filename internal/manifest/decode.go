package manifest

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxMerge bounds how deep mappings are merged into each other.
const maxMerge = 20

// field is one entry of a mapping.
type field struct {
	name       string
	key, value *yaml.Node
	merged     bool
}

// fields returns the entries of a mapping: its own, then those that it merges
// (<<) and does not have itself, earlier ones first.
func (p *parser) fields(n *yaml.Node, path string, depth int) []field {
	var own, merged []field
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := p.follow(n.Content[i]), n.Content[i+1]
		if !p.spend(key) {
			break
		}
		if isMerge(key) {
			merged = append(merged, p.merge(value, path, depth+1)...)
			continue
		}
		f := field{name: p.name(key, path), key: n.Content[i], value: value}
		if first := seen[f.name]; first > 0 {
			p.faulty(p.placeOf(f.key), join(path, f.name), "is given twice, first in line %d", first)
		} else if f.name != "" {
			seen[f.name] = key.Line
			own = append(own, f)
		}
	}
	for _, f := range merged {
		if seen[f.name] == 0 {
			seen[f.name], f.merged = f.key.Line, true
			own = append(own, f)
		}
	}
	return own
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0
}

func (p *parser) merge(n *yaml.Node, path string, depth int) []field {
	at := p.placeOf(n)
	n = p.follow(n)
	defer p.through(true)()
	p.left -= max(0, min(mergeCost, p.left))
	switch {
	case !p.spend(n):
	case depth > maxMerge && !p.bad[path]:
		p.faulty(at, path, "merges mappings too deep")
	case depth > maxMerge:
	case n.Kind == yaml.MappingNode:
		return p.fields(n, path, depth)
	case n.Kind == yaml.SequenceNode:
		var out []field
		for _, c := range n.Content {
			out = append(out, p.merge(c, path, depth+1)...)
		}
		return out
	default:
		p.fault(at, path, "<< takes a mapping or a list of mappings, not %s", noun(n))
	}
	return nil
}

// name returns the name of a field; empty where its fault is told.
func (p *parser) name(key *yaml.Node, path string) string {
	if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Value == "" {
		p.fault(p.placeOf(key), path, "the name of a field must be text, not %s: put it in quotes", noun(key))
		return ""
	}
	return key.Value
}

// follow returns what an alias stands for.
func (p *parser) follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// through notes that what is read until the returned func is called was reached
// by an alias or a merge.
func (p *parser) through(yes bool) func() {
	if !yes {
		return func() {}
	}
	p.aliases++
	return func() { p.aliases-- }
}

// spend pays for reading a node that was reached by an alias; false: too much
// was read already, and the rest of the file is not.
func (p *parser) spend(n *yaml.Node) bool {
	switch {
	case p.left < 0:
		return false
	case p.aliases == 0:
		return true
	}
	p.left -= nodeCost + len(n.Value)
	if p.left < 0 {
		p.fault(p.placeOf(n), "", "aliases stand for more than %d MB", maxExpanded>>20)
		return false
	}
	return true
}

// value reads a node into v, a value of one of the types that documents are
// made of; faults are told and leave v zero.
func (p *parser) value(n *yaml.Node, path string, v reflect.Value) {
	p.at[path] = p.placeOf(n)
	defer p.through(n.Kind == yaml.AliasNode)()
	n = p.follow(n)
	if !p.spend(n) {
		return
	}
	switch k := v.Kind(); {
	case isNull(n):
		p.faulty(p.at[path], path, "has no value: give one or leave the field out")
	case k == reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		if p.value(n, path, to.Elem()); !p.bad[path] {
			v.Set(to)
		}
	case n.Kind != nodeKind(k):
		p.mismatch(n, path, k)
	case k == reflect.Struct:
		p.structure(p.fields(n, path, 0), path, v)
	case k == reflect.Slice:
		p.list(n, path, v)
	case k == reflect.Map:
		p.mapping(n, path, v)
	default:
		p.scalar(n, path, v)
	}
}

// nodeKind is the kind of node that is read into a kind of value.
func nodeKind(k reflect.Kind) yaml.Kind {
	switch k {
	case reflect.Struct, reflect.Map:
		return yaml.MappingNode
	case reflect.Slice:
		return yaml.SequenceNode
	}
	return yaml.ScalarNode
}

func (p *parser) structure(fields []field, path string, v reflect.Value) {
	for _, f := range fields {
		i, ok := fieldIndex(v.Type(), f.name)
		if !ok {
			p.faulty(p.placeOf(f.key), join(path, shown(f.name)), "unknown field%s", suggestField(f.name, v.Type()))
			continue
		}
		done := p.through(f.merged)
		p.value(f.value, join(path, f.name), v.Field(i))
		done()
	}
}

func (p *parser) list(n *yaml.Node, path string, v reflect.Value) {
	if len(n.Content) > maxEntries {
		p.faulty(p.at[path], path, "has %d entries, more than %d", len(n.Content), maxEntries)
		return
	}
	for i, c := range n.Content {
		elem := reflect.New(v.Type().Elem()).Elem()
		p.value(c, path+"["+strconv.Itoa(i)+"]", elem)
		v.Set(reflect.Append(v, elem))
	}
}

// mapping reads names of the writer's own choice.
func (p *parser) mapping(n *yaml.Node, path string, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	fields := p.fields(n, path, 0)
	if len(fields) > maxEntries {
		p.faulty(p.at[path], path, "has %d entries, more than %d", len(fields), maxEntries)
		return
	}
	for _, f := range fields {
		elem := reflect.New(v.Type().Elem()).Elem()
		done := p.through(f.merged)
		p.value(f.value, join(path, shown(f.name)), elem)
		done()
		v.SetMapIndex(reflect.ValueOf(f.name), elem)
	}
}

func (p *parser) scalar(n *yaml.Node, path string, v reflect.Value) {
	tag := n.ShortTag()
	switch k := v.Kind(); {
	case k == reflect.String && tag == "!!str":
		p.text(n, path, v)
	case k == reflect.Bool && tag == "!!bool":
		p.convert(n, path, v.Addr().Interface())
	case k == reflect.Float64 && (tag == "!!float" || tag == "!!int"):
		if p.convert(n, path, v.Addr().Interface()); math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			v.SetFloat(0)
			p.faulty(p.at[path], path, "must be a finite number")
		}
	case (k == reflect.Int || k == reflect.Int64) && tag == "!!int":
		p.convert(n, path, v.Addr().Interface())
	default:
		p.mismatch(n, path, k)
	}
}

func (p *parser) text(n *yaml.Node, path string, v reflect.Value) {
	s := p.vars.Replace(n.Value)
	if strings.ContainsRune(s, 0) {
		p.faulty(p.at[path], path, "must not contain the character U+0000")
		return
	}
	v.SetString(s)
}

// convert reads a number or a bool that has the right tag.
func (p *parser) convert(n *yaml.Node, path string, to any) {
	if err := n.Load(to); err != nil {
		p.faulty(p.at[path], path, "is out of range")
	}
}

// mismatch tells that a field of kind k got something else.
func (p *parser) mismatch(n *yaml.Node, path string, k reflect.Kind) {
	tag, hint := n.ShortTag(), ""
	want := map[reflect.Kind]string{
		reflect.String: "text", reflect.Bool: "true or false", reflect.Float64: "a number",
		reflect.Int: "a whole number", reflect.Int64: "a whole number",
		reflect.Slice: "a list", reflect.Struct: "a mapping", reflect.Map: "a mapping",
	}[k]
	switch {
	case n.Kind != yaml.ScalarNode:
	case k == reflect.String:
		hint = ": put it in quotes"
	case tag == "!!str" && readsAs(n.Value, k):
		hint = ": remove the quotes"
	}
	p.faulty(p.at[path], path, "must be %s, not %s%s", want, noun(n), hint)
}

// readsAs reports whether a text would be right without its quotes.
func readsAs(s string, k reflect.Kind) bool {
	var err error
	switch k {
	case reflect.Int, reflect.Int64:
		_, err = strconv.ParseInt(s, 10, 64)
	case reflect.Float64:
		_, err = strconv.ParseFloat(s, 64)
	case reflect.Bool:
		return s == "true" || s == "false"
	default:
		return false
	}
	return err == nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// noun says what a node is.
func noun(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return "text"
	case "!!int":
		return "a number"
	case "!!float":
		return "a number with a fraction"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "a date"
	default:
		return "a value of type " + shown(tag)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// shown is a name of the file as an error shows it.
func shown(name string) string {
	if len(name) > 64 {
		name = strings.ToValidUTF8(name[:64], "") + "…"
	}
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}

// fieldIndex returns which field of a struct has a name in documents.
func fieldIndex(t reflect.Type, name string) (int, bool) {
	for i := range t.NumField() {
		if yamlName(t.Field(i)) == name {
			return i, true
		}
	}
	return 0, false
}

// yamlName is the name of a struct's field in documents; empty: it has none.
func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// find returns the value at a path below v; invalid where there is none.
func find(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		name, indexes, _ := strings.Cut(name, "[")
		if v.Kind() == reflect.Pointer {
			v = v.Elem() // of nil it is invalid
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		i, ok := fieldIndex(v.Type(), name)
		if !ok {
			return reflect.Value{}
		}
		v = v.Field(i)
		if indexes == "" {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(indexes, "%d]", &n); err != nil || v.Kind() != reflect.Slice || n >= v.Len() {
			return reflect.Value{}
		}
		v = v.Index(n)
	}
	return v
}
