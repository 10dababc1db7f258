package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// searched is a SearXNG that tells when it is asked and when its caller has gone;
// a query that begins with "slow" is not answered.
type searched struct {
	*httptest.Server
	asked, closed chan time.Time
}

func newSearched(t *testing.T) *searched {
	s := &searched{asked: make(chan time.Time, 10), closed: make(chan time.Time, 10)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked <- time.Now()
		if strings.HasPrefix(r.URL.Query().Get("q"), "slow") {
			<-r.Context().Done()
			s.closed <- time.Now()
			return
		}
		_, _ = w.Write([]byte(`{"results":[{"title":"Tea","url":"https://tea.example.com/","content":"It is green."}]}`))
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// A search is declared through the API, used by a turn, and aborted by a stop
// from either node: the upstream sees its connection closed.
func TestWebSearchIsAbortedByAStop(t *testing.T) {
	t.Parallel()
	web := newSearched(t)
	c := newCluster(t, 2, "BELAY_OUTBOUND_ALLOW=127.0.0.1")
	block := map[string]any{"provider": "searxng", "base_url": web.URL}
	c.agent("search", map[string]any{"model": "demo", "tools": []any{map[string]any{"source": "web_search", "key": "web", "web_search": block}}})
	_, a := c.call(1, http.MethodGet, "/agents/search", nil)
	tools := a["config"].(map[string]any)["tools"].([]any)
	want(t, "kept", tools[0].(map[string]any)["web_search"], block)
	c.stream(0, "search", `/tool web_search {"query":"tea"}`, nil).rest()
	want(t, "the model reads", c.reads(), `{"results":[{"title":"Tea","url":"https://tea.example.com/","snippet":"It is green."}]}`)
	<-web.asked
	for through := range 2 {
		calls := c.provider.Count()
		s := c.stream(0, "search", `/tool web_search {"query":"slow tea"}`, nil)
		<-web.asked
		asked := time.Now()
		c.stop(through, s.conv, map[string]any{"wait_ms": 5000})
		if d := (<-web.closed).Sub(asked); d > promise {
			t.Errorf("through node %d: the upstream saw it %v after the stop", through+1, d)
		}
		want(t, "reason", reason(s.rest()), "cancelled")
		want(t, "model calls", c.provider.Count(), calls+1)
		c.idle(1, s.conv)
		want(t, "outcome", c.outcome(s.conv), "aborted")
	}
	c.whole()
}

// outcome returns how the last tool of a conversation ended.
func (c *cluster) outcome(conv string) (outcome any) {
	c.t.Helper()
	_, a := c.call(1, http.MethodGet, "/agents/conversations/"+conv+"/events", nil)
	for _, e := range a["data"].([]any) {
		if e := e.(map[string]any); e["type"] == "tool.finished" {
			outcome = e["data"].(map[string]any)["outcome"]
		}
	}
	return outcome
}

// A provider that needs a key which the node can't open fails the turn, and the
// log says which field it is; what is declared wrongly is refused at once.
func TestWebSearchThatCannotBeUsedSaysSo(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	auth := map[string]any{"type": "bearer", "secret": "tavily-key"}
	ref := map[string]any{"source": "web_search", "key": "web", "web_search": map[string]any{"provider": "tavily", "auth": auth}}
	c.agent("search", map[string]any{"model": "demo", "tools": []any{ref}})
	end := c.stream(0, "search", "hello", nil).rest()
	want(t, "end", end.Type, "response.failed")
	if said := c.nodes[0].out.String(); !strings.Contains(said, "tools[0].web_search.auth.secret: there is no shared tool") {
		t.Error("the log does not say why")
	}
	delete(ref["web_search"].(map[string]any), "auth")
	status, a := c.call(0, http.MethodPost, "/agents", map[string]any{"key": "bad", "config": map[string]any{"model": "demo", "tools": []any{ref}}})
	want(t, "without auth", status, http.StatusBadRequest)
	want(t, "param", a["error"].(map[string]any)["param"], "config.tools[0].web_search.auth")
}
