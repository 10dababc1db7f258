package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/belayrun/belay/internal/agent"
)

const (
	anonymousTTL  = 180 * 24 * time.Hour // of a visitor whom nobody has named
	namedTTL      = 24 * time.Hour       // at most; else as long as the site's own token
	maxSubject    = 200                  // bytes of a visitor's name within its site
	maxShownName  = 100
	portalMemory  = 5 * time.Minute // for which a portal is known while the database is away
	maxRemembered = 1000            // portals
	userMark      = "user:"
	tokenIssuer   = "belay"
	lookupLimit   = time.Second
)

// Portals finds portals.
type Portals interface {
	// Portal returns a portal; agent.ErrNotFound.
	Portal(ctx context.Context, slug string) (agent.Portal, error)
	// PortalSecret returns its secret; agent.ErrNotFound where it keeps none.
	PortalSecret(ctx context.Context, slug string) (string, error)
}

// Visitors tells who calls a portal. Tokens are signed, not stored: a visitor
// costs nothing until it says something. It may be used from many goroutines.
type Visitors struct {
	portals Portals
	keys    [][]byte
	now     func() time.Time

	mu    sync.Mutex
	known map[string]knownPortal
}

type knownPortal struct {
	agent.Portal
	at time.Time
}

// NewVisitors returns Visitors whose tokens are signed with the first key and
// verified with all; none: nobody is let in. now is the clock, nil: time.Now.
func NewVisitors(portals Portals, keys [][]byte, now func() time.Time) *Visitors {
	if now == nil {
		now = time.Now
	}
	return &Visitors{portals: portals, keys: keys, now: now, known: map[string]knownPortal{}}
}

// Portal returns a portal that is open; agent.ErrNotFound for any other. While
// the database is away it is remembered for five minutes: a visitor's stop must
// reach the turns of this node.
func (v *Visitors) Portal(ctx context.Context, slug string) (agent.Portal, error) {
	one, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	p, err := v.portals.Portal(one, slug)
	switch {
	case err == nil && p.Paused:
		return agent.Portal{}, agent.ErrNotFound
	case err == nil:
		v.remember(p)
		return p, nil
	case ctx.Err() != nil:
		return agent.Portal{}, context.Cause(ctx)
	case !errors.Is(err, agent.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded):
		return agent.Portal{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if k, ok := v.known[slug]; ok && v.now().Sub(k.at) < portalMemory {
		return k.Portal, nil
	}
	return agent.Portal{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
}

func (v *Visitors) remember(p agent.Portal) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.known[p.Slug]; !ok && len(v.known) >= maxRemembered {
		for victim := range v.known {
			delete(v.known, victim)
			break
		}
	}
	v.known[p.Slug] = knownPortal{p, v.now()}
}

// claims are what a visitor's token, or a site's own about its visitor, says.
type claims struct {
	jwt.RegisteredClaims
	Name string `json:"name,omitempty"`
}

// Admit lets a visitor in: a new anonymous one where site is empty, else the one
// whom the site's token names. *agent.FieldError where the portal does not take
// it, agent.ErrNoVisitors.
func (v *Visitors) Admit(ctx context.Context, p agent.Portal, site string) (agent.Visitor, error) {
	if len(v.keys) == 0 {
		return agent.Visitor{}, agent.ErrNoVisitors
	}
	c := claims{RegisteredClaims: jwt.RegisteredClaims{
		Issuer: tokenIssuer, Audience: jwt.ClaimStrings{p.Slug}, Subject: agent.NewID(), ExpiresAt: jwt.NewNumericDate(v.now().Add(anonymousTTL)),
	}}
	switch {
	case site != "":
		named, err := v.named(ctx, p, site)
		if err != nil {
			return agent.Visitor{}, err
		}
		c.Subject, c.Name = userMark+named.Subject, named.Name
		c.ExpiresAt = jwt.NewNumericDate(v.now().Add(min(namedTTL, named.ExpiresAt.Sub(v.now()))))
	case !p.TakesAnonymous():
		return agent.Visitor{}, &agent.FieldError{Field: "token", Message: "is required: this chat is for visitors whom its site has named"}
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(v.keys[0])
	return agent.Visitor{ID: agent.VisitorPrefix(p.Slug) + c.Subject, Name: c.Name, Token: token, ExpiresAt: c.ExpiresAt.Time}, err
}

// named reads the token by which a site names its visitor.
func (v *Visitors) named(ctx context.Context, p agent.Portal, token string) (claims, error) {
	secret, err := v.portals.PortalSecret(ctx, p.Slug)
	if errors.Is(err, agent.ErrNotFound) {
		return claims{}, &agent.FieldError{Field: "token", Message: "can't be taken: this portal has no secret to verify it with"}
	}
	if err != nil {
		return claims{}, err
	}
	c, err := v.parse(token, []byte(secret))
	switch {
	case err != nil:
		return c, &agent.FieldError{Field: "token", Message: "must be a JWT that the site's server has signed with the portal's secret (HS256), with sub and exp"}
	case c.Subject == "" || len(c.Subject) > maxSubject || len(c.Name) > maxShownName:
		return c, &agent.FieldError{Field: "token", Message: "must have a sub of 1 to 200 bytes and a name of 100 at most"}
	}
	return c, nil
}

// parse verifies a token: signed by that key, with HS256 and nothing else, and in time.
func (v *Visitors) parse(token string, key []byte, options ...jwt.ParserOption) (claims, error) {
	var c claims
	options = append(options, jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithTimeFunc(v.now))
	_, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return key, nil }, options...)
	return c, err
}

// Authenticate returns the visitor of an Authorization header at a portal; an
// error that wraps ErrInvalidToken where it names none.
func (v *Visitors) Authenticate(p agent.Portal, header string) (agent.Principal, error) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return agent.Principal{}, fmt.Errorf("%w: send the header Authorization: Bearer <token>", ErrInvalidToken)
	}
	for _, key := range v.keys {
		c, err := v.parse(token, key, jwt.WithIssuer(tokenIssuer), jwt.WithAudience(p.Slug))
		if err == nil {
			return visitor(p, c), nil
		}
	}
	return agent.Principal{}, fmt.Errorf("%w: it is not of this portal, or has expired", ErrInvalidToken)
}

func visitor(p agent.Portal, c claims) agent.Principal {
	out := agent.Principal{
		ID: agent.VisitorPrefix(p.Slug) + c.Subject, Project: p.Project, Name: c.Name,
		Permissions: []agent.Permission{agent.PermAgentRun},
	}
	if p.Approvals {
		out.Permissions = append(out.Permissions, agent.PermAgentApprove)
	}
	return out
}
