package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// queue asks for a background run and returns its id.
func (c *cluster) queue(node int, model, input string, extra map[string]any) string {
	c.t.Helper()
	body := map[string]any{"model": model, "input": input, "background": true}
	maps.Copy(body, extra)
	status, a := c.call(node, http.MethodPost, "/agents/responses", body)
	if status != http.StatusAccepted || a["object"] != "agent.run" {
		c.t.Fatalf("%d %v", status, a)
	}
	return a["id"].(string)
}

// readRun returns a background run as a node says it is.
func (c *cluster) readRun(node int, id string) map[string]any {
	c.t.Helper()
	status, a := c.call(node, http.MethodGet, "/agents/runs/"+id, nil)
	if status != http.StatusOK {
		c.t.Fatalf("run %s: %d %v", id, status, a)
	}
	return a
}

// becomes waits for a run's status and returns the run.
func (c *cluster) becomes(node int, id, status string) (run map[string]any) {
	c.t.Helper()
	eventually(c.t, "the run is "+status, func() bool {
		run = c.readRun(node, id)
		return run["status"] == status
	})
	return run
}

// resultText is what a run's result says.
func resultText(run map[string]any) string {
	result, _ := run["result"].(map[string]any)
	var out strings.Builder
	items, _ := result["output"].([]any)
	for _, it := range items {
		parts, _ := it.(map[string]any)["content"].([]any)
		for _, p := range parts {
			text, _ := p.(map[string]any)["text"].(string)
			out.WriteString(text)
		}
	}
	return out.String()
}

func errorType(run map[string]any) any {
	e, _ := run["error"].(map[string]any)
	return e["type"]
}

// 26, 106, 112: a run is canceled in each state, from the node that runs it and
// from the other, and by nobody who may not.
func TestARunIsCanceledInEachState(t *testing.T) {
	t.Parallel()
	for _, through := range []int{0, 1} {
		t.Run(fmt.Sprint(through), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 2, "BELAY_RUNS=1", "BELAY_PUSH=off")
			holds := []string{c.queue(0, "demo", "/slow 6000", nil), c.queue(0, "demo", "/slow 6000", nil)}
			for _, id := range holds {
				c.becomes(through, id, "running")
			}
			queued := c.queue(0, "demo", "/echo never", nil)
			calls := c.provider.Count()
			status, a := c.call(through, http.MethodPost, "/agents/runs/"+queued+"/cancel", nil)
			want(t, "canceled from the queue: status", status, http.StatusOK)
			want(t, "canceled from the queue", a["status"], "canceled")
			want(t, "stop reason", a["stop_reason"], "cancelled")
			want(t, "error", errorType(a), "canceled_by_caller")
			status, a = c.call(through, http.MethodPost, "/agents/runs/"+queued+"/cancel", nil)
			want(t, "canceled again", status, http.StatusConflict)
			want(t, "code", a["error"].(map[string]any)["code"], "agent_run_already_terminal")

			eventually(t, "it has said something", func() bool {
				_, a := c.call(through, http.MethodGet, "/responses/"+holds[0], nil)
				return len(a["output"].([]any)) > 0
			})
			status, a = c.call(through, http.MethodPost, "/agents/runs/"+holds[0]+"/cancel?wait_ms=5000", nil)
			want(t, "canceled while it ran", status, http.StatusOK)
			want(t, "done", a["done"], true)
			want(t, "stop status", a["stop_status"], "stopped")
			want(t, "status", a["status"], "canceled")
			if resultText(a) == "" {
				t.Errorf("the partial is gone: %v", a)
			}

			approve := c.queue(through, "approve", "/tool add {\"a\":1,\"b\":2}", nil)
			run := c.becomes(through, approve, "requires_action")
			if len(run["required_actions"].([]any)) != 1 {
				t.Errorf("%v", run)
			}
			weak := c.newToken("weak", agent.PermAgentView, agent.PermAgentRun, agent.PermSessionManageOthers)
			res := c.request(t.Context(), c.nodes[through].url, weak, http.MethodPost, "/agents/runs/"+approve+"/cancel", nil)
			b, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != http.StatusForbidden || !strings.Contains(string(b), "action_forbidden") {
				t.Errorf("without the right: %d %s", res.StatusCode, b)
			}
			want(t, "after it", c.readRun(through, approve)["status"], "requires_action")
			status, a = c.call(through, http.MethodPost, "/agents/runs/"+approve+"/cancel", nil)
			want(t, "canceled while it waited", status, http.StatusOK)
			want(t, "status", a["status"], "canceled")
			if n := c.provider.Count(); n != calls+1 {
				t.Errorf("%d model calls more", n-calls)
			}
			status, list := c.call(through, http.MethodGet, "/agents/runs?status=canceled&limit=100", nil)
			if want(t, "list", status, http.StatusOK); len(list["data"].([]any)) != 3 {
				t.Errorf("%v", list)
			}
		})
	}
}

