package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/belayrun/belay/internal/agent"
)

// Bounds of one call beside those of its model.
const (
	maxErrorBody = 64 << 10
	// afterFinish: once the model has ended its answer only the count of tokens
	// is waited for; a provider that sends none and stays connected costs this.
	afterFinish = 5 * time.Second
	// afterDone: the end of the response is read after the stream's last word,
	// since only then the connection can be used again.
	afterDone = 250 * time.Millisecond
)

var (
	errLeft      = errors.New("the caller left the loop")
	errIdle      = errors.New("no byte within the idle timeout")
	errTimeout   = errors.New("no end within the timeout of a call")
	errBrokenOff = errors.New("the stream ended without a finish reason")
	errNoStream  = errors.New("the response is not an event stream")
)

// call is one request and its answer. It is go-openai's HTTP client for that
// request: this is how it gets at headers and body, which go-openai hides.
type call struct {
	client *Client
	caller context.Context // ends when the answer is no longer wanted
	ctx    context.Context // ends with caller, by the watch and by end
	cancel context.CancelCauseFunc
	watch  *watch
	free   context.CancelFunc // the timer of the whole call

	marked bool // the request stands in for zeros, see mark
	sent   bool // go-openai accepted the request
	began  bool // something of the answer arrived
	status int
	header http.Header
	body   io.Reader
}

func (c *Client) begin(ctx context.Context) *call {
	call := &call{client: c, caller: ctx}
	ctx, call.free = context.WithTimeoutCause(ctx, c.model.Timeout(), errTimeout)
	call.ctx, call.cancel = context.WithCancelCause(ctx)
	call.watch = newWatch(c.model.IdleTimeout(), func() { call.cancel(errIdle) })
	return call
}

// end ends the call at the provider, if it has not ended yet.
func (c *call) end() {
	c.watch.stop()
	c.cancel(errLeft)
	c.free()
}

// run sends the request and yields the answer. It returns errLeft when yield
// returned false, which may then not be called again.
func (c *call) run(r goopenai.ChatCompletionRequest, yield func(agent.Delta, error) bool) error {
	api := c.client.api
	api.HTTPClient = c
	c.marked = r.Temperature == zero || r.TopP == zero
	stream, err := goopenai.NewClientWithConfig(api).CreateChatCompletionStream(c.ctx, r)
	if err != nil {
		return err
	}
	defer stream.Close()
	return c.read(yield)
}

// read yields the answer until the stream's last word. What follows a finish
// reason adds figures only: losing it loses nothing of the answer.
func (c *call) read(yield func(agent.Delta, error) bool) error {
	a := answer{yield: yield}
	lines := newEvents(c.body)
	for {
		data, err := lines.next()
		switch {
		case c.caller.Err() != nil:
			return context.Cause(c.caller)
		case err != nil && a.finish != "":
			return a.end()
		case errors.Is(err, io.EOF):
			return errBrokenOff
		case err != nil:
			return err
		case string(data) == "[DONE]":
			return c.finish(&a, lines)
		}
		if err := c.take(&a, data); err != nil {
			return err
		}
	}
}

func (c *call) take(a *answer, data []byte) error {
	finished := a.finish != ""
	err := a.take(data)
	if _, refused := errors.AsType[*agent.ModelError](err); !refused {
		c.began = true
	}
	if !finished && a.finish != "" {
		c.watch.narrow(afterFinish)
	}
	return err
}

// finish yields the last deltas and then reads the end of the response.
func (c *call) finish(a *answer, lines *events) error {
	if err := a.end(); err != nil {
		return err
	}
	c.watch.narrow(afterDone)
	for {
		if _, err := lines.next(); err != nil {
			return nil
		}
	}
}

// Do sends go-openai's request. It returns a body that is watched and, for a
// refusal, one that is whole, bounded and off the connection: go-openai would
// read it without end and leave it open.
func (c *call) Do(req *http.Request) (*http.Response, error) {
	c.sent = true
	req.Header.Set("Accept-Encoding", "identity")
	for k, v := range c.client.model.Headers {
		req.Header.Set(k, v)
	}
	if c.marked {
		if err := unmarkZeros(req); err != nil {
			return nil, err
		}
	}
	resp, err := c.client.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	c.watch.note()
	c.status, c.header = resp.StatusCode, resp.Header
	resp.Body = &watchedBody{resp.Body, c.watch}
	c.body = resp.Body
	if resp.StatusCode >= 200 && resp.StatusCode < 300 && isStream(resp.Header) {
		return resp, nil
	}
	return c.refused(resp)
}

func (c *call) refused(resp *http.Response) (*http.Response, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && len(body) == 0 {
		return nil, err
	}
	if resp.StatusCode < 400 {
		return nil, fmt.Errorf("%w: %s, %q: %.512q", errNoStream, resp.Status, resp.Header.Get("Content-Type"), body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// isStream leaves it open where a server names no type, or a wrong one: only
// documents that can't be a stream are told apart.
func isStream(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err != nil || t != "application/json" && t != "text/html"
}
