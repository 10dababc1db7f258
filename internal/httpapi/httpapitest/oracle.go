// Package httpapitest holds tests of the HTTP doors to the contract: an Oracle
// that checks every exchange against the documents of api/, and a World that stands in
// for the engine and the store, with a journal that the test writes by hand.
package httpapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/belayrun/belay/api"
)

// Prefix is where the routes of the client API are, StudioPrefix where those of
// Studio.
const (
	Prefix       = "/api/client/v1"
	StudioPrefix = "/api"
)

// Document is a document of api/, parsed and compiled.
type Document struct {
	Spec   *openapi3.T
	Prefix string
	lines  map[string]*jsonschema.Schema // by operation path, of the data lines of its stream
}

// contracts are the documents there are, and the schemas of their streams' lines
// by operation path.
var contracts = []struct {
	prefix string
	yaml   []byte
	lines  map[string]string
}{
	{Prefix, api.Client, map[string]string{
		"/agents/conversations/{id}/events": "Event", "/responses": "ResponseEvent",
		"/agents/responses": "ResponseEvent", "/responses/{id}": "ResponseEvent", "/chat/completions": "ChatEvent",
		"/threads/{thread}/runs": "AssistantsEvent", "/threads/runs": "AssistantsEvent",
		"/a2a/{agent}": "A2AAnswer", "/a2a/{agent}/": "A2AAnswer", "/a2a/{agent}/v0.3": "A2AAnswer", "/a2a/{agent}/v0.3/": "A2AAnswer",
		"/a2a/{agent}/v1.0": "A2AAnswer", "/a2a/{agent}/v1.0/": "A2AAnswer",
	}},
	{"/api/portal/v1", api.Portal, map[string]string{"/{slug}/conversations/{id}/events": "Event"}},
	{StudioPrefix, api.Studio, map[string]string{
		"/stream": "StreamFrame", "/agents/{agentId}/sessions/{sessionId}/events": "client_Event",
	}},
}

var load = sync.OnceValues(func() ([]*Document, error) {
	var all []*Document
	for _, c := range contracts {
		loader := openapi3.NewLoader()
		loader.IsExternalRefsAllowed = true // to client.yaml alone
		loader.ReadFromURIFunc = func(_ *openapi3.Loader, u *url.URL) ([]byte, error) {
			if u.String() != "client.yaml" {
				return nil, fmt.Errorf("refers to %s", u)
			}
			return api.Client, nil
		}
		spec, err := loader.LoadFromData(c.yaml)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.prefix, err)
		}
		spec.InternalizeRefs(context.Background(), nil)
		d := &Document{Spec: spec, Prefix: c.prefix, lines: map[string]*jsonschema.Schema{}}
		if err := d.compile(c.lines); err != nil {
			return nil, fmt.Errorf("%s: %w", c.prefix, err)
		}
		all = append(all, d)
	}
	return all, nil
})

// Load returns api/client.yaml.
func Load(t testing.TB) *Document {
	t.Helper()
	return All(t)[0]
}

// Studio returns api/studio.yaml.
func Studio(t testing.TB) *Document {
	t.Helper()
	all := All(t)
	return all[slices.IndexFunc(all, func(d *Document) bool { return d.Prefix == StudioPrefix })]
}

// All returns the documents.
func All(t testing.TB) []*Document {
	t.Helper()
	all, err := load()
	if err != nil {
		t.Fatalf("api: %v", err)
	}
	return all
}

// compile prepares the schemas of stream lines: they are too many to be compiled
// each time.
func (d *Document) compile(lines map[string]string) error {
	b, err := d.Spec.MarshalJSON()
	if err != nil {
		return err
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("belay:api", tree); err != nil {
		return err
	}
	for path, schema := range lines {
		if d.lines[path], err = c.Compile("belay:api#/components/schemas/" + schema); err != nil {
			return err
		}
	}
	return nil
}

// Route returns the operation that a request is for. Words of a path go before
// parameters.
func (d *Document) Route(r *http.Request) (route *routers.Route, params map[string]string, err error) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), d.Prefix)
	if !ok {
		return nil, nil, fmt.Errorf("%s is not below %s", r.URL.Path, d.Prefix)
	}
	best := -1
	for template, item := range d.Spec.Paths.Map() {
		p, fixed := match(template, path)
		if op := item.GetOperation(r.Method); op != nil && fixed > best {
			best, params = fixed, p
			route = &routers.Route{Spec: d.Spec, Server: d.Spec.Servers[0], Path: template, PathItem: item, Method: r.Method, Operation: op}
		}
	}
	if route == nil {
		return nil, nil, fmt.Errorf("%s %s is not in the document", r.Method, path)
	}
	return route, params, nil
}

// match returns the parameters of a path and how many of its words are fixed,
// -1 if it does not match.
func match(template, path string) (map[string]string, int) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, -1
	}
	params, fixed := map[string]string{}, 0
	for i, w := range want {
		switch {
		case strings.HasPrefix(w, "{"):
			params[strings.Trim(w, "{}")] = got[i]
		case w == got[i]:
			fixed++
		default:
			return nil, -1
		}
	}
	return params, fixed
}

