package bench

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// UpstreamDocument describes an Upstream as OpenAPI.
const UpstreamDocument = `
openapi: 3.1.0
info: {title: Bench, version: '1'}
paths:
  /hold/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get: {operationId: hold, responses: {'200': {description: never}}}
`

// Upstream is an HTTP API that never answers: it holds each request that was
// announced by Hold and stamps the moment at which the request's context ends.
type Upstream struct {
	mu   sync.Mutex
	held map[string]*Held
	next int
}

// Held is one request of an Upstream.
type Held struct {
	ID     string
	began  chan struct{}
	closed chan time.Time
}

// Hold announces a request: GET /hold/ID.
func (u *Upstream) Hold() *Held {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held == nil {
		u.held = make(map[string]*Held)
	}
	u.next++
	h := &Held{ID: strconv.Itoa(u.next), began: make(chan struct{}, 1), closed: make(chan time.Time, 1)}
	u.held[h.ID] = h
	return h
}

// ServeHTTP implements http.Handler.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, "/hold/")
	u.mu.Lock()
	h := u.held[id]
	delete(u.held, id)
	u.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h.began <- struct{}{}
	<-r.Context().Done() // the server reads ahead: FIN or RST has come
	h.closed <- time.Now()
}
