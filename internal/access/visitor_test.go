package access_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
)

const siteSecret = "0123456789abcdef0123456789abcdef"

// fakePortals has one portal and can be away.
type fakePortals struct {
	portal agent.Portal
	secret string
	err    error
}

func (f *fakePortals) Portal(_ context.Context, slug string) (agent.Portal, error) {
	if f.err == nil && slug != f.portal.Slug {
		return agent.Portal{}, agent.ErrNotFound
	}
	return f.portal, f.err
}

func (f *fakePortals) PortalSecret(context.Context, string) (string, error) {
	if f.secret == "" {
		return "", agent.ErrNotFound
	}
	return f.secret, f.err
}

type lobby struct {
	*access.Visitors
	portals *fakePortals
	clock   *clock
}

func newLobby(t *testing.T, keys ...string) lobby {
	t.Helper()
	if len(keys) == 0 {
		keys = []string{access.NewKey()}
	}
	sealer, err := access.NewSealer(keys...)
	if err != nil {
		t.Fatal(err)
	}
	l := lobby{
		portals: &fakePortals{portal: agent.Portal{Project: "p1", Slug: "help", Agent: "support"}, secret: siteSecret},
		clock:   &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	l.Visitors = access.NewVisitors(l.portals, sealer.SigningKeys("visitor"), l.clock.Now)
	return l
}

func (l lobby) admit(t *testing.T, site string) agent.Visitor {
	t.Helper()
	v, err := l.Admit(t.Context(), l.portals.portal, site)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func signed(t *testing.T, method jwt.SigningMethod, key any, c jwt.MapClaims) string {
	t.Helper()
	s, err := jwt.NewWithClaims(method, c).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnonymousVisitorsAreApartAndMayRunOnly(t *testing.T) {
	t.Parallel()
	l := newLobby(t)
	a, b := l.admit(t, ""), l.admit(t, "")
	p, err := l.Authenticate(l.portals.portal, "Bearer "+a.Token)
	if err != nil || p.ID != a.ID || a.ID == b.ID || p.Project != "p1" {
		t.Errorf("%+v, %v", p, err)
	}
	if len(p.Permissions) != 1 || !p.Can(agent.PermAgentRun) {
		t.Errorf("may %v", p.Permissions)
	}
	open := l.portals.portal
	open.Approvals = true
	if p, _ := l.Authenticate(open, "bearer "+a.Token); !p.Can(agent.PermAgentApprove) {
		t.Error("may not approve where the portal says so")
	}
}

func TestTokensOfVisitorsAreForOnePortalAndForAWhile(t *testing.T) {
	t.Parallel()
	l := newLobby(t)
	v := l.admit(t, "")
	other := agent.Portal{Project: "p1", Slug: "other"}
	for name, header := range map[string]string{
		"none": "", "scheme": "Basic " + v.Token, "cut": "Bearer " + v.Token[:len(v.Token)-2], "API token": "Bearer belay_" + strings.Repeat("a", 64),
		"the site's own":   "Bearer " + signed(t, jwt.SigningMethodHS256, []byte(siteSecret), jwt.MapClaims{"iss": "belay", "aud": "help", "sub": "x", "exp": l.clock.now.Add(time.Hour).Unix()}),
		"without a secret": "Bearer " + signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{"iss": "belay", "aud": "help", "sub": "x", "exp": l.clock.now.Add(time.Hour).Unix()}),
	} {
		if p, err := l.Authenticate(l.portals.portal, header); !errors.Is(err, access.ErrInvalidToken) {
			t.Errorf("%s: let in as %+v, %v", name, p, err)
		}
	}
	if _, err := l.Authenticate(other, "Bearer "+v.Token); !errors.Is(err, access.ErrInvalidToken) {
		t.Error("let in at another portal")
	}
	l.clock.now = v.ExpiresAt.Add(time.Second)
	if _, err := l.Authenticate(l.portals.portal, "Bearer "+v.Token); !errors.Is(err, access.ErrInvalidToken) {
		t.Error("let in after its time")
	}
}

func TestVisitorsStayAfterTheKeyIsRotated(t *testing.T) {
	t.Parallel()
	old, next := access.NewKey(), access.NewKey()
	v := newLobby(t, old).admit(t, "")
	l := newLobby(t, next, old)
	if p, err := l.Authenticate(l.portals.portal, "Bearer "+v.Token); err != nil || p.ID != v.ID {
		t.Errorf("%+v, %v", p, err)
	}
	l = newLobby(t, next)
	if _, err := l.Authenticate(l.portals.portal, "Bearer "+v.Token); !errors.Is(err, access.ErrInvalidToken) {
		t.Error("let in by a key that is gone")
	}
}

func TestSitesNameTheirVisitors(t *testing.T) {
	t.Parallel()
	l := newLobby(t)
	claims := func(change func(jwt.MapClaims)) jwt.MapClaims {
		c := jwt.MapClaims{"sub": "u-7", "name": "Ada", "exp": l.clock.now.Add(time.Hour).Unix()}
		if change != nil {
			change(c)
		}
		return c
	}
	good := signed(t, jwt.SigningMethodHS256, []byte(siteSecret), claims(nil))
	a, b := l.admit(t, good), l.admit(t, good)
	if a.ID != "visitor:help:user:u-7" || b.ID != a.ID || a.Name != "Ada" || !a.ExpiresAt.Equal(l.clock.now.Add(time.Hour)) {
		t.Errorf("%+v", a)
	}
	long := l.admit(t, signed(t, jwt.SigningMethodHS256, []byte(siteSecret), claims(func(c jwt.MapClaims) { c["exp"] = l.clock.now.Add(1000 * time.Hour).Unix() })))
	if long.ExpiresAt.After(l.clock.now.Add(24 * time.Hour)) {
		t.Errorf("good until %v", long.ExpiresAt)
	}
	for name, token := range map[string]string{
		"another secret": signed(t, jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32)), claims(nil)),
		"none":           signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(nil)),
		"HS384":          signed(t, jwt.SigningMethodHS384, []byte(siteSecret), claims(nil)),
		"no end":         signed(t, jwt.SigningMethodHS256, []byte(siteSecret), claims(func(c jwt.MapClaims) { delete(c, "exp") })),
		"over":           signed(t, jwt.SigningMethodHS256, []byte(siteSecret), claims(func(c jwt.MapClaims) { c["exp"] = l.clock.now.Add(-time.Second).Unix() })),
		"nobody":         signed(t, jwt.SigningMethodHS256, []byte(siteSecret), claims(func(c jwt.MapClaims) { delete(c, "sub") })),
		"no JWT":         "hello",
	} {
		_, err := l.Admit(t.Context(), l.portals.portal, token)
		f, ok := errors.AsType[*agent.FieldError](err)
		if !ok || f.Field != "token" || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.portals.secret = ""
	if _, err := l.Admit(t.Context(), l.portals.portal, good); err == nil {
		t.Error("named without a secret to verify it with")
	}
	closed := l.portals.portal
	closed.Anonymous = new(false)
	if _, err := l.Admit(t.Context(), closed, ""); err == nil {
		t.Error("an anonymous visitor was let in where none may")
	}
}

func TestNobodyIsLetInWithoutAKey(t *testing.T) {
	t.Parallel()
	v := access.NewVisitors(&fakePortals{}, nil, nil)
	if _, err := v.Admit(t.Context(), agent.Portal{}, ""); !errors.Is(err, agent.ErrNoVisitors) {
		t.Error(err)
	}
}

func TestPortalsAreKnownForAWhileWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	l := newLobby(t)
	if _, err := l.Portal(t.Context(), "help"); err != nil {
		t.Fatal(err)
	}
	l.portals.err = agent.ErrUnavailable
	if p, err := l.Portal(t.Context(), "help"); err != nil || p.Agent != "support" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := l.Portal(t.Context(), "new"); !errors.Is(err, agent.ErrUnavailable) {
		t.Error(err)
	}
	l.clock.now = l.clock.now.Add(6 * time.Minute)
	if _, err := l.Portal(t.Context(), "help"); !errors.Is(err, agent.ErrUnavailable) {
		t.Error(err)
	}
	l.portals.err = nil
	l.portals.portal.Paused = true
	if _, err := l.Portal(t.Context(), "help"); !errors.Is(err, agent.ErrNotFound) {
		t.Error(err)
	}
}
