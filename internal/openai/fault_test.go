package openai_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/openai"
	"github.com/belayrun/belay/internal/openai/openaitest"
)

func TestStatusesBecomeErrors(t *testing.T) {
	t.Parallel()
	secret := `{"error":{"message":"Incorrect key sk-canary, see http://127.0.0.1/keys","type":"x","code":null}}`
	for _, c := range []struct {
		status    int
		body      string
		code      string
		retryable bool
	}{
		{400, secret, agent.CodeModelError, false},
		{400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, agent.CodeModelError, false},
		{401, secret, agent.CodeModelAuth, false},
		{403, secret, agent.CodeModelDenied, false},
		{404, "not json, sk-canary", agent.CodeModelError, false},
		{408, "", agent.CodeModelError, true},
		{413, "", agent.CodeModelError, false},
		{429, secret, agent.CodeModelError, true},
		{500, "<html>", agent.CodeModelError, true},
		{503, `{"error":"flat"}`, agent.CodeModelError, true},
		{529, "", agent.CodeModelError, true},
		{302, "moved", agent.CodeModelError, false},
		{200, `{"object":"chat.completion"}`, agent.CodeModelError, false},
	} {
		t.Run(fmt.Sprint(c.status, c.body), func(t *testing.T) {
			t.Parallel()
			h := http.Header{"Location": {"http://127.0.0.1:1/"}, "Content-Type": {"application/json"}}
			r := replying(t, openaitest.Status(c.status, h, c.body))
			e := read(within(t), t, r.client, hello(), nil).failed(t, c.code, c.retryable)
			if e.Status != c.status || r.Count() != 1 {
				t.Errorf("status %d, %d requests", e.Status, r.Count())
			}
		})
	}
}

func TestRetryAfterIsRead(t *testing.T) {
	t.Parallel()
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		header, value string
		low, high     time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second, 7 * time.Second},
		{"Retry-After", "1.5", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"Retry-After-Ms", "250", 250 * time.Millisecond, 250 * time.Millisecond},
		{"Retry-After", date, 58 * time.Minute, time.Hour},
		{"Retry-After", "soon", 0, 0},
		{"Retry-After", "-5", 0, 0},
		{"Retry-After", "NaN", 0, 0},
		{"Retry-After", "1e300", 0, 0},
		{"X-Other", "7", 0, 0},
	} {
		r := replying(t, openaitest.Status(503, http.Header{c.header: {c.value}}, ""))
		e := read(within(t), t, r.client, hello(), nil).failed(t, agent.CodeModelError, true)
		if e.RetryAfter < c.low || e.RetryAfter > c.high {
			t.Errorf("%s: %s is read as %v", c.header, c.value, e.RetryAfter)
		}
	}
}

func TestAProviderThatIsNotThereMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	l := ok[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	l.Close()
	c := ok[*openai.Client](t)(openai.New(openai.Config{Model: agent.Model{BaseURL: "http://" + l.Addr().String(), Model: "m", APIKey: "sk-canary"}}))
	e := read(within(t), t, c, hello(), nil).failed(t, agent.CodeModelError, true)
	if e.Status != 0 {
		t.Errorf("status %d", e.Status)
	}
}

func TestAConnectionResetBeforeTheAnswerMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}))
	t.Cleanup(srv.Close)
	c := ok[*openai.Client](t)(openai.New(openai.Config{Model: agent.Model{BaseURL: srv.URL, Model: "m"}}))
	t.Cleanup(c.CloseIdleConnections)
	read(within(t), t, c, hello(), nil).failed(t, agent.CodeModelError, true)
	if n.Load() != 1 {
		t.Errorf("%d requests", n.Load())
	}
}

func TestAWrongCertificateIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(openaitest.New())
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	t.Cleanup(srv.Close)
	c := ok[*openai.Client](t)(openai.New(openai.Config{Model: agent.Model{BaseURL: srv.URL, Model: "m"}}))
	read(within(t), t, c, hello(), nil).failed(t, agent.CodeModelError, false)
}

// Field report 67: a stalled provider ends the call.
func TestSilenceEndsACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps     []openaitest.Step
		retryable bool
		text      string
	}{
		"before headers": {[]openaitest.Step{openaitest.HangBeforeHeaders()}, true, ""},
		"after headers":  {[]openaitest.Step{openaitest.SilentForever()}, true, ""},
		"in the text":    {[]openaitest.Step{openaitest.Text(0, "a"), openaitest.SilentForever()}, false, "a"},
		"in a line":      {[]openaitest.Step{openaitest.Raw("data: {"), openaitest.SilentForever()}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := func(openaitest.Request) openaitest.Reply { return c.steps }
			r := open(t, func(m *agent.Model) { m.IdleTimeoutMS = 300 }, openaitest.WithScript(script))
			got := read(within(t), t, r.client, hello(), nil)
			got.failed(t, agent.CodeModelIdle, c.retryable)
			if got.text.String() != c.text {
				t.Errorf("text %q", got.text.String())
			}
			r.aborted(t, 1, time.Now())
		})
	}
}

