package agent

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Portal shows a published agent to visitors: a page of its own, and a chat that
// other sites embed.
type Portal struct {
	Project string `json:"-" yaml:"-"`
	Slug    string `json:"slug" yaml:"slug"` // of its address; unique on the whole server
	Agent   string `json:"agent" yaml:"agent"`
	Title   string `json:"title,omitempty" yaml:"title,omitempty"`     // default the agent's name
	Welcome string `json:"welcome,omitempty" yaml:"welcome,omitempty"` // shown before the first message
	// Origins are the sites (https://example.com) that may embed it; none: only
	// its own page.
	Origins []string `json:"origins,omitempty" yaml:"origins,omitempty"`
	Paused  bool     `json:"paused,omitempty" yaml:"paused,omitempty"` // answers nobody, as if it were not there
	// Anonymous lets in visitors whom no site has named; nil: it does.
	Anonymous *bool `json:"anonymous,omitempty" yaml:"anonymous,omitempty"`
	// Approvals lets visitors decide the approvals of their own conversations.
	Approvals bool `json:"approvals,omitempty" yaml:"approvals,omitempty"`
	// A2A also shows the agent to programs that speak A2A, without a token, at
	// /a2a/ and the slug: all of them are one anonymous visitor.
	A2A    bool         `json:"a2a,omitempty" yaml:"a2a,omitempty"`
	Limits PortalLimits `json:"limits,omitzero" yaml:"limits,omitempty"`
	// Secret signs the tokens by which a site names its visitors (HS256). Kept
	// encrypted, never returned; empty: nobody is named.
	Secret string `json:"-" yaml:"secret,omitempty"`

	HasSecret bool      `json:"-" yaml:"-"` // one is stored
	CreatedAt time.Time `json:"-" yaml:"-"`
	UpdatedAt time.Time `json:"-" yaml:"-"`
}

// PortalLimits bound what visitors may cost. Zero is the default given in each
// comment.
type PortalLimits struct {
	MessageChars     int     `json:"message_chars,omitempty" yaml:"message_chars,omitempty"`           // of one message, 8,000
	VisitorPerMinute int     `json:"visitor_per_minute,omitempty" yaml:"visitor_per_minute,omitempty"` // messages of one visitor, 20
	PortalPerMinute  int     `json:"portal_per_minute,omitempty" yaml:"portal_per_minute,omitempty"`   // messages of all, 600
	VisitorUSDPerDay float64 `json:"visitor_usd_per_day,omitempty" yaml:"visitor_usd_per_day,omitempty"`
	PortalUSDPerDay  float64 `json:"portal_usd_per_day,omitempty" yaml:"portal_usd_per_day,omitempty"` // of the last 24 hours; both: no limit
}

// WithDefaults returns the limits as they are held.
func (l PortalLimits) WithDefaults() PortalLimits {
	if l.MessageChars == 0 {
		l.MessageChars = 8000
	}
	if l.VisitorPerMinute == 0 {
		l.VisitorPerMinute = 20
	}
	if l.PortalPerMinute == 0 {
		l.PortalPerMinute = 600
	}
	return l
}

// TakesAnonymous reports whether it lets in visitors whom no site has named.
func (p Portal) TakesAnonymous() bool { return p.Anonymous == nil || *p.Anonymous }

// Allows reports whether a site may embed the portal.
func (p Portal) Allows(origin string) bool { return slices.Contains(p.Origins, origin) }

const (
	maxPortalText    = 2000
	maxPortalOrigins = 50
)

// Validate returns the first fault of a Portal; fields are named below prefix.
func (p Portal) Validate(prefix string) error {
	v := checks{prefix: prefix}
	v.key("slug", p.Slug)
	v.key("agent", p.Agent)
	v.that(len(p.Title) <= 200, "title", "must have 200 bytes at most")
	v.that(len(p.Welcome) <= maxPortalText, "welcome", "must have 2000 bytes at most")
	v.that(len(p.Origins) <= maxPortalOrigins, "origins", "must be 50 at most")
	for i, o := range p.Origins {
		v.that(originPattern.MatchString(o), fmt.Sprintf("origins[%d]", i), "must be an origin such as https://example.com: a scheme, a host and no path")
	}
	l := p.Limits
	v.that(l.MessageChars >= 0 && l.MessageChars <= 1_000_000, "limits.message_chars", "must be 0 (default 8000) to 1000000")
	v.min("limits.visitor_per_minute", int64(l.VisitorPerMinute), 0)
	v.min("limits.portal_per_minute", int64(l.PortalPerMinute), 0)
	v.that(l.VisitorUSDPerDay >= 0, "limits.visitor_usd_per_day", "must be 0 (no limit) or more")
	v.that(l.PortalUSDPerDay >= 0, "limits.portal_usd_per_day", "must be 0 (no limit) or more")
	v.that(p.Secret == "" || len(p.Secret) >= 32, "secret", "must have 32 bytes or more")
	return v.err
}

// originPattern is strict: an origin becomes a part of a page's policy.
var originPattern = regexp.MustCompile(`^https?://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)

// Visitor is who has been let in at a portal.
type Visitor struct {
	ID        string // principal id
	Name      string // empty: anonymous
	Token     string // what it calls with
	ExpiresAt time.Time
}

// VisitorPrefix is what the principal ids of a portal's visitors begin with.
func VisitorPrefix(slug string) string { return "visitor:" + slug + ":" }

// ErrNoVisitors: the server has no key to sign visitors' tokens with.
var ErrNoVisitors = errors.New("set BELAY_SECRET_KEY to let visitors in")
