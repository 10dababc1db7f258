package websearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/url"
	"strconv"

	"github.com/belayrun/belay/internal/agent"
)

// A provider is the way one search API is asked and read.
type provider interface {
	name() string
	base() string // its public address; empty: it has none
	// request makes the request of a search, without what proves who asks.
	request(ctx context.Context, base string, in input) (*http.Request, error)
	// results reads the body of a 200, in the provider's order.
	results(body []byte) ([]Result, error)
}

var providers = map[string]provider{
	agent.SearchSearXNG: searXNG{},
	agent.SearchBrave:   brave{},
	agent.SearchTavily:  tavily{},
}

// errShape: it is JSON, and not of that provider.
var errShape = errors.New("not an answer of that provider")

// get makes a GET of a path below base.
func get(ctx context.Context, base, path string, query url.Values) (*http.Request, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	u = u.JoinPath(path)
	u.RawQuery = query.Encode()
	return http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
}

// searXNG is a metasearch engine that people run themselves. It has no say in how
// many results it gives, and answers 403 unless its settings allow the format json.
type searXNG struct{}

func (searXNG) name() string { return "SearXNG" }
func (searXNG) base() string { return "" }

func (searXNG) request(ctx context.Context, base string, in input) (*http.Request, error) {
	return get(ctx, base, "search", url.Values{"q": {in.Query}, "format": {"json"}})
}

func (searXNG) results(body []byte) ([]Result, error) {
	var in struct {
		Results *[]struct{ Title, URL, Content string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.Results == nil {
		return nil, errShape
	}
	var out []Result
	for _, r := range *in.Results {
		out = append(out, Result{Title: r.Title, URL: r.URL, Snippet: r.Content})
	}
	return out, nil
}

// brave is the Brave Search API.
type brave struct{}

func (brave) name() string { return "Brave Search" }
func (brave) base() string { return "https://api.search.brave.com" }

func (brave) request(ctx context.Context, base string, in input) (*http.Request, error) {
	return get(ctx, base, "res/v1/web/search", url.Values{
		"q": {in.Query}, "count": {strconv.Itoa(in.MaxResults)}, "text_decorations": {"false"}, "result_filter": {"web"},
	})
}

func (brave) results(body []byte) ([]Result, error) {
	var in struct {
		Type *string // is there in every answer; web is not when nothing was found
		Web  struct {
			Results []struct{ Title, URL, Description string }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.Type == nil {
		return nil, errShape
	}
	var out []Result
	for _, r := range in.Web.Results {
		out = append(out, Result{Title: html.UnescapeString(r.Title), URL: r.URL, Snippet: html.UnescapeString(r.Description)})
	}
	return out, nil
}

// tavily is the Tavily API, made for models.
type tavily struct{}

func (tavily) name() string { return "Tavily" }
func (tavily) base() string { return "https://api.tavily.com" }

func (tavily) request(ctx context.Context, base string, in input) (*http.Request, error) {
	u, err := url.JoinPath(base, "search")
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"query": in.Query, "max_results": in.MaxResults, "search_depth": "basic"})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, bytes.NewReader(body))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

func (tavily) results(body []byte) ([]Result, error) {
	// The fields that matter have the same names as SearXNG's.
	return searXNG{}.results(body)
}
