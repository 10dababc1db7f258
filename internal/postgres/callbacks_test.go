package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
	"github.com/belayrun/belay/migrations"
)

// plainSealer stands in for access.Sealer: what is sealed for one context opens for
// that context only.
type plainSealer struct{}

func (plainSealer) Seal(plain []byte, context string) []byte {
	return []byte(context + "|" + strings.ToUpper(string(plain)))
}

func (plainSealer) Current([]byte, string) bool { return true }

func (plainSealer) Open(sealed []byte, context string) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte(context+"|"))
	if !ok {
		return nil, errors.New("sealed for another place")
	}
	return bytes.ToLower(rest), nil
}

// toldBed is a bed whose store seals.
func toldBed(t *testing.T) *bed {
	t.Helper()
	b := newBed(t, postgres.Times{})
	s, err := postgres.Open(b.ctx, postgres.Config{URL: b.url, Node: "n1", Sealer: plainSealer{}})
	b.check(err)
	b.Store = s
	t.Cleanup(s.Close)
	return b
}

// newRun is a background run with a callback.
func newRun() agent.Begin {
	b := newBegin("")
	b.Turn.Background = true
	b.Callbacks = []agent.Callback{{Kind: agent.CallbackRun, URL: "https://example.com/hook", Secret: "s3cret"}}
	return b
}

// job is what River will work.
type job struct {
	Kind, Queue, State string
	Delivery           string
	Round              int
}

func (b *bed) jobs() []job {
	b.t.Helper()
	rows, err := b.raw.Query(b.ctx, "SELECT kind, queue, state::text, args->>'delivery' AS delivery, (args->>'round')::int AS round FROM river_job ORDER BY id")
	b.check(err)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[job])
	b.check(err)
	return list
}

func (b *bed) deliveries(turn string) []agent.Delivery {
	b.t.Helper()
	list, _, err := b.Deliveries(b.ctx, agent.DeliveryFilter{Project: "000000000000000000000000", Turn: turn})
	b.check(err)
	return list
}

// 26, 106, 107: whatever ends a run, or lets it wait, leaves one delivery and one
// job, in the transaction that does it.
func TestEveryEndOfARunIsToldOnce(t *testing.T) {
	t.Parallel()
	stop := agent.Stop{By: "user:bob", Door: agent.DoorClient, Node: "n1"}
	for name, c := range map[string]struct {
		end  func(b *bed, begin agent.Begin) string // returns the turn that is told of
		want []string                               // events, newest first
	}{
		"answered": {func(b *bed, begin agent.Begin) string {
			leg := b.claimed(begin)
			_, err := b.Settle(b.ctx, leg.Lease, answer(leg, "done"))
			b.check(err)
			_, err = b.Settle(b.ctx, leg.Lease, answer(leg, "done")) // its reply was lost
			b.check(err)
			return leg.Turn.ID
		}, []string{agent.EventSucceeded}},
		"limited": {func(b *bed, begin agent.Begin) string {
			leg := b.claimed(begin)
			c := answer(leg, "so far")
			c.End = agent.Outcome{Kind: agent.Limited, Detail: "max_tool_calls"}
			_, err := b.Settle(b.ctx, leg.Lease, c)
			b.check(err)
			return leg.Turn.ID
		}, []string{agent.EventSucceeded}},
		"failed": {func(b *bed, begin agent.Begin) string {
			leg := b.claimed(begin)
			_, err := b.Settle(b.ctx, leg.Lease, agent.Closing{End: agent.Outcome{Kind: agent.Failed, Failure: &agent.Failure{Code: agent.CodeModelError}}, Seq: leg.Seq})
			b.check(err)
			return leg.Turn.ID
		}, []string{agent.EventFailed}},
		"stopped while queued": {func(b *bed, begin agent.Begin) string {
			leg := b.take(begin)
			for range 2 {
				_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, stop, true)
				b.check(err)
			}
			return leg.Turn.ID
		}, []string{agent.EventCanceled}},
		"stopped while it ran": {func(b *bed, begin agent.Begin) string {
			leg := b.claimed(begin)
			_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, stop, true)
			b.check(err)
			_, err = b.Settle(b.ctx, leg.Lease, answer(leg, "partial"))
			b.check(err)
			return leg.Turn.ID
		}, []string{agent.EventCanceled}},
		"stopped while it waited": {func(b *bed, begin agent.Begin) string {
			leg := b.paused(begin)
			_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, stop, true)
			b.check(err)
			return leg.Turn.ID
		}, []string{agent.EventCanceled, agent.EventRequiresAction}},
		"superseded": {func(b *bed, begin agent.Begin) string {
			leg := b.paused(begin)
			next := newBegin(b.node())
			next.Session, next.New = begin.Session, false
			b.take(next)
			return leg.Turn.ID
		}, []string{agent.EventCanceled, agent.EventRequiresAction}},
		"its node died": {func(b *bed, begin agent.Begin) string {
			leg := b.claimed(begin)
			b.check(b.Leave(b.ctx, leg.Lease.Node))
			_, ok, err := b.Sweep(b.ctx, b.node())
			b.check(err)
			if !ok {
				b.t.Fatal("nothing was swept")
			}
			return leg.Turn.ID
		}, []string{agent.EventFailed}},
		"its node died while it was stopping": {func(b *bed, begin agent.Begin) string {
			leg := b.claimed(begin)
			_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, stop, true)
			b.check(err)
			b.check(b.Leave(b.ctx, leg.Lease.Node))
			_, _, err = b.Sweep(b.ctx, b.node())
			b.check(err)
			return leg.Turn.ID
		}, []string{agent.EventCanceled}},
		"its own node lost it": {func(b *bed, begin agent.Begin) string {
			leg := b.claimed(begin)
			_, _, err := b.CloseFor(b.ctx, leg.Lease)
			b.check(err)
			return leg.Turn.ID
		}, []string{agent.EventFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := toldBed(t)
			turn := c.end(b, newRun())
			list := b.deliveries(turn)
			var got []string
			for _, d := range list {
				got = append(got, d.Event)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("told %q, want %q", got, c.want)
			}
			jobs := b.jobs()
			for i, d := range list {
				j := job{postgres.JobKind, postgres.JobQueue, "available", d.ID, 1}
				if len(jobs) != len(list) || jobs[len(jobs)-1-i] != j {
					t.Errorf("jobs %+v, want %+v as number %d from the end", jobs, j, i)
				}
			}
		})
	}
}

