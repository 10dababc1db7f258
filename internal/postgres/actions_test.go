package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

// asks opens actions under a leg, one of each type.
func (b *bed) asks(leg agent.Leg, lasts time.Duration, types ...agent.ActionType) (ids []string) {
	b.t.Helper()
	var open []agent.Action
	for _, kind := range types {
		a := agent.Action{ID: agent.NewID(), CallID: agent.NewID(), Type: kind, Name: "n", Arguments: []byte(`{}`), Lasts: lasts}
		ids, open = append(ids, a.ID), append(open, a)
	}
	b.check(b.Record(b.ctx, leg.Lease, nil, open))
	return ids
}

func (b *bed) pages(f agent.ActionFilter) (ids []string) {
	b.t.Helper()
	for f.Page.Limit = 2; ; {
		list, next, err := b.OpenActions(b.ctx, f)
		b.check(err)
		for _, a := range list {
			ids = append(ids, a.ID)
		}
		if f.Page.Cursor = next; next == "" {
			return ids
		}
	}
}

func TestOpenActionsAreThoseThatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	b.exec("INSERT INTO projects (id, key) VALUES ('p2', 'p2')")
	own, others, foreign := newBegin(node), newBegin(node), newBegin(node)
	others.Session.Owner, foreign.Session.Project = "token:eve", "p2"
	mine := b.asks(b.take(own), 0, agent.ActionApproval, agent.ActionQuestion, agent.ActionApproval)
	theirs := b.asks(b.take(others), 0, agent.ActionApproval, agent.ActionQuestion)
	b.asks(b.take(foreign), 0, agent.ActionApproval)
	_, _, err := b.Decide(b.ctx, agent.Decision{Action: mine[2], State: agent.ActionDenied, By: "token:ann"})
	b.check(err)

	project := own.Session.Project
	for what, x := range map[string]struct {
		f    agent.ActionFilter
		want []string
	}{
		"own":           {agent.ActionFilter{Owner: "token:ann"}, mine[:2]},
		"approvals too": {agent.ActionFilter{Owner: "token:ann", Approvals: true}, []string{mine[0], mine[1], theirs[0]}},
		"all":           {agent.ActionFilter{Owner: "token:bob", Others: true}, []string{mine[0], mine[1], theirs[0], theirs[1]}},
		"none":          {agent.ActionFilter{Owner: "token:bob"}, nil},
	} {
		x.f.Project = project
		x.want = slices.Clone(x.want)
		slices.Reverse(x.want)
		if got := b.pages(x.f); fmt.Sprint(got) != fmt.Sprint(x.want) {
			t.Errorf("%s: %v, want %v", what, got, x.want)
		}
	}
	for _, cursor := range []string{"-1", "!", strings.Repeat("z", 20)} {
		_, _, err := b.OpenActions(b.ctx, agent.ActionFilter{Project: project, Page: agent.Page{Cursor: cursor}})
		b.field(err, "cursor")
	}
	list, err := b.SessionActions(b.ctx, own.Session.ID)
	b.check(err)
	if len(list) != 3 || list[0].ID != mine[0] || list[2].State != agent.ActionDenied {
		t.Errorf("actions of the session: %+v", list)
	}
}

// What a stop has left is with its session whichever turn is the newest, and goes
// with it.
func TestWhatAStopHasLeftIsListedAndDeletedWithItsSession(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	leg := b.take(newBegin(b.node()))
	ids := b.asks(leg, 0, agent.ActionApproval, agent.ActionApproval)
	_, err := b.Stop(b.ctx, leg.Session.ID, leg.Turn.ID, agent.Stop{By: "token:bob"}, false)
	b.check(err)
	_, err = b.Settle(b.ctx, leg.Lease, answer(leg, "half"))
	b.check(err)
	a, queued, err := b.Decide(b.ctx, agent.Decision{Action: ids[0], State: agent.ActionApproved, By: "token:eve"})
	b.check(err)
	list, err := b.SessionActions(b.ctx, leg.Session.ID)
	b.check(err)
	if !queued || len(list) != 2 || list[0].Turn != a.Turn || list[1].Turn != leg.Turn.ID || list[1].State != agent.ActionOpen {
		t.Errorf("actions of the session: %+v", list)
	}
	_, err = b.Stop(b.ctx, leg.Session.ID, a.Turn, agent.Stop{By: "token:bob"}, false)
	b.check(err)
	b.check(b.DeleteSession(b.ctx, leg.Session.ID))
	_, _, err = b.Decide(b.ctx, agent.Decision{Action: ids[1], State: agent.ActionApproved, By: "token:eve"})
	b.is(err, agent.ErrNotFound)
}

// A session whose slot somebody holds keeps nobody else's requests from expiring.
func TestALockedSlotHoldsUpNoOtherExpiry(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	node := b.node()
	held, free := b.take(newBegin(node)), b.take(newBegin(node))
	b.asks(held, time.Microsecond, agent.ActionApproval)
	ids := b.asks(free, time.Microsecond, agent.ActionQuestion)
	tx := b.hold(held.Session.ID)
	x, ok, err := b.Expire(b.ctx)
	b.check(err)
	if !ok || x.Session != free.Session.ID || !slices.Equal(x.Actions, ids) || x.Queued {
		t.Errorf("expired %+v, %v", x, ok)
	}
	if _, ok, err := b.Expire(b.ctx); ok || err != nil {
		t.Errorf("expired what is locked: %v, %v", ok, err)
	}
	b.check(tx.Rollback(b.ctx))
	if x, ok, err := b.Expire(b.ctx); !ok || err != nil || x.Session != held.Session.ID {
		t.Errorf("expired %+v, %v, %v", x, ok, err)
	}
}
