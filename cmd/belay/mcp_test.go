package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belayrun/belay/internal/manifest"
	"github.com/belayrun/belay/internal/postgres"
)

// mcpServer is an MCP server with a tool that waits until it is told to stop, and
// one that does not care.
type mcpServer struct {
	url   string
	mu    sync.Mutex
	told  []time.Time // of cancellations
	whys  []string
	began chan struct{}
	ended chan time.Time // of waits that were cancelled
}

func newMCPServer(t *testing.T) *mcpServer {
	m := &mcpServer{began: make(chan struct{}, 10), ended: make(chan time.Time, 10)}
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if p, ok := req.GetParams().(*mcp.CancelledParams); ok {
				m.mu.Lock()
				m.told, m.whys = append(m.told, time.Now()), append(m.whys, p.Reason)
				m.mu.Unlock()
			}
			return next(ctx, method, req)
		}
	})
	release := make(chan struct{})
	mcp.AddTool(s, &mcp.Tool{Name: "dig"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		m.began <- struct{}{}
		select {
		case <-ctx.Done():
			m.ended <- time.Now()
		case <-release:
		}
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "deaf"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		m.began <- struct{}{}
		<-release
		return nil, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ahoy " + in.Name}}}, nil, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	m.url = server.URL
	t.Cleanup(func() {
		close(release)
		server.CloseClientConnections()
		server.Close()
		for session := range s.Sessions() {
			_ = session.Close() // those of nodes that were killed
		}
	})
	return m
}

// apply applies documents as belay apply does.
func (c *cluster) apply(documents string) {
	c.t.Helper()
	m, err := manifest.Parse("test", strings.NewReader(documents), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.with(func(store *postgres.Store) error {
		_, err := manifest.Apply(c.t.Context(), store, c.project, m, false)
		return err
	})
}

// 53, 54, 55: a call of an MCP server's tool is stopped from the other node. The
// server hears it within the promise and by a fixed reason, whether it cares or
// not; the call is aborted and the history valid.
func TestStopReachesAnMCPServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, loopback)
	m := newMCPServer(t)
	c.apply(fmt.Sprintf(`
kind: agent
key: digger
config:
  model: demo
  tools:
    - source: mcp
      key: mine
      names: [dig, deaf, greet]
      mcp: {url: %q}
`, m.url))
	s := c.stream(0, "digger", `/tool greet {"name":"bo"}`, nil)
	s.rest()
	if !strings.Contains(s.text(), "ahoy bo") {
		t.Errorf("the answer: %q", s.text())
	}
	for i, name := range []string{"dig", "deaf"} {
		s := c.stream(0, "digger", "/tool "+name+" {}", nil)
		<-m.began
		asked := time.Now()
		a := c.stop(1, s.conv, map[string]any{"wait_ms": 5000})
		want(t, name+": stop_status", a["stop_status"], "stopped")
		if d := time.Since(asked); d > promise {
			t.Errorf("%s: the turn ended after %v", name, d)
		}
		want(t, name+": reason", reason(s.rest()), "cancelled")
		eventually(t, "the server is told", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.told) > i
		})
		m.mu.Lock()
		want(t, name+": the reason given", m.whys[i], "the call was stopped")
		d := m.told[i].Sub(asked)
		m.mu.Unlock()
		if d > promise {
			t.Errorf("%s: the server was told after %v", name, d)
		}
		if name == "dig" {
			d = (<-m.ended).Sub(asked)
		}
		t.Logf("%s: %v from the stop to the server", name, d)
		c.stream(1, "digger", "what now?", map[string]any{"previous_response_id": "resp_" + s.conv}).rest()
		r := c.provider.Requests()
		if last := r[len(r)-1]; last.Rejected != "" || !strings.Contains(last.Last("tool"), "stopped") {
			t.Errorf("%s: history after the stop: %+v, rejected %q", name, last.Messages, last.Rejected)
		}
	}
	c.whole()
}

// A node that ends, or is killed, leaves no command that it ran.
func TestNoCommandOutlivesItsNode(t *testing.T) {
	t.Parallel()
	needPackages(t, "../../internal/tool/mcp/testdata/tsserver")
	c := newCluster(t, 2, "BELAY_MCP_STDIO=on")
	log := filepath.Join(t.TempDir(), "log")
	c.apply(fmt.Sprintf(`
kind: agent
key: local
config:
  model: demo
  tools:
    - source: mcp
      key: here
      mcp:
        command: [node, ../../internal/tool/mcp/testdata/tsserver/server.mjs]
        env: {LOG: %q}
`, log))
	for node, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		s := c.stream(node, "local", `/tool echo {"text":"over here"}`, nil)
		s.rest()
		if !strings.Contains(s.text(), "over here") {
			t.Errorf("the answer: %q", s.text())
		}
		if n := len(withEnv(log)); n != 1 {
			t.Errorf("%d commands run", n)
		}
		c.nodes[node].signal(end)
		<-c.nodes[node].dead
		if end == syscall.SIGTERM {
			want(t, "commands left by a node that ended", len(withEnv(log)), 0)
		}
		eventually(t, "no command is left", func() bool { return len(withEnv(log)) == 0 })
	}
}

// withEnv are the living processes that have a text in their environment.
func withEnv(text string) (pids []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		stat, _ := os.ReadFile(d + "/stat")
		if err == nil && strings.Contains(string(env), text) && !strings.Contains(string(stat), ") Z ") {
			pids = append(pids, filepath.Base(d))
		}
	}
	return pids
}

// An agent whose tools need what the operator does not allow says so.
func TestCommandsNeedTheOperatorsLeave(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.agent("local", map[string]any{"model": "demo", "tools": []any{map[string]any{
		"source": "mcp", "key": "here", "mcp": map[string]any{"command": []string{"true"}},
	}}})
	s := c.stream(0, "local", "hello", nil)
	e := s.rest()
	want(t, "last event", e.Type, "response.failed")
	want(t, "model calls", c.provider.Count(), 0)
	if !strings.Contains(c.nodes[0].out.String(), "BELAY_MCP_STDIO=on") {
		t.Error("the log does not say what to do")
	}
}
