// Package openapi gives agents the operations of HTTP APIs as tools: it reads
// OpenAPI documents, 3.0 and 3.1, makes a tool of each operation, checks what a
// model gives it and makes the request.
//
// Where an API is and what its document says is a caller's word, so the client
// that is passed in must be a guarded one. Neither what is sent nor what comes
// back is logged, and no secret is part of an error.
package openapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
)

// Config is what a Source is made of.
type Config struct {
	// Client makes all requests. It must refuse addresses that a caller may not
	// reach, and give no credentials to another origin on a redirect.
	Client  *http.Client
	Secrets tool.Secrets
	// MaxAge is how long a fetched document is used before it is fetched again;
	// 0 is 5 minutes. One that can't be fetched then is used on as it was.
	MaxAge time.Duration
}

// Source is the tool.Source for HTTP APIs. It keeps the documents that it has
// read. It is safe for concurrent use and runs nothing of its own.
type Source struct {
	cfg  Config
	docs *documents
}

// New makes a Source.
func New(c Config) *Source {
	return &Source{cfg: c, docs: newDocuments(c.Client, cmp.Or(c.MaxAge, 5*time.Minute))}
}

// Open implements tool.Source: a tool for each operation that the ref names, or
// for all of them. A document that can't be used, a name that it does not have
// and a secret that is not kept are agent.FieldErrors.
func (s *Source) Open(ctx context.Context, session agent.Session, ref agent.ToolRef) ([]agent.Tool, error) {
	if ref.OpenAPI == nil {
		return nil, &agent.FieldError{Field: "openapi", Message: "is required: the document and how to reach the API"}
	}
	return s.open(ctx, session.Project, ref)
}

func (s *Source) open(ctx context.Context, project string, ref agent.ToolRef) ([]agent.Tool, error) {
	src := ref.OpenAPI
	doc, err := s.docs.get(ctx, src)
	if err != nil {
		return nil, err
	}
	base, err := baseURL(src, doc)
	if err != nil {
		return nil, err
	}
	operations, err := pick(doc.operations, ref.Names)
	if err != nil {
		return nil, err
	}
	prove, err := s.prover(ctx, project, src.Auth)
	if err != nil {
		return nil, err
	}
	out := make([]agent.Tool, 0, len(operations))
	for _, op := range operations {
		c := caller{client: s.cfg.Client, base: base, prove: prove, op: op}
		out = append(out, agent.Tool{Spec: op.spec, Abortable: true, Timeout: agent.DefaultToolTimeout, Call: c.call})
	}
	return out, nil
}

// pick returns the operations of those names, all where there are none.
func pick(all []*operation, names []string) ([]*operation, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []*operation
	for k, n := range names {
		i := slices.IndexFunc(all, func(op *operation) bool { return op.spec.Name == n })
		if i < 0 {
			return nil, &agent.FieldError{Field: fmt.Sprintf("names[%d]", k), Message: fmt.Sprintf("the document has no operation %q; %s", n, someOf(all))}
		}
		out = append(out, all[i])
	}
	return out, nil
}

func someOf(all []*operation) string {
	const most = 20
	var text strings.Builder
	text.WriteString("it has ")
	for i, op := range all[:min(len(all), most)] {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(op.spec.Name)
	}
	if len(all) > most {
		text.WriteString(fmt.Sprintf(" and %d more", len(all)-most))
	}
	return text.String()
}

// baseURL is what the paths of the operations are below. Where a document from
// elsewhere would decide to whom a secret is sent, the ref must say it.
func baseURL(src *agent.OpenAPISource, doc *document) (string, error) {
	if src.BaseURL != "" {
		return src.BaseURL, nil
	}
	base, err := url.Parse(doc.server)
	if err == nil && src.DocumentURL != "" {
		var at *url.URL
		if at, err = url.Parse(src.DocumentURL); err == nil {
			base = at.ResolveReference(base)
			if src.Auth != nil && (base.Scheme != at.Scheme || base.Host != at.Host) {
				return "", &agent.FieldError{Field: "openapi.base_url", Message: "is required: the document's server is not where the document is, and calls carry a secret"}
			}
		}
	}
	if err != nil || doc.server == "" && src.DocumentURL == "" || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return "", &agent.FieldError{Field: "openapi.base_url", Message: "is required: the document names no server by an http or https URL"}
	}
	return base.String(), nil
}

// prover returns what adds the proof of who calls to a request.
func (s *Source) prover(ctx context.Context, project string, auth *agent.ToolAuth) (func(*http.Request), error) {
	if auth == nil {
		return func(*http.Request) {}, nil
	}
	secret, err := s.cfg.Secrets.Secret(ctx, project, auth.Secret)
	if errors.Is(err, agent.ErrNotFound) {
		return nil, &agent.FieldError{Field: "openapi.auth.secret", Message: fmt.Sprintf("no secret is kept by a shared tool %q", auth.Secret)}
	}
	if err != nil {
		return nil, err
	}
	switch auth.Type {
	case "bearer":
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }, nil
	case "basic":
		return func(r *http.Request) { r.SetBasicAuth(auth.Username, secret) }, nil
	case "header":
		return func(r *http.Request) { r.Header.Set(auth.Header, secret) }, nil
	}
	return nil, &agent.FieldError{Field: "openapi.auth.type", Message: "must be bearer, basic or header"}
}
