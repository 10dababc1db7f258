package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

// audit reads the audit log through a node, newest first.
func (c *cluster) audit(node int, query string) []map[string]any {
	c.t.Helper()
	status, a := c.call(node, http.MethodGet, "/agents/audit?"+query, nil)
	if status != http.StatusOK {
		c.t.Fatalf("audit: %d %v", status, a)
	}
	var out []map[string]any
	for _, e := range a["data"].([]any) {
		out = append(out, e.(map[string]any))
	}
	return out
}

// Who stopped a turn is recorded with the door, the node that was asked and the
// address, whichever node ran the turn.
func TestAStopThroughAnotherNodeIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	for node := range 2 {
		s := c.stream(0, "demo", "/slow 6000", nil)
		s.until("response.output_text.delta")
		want(t, "cancelled", c.stop(node, s.conv, nil)["cancelled"], true)
		s.rest()
		log := c.audit(1, "action=turn.stopped&run_id=run_"+s.run)
		if len(log) != 1 {
			t.Fatalf("%d entries: %v", len(log), log)
		}
		want(t, "node", log[0]["node"], fmt.Sprintf("node-%d", node+1))
		want(t, "door", log[0]["door"], "client")
		want(t, "address", log[0]["address"], "127.0.0.1")
		want(t, "conversation", log[0]["conversation_id"], s.conv)
		if !strings.HasPrefix(log[0]["by"].(string), "token:") {
			t.Errorf("by %v", log[0]["by"])
		}
	}
	status, _ := c.call(0, http.MethodPost, "/agents", map[string]any{"key": "a", "config": map[string]any{"model": "demo"}})
	want(t, "status", status, http.StatusCreated)
	status, _ = c.call(1, http.MethodPost, "/agents/a/publish", nil)
	want(t, "status", status, http.StatusOK)
	log := c.audit(0, "action=agent.published&limit=1")
	want(t, "subject", log[0]["subject"], "a")
	want(t, "node", log[0]["node"], "node-2")
	log = c.audit(0, "action=token.created")
	want(t, "door", log[0]["door"], agent.DoorCLI)
	want(t, "detail", log[0]["detail"], "test")
}

// B5: once retention has deleted the deltas of a turn, a replay carries each text
// in one delta, and a cursor beyond its end gives the terminal event alone.
func TestAReplayAfterRetentionCarriesEachTextInOneDelta(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, "BELAY_RETAIN_DELTAS=0")
	s := c.stream(0, "slow", `/tool wait {"seconds":0.1}`, nil)
	live := s.rest()
	told := s.text()
	deltas := func(s *stream) (n int) {
		for _, e := range s.seen {
			if e.Type == "response.output_text.delta" {
				n++
			}
		}
		return n
	}
	if deltas(s) < 2 {
		t.Fatalf("only %d deltas", deltas(s))
	}
	before := c.messages(0, s.conv)
	c.with(func(store *postgres.Store) error {
		n, err := store.TrimDeltas(t.Context(), time.Nanosecond, 100)
		want(t, "turns trimmed", n, 1)
		return err
	})
	back := c.follow(0, http.MethodGet, "/responses/resp_"+s.run+"?stream=true", nil)
	end := back.rest()
	want(t, "terminal event", end.Type, live.Type)
	want(t, "text", back.text(), told)
	texts := 0
	for _, m := range before {
		if m["role"] == "assistant" && m["content"] != "" {
			texts++
		}
	}
	want(t, "deltas", deltas(back), texts)
	late := c.follow(0, http.MethodGet, "/responses/resp_"+s.run+"?stream=true&starting_after="+live.ID, nil)
	want(t, "terminal event", late.rest().Type, live.Type)
	want(t, "events", len(late.seen), 1)
	want(t, "messages", fmt.Sprint(c.messages(0, s.conv)), fmt.Sprint(before))
	next := c.stream(0, "slow", "hello", map[string]any{"previous_response_id": "resp_" + s.conv})
	want(t, "the conversation goes on", next.rest().Type, "response.completed")
}

// The periodic job applies the rules by itself.
func TestRetentionRunsByItself(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 0)
	first := c.start("node-1", c.url, "BELAY_RETAIN_DELTAS=0")
	first.ready()
	s := c.stream(0, "demo", "/say words=5", nil)
	s.rest()
	first.signal(15) // what it leads the cluster by is given up
	<-first.dead
	second := c.start("node-2", c.url, "BELAY_RETAIN_DELTAS=1ms")
	second.ready()
	c.nodes = c.nodes[1:]
	eventually(t, "the deltas are gone", func() bool {
		_, page := c.call(0, http.MethodGet, "/agents/conversations/"+s.conv+"/events", nil)
		for _, e := range page["data"].([]any) {
			if e.(map[string]any)["type"] == "text.delta" {
				return false
			}
		}
		return true
	})
}
