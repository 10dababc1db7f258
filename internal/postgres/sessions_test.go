package postgres_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/jackc/pgx/v5"
)

// talk runs a whole turn of a session.
func (b *bed) talk(begin agent.Begin, text string) agent.Leg {
	b.t.Helper()
	leg := b.take(begin)
	_, err := b.Settle(b.ctx, leg.Lease, answer(leg, text))
	b.check(err)
	return leg
}

// next is another turn of a leg's session.
func next(of agent.Leg, node string) agent.Begin {
	b := newBegin(node)
	b.Session, b.New = of.Session, false
	return b
}

func (b *bed) sessions(f agent.SessionFilter) (ids []string, cursor string) {
	b.t.Helper()
	f.Project = project
	list, cursor, err := b.Sessions(b.ctx, f)
	b.check(err)
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids, cursor
}

func TestSessionsArePagedNewestFirstWithoutGapOrRepeat(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	at := time.Date(2026, 1, 1, 0, 0, 0, 123456000, time.UTC)
	var want []string
	for i := range 23 {
		begin := newBegin("")
		begin.Session.CreatedAt = at.Add(time.Duration(i/4) * time.Microsecond) // several of one moment
		b.take(begin)
		want = append(want, begin.Session.ID)
	}
	list, _ := b.sessions(agent.SessionFilter{Page: agent.Page{Limit: 100}})
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(list)); !reflect.DeepEqual(got, want) {
		t.Fatalf("%d of %d sessions", len(got), len(want))
	}
	for _, limit := range []int{1, 5, 22, 23} {
		var got []string
		for cursor, n := "", 0; n == 0 || cursor != ""; n++ {
			page, next := b.sessions(agent.SessionFilter{Page: agent.Page{Cursor: cursor, Limit: limit}})
			if len(page) != limit && next != "" {
				t.Errorf("limit %d: a page of %d before the last", limit, len(page))
			}
			if got, cursor = append(got, page...), next; n > len(want) {
				t.Fatal("no end")
			}
		}
		if !reflect.DeepEqual(got, list) {
			t.Errorf("limit %d: %v, want %v", limit, got, list)
		}
	}
	if page, next := b.sessions(agent.SessionFilter{}); len(page) != 20 || next == "" {
		t.Errorf("%d sessions without a limit", len(page))
	}
}

func TestAPageIsNotShiftedByWhatIsMadeMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	first := b.take(newBegin(""))
	second := b.take(newBegin(""))
	page, cursor := b.sessions(agent.SessionFilter{Page: agent.Page{Limit: 1}})
	b.take(newBegin(""))
	b.exec("DELETE FROM sessions WHERE id = $1", second.Session.ID)
	b.exec("DELETE FROM events WHERE session_id = $1", second.Session.ID)
	rest, _ := b.sessions(agent.SessionFilter{Page: agent.Page{Cursor: cursor}})
	if !reflect.DeepEqual(page, []string{second.Session.ID}) || !reflect.DeepEqual(rest, []string{first.Session.ID}) {
		t.Errorf("pages %v, %v", page, rest)
	}
}

func TestSessionsAreFilteredByProjectOwnerAndAgent(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.exec("INSERT INTO projects (id, key) VALUES ('p2', 'p2')")
	want := map[string]int{}
	for _, p := range []string{project, "p2"} {
		for _, owner := range []string{"token:ann", "token:bob"} {
			for _, key := range []string{"one", "two"} {
				begin := newBegin("")
				begin.Session.Project, begin.Session.Owner, begin.Session.Agent = p, owner, key
				b.take(begin)
				for _, f := range []string{p, p + owner, p + key, p + owner + key} {
					want[f]++
				}
			}
		}
	}
	for _, f := range []agent.SessionFilter{
		{Project: project}, {Project: "p2"}, {Project: project, Owner: "token:bob"}, {Project: project, Agent: "one"},
		{Project: "p2", Owner: "token:ann", Agent: "two"}, {Project: project, Owner: "token:eve"}, {Project: "p3"}, {Project: project, Agent: "\x00"},
	} {
		list, _, err := b.Sessions(b.ctx, f)
		b.check(err)
		if len(list) != want[f.Project+f.Owner+f.Agent] {
			t.Errorf("%+v: %d sessions", f, len(list))
		}
		for _, s := range list {
			if s.Project != f.Project || f.Owner != "" && s.Owner != f.Owner || f.Agent != "" && s.Agent != f.Agent {
				t.Errorf("%+v: got %+v", f, s)
			}
		}
	}
}