// claimed is a queued run that a node has claimed.
func (b *bed) claimed(begin agent.Begin) agent.Leg {
	b.t.Helper()
	b.take(begin)
	leg, ok, err := b.Claim(b.ctx, b.node(), 0)
	b.check(err)
	if !ok {
		b.t.Fatal("nothing to claim")
	}
	leg.Seq -= 2 // answer and the like count from before the turn's first events
	return leg
}

// paused is a run that waits for a person.
func (b *bed) paused(begin agent.Begin) agent.Leg {
	b.t.Helper()
	leg := b.claimed(begin)
	a := agent.Action{ID: agent.NewID(), Session: leg.Lease.Session, Turn: leg.Turn.ID, CallID: "c1", Type: agent.ActionApproval, Name: "rm", Arguments: []byte("{}")}
	b.check(b.Record(b.ctx, leg.Lease, nil, []agent.Action{a}))
	closed, err := b.Settle(b.ctx, leg.Lease, agent.Closing{End: agent.Outcome{Kind: agent.Waiting}, Seq: leg.Seq + 2})
	b.check(err)
	if closed.Outcome.Kind != agent.Waiting {
		b.t.Fatalf("closed as %s", closed.Outcome.Kind)
	}
	return leg
}

// A turn that nobody is to be told of costs no job, and what did not commit is
// not told.
func TestNothingIsToldOfWhatIsNotDurable(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	leg := b.claimed(func() agent.Begin { x := newBegin(""); x.Turn.Background = true; return x }())
	_, err := b.Settle(b.ctx, leg.Lease, answer(leg, "done"))
	b.check(err)
	run := b.claimed(newRun())
	tx := b.hold(run.Lease.Session)
	ctx, cancel := context.WithTimeout(b.ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := b.Settle(ctx, run.Lease, answer(run, "done")); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("settled although the slot was locked: %v", err)
	}
	b.check(tx.Rollback(b.ctx))
	if jobs := b.jobs(); len(jobs) > 0 {
		t.Errorf("jobs %+v", jobs)
	}
}

func TestARunsCallbackIsReadWithoutItsSecretAndSentWithIt(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	begin := newRun()
	begin.Callbacks = append(begin.Callbacks, agent.Callback{
		Kind: agent.CallbackA2A, Name: "c1", Dialect: "1.0", URL: "https://example.com/push", Headers: map[string]string{"x-token": "t0"},
	})
	leg := b.claimed(begin)
	want := agent.Callback{Kind: agent.CallbackRun, URL: "https://example.com/hook", Signed: true, Status: agent.CallbackPending}
	turn, _, err := b.Turn(b.ctx, leg.Turn.ID)
	b.check(err)
	if turn.Callback == nil || turn.Callback.Secret != "" || turn.Callback.URL != want.URL || !turn.Callback.Signed || turn.Callback.Status != want.Status {
		t.Errorf("read back as %+v", turn.Callback)
	}
	_, err = b.Settle(b.ctx, leg.Lease, answer(leg, "done"))
	b.check(err)
	jobs := b.jobs()
	if len(jobs) != 2 {
		t.Fatalf("jobs %+v", jobs)
	}
	for _, j := range jobs {
		d, err := b.Due(b.ctx, j.Delivery, 1)
		b.check(err)
		switch c := d.Callback; c.Kind {
		case agent.CallbackRun:
			if c.Secret != "s3cret" || d.Turn != leg.Turn.ID || d.Session != leg.Lease.Session || d.Event != agent.EventSucceeded {
				t.Errorf("due %+v", d)
			}
		case agent.CallbackA2A:
			if c.Headers["x-token"] != "t0" || c.Secret != "" || c.Dialect != "1.0" || c.Name != "c1" {
				t.Errorf("due %+v", d)
			}
		}
	}
	for _, column := range []string{"secret", "headers"} {
		if n := b.count("SELECT count(*) FROM callbacks WHERE convert_from(" + column + ", 'utf8') ~ 's3cret|t0'"); n > 0 {
			t.Errorf("%s is stored as it is", column)
		}
	}
}

