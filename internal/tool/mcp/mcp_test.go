package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool/mcp"
)

// promise is how long a stop may take to be known to the server and the caller.
const promise = time.Second

func open(t *testing.T, s *mcp.Source, ref agent.ToolRef) map[string]agent.Tool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tools, err := s.Open(ctx, agent.Session{Project: "p"}, ref)
	if err != nil {
		t.Fatal(err)
	}
	box := make(map[string]agent.Tool)
	for _, x := range tools {
		box[x.Spec.Name] = x
	}
	return box
}

func call(t *testing.T, x agent.Tool, arguments string) string {
	t.Helper()
	if x.Call == nil {
		t.Fatal("there is no such tool")
	}
	out, err := x.Call(t.Context(), []byte(arguments))
	if err != nil {
		return "error: " + err.Error()
	}
	return out
}

func TestToolsAreListedAndCalled(t *testing.T) {
	each(t, func(t *testing.T, x *fixture) {
		box := open(t, x.source(), x.ref)
		for _, c := range []struct{ name, arguments, want string }{
			{"echo", `{"text":"ahoy"}`, "ahoy"},
			{"echo", `{"text":1}`, "error: the arguments do not match the tool's schema"},
			{"echo", `{"text":`, "error: the arguments are not JSON"},
			{"echo", `[]`, "error: the arguments must be a JSON object"},
			{"sum", `{"a":1,"b":2.5}`, `{"sum":3.5}`},
			{"fail", ``, "error: it is broken"},
			{"picture", `{}`, "[image, image/png, 3 bytes, not shown]"},
		} {
			if got := call(t, box[c.name], c.arguments); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s %s: %q, want %q", c.name, c.arguments, got, c.want)
			}
		}
		if e := box["echo"]; e.Spec.Description != "Says it again." || !strings.Contains(string(e.Spec.Parameters), `"text"`) || !e.Abortable {
			t.Errorf("echo is %+v", e)
		}
	})
}

func TestNamesChooseTools(t *testing.T) {
	t.Parallel()
	x := goHTTP(t, false)
	s := x.source()
	x.ref.Names = []string{"sum", "echo"}
	if box := open(t, s, x.ref); len(box) != 2 {
		t.Errorf("%d tools", len(box))
	}
	x.ref.Names = []string{"sum", "nope"}
	_, err := s.Open(t.Context(), agent.Session{Project: "p"}, x.ref)
	if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "names[1]" {
		t.Error(err)
	}
}

// Field reports 53, 54, 55: the server hears of a stop at once, by a fixed
// reason; the call ends although the server never answers it or goes on; and
// what it answers too late harms no other call.
func TestStopReachesTheServerAndEndsTheCall(t *testing.T) {
	each(t, func(t *testing.T, x *fixture) {
		box := open(t, x.source(), x.ref)
		for i, mode := range []string{"honour", "mute", "ignore"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := box["wait"].Call(ctx, fmt.Appendf(nil, `{"mode":%q,"ms":1500}`, mode))
				done <- err
			}()
			x.until(mode, 1)
			asked := time.Now()
			cancel(errors.New("stopped by mallory@internal"))
			err := <-done
			if d := time.Since(asked); d > promise/4 || err == nil {
				t.Errorf("%s: the call ended after %v: %v", mode, d, err)
			}
			ended := time.Since(asked)
			x.told(mode, i+1, asked)
			t.Logf("%s: the call ended after %v, the server knew after %v at most", mode, ended, time.Since(asked))
			if got := call(t, box["echo"], `{"text":"next"}`); got != "next" {
				t.Errorf("the next call after %s: %q", mode, got)
			}
		}
		x.until("ended ignore", 1)
		for range 5 {
			if got := call(t, box["echo"], `{"text":"later"}`); got != "later" {
				t.Errorf("a call after the late answer: %q", got)
			}
		}
		if b, _ := os.ReadFile(x.log); strings.Contains(string(b), "mallory") {
			t.Errorf("the server was told why: %s", b)
		}
	})
}