func TestBadCursorsAndLimitsAreToldByTheirField(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	id := strings.Repeat("a", 24)
	enc := base64.RawURLEncoding.EncodeToString
	for _, c := range []string{
		"x", "!", "\x00", enc(nil) + "A", enc([]byte("1")), enc([]byte("1.")), enc([]byte("1." + id[1:])), enc([]byte("x." + id)),
		enc([]byte("-1." + id)), enc([]byte("+1." + id)), enc([]byte("01." + id)), enc([]byte("1." + strings.ToUpper(id))), enc([]byte("9223372036854775807." + id)),
		enc([]byte("99999999999999999999." + id)), enc([]byte("1."+id)) + "=", " " + enc([]byte("1."+id)), enc([]byte("1." + id + "\n")), strings.Repeat("A", 1<<16),
	} {
		_, _, err := b.Sessions(b.ctx, agent.SessionFilter{Project: project, Page: agent.Page{Cursor: c}})
		b.field(err, "cursor")
	}
	for _, n := range []int{-1, 101, 1 << 40} {
		_, _, err := b.Sessions(b.ctx, agent.SessionFilter{Project: project, Page: agent.Page{Limit: n}})
		b.field(err, "limit")
	}
	_, _, err := b.Sessions(b.ctx, agent.SessionFilter{Project: project, Page: agent.Page{Cursor: enc([]byte("1." + id))}})
	b.check(err)
}

func TestASessionSaysWhatItsSlotDoes(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	leg := b.take(newBegin(node))
	want := func(word, turn string, last agent.Status, reason string) {
		t.Helper()
		i, err := b.Session(b.ctx, leg.Session.ID)
		b.check(err)
		if i.StateWord() != word || i.Turn != turn || i.Last != last || i.Reason != reason || i.Owner != "token:ann" || i.CreatedAt.IsZero() {
			t.Errorf("%s, turn %q, last %s, reason %q", i.StateWord(), i.Turn, i.Last, i.Reason)
		}
		list, _, err := b.Sessions(b.ctx, agent.SessionFilter{Project: project})
		b.check(err)
		if len(list) != 1 || !reflect.DeepEqual(list[0], i) {
			t.Errorf("the list says %+v", list)
		}
	}
	want("running", leg.Turn.ID, agent.StatusRunning, "")
	_, err := b.Stop(b.ctx, leg.Session.ID, leg.Turn.ID, agent.Stop{By: "token:ann", Door: agent.DoorClient}, true)
	b.check(err)
	want("stopping", leg.Turn.ID, agent.StatusRunning, "")
	_, err = b.Settle(b.ctx, leg.Lease, answer(leg, "part"))
	b.check(err)
	want("idle", "", agent.StatusIncomplete, agent.ReasonCancelled)
	queued := b.take(next(leg, ""))
	want("queued", queued.Turn.ID, agent.StatusQueued, "")
	_, err = b.Session(b.ctx, "none\x00")
	b.is(err, agent.ErrNotFound)
}

