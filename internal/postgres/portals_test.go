package postgres_test

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

func portalOf(project, secret string) agent.Portal {
	return agent.Portal{Project: project, Slug: "help", Agent: "support", Origins: []string{"https://example.com"}, Secret: secret}
}

func TestPortalsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	b.check(s.PutPortal(b.ctx, portalOf(project, "portal-canary")))
	want := portalOf(project, "")
	want.HasSecret = true
	got, err := b.Portal(b.ctx, "help")
	b.check(err)
	list, err := b.Portals(b.ctx, project)
	b.check(err)
	want.CreatedAt, want.UpdatedAt = got.CreatedAt, got.UpdatedAt
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(list, []agent.Portal{want}) {
		t.Errorf("got %+v and %+v", got, list)
	}
	if n := b.count(`SELECT count(*) FROM portals p WHERE p::text ILIKE '%canary%' OR encode(secret, 'escape') LIKE '%canary%'`); n != 0 {
		t.Error("the secret is stored as it is")
	}
	changed := portalOf(project, "")
	changed.Paused = true
	b.check(b.PutPortal(b.ctx, changed)) // keeps the secret
	if secret, err := s.PortalSecret(b.ctx, "help"); err != nil || secret != "portal-canary" {
		t.Errorf("secret = %q, %v", secret, err)
	}
	b.exec(`INSERT INTO projects (id, key) VALUES ('p2', 'p2')`)
	b.is(b.PutPortal(b.ctx, portalOf("p2", "")), agent.ErrExists)
	b.check(b.DeletePortal(b.ctx, "p2", "help")) // not its own
	for range 2 {
		_, err = b.Portal(b.ctx, "help")
		b.check(err)
		if list, _ := b.Portals(b.ctx, "p2"); len(list) > 0 {
			t.Error("another project has it")
		}
	}
	for range 2 {
		b.check(b.DeletePortal(b.ctx, project, "help"))
	}
	_, err = b.Portal(b.ctx, "help")
	b.is(err, agent.ErrNotFound)
}

func TestVisitorsSendNoMoreInAMinuteThanTheyMay(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	p := portalOf(project, "")
	p.Limits = agent.PortalLimits{VisitorPerMinute: 7, PortalPerMinute: 10}
	b.check(b.PutPortal(b.ctx, p))
	if left := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); left < 10*time.Second {
		time.Sleep(left + time.Second) // all within one minute of the database's clock
	}
	send := func(visitor string, n int) (let int64) {
		var count atomic.Int64
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				ok, wait, err := b.MeterVisitor(b.ctx, p, visitor)
				if err != nil || wait <= 0 || wait > time.Minute {
					t.Error(wait, err)
				}
				if ok {
					count.Add(1)
				}
			})
		}
		wg.Wait()
		return count.Load()
	}
	if n := send("visitor:help:a", 30); n != 7 {
		t.Errorf("a visitor sent %d", n)
	}
	if n := send("visitor:help:b", 30); n != 3 {
		t.Errorf("another sent %d, and so all together more than they may", n)
	}
	b.exec(`UPDATE portal_meters SET minute = minute - interval '2 days'`)
	if n := send("visitor:help:c", 1); n != 1 {
		t.Error("the limit of a minute stays for ever")
	}
	if n := b.count(`SELECT count(*) FROM portal_meters WHERE visitor IN ('visitor:help:a', 'visitor:help:b')`); n != 0 {
		t.Errorf("%d visitors of the day before yesterday are kept in mind", n)
	}
}

func TestSpendIsOfTheVisitorAndOfItsPortalAlone(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	for i, row := range []struct{ owner, door, age, cost string }{
		{"visitor:help:a", "portal", "1 hour", "0.5"}, {"visitor:help:b", "portal", "23 hours", "0.25"},
		{"visitor:help:a", "portal", "25 hours", "8"}, {"visitor:helper:a", "portal", "1 hour", "16"}, {"visitor:help:a", "client", "1 hour", "32"},
	} {
		id := agent.NewID()
		b.exec(`INSERT INTO sessions (id, project_id, agent_key, owner, door) VALUES ($1, $2, 'a', $3, $4)`, id, project, row.owner, row.door)
		b.exec(`INSERT INTO turns (id, session_id, agent_key, version, config, door, started_by, first_seq, message_index, status, cost_usd, created_at)
			VALUES ($1, $1, 'a', $2, '{}', $3, $4, 1, 1, 'running', $5::text::float8, clock_timestamp() - $6::text::interval)`, id, i, row.door, row.owner, row.cost, row.age)
	}
	one, all, err := b.VisitorSpend(b.ctx, project, agent.VisitorPrefix("help"), "visitor:help:a")
	if err != nil || one != 0.5 || all != 0.75 {
		t.Errorf("spent %v and %v: %v", one, all, err)
	}
}
