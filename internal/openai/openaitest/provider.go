package openaitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds a request in bytes.
const maxBody = 64 << 20

// ErrForgotten is returned for a request that is older than those that are kept.
var ErrForgotten = errors.New("openaitest: request is no longer kept")

// Provider is a provider of chat completions, an http.Handler under any prefix:
// POST …/chat/completions and GET …/models. It is safe for concurrent use and
// starts nothing: what runs, runs in the requests it serves.
type Provider struct {
	script Script
	models []string
	key    string
	keep   int
	rate   float64
	seed   uint64

	mu      sync.Mutex
	count   int       // requests so far
	records []*record // the newest keep, in order
	changed chan struct{}
	onAbort []func(Request)
}

// Script decides what a request is answered. It may be called from many
// requests at once.
type Script func(Request) Reply

// Option sets up a Provider.
type Option func(*Provider)

// WithScript answers by s instead of by the last user message.
func WithScript(s Script) Option { return func(p *Provider) { p.script = s } }

// WithRate sets how many words per second plain answers are streamed with;
// the default is 20, 0 or less is without a pause.
func WithRate(perSecond float64) Option { return func(p *Provider) { p.rate = perSecond } }

// WithSeed chooses the words of plain answers. Equal requests get equal answers
// from Providers of equal seed.
func WithSeed(seed uint64) Option { return func(p *Provider) { p.seed = seed } }

// WithModels sets the names that GET …/models lists. Any name is answered.
func WithModels(names ...string) Option { return func(p *Provider) { p.models = names } }

// WithKey refuses requests without this API key, with 401.
func WithKey(key string) Option { return func(p *Provider) { p.key = key } }

// WithKeep sets how many requests are kept for Requests; the default is 1,000.
func WithKeep(n int) Option { return func(p *Provider) { p.keep = n } }

// New returns a Provider.
func New(opts ...Option) *Provider {
	p := &Provider{models: []string{"mock"}, keep: 1000, rate: 20, changed: make(chan struct{})}
	p.script = p.Answer
	for _, o := range opts {
		o(p)
	}
	return p
}

// OnAbort has f called for each request that a client drops before its answer
// is complete, once and from any goroutine.
func (p *Provider) OnAbort(f func(Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onAbort = append(p.onAbort, f)
}

// Requests returns the requests that are kept, in the order of their arrival.
// Refused ones are among them.
func (p *Provider) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Request, len(p.records))
	for i, r := range p.records {
		out[i] = r.copy()
	}
	return out
}

// Count returns how many requests have arrived.
func (p *Provider) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// WaitRequest waits until n requests have arrived and returns the nth. The
// error is ctx's cause, or ErrForgotten.
func (p *Provider) WaitRequest(ctx context.Context, n int) (Request, error) {
	return p.wait(ctx, n, func(Request) bool { return true })
}

// WaitAborted waits until the nth request was dropped by its client.
func (p *Provider) WaitAborted(ctx context.Context, n int) (Request, error) {
	return p.wait(ctx, n, Request.Aborted)
}

// WaitEnded waits until the answer to the nth request has ended in any way.
func (p *Provider) WaitEnded(ctx context.Context, n int) (Request, error) {
	return p.wait(ctx, n, func(r Request) bool { return !r.EndedAt.IsZero() })
}

func (p *Provider) wait(ctx context.Context, n int, done func(Request) bool) (Request, error) {
	for {
		r, changed, err := p.look(n)
		if err != nil || r.N == n && done(r) {
			return r, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, fmt.Errorf("openaitest: waiting for request %d: %w", n, context.Cause(ctx))
		}
	}
}

// look returns the nth request, zero if it has not arrived, and a channel that
// is closed at the next change.
func (p *Provider) look(n int) (Request, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < 1 {
		return Request{}, nil, fmt.Errorf("openaitest: requests are numbered from 1, not %d", n)
	}
	if n > p.count {
		return Request{}, p.changed, nil
	}
	i := n - 1 - (p.count - len(p.records))
	if i < 0 {
		return Request{}, nil, ErrForgotten
	}
	return p.records[i].copy(), p.changed, nil
}

// record is a Request that is being answered. What changes of req is behind the
// Provider's lock.
type record struct {
	req    Request
	chunks atomic.Int64
	whole  atomic.Bool // the answer was sent to its end
}

func (r *record) copy() Request {
	c := r.req
	c.Chunks = int(r.chunks.Load())
	return c
}

// arrive numbers a request and begins its record.
func (p *Provider) arrive(req *Request) *record {
	r := new(record)
	p.change(func() {
		p.count++
		req.N = p.count
		r.req = *req
		if len(p.records) >= max(p.keep, 1) {
			p.records = slices.Delete(p.records, 0, len(p.records)-max(p.keep, 1)+1)
		}
		p.records = append(p.records, r)
	})
	return r
}

func (p *Provider) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// aborted notes that the connection of r is gone.
func (p *Provider) aborted(r *record) {
	now := time.Now()
	var hooks []func(Request)
	var req Request
	p.change(func() {
		if !r.whole.Load() {
			r.req.AbortedAt = now
		}
		hooks, req = slices.Clone(p.onAbort), r.copy()
	})
	if !req.Aborted() {
		return
	}
	for _, f := range hooks {
		f(req)
	}
}

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case p.key != "" && r.Header.Get("Authorization") != "Bearer "+p.key:
		writeError(w, http.StatusUnauthorized, apiError{"Incorrect API key provided.", "invalid_request_error", nil, "invalid_api_key"})
	case strings.HasSuffix(r.URL.Path, "/chat/completions") && r.Method == http.MethodPost:
		p.complete(w, r)
	case strings.HasSuffix(r.URL.Path, "/models") && r.Method == http.MethodGet:
		p.list(w)
	default:
		msg := fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path)
		writeError(w, http.StatusNotFound, apiError{msg, "invalid_request_error", nil, nil})
	}
}

func (p *Provider) list(w http.ResponseWriter) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	data := make([]model, len(p.models))
	for i, m := range p.models {
		data[i] = model{m, "model", 1700000000, "belay"}
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

func (p *Provider) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeError(w, http.StatusBadRequest, apiError{"The request's body could not be read.", "invalid_request_error", nil, nil})
		return
	}
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, ArrivedAt: time.Now()}
	rejected := req.decode()
	if rejected != nil {
		req.Rejected = rejected.Error()
	}
	rec := p.arrive(&req)
	// The server reads ahead on the connection while this runs, so the context
	// ends when the client's FIN or RST comes in.
	stop := context.AfterFunc(r.Context(), func() { p.aborted(rec) })
	s := newStream(w, r.Context(), rec, req)
	defer func() {
		s.free()
		if stop() && r.Context().Err() != nil {
			p.aborted(rec) // this was woken before the AfterFunc was
		}
		p.change(func() { rec.req.EndedAt, rec.req.Finished = time.Now(), rec.whole.Load() })
	}()
	if e, ok := errors.AsType[*rejection](rejected); ok {
		s.ended(writeError(w, http.StatusBadRequest, apiError{e.Message, "invalid_request_error", e.Param, "invalid_value"}))
		return
	}
	s.run(p.script(req))
}