func TestLatestTurnIsTheOneInTheSlotElseTheNewest(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	one := b.talk(newBegin(node), "one")
	latest := func() agent.Turn {
		t.Helper()
		turn, err := b.LatestTurn(b.ctx, one.Session.ID)
		b.check(err)
		return turn
	}
	if got := latest(); got.ID != one.Turn.ID || got.Status != agent.StatusCompleted || got.Session != one.Session.ID || got.Spec.Model != "m" {
		t.Errorf("got %+v", got)
	}
	two := b.talk(next(one, node), "two")
	if got := latest(); got.ID != two.Turn.ID {
		t.Errorf("got %+v", got)
	}
	three := b.take(next(one, node))
	if got := latest(); got.ID != three.Turn.ID || got.Status != agent.StatusRunning {
		t.Errorf("got %+v", got)
	}
	_, err := b.LatestTurn(b.ctx, "none")
	b.is(err, agent.ErrNotFound)
}

func TestMessagesArePagedByTheirIndex(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	leg := b.talk(newBegin(node), "answer \x00 1")
	for i := 2; i <= 4; i++ {
		b.talk(next(leg, node), fmt.Sprint("answer ", i))
	}
	indexes := func(after, limit int) (out []int) {
		t.Helper()
		list, err := b.Messages(b.ctx, leg.Session.ID, after, limit)
		b.check(err)
		for _, e := range list {
			m := e.Body.(agent.Message)
			if e.Turn == "" || e.At.IsZero() || (m.Role == agent.RoleUser) != (m.Index%2 == 0) {
				t.Errorf("message %+v", e)
			}
			out = append(out, m.Index)
		}
		return out
	}
	for after := -1; after < 9; after++ {
		for limit := range 10 {
			var want []int
			for i := after + 1; i < 8 && len(want) < limit; i++ {
				want = append(want, i)
			}
			if got := indexes(after, limit); !reflect.DeepEqual(got, want) {
				t.Errorf("after %d, limit %d: %v, want %v", after, limit, got, want)
			}
		}
	}
	none, err := b.Messages(b.ctx, "none\x00", -1, 10)
	b.check(err)
	if none != nil {
		t.Errorf("got %+v", none)
	}
}

func TestADeletedSessionLeavesItsUsageOnly(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	leg, other := b.talk(newBegin(node), "one"), b.talk(newBegin(node), "two")
	for range 2 {
		b.check(b.DeleteSession(b.ctx, leg.Session.ID))
	}
	for _, table := range []string{"sessions WHERE id", "run_slots WHERE session_id", "turns WHERE session_id", "actions WHERE session_id", "events WHERE session_id"} {
		if n := b.count("SELECT count(*) FROM "+table+" = $1", leg.Session.ID); n != 0 {
			t.Errorf("%d rows left: %s", n, table)
		}
	}
	usage, err := b.Usage(b.ctx, leg.Turn.ID)
	b.check(err)
	if len(usage) != 1 || usage[0].Input != 10 || usage[0].Status != agent.UsageOK || usage[0].FirstTokenMS != nil {
		t.Errorf("usage = %+v", usage)
	}
	_, err = b.Session(b.ctx, other.Session.ID)
	b.check(err)
	b.check(b.DeleteSession(b.ctx, "none\x00"))
}

func TestASessionWhoseTurnRunsIsNotDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	for _, node := range []string{b.node(), ""} {
		leg := b.take(newBegin(node))
		err := b.DeleteSession(b.ctx, leg.Session.ID)
		busy, ok := errors.AsType[*agent.BusyError](err)
		if !ok || busy.Turn != leg.Turn.ID || busy.Session != leg.Session.ID || busy.Stopping {
			t.Fatalf("err = %v", err)
		}
		if node == "" {
			continue
		}
		_, err = b.Stop(b.ctx, leg.Session.ID, leg.Turn.ID, agent.Stop{By: "token:ann", Door: agent.DoorClient}, true)
		b.check(err)
		if busy, ok := errors.AsType[*agent.BusyError](b.DeleteSession(b.ctx, leg.Session.ID)); !ok || !busy.Stopping {
			t.Errorf("busy = %+v", busy)
		}
		_, err = b.Settle(b.ctx, leg.Lease, answer(leg, "part"))
		b.check(err)
		b.check(b.DeleteSession(b.ctx, leg.Session.ID))
	}
}

