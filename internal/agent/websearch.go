package agent

import (
	"slices"
	"strings"
)

// WebSearchSource says who answers web searches.
type WebSearchSource struct {
	Provider string    `json:"provider" yaml:"provider"`                     // one of SearchProviders
	BaseURL  string    `json:"base_url,omitempty" yaml:"base_url,omitempty"` // required for searxng; else default the provider's own
	Auth     *ToolAuth `json:"auth,omitempty" yaml:"auth,omitempty"`         // required for brave (header) and tavily (bearer)
}

// The providers of web searches.
const (
	SearchSearXNG = "searxng"
	SearchBrave   = "brave"
	SearchTavily  = "tavily"
)

// SearchProviders lists the providers of web searches.
var SearchProviders = []string{SearchSearXNG, SearchBrave, SearchTavily}

func (v *checks) webSearch(field string, t ToolRef) {
	s := t.WebSearch
	v.that(s == nil || t.Source == SourceWebSearch, field, "belongs to source web_search")
	if s == nil {
		return
	}
	v.that(slices.Contains(SearchProviders, s.Provider), field+".provider", "must be "+strings.Join(SearchProviders, ", "))
	v.that(s.BaseURL != "" || s.Provider != SearchSearXNG, field+".base_url", "is required: where the SearXNG is")
	if s.BaseURL != "" {
		v.url(field+".base_url", s.BaseURL)
	}
	v.that(s.Auth != nil || s.Provider == SearchSearXNG, field+".auth", "is required: the provider's key")
	v.auth(field+".auth.", s.Auth)
	if s.Auth != nil {
		v.that(s.Provider != SearchBrave || s.Auth.Type == "header", field+".auth.type", "must be header: brave reads its key in X-Subscription-Token")
		v.that(s.Provider != SearchTavily || s.Auth.Type == "bearer", field+".auth.type", "must be bearer: tavily reads its key there")
	}
}