func TestASecretWithoutAKeyToSealItIsRefusedByItsField(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	_, err := b.Take(b.ctx, newRun())
	if e, ok := errors.AsType[*agent.CallbackError](err); !ok || e.Field != "callback_secret" {
		t.Errorf("got %v", err)
	}
	if n := b.count("SELECT count(*) FROM turns"); n > 0 {
		t.Error("the turn was begun all the same")
	}
}

func TestADeliverysAttemptsAreTheRunsUntilItHasArrived(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	leg := b.paused(newRun())
	first := b.jobs()[0].Delivery
	status := func() (agent.CallbackStatus, int) {
		turn, _, err := b.Turn(b.ctx, leg.Turn.ID)
		b.check(err)
		return turn.Callback.Status, turn.Callback.Attempts
	}
	expect := func(s agent.CallbackStatus, n int) {
		t.Helper()
		if gotS, gotN := status(); gotS != s || gotN != n {
			t.Errorf("%s after %d attempts, want %s after %d", gotS, gotN, s, n)
		}
	}
	for range 2 {
		b.check(b.Tried(b.ctx, first, 1, agent.CallbackPending, "answered 500"))
	}
	expect(agent.CallbackPending, 2)
	body, err := b.KeepBody(b.ctx, first, []byte("one"))
	b.check(err)
	again, err := b.KeepBody(b.ctx, first, []byte("two"))
	b.check(err)
	if string(body) != "one" || string(again) != "one" {
		t.Errorf("kept %q, then %q", body, again)
	}
	_, err = b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, agent.Stop{By: "user:bob"}, true)
	b.check(err)
	expect(agent.CallbackPending, 0) // the newest is the end
	b.check(b.Tried(b.ctx, first, 1, agent.CallbackDead, "answered 500"))
	expect(agent.CallbackPending, 0)
	second := b.jobs()[1].Delivery
	b.check(b.Tried(b.ctx, second, 1, agent.CallbackDelivered, ""))
	expect(agent.CallbackDelivered, 1)
	b.check(b.Tried(b.ctx, second, 1, agent.CallbackDead, "late")) // of a job that was rescued meanwhile
	expect(agent.CallbackDelivered, 1)
	for id, want := range map[string]error{first: agent.ErrNotFound, second: agent.ErrNotFound} {
		if _, err := b.Due(b.ctx, id, 1); !errors.Is(err, want) {
			t.Errorf("due: %v", err)
		}
	}
	dead, _, err := b.Deliveries(b.ctx, agent.DeliveryFilter{Project: "000000000000000000000000", Status: agent.CallbackDead})
	b.check(err)
	if len(dead) != 1 || dead[0].ID != first || dead[0].Error != "answered 500" || dead[0].Callback.Secret != "" {
		t.Errorf("dead %+v", dead)
	}
}

// The end waits for the pause before it to be tried, not for its retries.
func TestADeliveryIsBehindTheOneBeforeItUntilThatWasTried(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	end := func(leg agent.Leg) string {
		_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, agent.Stop{By: "user:bob"}, true)
		b.check(err)
		jobs := b.jobs()
		return jobs[len(jobs)-1].Delivery
	}
	behind := func(id string, want bool) {
		t.Helper()
		d, err := b.Due(b.ctx, id, 1)
		b.check(err)
		if d.Behind != want {
			t.Errorf("behind: %v, want %v", d.Behind, want)
		}
	}
	leg := b.paused(newRun())
	pause := b.jobs()[0].Delivery
	last := end(leg)
	behind(pause, false)
	behind(last, true)
	b.check(b.Tried(b.ctx, pause, 1, agent.CallbackPending, "answered 500"))
	behind(last, false)
	leg = b.paused(newRun())
	last = end(leg)
	behind(last, true)
	b.exec("UPDATE deliveries SET created_at = created_at - interval '1 minute'") // whoever was to send it is gone
	behind(last, false)
}