func TestDeletionWaitsForTheSlotsLock(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{Lock: 50 * time.Millisecond, Idle: 30 * time.Second})
	leg := b.talk(newBegin(b.node()), "one")
	tx := b.hold(leg.Session.ID)
	b.is(b.DeleteSession(b.ctx, leg.Session.ID), agent.ErrUnavailable)
	b.check(tx.Rollback(b.ctx))
	b.check(b.DeleteSession(b.ctx, leg.Session.ID))
}

func TestUsageIsListedCallByCall(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	want := []agent.Usage{
		{Call: 1, Model: "m", Status: agent.UsageError, At: time.Now().UTC().Truncate(time.Microsecond)},
		{
			Call: 2, Model: "n", Status: agent.UsageCancelled, Tokens: agent.Tokens{Input: 1, CachedInput: 2, Output: 3, Reasoning: 4, Estimated: true, CostUSD: 0.5},
			LatencyMS: 12, FirstTokenMS: new(int64(3)), At: time.Now().UTC().Truncate(time.Microsecond),
		},
	}
	c := answer(leg, "x")
	c.Usage = []agent.Usage{want[1], want[0]}
	_, err := b.Settle(b.ctx, leg.Lease, c)
	b.check(err)
	got, err := b.Usage(b.ctx, leg.Turn.ID)
	b.check(err)
	for i := range got {
		got[i].At = got[i].At.UTC()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	none, err := b.Usage(b.ctx, "none\x00")
	b.check(err)
	if len(none) != 0 {
		t.Errorf("got %+v", none)
	}
}

// What is read often must not grow slow with what is stored, nor when the server
// plans it for any arguments.
func TestPagesAreReadThroughTheirIndexes(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.exec(`INSERT INTO sessions (id, project_id, agent_key, owner, door, created_at)
		SELECT lpad(to_hex(n), 24, '0'), $1, 'a', 'token:' || n % 100, 'client', now() - make_interval(secs => n) FROM generate_series(1, 3000) n`, project)
	b.exec("INSERT INTO run_slots (session_id) SELECT id FROM sessions")
	b.exec(`INSERT INTO events (session_id, seq, last_seq, turn_id, fence, kind, body)
		SELECT 's', n, n, 't', 1, CASE WHEN n % 50 = 0 THEN 'message' ELSE 'text.delta' END, '{}' FROM generate_series(1, 3000) n`)
	b.exec("ANALYZE")
	found := statements(t)
	for name, index := range map[string]string{
		"listSessions": "sessions_by_project", "listOwnSessions": "sessions_by_owner", "messagesAfter": "events_transcript",
		"resolveAgent": "agents_pkey", "tokenByHash": "api_tokens_hash_key", "latestTurn": "turns_by_session",
	} {
		plan := b.plan(found[name])
		if !strings.Contains(plan, index) {
			t.Errorf("%s does not use %s:\n%s", name, index, plan)
		}
	}
	b.exec("TRUNCATE events, sessions CASCADE")
}

// plan returns the plan of a statement for any arguments.
func (b *bed) plan(sql string) string {
	b.t.Helper()
	sql, args, err := pgx.NamedArgs{}.RewriteQuery(b.ctx, nil, sql, nil)
	b.check(err)
	execute := "EXPLAIN EXECUTE statement(" + strings.TrimSuffix(strings.Repeat("NULL, ", len(args)), ", ") + ")"
	results, err := b.connect().PgConn().Exec(b.ctx, "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; PREPARE statement AS "+sql+"; "+execute).ReadAll()
	b.check(err)
	var plan strings.Builder
	for _, row := range results[len(results)-1].Rows {
		fmt.Fprintf(&plan, "%s\n", row[0])
	}
	return plan.String()
}
