package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

// promise is how long a stop may take to reach the provider, from any node.
const promise = time.Second

// closed waits until the provider saw its nth request dropped, and fails the
// test if that took longer than the promise.
func (c *cluster) closed(n int, asked time.Time) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	r, err := c.provider.WaitAborted(ctx, n)
	if err != nil {
		c.t.Fatalf("request %d was not dropped: %v", n, err)
	}
	if d := r.AbortedAt.Sub(asked); d > promise {
		c.t.Errorf("the provider's connection was closed %v after the stop", d)
	}
}

// reason is the stop reason that a stream's last event gives.
func reason(e event) any {
	r, _ := e.Data["response"].(map[string]any)
	return r["stop_reason"]
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// 1, 3, 10, 42, 45, 46, 82: a stop through either node, and by polling alone,
// closes the provider's connection, ends every stream on both nodes with one
// terminal event and keeps exactly what was shown.
func TestStopThroughAnyNode(t *testing.T) {
	t.Parallel()
	for _, push := range []string{"on", "off"} {
		c := newCluster(t, 2, "BELAY_PUSH="+push)
		for through := range 2 {
			t.Run(fmt.Sprintf("push %s, node %d", push, through+1), func(t *testing.T) { stopThrough(t, c, through) })
		}
	}
}

func stopThrough(t *testing.T, c *cluster, through int) {
	s := c.stream(0, "demo", "/slow 6000", nil)
	here := c.follow(0, http.MethodGet, "/responses/resp_"+s.run+"?stream=true", nil)
	there := c.follow(1, http.MethodGet, "/responses/resp_"+s.run+"?stream=true", nil)
	for range 5 {
		s.until("response.output_text.delta")
	}
	there.until("response.output_text.delta")
	n := c.provider.Count()
	asked := time.Now()
	a := c.stop(through, s.conv, map[string]any{"wait_ms": 5000, "run_id": s.run})
	c.closed(n, asked)
	want(t, "cancelled", a["cancelled"], true)
	want(t, "run_ids", a["run_ids"], "["+s.run+"]")
	want(t, "stop_status", a["stop_status"], "stopped")
	s.rest()
	for name, f := range map[string]*stream{"sender": s, "same node": here, "other node": there} {
		e := f.rest()
		want(t, name+": last event", e.Type, "response.incomplete")
		want(t, name+": reason", reason(e), "cancelled")
		want(t, name+": text", f.text(), s.text())
	}
	for node := range 2 {
		m := c.messages(node, s.conv)
		want(t, "kept", m[1]["content"], s.text())
		want(t, "kept reason", m[1]["stop_reason"], "cancelled")
	}
	next := c.stream(1-through, "demo", "go on", map[string]any{"previous_response_id": "resp_" + s.conv})
	next.rest()
	r := c.provider.Requests()
	if got := r[len(r)-1].Messages; got[len(got)-2].Content != s.text() {
		t.Errorf("the next request's history: %+v", got)
	}
	want(t, "model calls after the stop", c.provider.Count(), n+1) // 4
}

// 12: the listener's connection is killed at the moment of the stop.
func TestStopWhileTheListenerIsGone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	db, err := pgx.Connect(t.Context(), c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	for range 3 {
		s := c.stream(0, "demo", "/slow 6000", nil)
		s.until("response.output_text.delta")
		if _, err := db.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen%'"); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		want(t, "cancelled", c.stop(1, s.conv, nil)["cancelled"], true)
		c.closed(c.provider.Count(), asked)
		want(t, "reason", reason(s.rest()), "cancelled")
	}
}

// 2, 35, 123: a client that goes away stops nothing.
func TestClosedConnectionStopsNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	s := c.stream(0, "demo", "/say words=20 delay=50ms", nil)
	s.until("response.output_text.delta")
	s.cancel()
	back := c.follow(0, http.MethodGet, "/responses/resp_"+s.run+"?stream=true", nil)
	want(t, "last event", back.rest().Type, "response.completed")
	want(t, "words", len(strings.Fields(back.text())), 20)
	want(t, "state", c.state(0, s.conv), "idle")
}

func (c *cluster) state(node int, conv string) any {
	c.t.Helper()
	_, a := c.call(node, http.MethodGet, "/agents/conversations/"+conv, nil)
	return a["state"]
}