func TestRedeliveryIsAnotherRoundWithTheSameID(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	leg := b.take(newRun())
	by := agent.Actor{By: "token:ann", Door: agent.DoorClient, Address: "192.0.2.1"}
	if err := b.Redeliver(b.ctx, leg.Turn.ID, by); !errors.Is(err, agent.ErrNotFound) {
		t.Errorf("nothing to tell yet: %v", err)
	}
	_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, agent.Stop{By: "user:bob"}, true)
	b.check(err)
	id := b.jobs()[0].Delivery
	b.check(b.Tried(b.ctx, id, 1, agent.CallbackDead, "answered 500"))
	b.check(b.Redeliver(b.ctx, leg.Turn.ID, by))
	if _, err := b.Due(b.ctx, id, 1); !errors.Is(err, agent.ErrNotFound) {
		t.Errorf("the job of the round before still sends: %v", err)
	}
	d, err := b.Due(b.ctx, id, 2)
	b.check(err)
	if j := b.jobs(); len(j) != 2 || j[1].Delivery != id || j[1].Round != 2 || d.Attempts != 0 {
		t.Errorf("jobs %+v, due %+v", j, d)
	}
	log, _, err := b.Audit(b.ctx, agent.AuditFilter{Project: "000000000000000000000000", Action: agent.AuditRedelivered})
	b.check(err)
	if len(log) != 1 || log[0].Actor != by || log[0].Turn != leg.Turn.ID || log[0].Node != "n1" {
		t.Errorf("audit %+v", log)
	}
}

// What a client sets later is told of what comes after.
func TestACallbackMayBePutReplacedAndDeletedLater(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	leg := b.claimed(func() agent.Begin { x := newBegin(""); x.Turn.Background = true; return x }())
	put := func(name, url string) {
		b.check(b.PutCallback(b.ctx, leg.Turn.ID, agent.Callback{Kind: agent.CallbackA2A, Name: name, URL: url, Headers: map[string]string{"authorization": "bearer x"}}))
	}
	put("a", "https://a.example")
	put("b", "https://b.example")
	put("a", "https://c.example")
	list, err := b.Callbacks(b.ctx, leg.Turn.ID, agent.CallbackA2A)
	b.check(err)
	if len(list) != 2 || list[0].URL != "https://c.example" || list[0].Headers["authorization"] != "bearer x" || list[1].Name != "b" {
		t.Errorf("callbacks %+v", list)
	}
	b.check(b.DeleteCallback(b.ctx, leg.Turn.ID, agent.CallbackA2A, "b"))
	b.check(b.DeleteCallback(b.ctx, leg.Turn.ID, agent.CallbackA2A, "b"))
	if err := b.PutCallback(b.ctx, "none", list[0]); !errors.Is(err, agent.ErrNotFound) {
		t.Errorf("of no turn: %v", err)
	}
	_, err = b.Settle(b.ctx, leg.Lease, answer(leg, "done"))
	b.check(err)
	if jobs := b.jobs(); len(jobs) != 1 {
		t.Errorf("jobs %+v", jobs)
	}
}

// The job that SQL of ours inserts is what River would have inserted.
func TestAJobIsOneThatRiverCouldHaveInserted(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	leg := b.take(newRun())
	_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, agent.Stop{By: "user:bob"}, true)
	b.check(err)
	pool, err := pgxpool.New(b.ctx, b.url)
	b.check(err)
	defer pool.Close()
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	b.check(err)
	_, err = client.Insert(b.ctx, sent{Delivery: b.jobs()[0].Delivery, Round: 1}, &river.InsertOpts{Queue: postgres.JobQueue, MaxAttempts: 1000})
	b.check(err)
	const same = `SELECT count(DISTINCT to_jsonb(j) - '{id,created_at,scheduled_at}'::text[]) FROM river_job j`
	if n := b.count(same); n != 1 {
		rows, _ := b.raw.Query(b.ctx, "SELECT to_jsonb(j)::text FROM river_job j")
		list, _ := pgx.CollectRows(rows, pgx.RowTo[string])
		t.Errorf("they differ:\n%s", strings.Join(list, "\n"))
	}
}

type sent struct {
	Delivery string `json:"delivery"`
	Round    int    `json:"round"`
}

func (sent) Kind() string { return postgres.JobKind }

// A newer River needs a step of its own in the migrations.
func TestTheStepsMakeTheNewestTablesOfRiver(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), pgtest.DB(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := m.AllVersions()
	if newest := all[len(all)-1].Version; newest != migrations.RiverSchema {
		t.Errorf("River's newest tables are version %d, the steps make %d", newest, migrations.RiverSchema)
	}
	if res, err := m.Validate(t.Context(), nil); err != nil || !res.OK {
		t.Errorf("River says %+v, %v", res, err)
	}
}
