package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// askedAgents begins a turn of boss on node 1 that asks demo n times for a slow answer,
// and returns the children's conversations and runs once all of them stream.
func (c *cluster) askedAgents(n int) (s *stream, convs, runs []string) {
	c.t.Helper()
	before := c.provider.Count()
	s = c.stream(0, "boss", strings.Repeat("/tool ask_demo {\"message\":\"/slow 6000\"}\n", n), nil)
	eventually(c.t, "the children's requests are open", func() bool { return c.provider.Count() == before+1+n })
	eventually(c.t, "the children are in the parent's events", func() bool {
		convs, runs = nil, nil
		for _, e := range c.journal(1, s.conv) {
			if k, ok := e["data"].(map[string]any)["child"].(map[string]any); ok && e["type"] == "tool.started" {
				convs, runs = append(convs, k["conversation_id"].(string)), append(runs, k["run_id"].(string))
			}
		}
		return len(convs) == n
	})
	for _, k := range runs {
		c.follow(0, http.MethodGet, "/responses/resp_"+k+"?stream=true", nil).until("response.output_text.delta")
	}
	return s, convs, runs
}

// journal returns a conversation's events.
func (c *cluster) journal(node int, conv string) []map[string]any {
	c.t.Helper()
	status, a := c.call(node, http.MethodGet, "/agents/conversations/"+conv+"/events?limit=1000", nil)
	if status != http.StatusOK {
		c.t.Fatalf("events: %d %v", status, a)
	}
	var out []map[string]any
	for _, e := range a["data"].([]any) {
		out = append(out, e.(map[string]any))
	}
	return out
}

// toolsFinished returns the data of the conversation's tool.finished events.
func (c *cluster) toolsFinished(conv string) []map[string]any {
	c.t.Helper()
	var out []map[string]any
	for _, e := range c.journal(0, conv) {
		if e["type"] == "tool.finished" {
			out = append(out, e["data"].(map[string]any))
		}
	}
	return out
}

// busyRows counts the slots and turns that have not ended.
func (c *cluster) busyRows() (n int) {
	c.t.Helper()
	db, err := pgx.Connect(c.t.Context(), c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close(context.Background())
	const busy = "SELECT (SELECT count(*) FROM run_slots WHERE state <> 'idle') + (SELECT count(*) FROM turns WHERE ended_at IS NULL)"
	if err := db.QueryRow(c.t.Context(), busy).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// 60, 63: a stop of the parent from the other node closes its children's model
// calls, and everything is idle and accounted for.
func TestAStopOfTheParentStopsItsSubAgents(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	for through := range 2 {
		s, convs, _ := c.askedAgents(2)
		n := c.provider.Count()
		when := time.Now()
		a := c.stop(1-through, s.conv, map[string]any{"wait_ms": 5000})
		want(t, "cancelled", a["cancelled"], true)
		want(t, "stop_status", a["stop_status"], "stopped")
		c.closed(n-1, when)
		c.closed(n, when)
		want(t, "reason", reason(s.rest()), "cancelled")
		for _, conv := range append(convs, s.conv) {
			_, got := c.call(0, http.MethodGet, "/agents/conversations/"+conv, nil)
			want(t, "state", got["state"], "idle")
			want(t, "last_stop_reason", got["last_stop_reason"], "cancelled")
		}
		for _, f := range c.toolsFinished(s.conv) {
			want(t, "outcome", f["outcome"], "aborted")
			want(t, "the child's end", f["child"].(map[string]any)["stop_detail"], "parent_stopped")
		}
		want(t, "rows left running", c.busyRows(), 0)
		want(t, "model calls after the stop", c.provider.Count(), n)
	}
}

// 61: a child that is stopped alone is a result that its parent reads.
func TestAStopOfASubAgentAloneLeavesItsParent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, convs, runs := c.askedAgents(1)
	n := c.provider.Count()
	when := time.Now()
	want(t, "cancelled", c.stop(1, convs[0], map[string]any{"run_id": runs[0]})["cancelled"], true)
	c.closed(n, when)
	want(t, "the parent's last event", s.rest().Type, "response.completed")
	f := c.toolsFinished(s.conv)[0]
	want(t, "outcome", f["outcome"], "error")
	if out := f["output"].(string); !strings.Contains(out, "was stopped before it finished. It had written:\n"+c.messages(0, convs[0])[1]["content"].(string)) {
		t.Errorf("the parent read %q", out)
	}
	want(t, "rows left running", c.busyRows(), 0)
}

// 60, 64: the node of parent and child is killed.
func TestSubAgentsOfANodeThatIsKilledEndWithTheirParent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, convs, _ := c.askedAgents(1)
	c.nodes[0].kill()
	eventually(t, "nothing runs any more", func() bool { return c.busyRows() == 0 })
	want(t, "outcome", func() any {
		for _, e := range c.journal(1, s.conv) {
			if e["type"] == "tool.finished" {
				return e["data"].(map[string]any)["outcome"]
			}
		}
		return nil
	}(), "unconfirmed")
	_, got := c.call(1, http.MethodGet, "/agents/conversations/"+convs[0], nil)
	want(t, "the child's reason", got["last_stop_reason"], "cancelled")
}