// told checks how the server was told of the nth stop.
func (x *fixture) told(mode string, n int, asked time.Time) {
	x.t.Helper()
	if x.closes {
		if mode != "ignore" {
			x.until("ended "+mode, 1)
		}
		if have, _ := x.count("notifications/cancelled"); have > 0 {
			x.t.Error("a notification, where closing the stream says it")
		}
	} else {
		e := x.until("notifications/cancelled", n)
		if e.Params.Reason != "the call was stopped" || e.Params.RequestID == nil {
			x.t.Errorf("the server was told %+v", e.Params)
		}
		if mode == "honour" {
			x.until("ended honour", 1)
		}
	}
	if d := time.Since(asked); d > promise {
		x.t.Errorf("%s: the server was told after %v", mode, d)
	}
}

func TestTimeoutIsToldAsAStopIs(t *testing.T) {
	t.Parallel()
	x := goHTTP(t, false)
	box := open(t, x.source(), x.ref)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("took too long"))
	defer cancel()
	_, err := box["wait"].Call(ctx, []byte(`{"mode":"ignore","ms":600}`))
	if err == nil || err.Error() != "took too long" {
		t.Error(err)
	}
	if e := x.until("notifications/cancelled", 1); e.Params.Reason != "the call was stopped" {
		t.Errorf("%+v", e)
	}
}

func TestRestartedServerIsReachedAgain(t *testing.T) {
	each(t, func(t *testing.T, x *fixture) {
		s := x.source()
		box := open(t, s, x.ref)
		if got := call(t, box["echo"], `{"text":"one"}`); got != "one" {
			t.Fatal(got)
		}
		x.restart()
		if x.ref.MCP.URL == "" {
			// Its end is seen a moment later; a call in between has an error.
			eventually(t, "the command runs again", func() bool { return call(t, box["echo"], `{"text":"two"}`) == "two" })
		} else if got := call(t, box["echo"], `{"text":"two"}`); got != "two" {
			t.Errorf("the first call after the restart: %q", got)
		}
		if box := open(t, s, x.ref); call(t, box["echo"], `{"text":"three"}`) != "three" {
			t.Error("the tools are not there after the restart")
		}
	})
}

func TestServerThatEndsInACallIsAnErrorAndReachedAgain(t *testing.T) {
	each(t, func(t *testing.T, x *fixture) {
		box := open(t, x.source(), x.ref)
		done := make(chan error, 1)
		go func() {
			_, err := box["wait"].Call(t.Context(), []byte(`{"mode":"honour","ms":1000}`))
			done <- err
		}()
		x.until("honour", 1)
		x.restart()
		select {
		case <-done: // an error, or its end where the server let it finish
		case <-time.After(10 * time.Second):
			t.Fatal("the call does not end")
		}
		if n, _ := x.count("honour"); n != 1 {
			t.Errorf("the call was made %d times", n)
		}
		eventually(t, "the server is reached again", func() bool { return call(t, box["echo"], `{"text":"two"}`) == "two" })
	})
}

func TestChangedListIsSeen(t *testing.T) {
	each(t, func(t *testing.T, x *fixture) {
		s := x.source()
		box := open(t, s, x.ref)
		if _, ok := box["grown"]; ok {
			t.Fatal("it is there already")
		}
		if got := call(t, box["grow"], ``); got != "done" {
			t.Fatal(got)
		}
		eventually(t, "the new tool", func() bool {
			tool, ok := open(t, s, x.ref)["grown"]
			return ok && call(t, tool, "") == "new"
		})
	})
}

func TestCommandsAreRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	x := goCommand(t)
	s := mcp.New(mcp.Config{})
	defer s.Close()
	_, err := s.Open(t.Context(), agent.Session{}, x.ref)
	if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "mcp.command" || !strings.Contains(f.Message, "BELAY_MCP_STDIO") {
		t.Error(err)
	}
	if len(marked(x.log)) > 0 {
		t.Error("it was run")
	}
}

// secrets holds one.
type secrets struct{}

func (secrets) Secret(_ context.Context, project, key string) (string, error) {
	if project != "p" || key != "key" {
		return "", agent.ErrNotFound
	}
	return "hush", nil
}

