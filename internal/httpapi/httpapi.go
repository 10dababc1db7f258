package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
)

// ClientPrefix is where the routes of the client API are.
const ClientPrefix = "/api/client/v1"

// MaxBody is the default limit of a request's body.
const MaxBody = 10 << 20

// Authenticator names who calls.
type Authenticator interface {
	// Authenticate returns the principal of an Authorization header. An error
	// that wraps Config.InvalidToken says that the header names nobody; one that
	// wraps agent.ErrUnavailable that nobody can tell now.
	Authenticate(ctx context.Context, header string) (agent.Principal, error)
}

// Handler answers a request. An error that it returns before it has written is
// sent as the document that Explain makes of it; after that, the connection is
// cut, so that the client can't take what it has for the whole answer.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Route is one operation of an API.
type Route struct {
	Method  string
	Pattern string // as chi has it, below the prefix of the API
	Serve   Handler
	// Refuse writes what goes wrong here, authentication included, as the route's
	// protocol has it; nil: as an error document. Whoever refuses without a token
	// must not do more for it than write.
	Refuse func(w http.ResponseWriter, r *http.Request, e *Error) error
}

// Config is what New needs. Auth and InvalidToken are required.
type Config struct {
	Auth         Authenticator
	InvalidToken error   // what Auth's errors wrap when a header names nobody
	Client       []Route // below ClientPrefix, for callers with a token
	Open         []Route // with whole patterns, for everybody: they call Admit themselves
	// Proxies are the balancers whose X-Forwarded-For says where a caller is.
	Proxies []netip.Prefix
	Studio  Studio

	// Pages is the user interface; nil: it is not there. It is not in the access log.
	Pages *Pages

	// Health, Ready and Metrics answer /healthz, /readyz and /metrics; nil: not
	// there. They are for everybody and not in the access log.
	Health, Ready, Metrics http.Handler

	// Observe is told of every answered request but those three; nil: nobody.
	Observe func(route, method string, status int, d time.Duration)
	Log     *slog.Logger // nil: slog.Default

	MaxBody      int64         // bytes of a request's body, default MaxBody
	ReadTimeout  time.Duration // for a request's whole body, default 60 seconds
	WriteTimeout time.Duration // for one answer that is no stream, default 60 seconds
}

// New returns the handler of all of it.
func New(cfg Config) http.Handler {
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	cfg.MaxBody = cmp.Or(cfg.MaxBody, MaxBody)
	cfg.ReadTimeout = cmp.Or(cfg.ReadTimeout, time.Minute)
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, time.Minute)
	s := &server{cfg: cfg}

	mux := chi.NewRouter()
	for pattern, h := range map[string]http.Handler{"/healthz": cfg.Health, "/readyz": cfg.Ready, "/metrics": cfg.Metrics} {
		if h != nil {
			mux.Method(http.MethodGet, pattern, h)
		}
	}
	mux.Group(func(r chi.Router) {
		r.Use(s.around)
		for _, route := range cfg.Client {
			r.Method(route.Method, ClientPrefix+route.Pattern, s.handler(s.authenticated(route.Serve), route.Refuse))
		}
		for _, route := range cfg.Open {
			r.Method(route.Method, route.Pattern, s.handler(route.Serve, route.Refuse))
		}
		for _, route := range cfg.Studio.Public {
			r.Method(route.Method, StudioPrefix+route.Pattern, s.handler(s.sameOrigin(route.Serve), route.Refuse))
		}
		for _, route := range cfg.Studio.Routes {
			r.Method(route.Method, StudioPrefix+route.Pattern, s.handler(s.sameOrigin(s.signedIn(route.Serve)), route.Refuse))
		}
	})
	if cfg.Pages != nil {
		for _, pattern := range pagePatterns {
			mux.Method(http.MethodGet, pattern, cfg.Pages)
			mux.Method(http.MethodHead, pattern, cfg.Pages)
		}
	}
	mux.NotFound(s.around(s.handler(notThere, nil)).ServeHTTP)
	mux.MethodNotAllowed(s.around(s.handler(otherMethod(mux), nil)).ServeHTTP)
	return mux
}

func notThere(http.ResponseWriter, *http.Request) error {
	return &Error{Status: http.StatusNotFound, Code: "not_found", Message: "There is no such route."}
}

// otherMethod names the methods that the path does have.
func otherMethod(mux chi.Router) Handler {
	methods := []string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut}
	return func(w http.ResponseWriter, r *http.Request) error {
		for _, m := range methods {
			if mux.Match(chi.NewRouteContext(), m, r.URL.Path) {
				w.Header().Add("Allow", m)
			}
		}
		return &Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "This route does not have the method " + r.Method + "."}
	}
}
