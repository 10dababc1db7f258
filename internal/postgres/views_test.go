package postgres_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

// 44 and more: what people look at, before, while and after a turn is stopped.
func TestViewsOfATurnThatIsStopped(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	leg := b.take(newBegin(node))
	v, err := b.SessionView(b.ctx, leg.Session.ID)
	b.check(err)
	if v.Preview != "hello" || v.StateWord() != "running" || v.Live == nil || v.Live.Node != "node" || v.Live.ID != leg.Turn.ID || v.Live.By != "token:ann" || v.Live.Stop != nil {
		t.Errorf("running: %+v %+v", v, v.Live)
	}
	_, err = b.Stop(b.ctx, leg.Session.ID, leg.Turn.ID, agent.Stop{By: "user:x", Door: agent.DoorStudio, Node: "other"}, true)
	b.check(err)
	list, _, err := b.SessionViews(b.ctx, agent.SessionQuery{Project: leg.Session.Project, State: "stopping", Door: agent.DoorClient, Owner: "token:ann"})
	b.check(err)
	if len(list) != 1 || list[0].Live.Stop.By != "user:x" || list[0].Live.Stop.At.IsZero() {
		t.Fatalf("stopping: %+v", list)
	}
	run, err := b.TurnView(b.ctx, leg.Turn.ID)
	b.check(err)
	if run.State() != "stopping" || run.Node != "node" {
		t.Errorf("turn: %s on %q", run.State(), run.Node)
	}
	c := answer(leg, "part")
	c.Path = "push"
	_, err = b.Settle(b.ctx, leg.Lease, c)
	b.check(err)
	run, err = b.TurnView(b.ctx, leg.Turn.ID)
	b.check(err)
	if run.State() != "cancelled" || run.Path != "push" || run.Node != "" || run.Stop.Node != "other" {
		t.Errorf("turn: %s by %q on %q: %+v", run.State(), run.Path, run.Node, run.Stop)
	}
	times, err := b.StopTimes(b.ctx, leg.Session.Project, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), []float64{1e-9, 60_000})
	b.check(err)
	if len(times) != 1 || times[0].Path != "push" || times[0].Count != 1 || times[0].Buckets[1] != 1 || times[0].P50 > 60_000 {
		t.Errorf("times %+v", times)
	}
	counts, err := b.TurnCounts(b.ctx, agent.TurnQuery{Project: leg.Session.Project, Background: new(false)})
	b.check(err)
	if len(counts) != 1 || counts["cancelled"] != 1 {
		t.Errorf("counts %v", counts)
	}
	for _, q := range []agent.TurnQuery{{State: "failed"}, {Background: new(true)}, {Owner: "token:bob"}, {Session: "x"}, {Agent: "x"}} {
		q.Project = leg.Session.Project
		if list, _, err := b.TurnViews(b.ctx, q); len(list) != 0 || err != nil {
			t.Errorf("%+v: %d turns, %v", q, len(list), err)
		}
	}
}