func TestSecretGoesToTheServerAndNowhereElse(t *testing.T) {
	t.Parallel()
	var leaked string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = r.Header.Get("Authorization") + r.Header.Get("X-Key")
	}))
	defer elsewhere.Close()
	seen := make(chan http.Header, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	s := mcp.New(mcp.Config{Secrets: secrets{}})
	defer http.DefaultClient.CloseIdleConnections()
	defer s.Close()
	for want, auth := range map[string]agent.ToolAuth{
		"Authorization: Bearer hush":        {Type: "bearer", Secret: "key"},
		"Authorization: Basic bWU6aHVzaA==": {Type: "basic", Username: "me", Secret: "key"},
		"X-Key: hush":                       {Type: "header", Header: "x-key", Secret: "key"},
	} {
		ref := agent.ToolRef{Source: agent.SourceMCP, Key: "k", MCP: &agent.MCPSource{URL: server.URL, Auth: &auth}}
		if _, err := s.Open(t.Context(), agent.Session{Project: "p"}, ref); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", want, err)
		}
		name, value, _ := strings.Cut(want, ": ")
		if got := (<-seen).Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
		for len(seen) > 0 {
			<-seen
		}
	}
	if leaked != "" {
		t.Errorf("another server got %q", leaked)
	}
}

func TestMissingSecretsNameTheirField(t *testing.T) {
	t.Parallel()
	ref := agent.ToolRef{Source: agent.SourceMCP, Key: "k", MCP: &agent.MCPSource{URL: "http://127.0.0.1:1", Auth: &agent.ToolAuth{Type: "bearer", Secret: "other"}}}
	for want, cfg := range map[string]mcp.Config{"keeps no secrets": {}, `no shared tool "other"`: {Secrets: secrets{}}} {
		s := mcp.New(cfg)
		defer s.Close()
		_, err := s.Open(t.Context(), agent.Session{Project: "p"}, ref)
		if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "mcp.auth.secret" || !strings.Contains(f.Message, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestUnreachableServerIsToldSoon(t *testing.T) {
	t.Parallel()
	s := mcp.New(mcp.Config{})
	defer s.Close()
	_, err := s.Open(t.Context(), agent.Session{}, agent.ToolRef{MCP: &agent.MCPSource{URL: "http://127.0.0.1:1/hidden?key=1"}})
	if err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "can't be reached") {
		t.Error(err)
	}
	s.Close()
	if _, err := s.Open(t.Context(), agent.Session{}, agent.ToolRef{MCP: &agent.MCPSource{URL: "http://127.0.0.1:1"}}); err == nil {
		t.Error("a closed source opens")
	}
}

// A server that is silent to everything must hold neither the opening nor Close.
func TestSilentServerHoldsNobody(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	defer server.Close()
	defer close(release)
	s := mcp.New(mcp.Config{})
	defer http.DefaultClient.CloseIdleConnections()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("enough"))
	defer cancel()
	began := time.Now()
	if _, err := s.Open(ctx, agent.Session{}, agent.ToolRef{MCP: &agent.MCPSource{URL: server.URL}}); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	s.Close()
	if d := time.Since(began); d > 2*promise {
		t.Errorf("it took %v", d)
	}
}

func TestCloseStopsCallsAndTellsTheServer(t *testing.T) {
	each(t, func(t *testing.T, x *fixture) {
		s := x.source()
		box := open(t, s, x.ref)
		done := make(chan error, 1)
		go func() {
			_, err := box["wait"].Call(t.Context(), []byte(`{"mode":"honour","ms":5000}`))
			done <- err
		}()
		x.until("honour", 1)
		began := time.Now()
		s.Close()
		if d := time.Since(began); d > 3*promise {
			t.Errorf("Close took %v", d)
		}
		if err := <-done; err == nil {
			t.Error("the call succeeded")
		}
		// There may be another for the SDK's own subscription to changes.
		if !x.closes && !slices.ContainsFunc(x.entries(), func(e entry) bool { return e.Params.Reason == "the call was stopped" }) {
			t.Errorf("the server was not told: %+v", x.entries())
		}
	})
}