// 74, 75: fifty submits at once to one session over both nodes.
func TestFiftySubmitsAreOneTurn(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.stream(0, "demo", "/fast 3", nil)
	s.rest()
	before := c.provider.Count()
	var mu sync.Mutex
	var wg sync.WaitGroup
	codes := map[int]int{}
	var runs []any
	for i := range 50 {
		wg.Go(func() {
			body := map[string]any{"model": "demo", "input": "/say words=20 delay=100ms", "previous_response_id": "resp_" + s.conv}
			status, a := c.call(i%2, http.MethodPost, "/agents/responses", body)
			mu.Lock()
			defer mu.Unlock()
			codes[status]++
			if e, ok := a["error"].(map[string]any); ok {
				runs = append(runs, e["run_id"])
				want(t, "code", e["code"], "agent_run_conflict")
				want(t, "conversation", e["conversation_id"], s.conv)
			} else {
				runs = append(runs, a["run_id"])
			}
		})
	}
	wg.Wait()
	want(t, "answers", codes, map[int]int{200: 1, 409: 49})
	want(t, "model calls", c.provider.Count()-before, 1)
	for _, r := range runs {
		want(t, "the conflict's run", r, runs[0])
	}
}

// 19, 64: a stop races the natural end a thousand times; and every session is
// idle afterwards, with one end for each turn.
func TestThousandRacesOfStopAgainstTheEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	var wg sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for w := range 8 {
		wg.Go(func() {
			for i := range 125 {
				words := 2 + i%4
				s := c.stream((w+i)%2, "demo", fmt.Sprintf("/say words=%d delay=%dms", words, 1+i%3), nil)
				for range i % 6 {
					time.Sleep(time.Millisecond)
				}
				a := c.stop(i%2, s.conv, nil)
				got := reason(s.rest())
				if (a["cancelled"] == true) != (got == "cancelled") {
					t.Errorf("stop answered %v, the turn ended with %v", a, got)
				}
				mu.Lock()
				outcomes[fmt.Sprint(got)]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("outcomes: %v", outcomes)
	c.whole()
}

// whole checks what must hold in the database whatever happened.
func (c *cluster) whole() {
	c.t.Helper()
	db, err := pgx.Connect(c.t.Context(), c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close(context.Background())
	for what, query := range map[string]string{
		"slots that are not idle":           `SELECT count(*) FROM run_slots WHERE state <> 'idle'`,
		"turns that have not ended":         `SELECT count(*) FROM turns WHERE ended_at IS NULL`,
		"turns without one end":             `SELECT count(*) FROM turns t WHERE (SELECT count(*) FROM events e WHERE e.turn_id = t.id AND e.kind = 'turn.ended') <> 1`,
		"turns cancelled that nobody stops": `SELECT count(*) FROM turns WHERE stop_reason = 'cancelled' AND stop IS NULL`,
		"events after the end": `SELECT count(*) FROM events e JOIN events x ON x.turn_id = e.turn_id AND x.kind = 'turn.ended'
			WHERE e.seq > x.seq AND e.kind <> 'action.decided'`,
		"numbers used twice": `SELECT count(*) FROM events a JOIN events b ON a.session_id = b.session_id AND b.seq > a.seq AND b.seq <= a.last_seq`,
	} {
		var n int
		if err := db.QueryRow(c.t.Context(), query).Scan(&n); err != nil || n != 0 {
			c.t.Errorf("%s: %d (%v)", what, n, err)
		}
	}
}

// 49, 104: two hundred stops at once.
func TestMassStopLeavesEverythingWhole(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	var streams []*stream
	for i := range 200 {
		streams = append(streams, c.stream(i%2, "demo", "/slow 6000", nil))
	}
	var wg sync.WaitGroup
	for i, s := range streams {
		wg.Go(func() {
			if a := c.stop((i+1)%2, s.conv, nil); a["cancelled"] != true {
				t.Errorf("stop: %v", a)
			}
		})
	}
	wg.Wait()
	for _, s := range streams {
		want(t, "reason", reason(s.rest()), "cancelled")
	}
	eventually(t, "every request is dropped", func() bool {
		return !slices.ContainsFunc(c.provider.Requests(), func(r openaitestRequest) bool { return !r.Aborted() })
	})
	c.whole()
	c.with(func(store *postgres.Store) error {
		for _, s := range streams {
			u, err := store.Usage(t.Context(), s.run)
			if err != nil {
				return err
			}
			if len(u) != 1 || u[0].Status != agent.UsageCancelled || !u[0].Estimated || u[0].Input == 0 {
				t.Errorf("usage %+v", u)
			}
		}
		return nil
	})
	c.stream(0, "demo", "/fast 3", nil).rest()
}

// 77: stop, and send at once.
func TestSendRightAfterAStopIsAccepted(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.stream(0, "demo", "/slow 6000", nil)
	for i := range 50 {
		want(t, "cancelled", c.stop(i%2, s.conv, nil)["cancelled"], true)
		next := c.stream((i/2)%2, "demo", "/slow 6000", map[string]any{"previous_response_id": "resp_" + s.conv})
		s.rest()
		s = next
	}
	c.stop(0, s.conv, nil)
	s.rest()
	c.whole()
}
