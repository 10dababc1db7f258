package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
)

type server struct{ cfg Config }

// call is what is known of a request while it is served. It belongs to the
// request's own goroutine.
type call struct {
	id            string
	address       string // of the caller
	principal     agent.Principal
	signIn        agent.SignIn // of who is signed in
	session, turn string
	err           error // for the log
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	if c == nil {
		return &call{}
	}
	return c
}

// Caller returns who calls, and from where.
func Caller(ctx context.Context) agent.Principal {
	c := callOf(ctx)
	p := c.principal
	p.Address = c.address
	return p
}

// Admit says who calls, for routes that find it out themselves.
func Admit(ctx context.Context, p agent.Principal) { callOf(ctx).principal = p }

// Note tells the access log which session and turn a request is about; empty
// ones are left as they are.
func Note(ctx context.Context, session, turn string) {
	c := callOf(ctx)
	if session != "" {
		c.session = session
	}
	if turn != "" {
		c.turn = turn
	}
}

// Fault tells the access log what went wrong in a request that is answered with
// a success status all the same, as some protocols have it.
func Fault(ctx context.Context, err error) { callOf(ctx).err = err }

// around gives every request its id, its limits, its line in the log and an
// answer even where the handler panics.
func (s *server) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		c := &call{id: requestID(r), address: s.address(r)}
		rec := &recorder{ResponseWriter: w}
		h := rec.Header()
		h.Set("X-Request-Id", c.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		rc := http.NewResponseController(w)
		_ = rc.SetWriteDeadline(time.Time{}) // that of the connection's last answer; not every writer has any
		s.bound(w, r, rc)
		defer s.finish(rec, r, c, began)
		next.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	})
}

// bound limits the request's body in size and time.
func (s *server) bound(w http.ResponseWriter, r *http.Request, rc *http.ResponseController) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	_ = rc.SetReadDeadline(time.Now().Add(s.cfg.ReadTimeout))
	r.Body = &timedBody{ReadCloser: http.MaxBytesReader(w, r.Body, s.cfg.MaxBody), rc: rc}
}

// timedBody takes its read deadline back once it has been read: the server goes
// on reading in the background, to see the client go.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// finish is the end of every request, panics included.
func (s *server) finish(rec *recorder, r *http.Request, c *call, began time.Time) {
	p := recover()
	if p != nil && p != http.ErrAbortHandler {
		c.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		if rec.status == 0 {
			s.refuse(rec, c, c.err)
			p = nil
		}
	}
	route := "unmatched"
	if rctx := chi.RouteContext(r.Context()); rctx != nil && rctx.RoutePattern() != "" {
		route = rctx.RoutePattern()
	}
	d := time.Since(began)
	s.log(rec, r, c, route, d)
	if s.cfg.Observe != nil {
		s.cfg.Observe(route, r.Method, rec.status, d)
	}
	if p != nil {
		panic(http.ErrAbortHandler)
	}
}

// log writes the request's line. It names the route, never the query, the
// headers or the body: secrets may be in any of them.
func (s *server) log(rec *recorder, r *http.Request, c *call, route string, d time.Duration) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("request_id", c.id), slog.String("method", r.Method), slog.String("route", route),
		slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes), slog.Float64("ms", float64(d.Microseconds())/1000),
	}
	for _, a := range []slog.Attr{slog.String("principal", c.principal.ID), slog.String("session_id", c.session), slog.String("turn_id", c.turn)} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	if c.err != nil {
		attrs = append(attrs, slog.String("error", c.err.Error()))
	}
	if rec.status >= 500 {
		level = slog.LevelError
	}
	s.cfg.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// authenticated serves callers with a token only.
func (s *server) authenticated(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := s.cfg.Auth.Authenticate(r.Context(), r.Header.Get("Authorization"))
		switch {
		case errors.Is(err, s.cfg.InvalidToken):
			w.Header().Set("WWW-Authenticate", "Bearer")
			return &Error{Status: http.StatusUnauthorized, Code: "invalid_token", Err: err,
				Message: "Send the header Authorization: Bearer with a token that is valid."}
		case err != nil:
			return fmt.Errorf("authenticate: %w", err)
		}
		callOf(r.Context()).principal = p
		return h(w, r)
	}
}

// handler serves a Handler; refuse writes its errors, nil: as error documents.
func (s *server) handler(h Handler, refuse func(http.ResponseWriter, *http.Request, *Error) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		rec, _ := w.(*recorder)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		if rec != nil {
			rec.timeout = s.cfg.WriteTimeout
		}
		err := h(w, r)
		switch {
		case err == nil:
		case rec != nil && rec.status != 0:
			c.err = err
			panic(http.ErrAbortHandler)
		case r.Context().Err() != nil && errors.Is(err, context.Canceled):
			c.err = err
			if rec != nil {
				rec.status = statusClientGone
			}
		case refuse != nil:
			c.err = err
			_ = refuse(w, r, Explain(err))
		default:
			s.refuse(w, c, err)
		}
	})
}

// statusClientGone is in the log where the client left before the answer.
const statusClientGone = 499

// refuse answers an error. What the caller must not read goes to the log.
func (s *server) refuse(w http.ResponseWriter, c *call, err error) {
	e := Explain(err)
	if e.Status == http.StatusInternalServerError && e.Code == "internal_error" {
		e.Message += " Its id is " + c.id + "."
	}
	c.err = err
	_ = e.write(w)
}

// address is where the caller is: the peer, or where it is a trusted proxy, the
// last of X-Forwarded-For that is none. What stands before that the caller may
// have written itself.
func (s *server) address(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	addr := at.Addr().Unmap().WithZone("")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !s.trusts(addr) {
			break
		}
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		addr = next.Unmap().WithZone("")
	}
	return addr.String()
}

func (s *server) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(s.cfg.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// recorder notes what is answered.
type recorder struct {
	http.ResponseWriter
	status  int
	bytes   int64
	timeout time.Duration // of an answer by WriteJSON, 0: none
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// FlushError is what http.ResponseController flushes with.
func (r *recorder) FlushError() error { return http.NewResponseController(r.ResponseWriter).Flush() }

// Flush implements http.Flusher for code that does not know ResponseController.
func (r *recorder) Flush() { _ = r.FlushError() }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// requestID takes the caller's own id where it is harmless.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if len(id) == 0 || len(id) > 64 {
		return "req_" + agent.NewID()
	}
	for _, b := range []byte(id) {
		if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_' || b == '.') {
			return "req_" + agent.NewID()
		}
	}
	return id
}