// How a turn that no stop ended heard of one is not kept.
func TestOnlyAStoppedTurnHasAPath(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	c := answer(leg, "all")
	c.Path = "local"
	_, err := b.Settle(b.ctx, leg.Lease, c)
	b.check(err)
	run, err := b.TurnView(b.ctx, leg.Turn.ID)
	b.check(err)
	if run.Path != "" || run.State() != "completed" {
		t.Errorf("%s, path %q", run.State(), run.Path)
	}
	out, err := b.Outcomes(b.ctx, leg.Session.Project, "", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	b.check(err)
	if len(out) != 1 || out[0].Outcome != "completed" || out[0].Turns != 1 {
		t.Errorf("outcomes %+v", out)
	}
}

func TestALostTurnIsCountedAsLost(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	leg := b.take(newBegin(node))
	b.exec("UPDATE nodes SET dead_at = now() WHERE id = $1", node)
	ops, err := b.Operations(b.ctx, leg.Session.Project, 10)
	b.check(err)
	if len(ops.Live) != 1 || ops.Live[0].Stuck != "node_dead" || ops.Total.Stuck != 1 || !ops.Nodes[0].Dead {
		t.Errorf("operations %+v", ops)
	}
	if _, ok, err := b.Sweep(b.ctx, b.node()); !ok || err != nil {
		t.Fatalf("sweep: %v, %v", ok, err)
	}
	out, err := b.Outcomes(b.ctx, leg.Session.Project, leg.Turn.Agent, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	b.check(err)
	if len(out) != 1 || out[0].Outcome != "lost" {
		t.Errorf("outcomes %+v", out)
	}
}

func TestOperationsShowWhatIsStuckFirst(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	old := b.take(newBegin(node))
	stuck := b.take(newBegin(node))
	queued := newBegin("")
	queued.Turn.Background = true
	b.take(queued)
	b.exec("UPDATE turns SET created_at = created_at - interval '1 hour' WHERE id = $1", old.Turn.ID)
	_, err := b.Stop(b.ctx, stuck.Session.ID, stuck.Turn.ID, agent.Stop{By: "x", Door: agent.DoorStudio}, true)
	b.check(err)
	b.exec("UPDATE run_slots SET stop_at = stop_at - interval '6 seconds' WHERE session_id = $1", stuck.Session.ID)
	ops, err := b.Operations(b.ctx, stuck.Session.Project, 2)
	b.check(err)
	want := agent.SlotCounts{Running: 1, Stopping: 1, Queued: 1, Stuck: 1}
	if ops.Total != want || ops.Left != 1 || len(ops.Live) != 2 || ops.At.IsZero() {
		t.Errorf("operations %+v", ops)
	}
	if s := ops.Live[0]; s.Turn != stuck.Turn.ID || s.Stuck != "stopping" || *s.StopAge < 6*time.Second || s.Node != "node" {
		t.Errorf("first %+v", s)
	}
	if s := ops.Live[1]; s.Turn != old.Turn.ID || s.Age < time.Hour || s.Stuck != "" {
		t.Errorf("second %+v", s)
	}
	if len(ops.Nodes) != 1 || ops.Nodes[0].Slots != 2 || ops.Nodes[0].Late {
		t.Errorf("nodes %+v", ops.Nodes)
	}
	b.exec("UPDATE nodes SET renewed_at = now() - interval '11 seconds'")
	b.exec("UPDATE run_slots SET queued_at = queued_at - interval '1 minute' WHERE state = 'queued'")
	ops, err = b.Operations(b.ctx, stuck.Session.Project, 10)
	b.check(err)
	if ops.Total.Stuck != 3 || !ops.Nodes[0].Late {
		t.Errorf("late: %+v", ops)
	}
	if ops, err = b.Operations(b.ctx, "another", 10); err != nil || len(ops.Live) != 0 || ops.Nodes[0].Slots != 0 {
		t.Errorf("another project sees %+v, %v", ops, err)
	}
}

// A page of a transcript ends where a follower must begin: at what is whole.
func TestATranscriptEndsWhereAFollowerBegins(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	_, err := b.Append(b.ctx, []agent.Batch{{Lease: leg.Lease, Rows: deltas(leg.Turn.ID, leg.Seq+2, 3)}})
	b.check(err)
	events, whole, err := b.TranscriptPage(b.ctx, leg.Session.ID, 0, 10)
	b.check(err)
	if len(events) != 2 || events[1].Kind() != agent.KindTurnStarted || whole != 2 {
		t.Errorf("while it runs: %d events, whole to %d", len(events), whole)
	}
	after, err := b.Events(b.ctx, leg.Session.ID, whole, 10)
	b.check(err)
	if len(after) != 3 || after[0].Kind() != agent.KindTextDelta {
		t.Errorf("after it come %d events", len(after))
	}
	c := answer(leg, "some words some words some words ")
	c.Seq += 3
	_, err = b.Settle(b.ctx, leg.Lease, c)
	b.check(err)
	events, whole, err = b.TranscriptPage(b.ctx, leg.Session.ID, 0, 2)
	b.check(err)
	if len(events) != 2 || events[1].Kind() != agent.KindTurnEnded || whole != events[1].Seq {
		t.Errorf("ended: %d events, whole to %d", len(events), whole)
	}
	events, _, err = b.TranscriptPage(b.ctx, leg.Session.ID, events[0].Seq, 10)
	b.check(err)
	if len(events) != 2 || events[0].Seq != 1 {
		t.Errorf("before: %+v", events)
	}
	_, _, err = b.TranscriptPage(b.ctx, "nowhere", 0, 10)
	b.is(err, agent.ErrNotFound)
}

func TestAPreviewIsCutWhereverTheBodyIs(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	for input, want := range map[string]string{
		"short":                         "short",
		"two\n  lines":                  "two lines",
		strings.Repeat("größer\t", 400): strings.Repeat("größer ", 20) + "…",
		strings.Repeat("\x01", 900):     strings.Repeat("\x01", 140) + "…",
		strings.Repeat(`"\`, 600):       strings.Repeat(`"\`, 70) + "…",
		strings.Repeat("😀", 900):        strings.Repeat("😀", 140) + "…",
		`"content":"x"`:                 `"content":"x"`,
	} {
		begin := newBegin(b.node())
		begin.Input = input
		v, err := b.SessionView(b.ctx, b.take(begin).Session.ID)
		b.check(err)
		if v.Preview != want {
			t.Errorf("%.20q: %q, want %q", input, v.Preview, want)
		}
	}
}

func TestTheInboxChangesWithWhatIsOpen(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	before, err := b.Inbox(b.ctx, leg.Session.Project, "")
	b.check(err)
	for _, id := range []string{"a1", "a2"} {
		b.exec("INSERT INTO actions (id, session_id, turn_id, call_id, type, name, arguments) VALUES ($1, $2, $3, $1, 'approval', 'pay', '{}')", id, leg.Session.ID, leg.Turn.ID)
	}
	open, err := b.Inbox(b.ctx, leg.Session.Project, "token:ann")
	b.check(err)
	if open.Open != 2 || open.Version == before.Version {
		t.Errorf("%+v after %+v", open, before)
	}
	if in, err := b.Inbox(b.ctx, leg.Session.Project, "token:bob"); err != nil || in.Open != 0 {
		t.Errorf("bob sees %+v, %v", in, err)
	}
	page, next, err := b.ActionViews(b.ctx, agent.ActionQuery{Project: leg.Session.Project, Page: agent.Page{Limit: 1}})
	b.check(err)
	if len(page) != 1 || page[0].ID != "a2" || page[0].Of.Agent != "helper" || next == "" {
		t.Errorf("page %+v, next %q", page, next)
	}
	page, next, err = b.ActionViews(b.ctx, agent.ActionQuery{Project: leg.Session.Project, Page: agent.Page{Limit: 1, Cursor: next}})
	b.check(err)
	if len(page) != 1 || page[0].ID != "a1" || next != "" {
		t.Errorf("last page %+v, next %q", page, next)
	}
	b.exec("UPDATE actions SET state = 'withdrawn' WHERE id = 'a1'")
	if page, _, err = b.ActionViews(b.ctx, agent.ActionQuery{Project: leg.Session.Project, Closed: true}); err != nil || len(page) != 1 || page[0].ID != "a1" {
		t.Errorf("closed %+v, %v", page, err)
	}
	_, _, err = b.ActionViews(b.ctx, agent.ActionQuery{Project: leg.Session.Project, Page: agent.Page{Cursor: "?"}})
	if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "cursor" {
		t.Errorf("err = %v", err)
	}
}

func TestUsageIsSummedByWhatIsAsked(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	day := time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC)
	add := func(call int, model, status string, first any, at time.Time) {
		b.exec(`INSERT INTO usage (turn_id, call, session_id, project_id, agent_key, model, status, input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, cost_usd, latency_ms, first_token_ms, at)
			VALUES ('t', $1, 's', $2, 'helper', $3, $4, 10, 1, 5, 2, $4 <> 'ok', 0.5, 100, $5, $6)`, call, project, model, status, first, at)
	}
	add(1, "a", "ok", 10, day)
	add(2, "b", "cancelled", 30, day)
	add(3, "a", "error", nil, day.Add(2*time.Minute))
	q := agent.UsageQuery{Project: project, From: day.Add(-time.Hour), To: day.Add(time.Hour), ByDay: true, ByModel: true}
	sum, rows, err := b.UsageBy(b.ctx, q)
	b.check(err)
	if sum.Calls != 3 || sum.Cancelled != 1 || sum.Errors != 1 || sum.EstimatedCalls != 2 || sum.Tokens.Input != 30 || sum.Tokens.CostUSD != 1.5 || sum.CancelledCostUSD != 0.5 || *sum.FirstP50 != 20 {
		t.Errorf("sum %+v", sum)
	}
	if len(rows) != 3 || rows[0].Day != "2026-03-01" || rows[0].Model != "a" || rows[1].Model != "b" || rows[2].Day != "2026-03-02" || rows[2].FirstP50 != nil || rows[0].Agent != "" {
		t.Errorf("rows %+v", rows)
	}
	q.ByDay, q.ByModel, q.ByStatus, q.Model = false, false, true, "a"
	sum, rows, err = b.UsageBy(b.ctx, q)
	b.check(err)
	if sum.Calls != 2 || len(rows) != 2 || rows[0].Status != agent.UsageError || rows[1].Status != agent.UsageOK {
		t.Errorf("by status %+v %+v", sum, rows)
	}
	q.To = q.From
	if sum, rows, err = b.UsageBy(b.ctx, q); err != nil || sum.Calls != 0 || len(rows) != 0 {
		t.Errorf("nothing: %+v %+v %v", sum, rows, err)
	}
}

func TestAVersionIsPublishedAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	a := newAgent("a")
	a.Draft.Execution.CallbackSecret = "s1"
	_, err := s.CreateAgent(b.ctx, a)
	b.check(err)
	_, err = s.Publish(b.ctx, project, "a", agent.Actor{By: "user:x"})
	b.check(err)
	change := func(secret string) {
		_, err := s.UpdateAgent(b.ctx, project, "a", func(a *agent.Agent) error {
			a.Draft.Execution.CallbackSecret = secret
			return nil
		})
		b.check(err)
	}
	changed := func() agent.DraftState {
		m, err := s.Drafts(b.ctx, project, "a")
		b.check(err)
		return m["a"]
	}
	change("s1") // sealed anew, and the same
	if got := changed(); got.Changed || !got.HasSecret {
		t.Errorf("unchanged: %+v", got)
	}
	change("s2")
	if !changed().Changed {
		t.Error("another secret is no change")
	}
	_, err = s.Publish(b.ctx, project, "a", agent.Actor{By: "user:x"})
	b.check(err)
	v, err := s.PublishAgain(b.ctx, project, "a", 1, agent.Actor{By: "user:y"})
	b.check(err)
	c, err := s.Version(b.ctx, project, "a", 3)
	b.check(err)
	if v != 3 || c.Execution.CallbackSecret != "s1" || !changed().Changed {
		t.Errorf("version %d, secret %q", v, c.Execution.CallbackSecret)
	}
	if v, err = s.PublishAgain(b.ctx, project, "a", 3, agent.Actor{By: "user:y"}); err != nil || v != 3 {
		t.Errorf("the same again: %d, %v", v, err)
	}
	_, err = s.PublishAgain(b.ctx, project, "a", 9, agent.Actor{By: "user:y"})
	b.is(err, agent.ErrNotFound)
	list, err := s.Versions(b.ctx, project, "a")
	b.check(err)
	if len(list) != 3 || list[0].Version != 3 || list[0].CreatedBy != "user:y" || list[2].CreatedBy != "user:x" {
		t.Errorf("versions %+v", list)
	}
}

func TestWhatIsStoredKnowsItsUsersAndForgetsSecrets(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	m := agent.Model{Project: project, Key: "m", BaseURL: "http://x", Model: "m", APIKey: "canary"}
	b.check(s.CreateModel(b.ctx, m))
	b.is(s.CreateModel(b.ctx, m), agent.ErrExists)
	m.APIKey = ""
	b.check(s.ReplaceModel(b.ctx, m, false))
	stored, err := s.StoredModels(b.ctx, project)
	b.check(err)
	if !stored["m"].HasSecret || len(stored["m"].UsedBy) != 0 {
		t.Errorf("stored %+v", stored)
	}
	b.check(s.ReplaceModel(b.ctx, m, true))
	a := newAgent("a")
	a.Draft = agent.Config{Model: "x", FallbackModels: []string{"m"}, Tools: []agent.ToolRef{
		{Source: agent.SourceMCP, Key: "crm"},
		{Source: agent.SourceMCP, Key: "own", MCP: &agent.MCPSource{URL: "http://x", Auth: &agent.ToolAuth{Type: "bearer", Secret: "keys"}}}}}
	_, err = s.CreateAgent(b.ctx, a)
	b.check(err)
	_, err = s.Publish(b.ctx, project, "a", agent.Actor{By: "x"})
	b.check(err)
	if stored, err = s.StoredModels(b.ctx, project); err != nil || stored["m"].HasSecret || len(stored["m"].UsedBy) != 1 {
		t.Errorf("stored %+v, %v", stored, err)
	}
	m.Key = "none"
	b.is(s.ReplaceModel(b.ctx, m, false), agent.ErrNotFound)
	for _, key := range []string{"crm", "keys", "free"} {
		_, err := s.CreateTool(b.ctx, agent.SharedTool{Project: project, Key: key, Source: agent.SourceMCP, MCP: &agent.MCPSource{URL: "http://x"}, Secret: "canary"})
		b.check(err)
	}
	users, err := s.ToolUsers(b.ctx, project)
	b.check(err)
	got, _ := json.Marshal(users)
	if want := `{"crm":["a"],"free":null,"keys":["a"]}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
