package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

const defaultProject = "000000000000000000000000"

// log returns the audit log as lines, newest first.
func (b *bed) auditLog(f agent.AuditFilter) []string {
	b.t.Helper()
	f.Project = defaultProject
	list, _, err := b.Audit(b.ctx, f)
	b.check(err)
	var out []string
	for _, e := range list {
		out = append(out, strings.Join([]string{string(e.Action), e.By, string(e.Door), e.Node, e.Address, e.Detail}, " "))
	}
	return out
}

func (b *bed) logIs(f agent.AuditFilter, want ...string) {
	b.t.Helper()
	if got := b.auditLog(f); strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.t.Errorf("the audit log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var bobsStop = agent.Stop{By: "user:bob", Door: agent.DoorStudio, Node: "n2", Address: "192.0.2.9"}

const bobsLine = "turn.stopped user:bob studio n2 192.0.2.9 "

func TestAStopIsAuditedOnceWithWhoAskedFirst(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	for _, leg := range []agent.Leg{b.take(newBegin(b.node())), b.take(newBegin("")), b.paused(newRun())} {
		for _, by := range []agent.Stop{bobsStop, {By: "user:eve", Door: agent.DoorClient}} {
			_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, by, true)
			b.check(err)
		}
		b.logIs(agent.AuditFilter{Session: leg.Lease.Session, Turn: leg.Turn.ID}, bobsLine)
	}
	b.logIs(agent.AuditFilter{By: "user:eve"})
}

// The turn ended with the stop before the stop could write itself: it is audited
// all the same, once.
func TestAStopThatTheEndOfItsTurnRecordedIsAudited(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	leg := b.take(newBegin(b.node()))
	c := answer(leg, "partial")
	c.Stop = &bobsStop
	_, err := b.Settle(b.ctx, leg.Lease, c)
	b.check(err)
	res, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, bobsStop, true)
	b.check(err)
	if !res.Cancelled {
		t.Error("the stop says false")
	}
	b.logIs(agent.AuditFilter{Action: agent.AuditStop}, bobsLine)
}

func TestAStopThatFoundNothingIsNotAudited(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	leg := b.answered(newBegin(b.node()), 1)
	_, err := b.Stop(b.ctx, leg.Lease.Session, leg.Turn.ID, bobsStop, true)
	b.check(err)
	b.logIs(agent.AuditFilter{})
}

func TestWhoEndsAWaitingTurnByANewMessageIsAudited(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	run := newRun()
	leg := b.paused(run)
	next := newBegin(b.node())
	next.Session, next.New, next.Address = run.Session, false, "192.0.2.4"
	b.take(next)
	b.logIs(agent.AuditFilter{Turn: leg.Turn.ID}, "turn.stopped token:ann client node 192.0.2.4 superseded")
}

func TestDecisionsPublishingAndTokensAreAudited(t *testing.T) {
	t.Parallel()
	b := toldBed(t)
	leg := b.paused(newRun())
	actions, err := b.Actions(b.ctx, leg.Turn.ID)
	b.check(err)
	no := agent.Decision{Action: actions[0].ID, State: agent.ActionDenied, By: "user:ann", Door: agent.DoorClient, Address: "192.0.2.3"}
	for range 2 { // the second is equal, and changes nothing
		_, _, err = b.Decide(b.ctx, no)
		b.check(err)
	}
	ann := agent.Actor{By: "user:ann", Door: agent.DoorClient, Address: "192.0.2.3"}
	_, err = b.CreateAgent(b.ctx, agent.Agent{Project: defaultProject, Key: "a", Active: true, Draft: agent.Config{Model: "m"}})
	b.check(err)
	for range 2 {
		_, err = b.Publish(b.ctx, defaultProject, "a", ann)
		b.check(err)
	}
	token := agent.Token{ID: agent.NewID(), Project: defaultProject, Name: "ci", Prefix: "belay_0"}
	b.check(b.CreateToken(b.ctx, token, []byte("h"), agent.Actor{By: "cli:root", Door: agent.DoorCLI}))
	for range 2 {
		b.check(b.RevokeToken(b.ctx, defaultProject, token.ID, ann))
	}
	b.logIs(agent.AuditFilter{},
		"token.revoked user:ann client n1 192.0.2.3 ci",
		"token.created cli:root cli n1  ci",
		"agent.published user:ann client n1 192.0.2.3 1",
		"action.decided user:ann client n1 192.0.2.3 denied")
	b.logIs(agent.AuditFilter{Action: agent.AuditTokenCreated}, "token.created cli:root cli n1  ci")
	list, next, err := b.Audit(b.ctx, agent.AuditFilter{Project: defaultProject, Page: agent.Page{Limit: 3}})
	b.check(err)
	rest, last, err := b.Audit(b.ctx, agent.AuditFilter{Project: defaultProject, Page: agent.Page{Limit: 3, Cursor: next}})
	b.check(err)
	if len(list) != 3 || next == "" || len(rest) != 1 || last != "" || rest[0].Subject != actions[0].ID || rest[0].Session != leg.Lease.Session {
		t.Errorf("pages of %d and %d, %+v", len(list), len(rest), rest)
	}
	if other, _, err := b.Audit(b.ctx, agent.AuditFilter{Project: "other"}); len(other) > 0 || err != nil {
		t.Errorf("another project sees %v, %v", other, err)
	}
	if _, _, err := b.Audit(b.ctx, agent.AuditFilter{Project: defaultProject, Page: agent.Page{Cursor: "!"}}); err == nil {
		t.Error("a bad cursor is no error")
	}
	if n, err := b.ExpireAudit(b.ctx, time.Hour, 10); n != 0 || err != nil {
		t.Errorf("%d of lately, %v", n, err)
	}
	if n, err := b.ExpireAudit(b.ctx, 0, 3); n != 3 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
}
