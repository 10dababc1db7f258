package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/belayrun/belay/internal/agent"
)

const (
	maxOperations  = 1000
	maxName        = 64
	maxDescription = 1024
)

// document is what was read of an OpenAPI document.
type document struct {
	server     string // of the first server; may be relative, or empty
	operations []*operation
}

// methods in the order that their operations are named in.
var methods = []string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions, http.MethodTrace,
}

// parse reads a document, YAML or JSON. References out of it are refused. Its
// errors are one line that may be shown.
func parse(b []byte) (d *document, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = nil, errors.New("it is not well formed")
		}
	}()
	if len(b) > maxDocument {
		return nil, fmt.Errorf("it is larger than %d MiB", maxDocument>>20)
	}
	t, err := load(b)
	if err != nil {
		return nil, err
	}
	d = &document{server: serverURL(t.Servers)}
	names := map[string]bool{}
	reasons := []error{errors.New("it has no operations")}
	items := t.Paths.Map()
	for _, path := range slices.Sorted(maps.Keys(items)) {
		for _, method := range methods {
			if items[path] == nil || items[path].GetOperation(method) == nil {
				continue
			}
			o := items[path].GetOperation(method)
			if len(d.operations) == maxOperations {
				return nil, fmt.Errorf("it has more than %d operations", maxOperations)
			}
			op, err := newOperation(method, path, items[path].Parameters, o)
			if err != nil {
				reasons = append(reasons, fmt.Errorf("%s %s: %w", method, path, err))
				continue
			}
			op.spec.Name = uniqueName(names, cmp.Or(o.OperationID, strings.ToLower(method)+"_"+strings.Trim(path, "/")))
			d.operations = append(d.operations, op)
		}
	}
	if len(d.operations) == 0 {
		return nil, reasons[len(reasons)-1]
	}
	return d, nil
}

// load decodes a document and resolves its references.
func load(b []byte) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	t, err := loader.LoadFromData(b)
	if err != nil {
		return nil, fmt.Errorf("it is no OpenAPI document: %s", cut(firstLine(err.Error()), 300))
	}
	switch {
	case strings.HasPrefix(t.OpenAPI, "3.0"), strings.HasPrefix(t.OpenAPI, "3.1"):
		return t, nil
	case t.OpenAPI == "":
		return nil, errors.New("it is no OpenAPI 3 document: it has no field openapi")
	}
	return nil, fmt.Errorf("it is OpenAPI %s: only 3.0 and 3.1 are read", cut(t.OpenAPI, 20))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// serverURL is that of the first server, its variables at their defaults.
func serverURL(servers openapi3.Servers) string {
	if len(servers) == 0 || servers[0] == nil {
		return ""
	}
	u := servers[0].URL
	for name, v := range servers[0].Variables {
		if v != nil {
			u = strings.ReplaceAll(u, "{"+name+"}", v.Default)
		}
	}
	return u
}

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// uniqueName makes a name that a model accepts and that no other has.
func uniqueName(taken map[string]bool, wish string) string {
	name := cmp.Or(strings.Trim(notInName.ReplaceAllString(wish, "_"), "_"), "operation")
	name = name[:min(len(name), maxName)]
	for n, base := 2, name; taken[name]; n++ {
		suffix := fmt.Sprintf("_%d", n)
		name = base[:min(len(base), maxName-len(suffix))] + suffix
	}
	taken[name] = true
	return name
}

func description(o *openapi3.Operation, method, path string) string {
	parts := []string{strings.TrimSpace(o.Summary), strings.TrimSpace(o.Description)}
	if parts[0] == parts[1] {
		parts = parts[:1]
	}
	text := strings.TrimSpace(strings.Join(parts, "\n"))
	return cut(cmp.Or(text, method+" "+path), maxDescription)
}

// cut shortens a text to a number of bytes, at a letter's end.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// specOf is what a model is told of an operation; its name comes later.
func specOf(o *openapi3.Operation, method, path string, parameters []byte) agent.ToolSpec {
	return agent.ToolSpec{Description: description(o, method, path), Parameters: parameters}
}
