package openai_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/openai"
	"github.com/belayrun/belay/internal/openai/openaitest"
)

// A call is aborted within this, as the provider sees it.
const promptly = time.Second

// room is a client and the provider it calls.
type room struct {
	*openaitest.Provider
	client *openai.Client
	url    string
}

// open serves a provider for the length of a test. Nothing of it may run on
// after the test: the server's Close waits for its connections.
func open(t testing.TB, change func(*agent.Model), opts ...openaitest.Option) *room {
	t.Helper()
	p := openaitest.New(append([]openaitest.Option{openaitest.WithRate(0)}, opts...)...)
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	m := agent.Model{BaseURL: srv.URL + "/any/v1", Model: "mock", APIKey: "sk-canary", IdleTimeoutMS: 20_000}
	if change != nil {
		change(&m)
	}
	client, err := openai.New(openai.Config{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &room{Provider: p, client: client, url: srv.URL}
}

// replying opens a room whose provider answers every request alike.
func replying(t testing.TB, steps ...openaitest.Step) *room {
	t.Helper()
	return open(t, nil, openaitest.WithScript(func(openaitest.Request) openaitest.Reply { return steps }))
}

func hello() agent.Request {
	return agent.Request{Prompts: []agent.Prompt{{Role: agent.RoleUser, Text: "hello"}}}
}

// result is all that a stream yielded.
type result struct {
	text, reasoning strings.Builder
	calls           []agent.Call
	usage           *agent.Tokens
	finish          agent.Finish
	deltas          int
	err             error
}

// read runs a stream to its end. Anything after an error, or after the finish
// but an error, is a fault.
func read(ctx context.Context, t testing.TB, c *openai.Client, req agent.Request, each func(agent.Delta)) *result {
	t.Helper()
	r := new(result)
	for d, err := range c.Stream(ctx, req) {
		if r.err != nil {
			t.Errorf("yielded %+v, %v after the error %v", d, err, r.err)
		}
		if r.err = err; err != nil {
			continue
		}
		if r.finish != "" {
			t.Errorf("yielded %+v after the finish", d)
		}
		r.add(d)
		if each != nil {
			each(d)
		}
	}
	return r
}

func (r *result) add(d agent.Delta) {
	r.deltas++
	r.text.WriteString(d.Text)
	r.reasoning.WriteString(d.Reasoning)
	if d.Call != nil {
		r.calls = append(r.calls, *d.Call)
	}
	if d.Usage != nil {
		r.usage = d.Usage
	}
	r.finish = d.Finish
}

// failed wants an *agent.ModelError of a code that says nothing it may not.
func (r *result) failed(t testing.TB, code string, retryable bool) *agent.ModelError {
	t.Helper()
	e, ok := errors.AsType[*agent.ModelError](r.err)
	if !ok {
		t.Fatalf("error %v (%T), want an *agent.ModelError", r.err, r.err)
	}
	if e.Code != code || e.Retryable != retryable {
		t.Errorf("code %s, retryable %t; want %s, %t (%v)", e.Code, e.Retryable, code, retryable, e)
	}
	if e.Message == "" || strings.Contains(e.Message, "sk-canary") || strings.Contains(e.Message, "127.0.0.1") || strings.Contains(e.Message, "://") {
		t.Errorf("message %q", e.Message)
	}
	if e.Err == nil {
		t.Error("nothing for the log")
	}
	return e
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// ok returns a value that comes with an error that must be nil.
func ok[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestStreamYieldsAnAnswerInItsOrder(t *testing.T) {
	t.Parallel()
	r := replying(t,
		openaitest.Reasoning(0, "let ", "me see"),
		openaitest.Text(0, "Hello", ", wörld ", "\"quoted\"\n"),
		openaitest.Usage(100, 40, 20, 5),
	)
	got := read(within(t), t, r.client, hello(), nil)
	if got.err != nil {
		t.Fatal(got.err)
	}
	if s := got.text.String(); s != "Hello, wörld \"quoted\"\n" {
		t.Errorf("text %q", s)
	}
	if s := got.reasoning.String(); s != "let me see" {
		t.Errorf("reasoning %q", s)
	}
	if want := (agent.Tokens{Input: 100, CachedInput: 40, Output: 20, Reasoning: 5}); got.usage == nil || *got.usage != want {
		t.Errorf("usage %+v, want %+v", got.usage, want)
	}
	if got.finish != agent.FinishStop {
		t.Errorf("finish %q", got.finish)
	}
}

func TestStreamSendsTheRequest(t *testing.T) {
	t.Parallel()
	r := open(t, func(m *agent.Model) { m.Headers = map[string]string{"X-Team": "rope"} }, openaitest.WithKey("sk-canary"))
	req := agent.Request{
		Prompts: []agent.Prompt{
			{Role: agent.RoleSystem, Text: "Be brief. \"temperature\":1e-45"},
			{Role: agent.RoleUser, Text: "look"},
			{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "c1", Name: "look", Arguments: []byte(`{"at": "sea"}`)}}},
			{Role: agent.RoleTool, CallID: "c1", Text: ""},
			{Role: agent.RoleAssistant, Text: "I saw"},
			{Role: agent.RoleUser, Text: "go on"},
		},
		Tools:           []agent.ToolSpec{{Name: "look", Description: "Looks.", Parameters: []byte(`{"type":"object"}`)}, {Name: "bare"}},
		Temperature:     new(0.0),
		TopP:            new(0.0),
		MaxOutputTokens: 77,
	}
	if got := read(within(t), t, r.client, req, nil); got.err != nil {
		t.Fatal(got.err)
	}
	seen := r.Requests()[0]
	if seen.Rejected != "" || !seen.Stream || !seen.IncludeUsage || seen.MaxTokens != 77 || seen.Path != "/any/v1/chat/completions" {
		t.Errorf("request %+v", seen)
	}
	if seen.Temperature == nil || *seen.Temperature != 0 || seen.TopP == nil || *seen.TopP != 0 || !strings.Contains(string(seen.Body), `"temperature":0,`) {
		t.Errorf("zeros are not sent: %s", seen.Body)
	}
	if seen.Header.Get("X-Team") != "rope" || seen.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("headers %v", seen.Header)
	}
	if m := seen.Messages; m[0].Content != req.Prompts[0].Text || m[3].Content != "(no output)" || m[2].ToolCalls[0].Arguments != `{"at": "sea"}` {
		t.Errorf("messages %+v", m)
	}
	if len(seen.Tools) != 2 || string(seen.Tools[0].Parameters) != `{"type":"object"}` || !strings.Contains(string(seen.Tools[1].Parameters), "object") {
		t.Errorf("tools %+v", seen.Tools)
	}
}

func TestSettingsThatAreNotSetAreNotSent(t *testing.T) {
	t.Parallel()
	r := open(t, nil)
	read(within(t), t, r.client, hello(), nil)
	for _, field := range []string{"temperature", "top_p", "max_tokens", "max_completion_tokens", "tools"} {
		if body := string(r.Requests()[0].Body); strings.Contains(body, field) {
			t.Errorf("%s is sent: %s", field, body)
		}
	}
}

func TestLimitOfTheAnswerIsNamedAsTheModelKnowsIt(t *testing.T) {
	t.Parallel()
	for model, field := range map[string]string{"gpt-4o": `"max_tokens":9`, "llama3": `"max_tokens":9`, "gpt-5-mini": `"max_completion_tokens":9`, "o3": `"max_completion_tokens":9`} {
		r := open(t, func(m *agent.Model) { m.Model = model })
		req := hello()
		req.MaxOutputTokens = 9
		if got := read(within(t), t, r.client, req, nil); got.err != nil {
			t.Errorf("%s: %v", model, got.err)
		}
		if body := string(r.Requests()[0].Body); !strings.Contains(body, field) {
			t.Errorf("%s: %s", model, body)
		}
	}
}

func TestSettingsThatAModelDoesNotTakeAreRefusedWithoutARequest(t *testing.T) {
	t.Parallel()
	r := open(t, func(m *agent.Model) { m.Model = "gpt-5" })
	req := hello()
	req.Temperature = new(0.5)
	read(within(t), t, r.client, req, nil).failed(t, agent.CodeModelError, false)
	if n := r.Count(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestNewRefusesWhatCannotBeCalled(t *testing.T) {
	t.Parallel()
	good := agent.Model{BaseURL: "http://x/v1", Model: "m"}
	for field, change := range map[string]func(*agent.Model){
		"base_url": func(m *agent.Model) { m.BaseURL = "ftp://x" },
		"model":    func(m *agent.Model) { m.Model = "" },
		"api_key":  func(m *agent.Model) { m.APIKey = "a\nb" },
	} {
		m := good
		change(&m)
		_, err := openai.New(openai.Config{Model: m})
		if e, ok := errors.AsType[*agent.FieldError](err); !ok || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Connections of finished calls are used again: a handshake per call would cost
// more than all else here.
func TestAWholeAnswerLeavesItsConnectionToTheNext(t *testing.T) {
	t.Parallel()
	p := openaitest.New(openaitest.WithRate(0))
	srv := httptest.NewUnstartedServer(p)
	conns := make(chan net.Conn, 16)
	srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns <- c
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	client := ok[*openai.Client](t)(openai.New(openai.Config{Model: agent.Model{BaseURL: srv.URL, Model: "m"}}))
	t.Cleanup(client.CloseIdleConnections)
	for range 5 {
		if got := read(within(t), t, client, hello(), nil); got.err != nil {
			t.Fatal(got.err)
		}
	}
	if len(conns) != 1 {
		t.Errorf("%d connections for 5 calls", len(conns))
	}
	for _, r := range p.Requests() {
		if r.Aborted() || !r.Finished {
			t.Errorf("request %d: aborted %t, finished %t", r.N, r.Aborted(), r.Finished)
		}
	}
}
