// Package websearch gives agents a search of the web, by one of several
// providers.
package websearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
)

// Config is what a Source is made of.
type Config struct {
	// Client makes the calls; required. It decides which addresses may be reached; it is not
	// asked to follow redirects, and a call's own timeout ends it.
	Client *http.Client
	// Secrets opens the providers' keys. Nil: what needs one can't be opened.
	Secrets tool.Secrets
}

// Source gives web_search.
type Source struct {
	client  http.Client
	secrets tool.Secrets
}

// New makes a Source.
func New(cfg Config) *Source {
	s := &Source{client: *cfg.Client, secrets: cfg.Secrets}
	// A key in a header of its own would go along to wherever a redirect leads.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

const (
	defaultResults = 5
	maxResults     = 20
	maxQuery       = 400 // characters; the least of what the providers take
)

var parameters = json.RawMessage(fmt.Sprintf(`{
	"type": "object",
	"required": ["query"],
	"additionalProperties": false,
	"properties": {
		"query": {"type": "string", "minLength": 1, "maxLength": %d, "description": "what to look for, as one types it into a search engine"},
		"max_results": {"type": "integer", "minimum": 1, "maximum": %d, "default": %d, "description": "how many results at most"}
	}
}`, maxQuery, maxResults, defaultResults))

type input struct {
	Query      string `json:"query"`
	MaxResults int    `json:"max_results"`
}

// Open implements tool.Source. The provider's key is read now, so that one that
// is missing is told before a turn needs it; a new one counts from the next turn.
func (s *Source) Open(ctx context.Context, session agent.Session, ref agent.ToolRef) ([]agent.Tool, error) {
	cfg := ref.WebSearch
	if cfg == nil {
		return nil, &agent.FieldError{Field: "web_search", Message: "is required: the provider"}
	}
	p, ok := providers[cfg.Provider]
	if !ok {
		return nil, &agent.FieldError{Field: "web_search.provider", Message: fmt.Sprintf("there is no provider %q", cfg.Provider)}
	}
	for i, n := range ref.Names {
		if n != "web_search" {
			return nil, &agent.FieldError{Field: fmt.Sprintf("names[%d]", i), Message: fmt.Sprintf("there is no web_search %q", n)}
		}
	}
	secret, err := s.secret(ctx, session.Project, cfg.Auth)
	if err != nil {
		return nil, err
	}
	e := &engine{client: &s.client, provider: p, base: cmp.Or(cfg.BaseURL, p.base()), auth: cfg.Auth, secret: secret}
	return []agent.Tool{{
		Spec: agent.ToolSpec{
			Name: "web_search", Parameters: parameters,
			Description: "Searches the web. Answers with title, url and snippet of each result.",
		},
		Abortable: true, Timeout: agent.DefaultToolTimeout,
		Call: func(ctx context.Context, arguments []byte) (string, error) {
			var in input
			if err := json.Unmarshal(arguments, &in); err != nil {
				return "", fmt.Errorf("the arguments are not right: %w", err)
			}
			if strings.TrimSpace(in.Query) == "" {
				return "", errors.New("query is empty: there is nothing to look for")
			}
			in.MaxResults = min(max(cmp.Or(in.MaxResults, defaultResults), 1), maxResults)
			return e.search(ctx, in)
		},
	}}, nil
}

// secret opens the key that auth names; empty where it names none.
func (s *Source) secret(ctx context.Context, project string, auth *agent.ToolAuth) (string, error) {
	if auth == nil {
		return "", nil
	}
	fault := func(why string) error {
		return &agent.FieldError{Field: "web_search.auth.secret", Message: why}
	}
	if s.secrets == nil {
		return "", fault("this node keeps no secrets: it can't open " + auth.Secret)
	}
	secret, err := s.secrets.Secret(ctx, project, auth.Secret)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		return "", fault(fmt.Sprintf("there is no shared tool %q with a secret", auth.Secret))
	case err != nil:
		return "", fmt.Errorf("the secret of %s: %w", auth.Secret, err)
	}
	return secret, nil
}