// 64, 98: the node that runs it is killed. The run is closed as lost, its partial
// is kept and nothing of it is run again; what was queued the other node runs.
func TestRunsOutliveTheirSubmitterAndNotTheirNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, "BELAY_RUNS=1")
	lost := c.queue(0, "demo", "/slow 6000", nil)
	stream := c.follow(0, http.MethodGet, "/responses/"+lost+"?stream=true", nil)
	for range 5 {
		stream.until("response.output_text.delta")
	}
	time.Sleep(300 * time.Millisecond) // what was shown is flushed
	left := c.queue(0, "demo", "/echo later", nil)
	want(t, "behind it", c.readRun(0, left)["status"], "queued")
	c.nodes[0].kill()
	c.start("node-2", c.url)
	c.nodes[1].ready()
	want(t, "the queued one", resultText(c.becomes(1, left, "succeeded")), "later")
	run := c.becomes(1, lost, "failed")
	want(t, "error", errorType(run), "worker_lost")
	if kept := resultText(run); !strings.HasPrefix(kept, stream.text()) || kept == "" {
		t.Errorf("kept %q, shown %q", kept, stream.text())
	}
	want(t, "model calls", c.provider.Count(), 2)
	c.whole()
}

// 127: a drain leaves queued runs to others and ends what runs as lost, not as
// somebody's cancel.
func TestADrainLeavesQueuedRunsToOthers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, "BELAY_RUNS=1")
	first := c.queue(0, "demo", "/say words=40 delay=50ms", nil)
	c.becomes(0, first, "running")
	queued := c.queue(0, "demo", "/echo later", nil)
	c.nodes[0].signal(syscall.SIGTERM)
	<-c.nodes[0].dead
	c.start("node-2", c.url)
	c.nodes[1].ready()
	want(t, "what ran was let finish", c.readRun(1, first)["status"], "succeeded")
	want(t, "what was queued", resultText(c.becomes(1, queued, "succeeded")), "later")
	want(t, "model calls", c.provider.Count(), 2)
	c.whole()
}

// 74, 98: fifty equal requests over two nodes are one run; another with the same
// key is refused; the project's bound is held exactly.
func TestSubmitsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, "BELAY_PROJECT_RUNS=6", "BELAY_PROJECT_ACTIVE_RUNS=2")
	post := func(node int, body, key string) (int, string) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.nodes[node].url+prefix+"/agents/responses", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		req.Header.Set("Authorization", "Bearer "+c.token)
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		res, err := c.http.Do(req)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		if res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
		return res.StatusCode, string(b)
	}
	parallel := func(body, key string) map[int]int {
		var mu sync.Mutex
		var wg sync.WaitGroup
		counts := map[int]int{}
		for i := range 50 {
			wg.Go(func() {
				status, _ := post(i%2, body, key)
				mu.Lock()
				defer mu.Unlock()
				counts[status]++
			})
		}
		wg.Wait()
		return counts
	}
	once := parallel(`{"model":"demo","input":"/slow 6000","background":true}`, "key")
	want(t, "equal requests", fmt.Sprint(once), "map[200:49 202:1]")
	if status, body := post(1, `{"model":"demo","input":"/slow 6001","background":true}`, "key"); status != http.StatusConflict || !strings.Contains(body, "idempotency_key_conflict") {
		t.Errorf("another request: %d %s", status, body)
	}
	many := parallel(`{"model":"demo","input":"/slow 6000","background":true}`, "")
	want(t, "more than may be", fmt.Sprint(many), "map[202:5 429:45]")
	eventually(t, "two of them run", func() bool {
		_, a := c.call(0, http.MethodGet, "/agents/runs?status=running", nil)
		return len(a["data"].([]any)) == 2
	})
	time.Sleep(time.Second)
	_, a := c.call(1, http.MethodGet, "/agents/runs?status=running", nil)
	want(t, "at once", len(a["data"].([]any)), 2)
	want(t, "model calls", c.provider.Count(), 2)
}