// Bytes of any kind are signs of life: a call may take many times its idle
// timeout while comments or chunks come.
func TestCommentsAreSignsOfLife(t *testing.T) {
	t.Parallel()
	script := func(openaitest.Request) openaitest.Reply {
		return openaitest.Reply{
			openaitest.Comments(20, 200*time.Millisecond),
			openaitest.Text(0, "at last"),
		}
	}
	r := open(t, func(m *agent.Model) { m.IdleTimeoutMS = 2000 }, openaitest.WithScript(script))
	if got := read(within(t), t, r.client, hello(), nil); got.err != nil || got.text.String() != "at last" {
		t.Errorf("text %q, error %v", got.text.String(), got.err)
	}
}

// go-openai's reader gives up after 300 lines without data.
func TestAnyNumberOfCommentsIsPassedOver(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.Comments(2000, 0), openaitest.Raw("event: ping\nid: 7\nretry: 5\r\n\r\n"), openaitest.Text(0, "a"))
	if got := read(within(t), t, r.client, hello(), nil); got.err != nil || got.text.String() != "a" {
		t.Errorf("text %q, error %v", got.text.String(), got.err)
	}
}

func TestACallThatTakesTooLongEnds(t *testing.T) {
	t.Parallel()
	script := func(openaitest.Request) openaitest.Reply {
		return openaitest.Reply{openaitest.Text(10*time.Millisecond, strings.Split(strings.Repeat("x", 4000), "")...)}
	}
	r := open(t, func(m *agent.Model) { m.TimeoutMS = 300 }, openaitest.WithScript(script))
	got := read(within(t), t, r.client, hello(), nil)
	got.failed(t, agent.CodeModelError, false)
	r.aborted(t, 1, time.Now())
}

func TestAnAnswerThatBreaksOffIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps     []openaitest.Step
		retryable bool
	}{
		"cut within a chunk":       {[]openaitest.Step{openaitest.Text(0, "a"), openaitest.CutConnection()}, false},
		"cut within the first":     {[]openaitest.Step{openaitest.CutConnection()}, true},
		"ended without a finish":   {[]openaitest.Step{openaitest.Text(0, "a"), openaitest.End()}, false},
		"ended before it began":    {[]openaitest.Step{openaitest.End()}, true},
		"ended after a call":       {[]openaitest.Step{openaitest.Call("c", "f", "{}"), openaitest.End()}, false},
		"malformed":                {[]openaitest.Step{openaitest.Text(0, "a"), openaitest.Malformed()}, false},
		"malformed from the start": {[]openaitest.Step{openaitest.Malformed()}, false},
		"error in the stream":      {[]openaitest.Step{openaitest.Text(0, "a"), openaitest.StreamError("server_error", "sk-canary")}, false},
		"error, then nothing":      {[]openaitest.Step{openaitest.StreamError("server_error", "sk-canary")}, true},
		"a lasting error":          {[]openaitest.Step{openaitest.StreamError("invalid_prompt", "sk-canary")}, false},
		"an error by number":       {[]openaitest.Step{openaitest.Comments(1, 0), openaitest.Raw(`data: {"error":{"code":502,"message":"x"}}` + "\n\n")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(within(t), t, replying(t, c.steps...).client, hello(), nil)
			got.failed(t, agent.CodeModelError, c.retryable)
			if len(got.calls) != 0 {
				t.Errorf("calls %v", got.calls)
			}
		})
	}
}

// What follows the finish is figures: without them the answer is whole.
func TestAnAnswerIsWholeWithItsFinish(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]openaitest.Step{
		"no usage":   openaitest.NoUsage(),
		"no [DONE]":  openaitest.End(),
		"then a cut": openaitest.CutConnection(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := replying(t, openaitest.Text(0, "a"), openaitest.Finish("stop"), last)
			got := read(within(t), t, r.client, hello(), nil)
			if got.err != nil || got.text.String() != "a" || got.finish != agent.FinishStop || got.usage != nil {
				t.Errorf("text %q, finish %q, usage %v, error %v", got.text.String(), got.finish, got.usage, got.err)
			}
		})
	}
}

func TestDoneWithoutAFinishEndsAnAnswer(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.Text(0, "a"), openaitest.Done())
	if got := read(within(t), t, r.client, hello(), nil); got.err != nil || got.finish != agent.FinishStop {
		t.Errorf("finish %q, error %v", got.finish, got.err)
	}
}

// A provider that stays connected after its last word holds up nobody.
func TestSilenceAfterTheAnswerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]openaitest.Step{
		"after [DONE]":     {openaitest.Text(0, "a"), openaitest.Finish("stop"), openaitest.Raw("data: [DONE]\n\n"), openaitest.SilentForever()},
		"after the finish": {openaitest.Text(0, "a"), openaitest.Finish("stop"), openaitest.SilentForever()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := replying(t, steps...)
			start := time.Now()
			got := read(within(t), t, r.client, hello(), nil)
			if d := time.Since(start); got.err != nil || got.finish != agent.FinishStop || d > 10*time.Second {
				t.Errorf("finish %q, error %v, after %v", got.finish, got.err, d)
			}
			r.aborted(t, 1, time.Now())
		})
	}
}
