package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/belayrun/belay/internal/agent"
)

// reads returns what the model was given last.
func (c *cluster) reads() string {
	r := c.provider.Requests()
	m := r[len(r)-1].Messages
	return fmt.Sprint(m[len(m)-1].Content)
}

// What one conversation remembers another of the same owner recalls, on any node.
func TestMemoryOutlivesTheConversation(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.stream(0, "memory", `/tool remember {"text":"Ann drinks green tea."}`, nil)
	want(t, "end", s.rest().Type, "response.completed")
	c.stream(1, "memory", `/tool recall {"query":"which tea?"}`, nil).rest()
	if got := c.reads(); !strings.Contains(got, "Ann drinks green tea.") {
		t.Errorf("another conversation recalls %s", got)
	}
	c.token = c.newToken("bob", agent.Permissions...)
	c.stream(0, "memory", `/tool recall {"query":"which tea?"}`, nil).rest()
	want(t, "somebody else recalls", c.reads(), `{"memories":[]}`)
	c.whole()
}

// A stop while the memory is being kept does not take it back: the turn waits for
// it, its result is dropped, no model call follows and the memory is there.
func TestAMemoryIsKeptThroughAStop(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	db, err := pgx.Connect(t.Context(), c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	tx, err := db.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "LOCK TABLE memories")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := c.stream(0, "memory", `/tool remember {"text":"Kept."}`, nil)
	eventually(t, "the tool waits for the table", func() bool {
		var n int
		err := tx.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'memories'::regclass").Scan(&n)
		return err == nil && n == 1
	})
	a := c.stop(1, s.conv, map[string]any{"wait_ms": 300})
	want(t, "cancelled", a["cancelled"], true)
	want(t, "stop_status", a["stop_status"], "stopping")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "reason", reason(s.rest()), "cancelled")
	c.idle(1, s.conv)
	want(t, "outcome", c.outcome(s.conv), "dropped")
	want(t, "model calls", c.provider.Count(), 1)
	c.stream(1, "memory", `/tool recall {"query":"kept"}`, nil).rest()
	if got := c.reads(); !strings.Contains(got, "Kept.") {
		t.Errorf("recalls %s", got)
	}
	c.whole()
}
