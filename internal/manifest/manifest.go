// Package manifest reads the YAML documents of belay apply and brings a project
// to what they declare.
//
// A document is one model, one shared tool or one agent:
//
//	kind: model
//	key: gpt
//	base_url: https://api.example.com/v1
//	model: gpt-5
//	api_key_env: OPENAI_API_KEY
//	---
//	kind: tool
//	key: orders           # agents name it: tools: [{source: openapi, key: orders}]
//	source: openapi
//	openapi:
//	  document_url: https://orders.example.com/openapi.json   # or document_file: orders.yaml
//	  base_url: https://orders.example.com/v1
//	  auth: {type: bearer, secret: orders}   # the secret of the tool orders
//	secret: abc
//	---
//	kind: agent
//	key: support
//	name: Support         # optional
//	status: active        # or disabled
//	config:               # as in the API
//	  model: gpt
//	  instructions: Be brief.
//
// A document says all of its thing: what it leaves out gets its default, except
// that a model without api_key and api_key_env keeps the API key that is stored,
// and a tool without secret its secret.
// Reading is strict, because a typing error must not become a default: unknown
// fields, empty values, text for numbers and numbers for text are errors.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/belayrun/belay/internal/agent"
)

const (
	maxInput = 10 << 20
	// maxExpanded bounds what is read through aliases, in bytes of text and a cost
	// for each node: a few aliases can stand for more than any memory holds.
	maxExpanded = 10 << 20
	nodeCost    = 128
	mergeCost   = 1024
	// maxEntries bounds a list, or a mapping of the writer's own names.
	maxEntries = 1000
)

// Manifest is what a file declares, free of faults in itself: Parse makes no
// other. Project is empty in all of it.
type Manifest struct {
	agent.Declared
	By string // who applies it, for the record; empty: nobody says

	file   string
	places map[string]place // of fields, by placeKey
	// included are the files that fields were read from, by placeKey.
	included map[string]string
}

func placeKey(kind, key, field string) string { return kind + " " + key + " " + field }

// Parse is Read without files of its own.
func Parse(name string, r io.Reader, vars map[string]string) (Manifest, error) {
	return Read(name, r, Options{Vars: vars})
}

// Options are how Read reads.
type Options struct {
	// Vars are what ${NAME} in text values stands for; no other NAME is replaced.
	Vars map[string]string
	// Open opens a file that a document names, relative to that of the documents;
	// nil: naming one is a fault.
	Open func(name string) (io.ReadCloser, error)
}

// Read reads a file of documents; name is what its errors call it.
//
// Faults of the documents are returned all together as Errors. Any other error
// is one of reading r.
func Read(name string, r io.Reader, o Options) (Manifest, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return Manifest{}, fmt.Errorf("read %s: %w", name, err)
	}
	p := newParser(name, o)
	switch at, what := unprintable(b); {
	case len(b) > maxInput:
		p.fault(place{}, "", "is larger than %d MB", maxInput>>20)
	case what != "":
		p.fault(at, "", "%s", what)
	default:
		p.documents(b)
	}
	if len(p.errs) > 0 {
		return Manifest{}, p.errs
	}
	return p.out, nil
}

// unprintable finds the first thing that is in no YAML file.
func unprintable(b []byte) (place, string) {
	at := place{line: 1, column: 1}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			return at, "is not UTF-8 here"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			return at, fmt.Sprintf("control character %U: write it as an escape in a quoted text", r)
		case r == '\n':
			at.line, at.column = at.line+1, 0
		}
		at.column++
		b = b[n:]
	}
	return place{}, ""
}

// place is where something is; what is zero isn't known.
type place struct{ document, line, column int }

// parser reads one file.
type parser struct {
	vars     *strings.Replacer
	open     func(name string) (io.ReadCloser, error)
	errs     Errors
	left     int            // of maxExpanded
	aliases  int            // that lead to what is being read
	declared map[string]int // document, by kind and key
	out      Manifest

	// Of the document that is being read.
	document int
	at       map[string]place // of each value, by its path
	bad      map[string]bool  // paths whose fault is told already
}

func newParser(name string, o Options) *parser {
	var pairs []string
	for k, v := range o.Vars {
		pairs = append(pairs, "${"+k+"}", v)
	}
	return &parser{
		vars: strings.NewReplacer(pairs...), open: o.Open, left: maxExpanded, declared: map[string]int{},
		out: Manifest{file: name, places: map[string]place{}, included: map[string]string{}},
	}
}

// documents reads them up to the first that is no YAML: what comes after it
// cannot be told.
func (p *parser) documents(b []byte) {
	loader, err := yaml.NewLoader(bytes.NewReader(b))
	for p.document = 1; err == nil; p.document++ {
		var n yaml.Node
		if err = loader.Load(&n); err != nil {
			break
		}
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 && !isNull(n.Content[0]) {
			p.at, p.bad = map[string]place{}, map[string]bool{}
			p.read(n.Content[0])
		}
	}
	if err == nil || errors.Is(err, io.EOF) {
		return
	}
	at := place{document: p.document}
	if le, ok := errors.AsType[*yaml.LoadError](err); ok {
		at.line, at.column = le.Mark.Line, le.Mark.Column
		err = errors.New(le.Message)
		if le.Message == "found incompatible YAML document" {
			err = errors.New("leave the directive %YAML out")
		}
	}
	p.fault(at, "", "not YAML: %v", err)
}

// placeOf returns where a node of the current document is.
func (p *parser) placeOf(n *yaml.Node) place { return place{p.document, n.Line, n.Column} }