// Oracle is a transport that fails the test where an exchange with one of the
// APIs is not as its document says: a response that it does not have, a request
// that it forbids and the server takes, a line of a stream that it does not know.
type Oracle struct {
	T    testing.TB
	Next http.RoundTripper // nil: http.DefaultTransport

	docs []*Document
}

// NewOracle returns an Oracle over next.
func NewOracle(t testing.TB, next http.RoundTripper) *Oracle {
	if next == nil {
		next = http.DefaultTransport
	}
	return &Oracle{T: t, Next: next, docs: All(t)}
}

// RoundTrip implements http.RoundTripper.
func (o *Oracle) RoundTrip(r *http.Request) (*http.Response, error) {
	doc := o.document(r.URL.Path)
	if doc == nil || r.Method == http.MethodOptions { // a browser's preflight is no part of an API
		return o.Next.RoundTrip(r)
	}
	asked, err := drain(&r.Body)
	if err != nil {
		return nil, err
	}
	res, err := o.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.Header.Get("X-Request-Id") == "" {
		o.T.Errorf("%s %s: no X-Request-Id", r.Method, r.URL.Path)
	}
	route, params, err := doc.Route(r)
	if err != nil {
		if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
			o.T.Errorf("%v, but the answer is %s", err, res.Status)
		}
		return res, nil
	}
	again := r.Clone(r.Context())
	again.Body = http.NoBody
	if len(bytes.TrimSpace(asked)) > 0 {
		again.Body = io.NopCloser(bytes.NewReader(asked))
		again.Header.Set("Content-Type", "application/json")
	}
	o.check(doc, again, res, route, params)
	return res, nil
}

// document returns the one whose API a path is of.
func (o *Oracle) document(path string) *Document {
	var best *Document
	for _, d := range o.docs {
		if strings.HasPrefix(path, d.Prefix+"/") && (best == nil || len(d.Prefix) > len(best.Prefix)) {
			best = d
		}
	}
	return best
}

func (o *Oracle) check(doc *Document, r *http.Request, res *http.Response, route *routers.Route, params map[string]string) {
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
	}
	if res.StatusCode < 300 {
		if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
			o.T.Errorf("%s %s: the server took a request that the document forbids: %v", r.Method, r.URL, err)
		}
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/event-stream" {
		schema := doc.lines[route.Path]
		if schema == nil {
			o.T.Errorf("%s %s: the document has no stream here", r.Method, r.URL.Path)
			return
		}
		res.Body = &lineChecker{ReadCloser: res.Body, check: func(line []byte) { o.line(route.Path, schema, line) }}
		return
	}
	answer, err := drain(&res.Body)
	if err != nil {
		o.T.Errorf("%s %s: read answer: %v", r.Method, r.URL.Path, err)
		return
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Options: in.Options}
	out.SetBodyBytes(answer)
	if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
		o.T.Errorf("%s %s answered %s what the document does not have: %v", r.Method, r.URL, res.Status, err)
	}
}

// done is the last data line of the dialects that end their streams with a word.
const done = "[DONE]"

func (o *Oracle) line(path string, schema *jsonschema.Schema, line []byte) {
	if string(line) == done && path != "/responses" && path != "/agents/responses" {
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		o.T.Errorf("stream of %s: %s is not in the document: %v", path, line, err)
	}
}

// drain reads a body whole and puts it back.
func drain(body *io.ReadCloser) ([]byte, error) {
	if *body == nil || *body == http.NoBody {
		return nil, nil
	}
	b, err := io.ReadAll(*body)
	_ = (*body).Close()
	*body = io.NopCloser(bytes.NewReader(b))
	return b, err
}

// lineChecker checks the data lines of a stream as they are read.
type lineChecker struct {
	io.ReadCloser
	check func([]byte)
	rest  []byte
}

func (c *lineChecker) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.rest = append(c.rest, p[:n]...)
	for {
		line, rest, ok := bytes.Cut(c.rest, []byte("\n"))
		if !ok {
			return n, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			c.check(data)
		}
		c.rest = rest
	}
}

// SSE is one event of a stream.
type SSE struct {
	ID, Event string
	Data      json.RawMessage
}

// ReadSSE reads the events of a stream to its end. It does not take what is not
// whole.
func ReadSSE(r io.Reader) ([]SSE, error) {
	b, err := io.ReadAll(r)
	var out []SSE
	for frame := range strings.SplitSeq(string(b), "\n\n") {
		var e SSE
		for line := range strings.SplitSeq(frame, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				e.ID = value
			case "event":
				e.Event = value
			case "data":
				e.Data = json.RawMessage(value)
			}
		}
		if e.Data != nil {
			out = append(out, e)
		}
	}
	return out, err
}
