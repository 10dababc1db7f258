package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/belayrun/belay/internal/agent"
)

// The kinds of documents.
const (
	kindModel = "model"
	kindTool  = "tool"
	kindAgent = "agent"

	kindPortal = "portal"
)

var kinds = []string{kindModel, kindTool, kindAgent, kindPortal}

// agentDocument is an agent as a document has it.
type agentDocument struct {
	Key    string       `yaml:"key"`
	Name   string       `yaml:"name"`
	Status string       `yaml:"status"`
	Config agent.Config `yaml:"config"`
}

func (d *agentDocument) validate() error {
	switch {
	case d.Key == "":
		return &agent.FieldError{Field: "key", Message: "is required"}
	case d.Status != "" && d.Status != "active" && d.Status != "disabled":
		return &agent.FieldError{Field: "status", Message: "must be active or disabled"}
	}
	return cmp.Or(agent.CheckKey("key", d.Key), d.Config.Validate("config."))
}

// read reads a document into the manifest. What has a fault leaves it out.
func (p *parser) read(root *yaml.Node) {
	before := len(p.errs)
	p.at[""] = p.placeOf(root)
	if root.Kind != yaml.MappingNode {
		p.fault(p.at[""], "", "must be a mapping with kind and key, not %s", noun(root))
		return
	}
	fields := p.fields(root, "", 0)
	switch kind := p.kind(&fields); kind {
	case kindModel:
		p.model(fields)
	case kindTool:
		p.tool(fields)
	case kindAgent:
		p.agent(fields)
	case kindPortal:
		p.portal(fields)
	}
	// Of one document only; p.fault ended at maxErrors, so before may be all.
	slices.SortStableFunc(p.errs[before:], func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// kind takes the field kind out of the fields; empty where its fault is told.
func (p *parser) kind(fields *[]field) string {
	i := slices.IndexFunc(*fields, func(f field) bool { return f.name == "kind" })
	if i < 0 {
		p.fault(p.at[""], "kind", "is required: model, tool, agent or portal")
		return ""
	}
	var kind string
	f := (*fields)[i]
	*fields = slices.Delete(*fields, i, i+1)
	p.value(f.value, "kind", reflect.ValueOf(&kind).Elem())
	if p.bad["kind"] || slices.Contains(kinds, kind) {
		return kind
	}
	p.fault(p.at["kind"], "kind", "must be model, tool, agent or portal%s", didYouMean(kind, kinds))
	return ""
}

func (p *parser) model(fields []field) {
	var m agent.Model
	before := len(p.errs)
	v := reflect.ValueOf(&m).Elem()
	p.structure(fields, "", v)
	p.once(kindModel, m.Key)
	p.validate(v, func() error { return m.Validate("") })
	if len(p.errs) == before {
		p.out.Models = append(p.out.Models, m)
	}
}

func (p *parser) tool(fields []field) {
	var t agent.SharedTool
	before := len(p.errs)
	v := reflect.ValueOf(&t).Elem()
	p.structure(fields, "", v)
	p.include(kindTool, t.Key, "openapi", t.OpenAPI)
	p.once(kindTool, t.Key)
	p.validate(v, func() error { return t.Validate("") })
	if len(p.errs) == before {
		p.out.Tools = append(p.out.Tools, t)
		p.keepPlaces(kindTool, t.Key)
	}
}

func (p *parser) agent(fields []field) {
	var d agentDocument
	before := len(p.errs)
	v := reflect.ValueOf(&d).Elem()
	p.structure(fields, "", v)
	for i, ref := range d.Config.Tools {
		p.include(kindAgent, d.Key, fmt.Sprintf("config.tools[%d].openapi", i), ref.OpenAPI)
	}
	p.once(kindAgent, d.Key)
	key := d.Key
	p.validate(v, d.validate)
	if len(p.errs) > before {
		return
	}
	p.out.Agents = append(p.out.Agents, agent.Agent{Key: d.Key, Name: d.Name, Active: d.Status != "disabled", Draft: d.Config})
	p.keepPlaces(kindAgent, key)
}

func (p *parser) portal(fields []field) {
	var d agent.Portal
	before := len(p.errs)
	v := reflect.ValueOf(&d).Elem()
	p.structure(fields, "", v)
	p.once(kindPortal, d.Slug)
	slug := d.Slug
	p.validate(v, func() error { return d.Validate("") })
	if len(p.errs) > before {
		return
	}
	p.out.Portals = append(p.out.Portals, d)
	p.keepPlaces(kindPortal, slug)
}

// keepPlaces notes where the fields of a thing are, for faults found later.
func (p *parser) keepPlaces(kind, key string) {
	for path, at := range maps.All(p.at) {
		p.out.places[placeKey(kind, key, path)] = at
	}
}

// once notes that a thing is declared, and a fault where it was before.
func (p *parser) once(kind, key string) {
	if key == "" {
		return
	}
	id := kind + " " + key
	if first, ok := p.declared[id]; ok {
		p.faulty(p.nearest(keyField(kind)), keyField(kind), "document %d declares this %s already", first, kind)
		return
	}
	p.declared[id] = p.document
}

// keyField is what names a thing of a kind.
func keyField(kind string) string {
	if kind == kindPortal {
		return "slug"
	}
	return "key"
}

// validate tells all faults that check finds in v. Check tells the first only,
// so each is mended in v until it finds none: v is then of no more use.
func (p *parser) validate(v reflect.Value, check func() error) {
	for range maxErrors {
		f, ok := errors.AsType[*agent.FieldError](check())
		if !ok || p.left < 0 || len(p.errs) >= maxErrors {
			return
		}
		if !p.told(f.Field) {
			p.fault(p.nearest(f.Field), f.Field, "%s", f.Message)
			p.bad[f.Field] = true // what is missing within it is told with it
		}
		if !mend(v, f.Field, check) {
			return
		}
	}
}

// told reports whether a fault of the field, or of one that it is in, is told.
func (p *parser) told(field string) bool {
	for ; field != ""; field = parent(field) {
		if p.bad[field] {
			return true
		}
	}
	return false
}

// nearest is where a field is or, if it is missing, what it is missing in.
func (p *parser) nearest(field string) place {
	for ; field != ""; field = parent(field) {
		if at, ok := p.at[field]; ok {
			return at
		}
	}
	return p.at[""]
}

// parent cuts the last name or index off a path.
func parent(field string) string { return field[:max(0, strings.LastIndexAny(field, ".["))] }

// mend gives a field a value that check has no fault with.
func mend(v reflect.Value, path string, check func() error) bool {
	f := find(v, path)
	if !f.IsValid() {
		return false
	}
	options := []reflect.Value{reflect.Zero(f.Type())}
	if f.Kind() == reflect.Pointer {
		options = append(options, reflect.New(f.Type().Elem()))
	}
	if f.Kind() == reflect.String {
		for _, s := range []string{"x", "http://x", "function"} {
			options = append(options, reflect.ValueOf(s).Convert(f.Type()))
		}
	}
	for _, o := range options {
		f.Set(o)
		if e, ok := errors.AsType[*agent.FieldError](check()); !ok || e.Field != path {
			return true
		}
	}
	return false
}
