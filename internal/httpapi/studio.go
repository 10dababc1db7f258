package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// StudioPrefix is where the routes of Studio are.
const StudioPrefix = "/api"

// signInCookie holds the secret of a sign-in.
const signInCookie = "belay_session"

// SignIns knows who is signed in.
type SignIns interface {
	// SignedIn returns the sign-in of a secret; agent.ErrNotSignedIn,
	// agent.ErrUnavailable.
	SignedIn(ctx context.Context, secret string) (agent.SignIn, error)
}

// Studio is the API of people who are signed in. Requests that change anything
// must come from its own pages.
type Studio struct {
	SignIns SignIns // required where there are routes
	Routes  []Route // below StudioPrefix, for who is signed in
	Public  []Route // below StudioPrefix, for everybody
}

// signedIn serves who is signed in only.
func (s *server) signedIn(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		in, err := s.cfg.Studio.SignIns.SignedIn(r.Context(), SignInSecret(r))
		switch {
		case errors.Is(err, agent.ErrNotSignedIn):
			return notSignedIn(err)
		case err != nil:
			return fmt.Errorf("who is signed in: %w", err)
		}
		c := callOf(r.Context())
		c.principal, c.signIn = in.Principal(), in
		return h(w, r)
	}
}

func notSignedIn(err error) *Error {
	return &Error{Status: http.StatusUnauthorized, Code: "not_signed_in", Message: "Sign in first.", Err: err}
}

// sameOrigin refuses requests that pages of other sites make in the name of who
// is signed in here.
func (s *server) sameOrigin(h Handler) Handler {
	protection := http.NewCrossOriginProtection()
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := protection.Check(r); err != nil {
			return &Error{Status: http.StatusForbidden, Code: "cross_origin", Message: "This request came from another site.", Err: err}
		}
		return h(w, r)
	}
}

// SignedIn returns the sign-in that calls.
func SignedIn(ctx context.Context) agent.SignIn { return callOf(ctx).signIn }

// SignInSecret returns the secret of the sign-in that calls, empty for none.
func SignInSecret(r *http.Request) string {
	c, err := r.Cookie(signInCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// SetSignIn gives the browser the secret of its sign-in, for life at most; an
// empty one is taken away.
func SetSignIn(w http.ResponseWriter, r *http.Request, secret string, life time.Duration) {
	age := int(life.Seconds())
	if secret == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: signInCookie, Value: secret, Path: StudioPrefix, MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
		// A proxy that ends TLS says so. Who lies about it harms his own cookie only.
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}
