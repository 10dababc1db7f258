package postgres_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/turn/turntest"
	"github.com/jackc/pgx/v5"
)

// fill queues n background runs of a project, a millisecond apart.
func (b *bed) fill(project string, n int) {
	b.t.Helper()
	b.exec("INSERT INTO projects (id, key) VALUES ($1, $1) ON CONFLICT DO NOTHING", project)
	b.exec(`CREATE TEMP TABLE fill ON COMMIT PRESERVE ROWS AS
		SELECT substr(md5($1 || i || clock_timestamp()), 1, 24) AS session, substr(md5($1 || 't' || i || clock_timestamp()), 1, 24) AS turn,
			clock_timestamp() + i * interval '1 ms' AS at FROM generate_series(1, $2) i`, project, n)
	b.exec("INSERT INTO sessions (id, project_id, agent_key, owner, door) SELECT session, $1, 'helper', 'token:ann', 'client' FROM fill", project)
	b.exec(`INSERT INTO run_slots (session_id, state, turn_id, fence, seq, messages, queued_at, project_id, background, patience_ms, expires_at)
		SELECT session, 'queued', turn, 1, 2, 1, at, $1, true, 900000, at + interval '15 minutes' FROM fill`, project)
	b.exec(`INSERT INTO turns (id, session_id, project_id, owner, agent_key, version, config, door, started_by, background, first_seq, message_index, status)
		SELECT turn, session, $1, 'token:ann', 'helper', 1, '{"model":"m"}', 'client', 'token:ann', true, 1, 1, 'queued' FROM fill`, project)
	b.exec(`INSERT INTO events (session_id, seq, last_seq, turn_id, fence, kind, body)
		SELECT session, 1, 1, turn, 1, 'message', '{"index":0,"role":"user","text":"hi","status":"completed"}'::json FROM fill
		UNION ALL SELECT session, 2, 2, turn, 1, 'turn.started', '{}'::json FROM fill`)
	b.exec("DROP TABLE fill")
}

// plan is what EXPLAIN says of a statement as a whole.
type plan struct {
	Plan struct {
		Hit  int `json:"Shared Hit Blocks"`
		Read int `json:"Shared Read Blocks"`
	}
}

// claimPages returns how many pages a claim touches, and how it was planned. It
// claims nothing.
func (b *bed) claimPages(node string, most int) (int, string) {
	b.t.Helper()
	sql, args, err := pgx.NamedArgs{"node": node, "most": most}.RewriteQuery(b.ctx, nil, statements(b.t)["claimSlot"], nil)
	b.check(err)
	tx, err := b.raw.Begin(b.ctx)
	b.check(err)
	defer tx.Rollback(b.ctx)
	_, err = tx.Exec(b.ctx, statements(b.t)["byIndex"])
	b.check(err)
	var text []byte
	b.check(tx.QueryRow(b.ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, args...).Scan(&text))
	var plans []plan
	b.check(json.Unmarshal(text, &plans))
	return plans[0].Plan.Hit + plans[0].Plan.Read, string(text)
}

// A claim costs what it costs however many are queued, whatever the statistics
// say: by pages, since times on a busy machine prove nothing.
func TestAClaimCostsTheSameWhateverIsQueued(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	b.fill(turntest.DefaultProject, 500)
	few, _ := b.claimPages(node, 4)
	b.fill(turntest.DefaultProject, 4000)
	if many, how := b.claimPages(node, 4); many > 2*few { // an index may be a level deeper
		t.Errorf("%d pages with 500 queued, %d with 4,500:\n%s", few, many, how)
	}
	for i := range 20 {
		b.fill(fmt.Sprintf("project-%d", i), 5)
	}
	b.fill("crowd", 4000)
	for _, most := range []int{0, 4} {
		many, how := b.claimPages(node, most)
		t.Logf("a claim touches %d pages with 500 queued, %d with 8,600 of 22 projects, bound %d", few, many, most)
		if many > 2*few+22*15 {
			t.Errorf("%d pages with 500 queued, %d with 8,600 of 22 projects:\n%s", few, many, how)
		}
	}
	began, n := time.Now(), 200
	for range n {
		_, ok, err := b.Claim(b.ctx, node, 0)
		if b.check(err); !ok {
			t.Fatal("nothing to claim")
		}
	}
	t.Logf("%v a claim", time.Since(began)/time.Duration(n))
}

// A list of runs is a page of an index, newest first, each once.
func TestRunsAreListedInPages(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	b.fill(turntest.DefaultProject, 7)
	b.fill("other", 3)
	leg, ok, err := b.Claim(b.ctx, node, 0)
	if b.check(err); !ok {
		t.Fatal("nothing to claim")
	}
	list := func(f agent.RunFilter) (ids []string) {
		t.Helper()
		f.Project = turntest.DefaultProject
		for {
			page, next, err := b.Runs(b.ctx, f)
			b.check(err)
			for _, tn := range page {
				ids = append(ids, tn.ID)
			}
			if f.Page.Cursor = next; next == "" {
				return ids
			}
		}
	}
	whole := list(agent.RunFilter{})
	if paged := list(agent.RunFilter{Page: agent.Page{Limit: 2}}); len(whole) != 7 || fmt.Sprint(paged) != fmt.Sprint(whole) {
		t.Errorf("in pages %v, at once %v", paged, whole)
	}
	for _, c := range []struct {
		f    agent.RunFilter
		want int
	}{
		{agent.RunFilter{Owner: "token:ann"}, 7}, {agent.RunFilter{Owner: "token:bob"}, 0},
		{agent.RunFilter{Agent: "helper"}, 7}, {agent.RunFilter{Agent: "x"}, 0},
		{agent.RunFilter{Session: leg.Session.ID}, 1},
		{agent.RunFilter{Status: agent.RunQueued}, 6}, {agent.RunFilter{Status: agent.RunQueued, Page: agent.Page{Limit: 2}}, 6},
		{agent.RunFilter{Status: agent.RunQueued, Owner: "token:bob"}, 0},
		{agent.RunFilter{Status: agent.RunRunning}, 1}, {agent.RunFilter{Status: agent.RunRequiresAction}, 0},
		{agent.RunFilter{Status: agent.RunSucceeded}, 0},
	} {
		if got := list(c.f); len(got) != c.want {
			t.Errorf("%+v: %d runs, want %d", c.f, len(got), c.want)
		}
	}
	if _, err := b.Settle(b.ctx, leg.Lease, answer(leg, "done")); err != nil {
		t.Fatal(err)
	}
	if got := list(agent.RunFilter{Status: agent.RunSucceeded}); len(got) != 1 || got[0] != leg.Turn.ID {
		t.Errorf("succeeded: %v", got)
	}
}

// Expired keys go, others stay.
func TestKeysAreForgotten(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{Forget: 10 * time.Millisecond})
	node := b.node()
	for i, keep := range []time.Duration{-time.Second, time.Hour} {
		begin := newBegin("")
		begin.Once = &agent.Once{Project: turntest.DefaultProject, Principal: "p", Key: fmt.Sprint(i), Keep: keep}
		b.take(begin)
	}
	time.Sleep(10 * time.Millisecond)
	if _, _, err := b.Sweep(b.ctx, node); err != nil {
		t.Fatal(err)
	}
	if n := b.count("SELECT count(*) FROM idempotency_keys"); n != 1 {
		t.Errorf("%d keys, want 1", n)
	}
}
