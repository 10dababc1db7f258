package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxAnswer = 16 << 20 // bytes of an answer that is no stream; one in a stream is bounded by the SDK
	maxNotice = 4 << 10  // bytes of what may be a cancellation

	// closesStream is the first revision in which closing a response stream is
	// what cancels a request over HTTP, and no notification does.
	closesStream = "2026-07-28"

	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
)

// wire carries a session over streamable HTTP. It stands between the SDK and the
// network: it authorizes requests, ends them with the link, bounds what the SDK
// doesn't, and sees what the server makes of its session.
type wire struct {
	link   *link
	base   http.RoundTripper
	client *http.Client
	url    *url.URL
	header [2]string
	ctx    context.Context // of every request
	cut    context.CancelFunc
}

func newWire(at place, l *link) (*wire, error) {
	u, err := url.Parse(at.source.URL)
	if err != nil {
		return nil, err
	}
	c := l.source.cfg.Client
	w := &wire{link: l, base: c.Transport, url: u, header: at.header}
	if w.base == nil {
		w.base = http.DefaultTransport
	}
	w.client = &http.Client{Transport: w, CheckRedirect: c.CheckRedirect}
	w.ctx, w.cut = context.WithCancel(context.Background())
	return w, nil
}

func (w *wire) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{Endpoint: w.url.String(), HTTPClient: w.client}
}

// end implements carrier: no request outlives it.
func (w *wire) end() { w.cut() }

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	notice := isCancellation(req)
	if notice {
		defer w.link.owed.Add(-1)
		if req.Header.Get(versionHeader) >= closesStream {
			return accepted(req), nil
		}
	}
	ctx, cancel := context.WithCancel(req.Context())
	if notice || req.Method == http.MethodDelete {
		ctx, cancel = context.WithTimeout(req.Context(), lastWords)
	}
	unhook := context.AfterFunc(w.ctx, cancel)
	end := func() {
		unhook()
		cancel()
	}
	out := req.Clone(ctx)
	if w.header[0] != "" && out.URL.Scheme == w.url.Scheme && out.URL.Host == w.url.Host {
		out.Header.Set(w.header[0], w.header[1]) // and to nobody that the server redirects to
	}
	res, err := w.base.RoundTrip(out)
	if notice {
		// Best effort: how it went must not end the session for the other calls.
		if err == nil {
			res.Body.Close()
		}
		end()
		return accepted(req), nil
	}
	if err != nil {
		end()
		return nil, err
	}
	w.judge(req, res.StatusCode)
	b := &body{ReadCloser: bounded(res), end: end}
	if req.Header.Get(methodHeader) == "subscriptions/listen" {
		b.broken = &w.link.lost // the SDK does not open it again, and changes would be missed
	}
	res.Body = b
	return res, nil
}

// judge sees when the server does not know the session any more: 404 as the
// protocol has it, 400 from servers that were started anew and keep one session.
func (w *wire) judge(req *http.Request, status int) {
	if req.Method != http.MethodPost || req.Header.Get(sessionHeader) == "" || status != http.StatusNotFound && status != http.StatusBadRequest {
		return
	}
	w.link.lost.Store(true)
	if r, ok := req.Context().Value(requestKey{}).(*request); ok {
		r.refused.Store(true)
	}
}

func accepted(req *http.Request) *http.Response {
	return &http.Response{
		Status: "202 Accepted", StatusCode: http.StatusAccepted, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: http.NoBody, Request: req,
	}
}

func bounded(res *http.Response) io.ReadCloser {
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return res.Body
	}
	return http.MaxBytesReader(nil, res.Body, maxAnswer)
}

// body ends its request's context when it is closed.
type body struct {
	io.ReadCloser
	end    func()
	broken *atomic.Bool // set when there is no more to read; nil: nobody asks
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && b.broken != nil {
		b.broken.Store(true)
	}
	return n, err
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// isCancellation says whether a request carries notifications/cancelled.
func isCancellation(req *http.Request) bool {
	if req.Method != http.MethodPost || req.GetBody == nil || req.ContentLength > maxNotice {
		return false
	}
	b, err := req.GetBody()
	if err != nil {
		return false
	}
	defer b.Close()
	text, err := io.ReadAll(b)
	return err == nil && cancels(text)
}

// cancels says whether a message is notifications/cancelled.
func cancels(message []byte) bool {
	if len(message) > maxNotice || !bytes.Contains(message, []byte("notifications/cancelled")) {
		return false
	}
	var m struct{ Method string }
	return json.Unmarshal(message, &m) == nil && m.Method == "notifications/cancelled"
}
