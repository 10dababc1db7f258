package turn_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// needsApproval is an instant tool that a person must agree to.
func needsApproval() *turntest.Tool {
	tool := turntest.InstantTool("t", "done")
	tool.Asks = agent.ActionApproval
	return tool
}

// paused runs a turn of n calls until it waits, and returns its actions.
func (c *cluster) paused(n int) (agent.Turn, []string) {
	c.t.Helper()
	c.asks(n)
	tn := c.tool(0)
	ev := c.end(0, tn)
	p, ok := ev[len(ev)-1].Body.(agent.TurnPaused)
	if !ok || len(p.Actions) != n {
		c.t.Fatalf("the turn does not wait: %+v", ev[len(ev)-1].Body)
	}
	synctest.Wait()
	if s := c.mem.Slot(tn.Session); s.State != agent.SlotWaiting || s.Lease.Node != "" {
		c.t.Errorf("slot %+v", s)
	}
	return tn, p.Actions
}

func (c *cluster) decide(n int, id string, s agent.ActionState) {
	c.t.Helper()
	if _, err := c.nodes[n].Decide(c.t.Context(), alice, agent.Decision{Action: id, State: s}); err != nil {
		c.t.Errorf("decide: %v", err)
	}
}

// ends follows a turn to its last end, past pauses.
func (c *cluster) ends(n int, tn agent.Turn) []agent.Event {
	c.t.Helper()
	var out []agent.Event
	for e, err := range c.nodes[n].Follow(c.t.Context(), tn.Session, tn.FirstSeq-1) {
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, e)
		if e.Kind() == agent.KindTurnEnded && e.Turn == tn.ID {
			return out
		}
	}
	return out
}

func TestAnApprovedCallRunsOnceAndTheTurnGoesOn(t *testing.T) {
	for _, through := range []int{0, 1} {
		tool := needsApproval()
		t.Run(fmt.Sprintf("through node %d", through+1), func(t *testing.T) { // 95
			run(t, 2, func(t *testing.T, c *cluster) {
				tn, ids := c.paused(1)
				if tool.Started() != 0 || c.nodes[0].Running() != 0 {
					t.Fatal("ran before it was approved")
				}
				live := c.follow(1-through, tn.Session, tn.FirstSeq-1)
				time.Sleep(5 * time.Minute)
				for range 2 { // pressed twice
					c.decide(through, ids[0], agent.ActionApproved)
				}
				ev := c.ends(through, tn)
				if e := last(ev); e.Status != agent.StatusCompleted || tool.Started() != 1 || result(t, ev, "c0").Output != "done" {
					t.Errorf("ended %+v after %d starts", e, tool.Started())
				}
				if n := len(bodies[agent.ActionDecided](ev)); n != 1 {
					t.Errorf("%d action.decided", n)
				}
				if s := statuses(c.mem.Usage(tn.ID)); s != "ok ok" {
					t.Errorf("usage %s", s)
				}
				if m := answer(ev); m.Index != 2 {
					t.Errorf("answer %+v", m)
				}
				time.Sleep(time.Second)
				sameSeqs(t, "a follower across the pause", live(), ev)
				_, err := c.nodes[0].Decide(t.Context(), alice, agent.Decision{Action: ids[0], State: agent.ActionDenied})
				if d, ok := errors.AsType[*agent.DecidedError](err); !ok || d.Action.State != agent.ActionApproved {
					t.Errorf("denied after it was approved: %v", err)
				}
			}, withTools(tool))
		})
	}
}

func TestADeniedCallIsToldToTheModel(t *testing.T) {
	tool := needsApproval()
	run(t, 1, func(t *testing.T, c *cluster) {
		tn, ids := c.paused(1)
		_, err := c.nodes[0].Decide(t.Context(), alice, agent.Decision{Action: ids[0], State: agent.ActionDenied, Answer: "not on a Friday"})
		if err != nil {
			t.Fatal(err)
		}
		ev := c.ends(0, tn)
		p := c.model.Calls()[1].Request.Prompts
		if tool.Started() != 0 || last(ev).Status != agent.StatusCompleted || !strings.Contains(p[len(p)-1].Text, "not on a Friday") {
			t.Errorf("%d starts, history %+v", tool.Started(), p)
		}
		if f := result(t, ev, "c0"); f.Outcome != agent.ToolError {
			t.Errorf("result %+v", f)
		}
	}, withTools(tool))
}

func TestEditedArgumentsAreWhatTheToolGets(t *testing.T) {
	tool := needsApproval()
	run(t, 1, func(t *testing.T, c *cluster) {
		tn, ids := c.paused(1)
		_, err := c.nodes[0].Decide(t.Context(), alice, agent.Decision{Action: ids[0], State: agent.ActionApproved, Arguments: []byte(`{"n":42}`)})
		if err != nil {
			t.Fatal(err)
		}
		ev := c.ends(0, tn)
		if got := tool.Starts(); len(got) != 1 || string(got[0]) != `{"n":42}` || string(bodies[agent.ToolStarted](ev)[0].Arguments) != `{"n":42}` {
			t.Errorf("the tool got %q", got)
		}
	}, withTools(tool))
}

func TestTwoActionsDecidedByTwoNodesAtOnce(t *testing.T) {
	tool := needsApproval()
	run(t, 2, func(t *testing.T, c *cluster) {
		for range 20 {
			before := tool.Started()
			tn, ids := c.paused(2)
			go c.decide(0, ids[0], agent.ActionApproved)
			c.decide(1, ids[1], agent.ActionDenied)
			ev := c.ends(0, tn)
			if last(ev).Status != agent.StatusCompleted || tool.Started() != before+1 {
				t.Fatalf("ended %+v after %d starts", last(ev), tool.Started()-before)
			}
		}
	}, withTools(tool))
}

func TestAHalfDecidedTurnStillWaits(t *testing.T) {
	tool := needsApproval()
	run(t, 1, func(t *testing.T, c *cluster) {
		tn, ids := c.paused(2)
		c.decide(0, ids[0], agent.ActionApproved)
		time.Sleep(time.Minute)
		if s := c.mem.Slot(tn.Session).State; s != agent.SlotWaiting || tool.Started() != 0 {
			t.Errorf("%s, %d starts", s, tool.Started())
		}
		c.decide(0, ids[1], agent.ActionApproved)
		c.ends(0, tn)
		if tool.Started() != 2 {
			t.Errorf("%d starts", tool.Started())
		}
	}, withTools(tool))
}

func TestADecisionBeforeThePauseGoesOnInTheSameLeg(t *testing.T) {
	tool, beside := needsApproval(), turntest.SlowTool("slow", 5*time.Second)
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("x"), turntest.Call("c0", "t", `{}`), turntest.Call("c1", "slow", `{}`), turntest.Used(10, 5), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Answer("ok")...)
		tn := c.tool(0)
		time.Sleep(time.Second)
		fence := c.mem.Slot(tn.Session).Lease.Fence
		asked := bodies[agent.ActionRequested](c.mem.Journal(tn.Session))
		if len(asked) != 1 {
			t.Fatal("no action while the tool beside it runs")
		}
		c.decide(1, asked[0].ActionID, agent.ActionApproved)
		ev := c.ends(1, tn)
		if e := last(ev); e.Status != agent.StatusCompleted || tool.Started() != 1 || beside.Started() != 1 || len(e.Tools) != 2 {
			t.Errorf("ended %+v", e)
		}
		if n := len(bodies[agent.TurnPaused](ev)); n != 0 || c.mem.Slot(tn.Session).Lease.Fence != fence {
			t.Errorf("%d pauses, fence %d then %d", n, fence, c.mem.Slot(tn.Session).Lease.Fence)
		}
		if n := len(bodies[agent.ActionDecided](ev)); n != 1 {
			t.Errorf("%d action.decided", n)
		}
		if s := statuses(c.mem.Usage(tn.ID)); s != "ok ok" {
			t.Errorf("usage %s", s)
		}
	}, withTools(tool, beside))
}

func TestAStopWhileALegGoesOnIsStillHeard(t *testing.T) {
	tool, beside := needsApproval(), turntest.SlowTool("slow", 5*time.Second)
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c0", "t", `{}`), turntest.Call("c1", "slow", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Block())
		tn := c.tool(0)
		time.Sleep(time.Second)
		c.decide(1, bodies[agent.ActionRequested](c.mem.Journal(tn.Session))[0].ActionID, agent.ActionApproved)
		time.Sleep(10 * time.Second)
		if c.model.Open() != 1 {
			t.Fatal("the leg did not go on")
		}
		c.mem.Fail(away())
		_, err := c.nodes[0].Stop(t.Context(), turn.StopRequest{Principal: alice, Session: tn.Session})
		if e, ok := errors.AsType[*turn.NotRecordedError](err); !ok || !e.Told {
			t.Errorf("a stop that can only be told here: %v", err)
		}
		c.mem.Fail(nil)
		if a := c.cancel(0, turn.StopRequest{Session: tn.Session}); !a.Cancelled {
			t.Errorf("answer %+v", a)
		}
		c.until(time.Millisecond, "model closed", func() bool { return c.model.Open() == 0 })
		ev := c.ends(0, tn)
		c.wantCancelled(tn)
		if n := len(bodies[agent.TurnStopping](ev)); n != 1 {
			t.Errorf("%d turn.stopping", n)
		}
	}, withTools(tool, beside))
}

func TestStopWhileWaiting(t *testing.T) {
	mayNot := alice
	mayNot.Permissions = slices.DeleteFunc(slices.Clone(agent.Permissions), func(p agent.Permission) bool { return p == agent.PermAgentApprove })
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 91
		tn, ids := c.paused(1)
		if a := c.cancel(through, turn.StopRequest{Principal: mayNot, Session: tn.Session}); a.Cancelled || a.Status != turn.StopNone || len(a.Turns) != 0 {
			t.Errorf("without agent.approve: %+v", a)
		}
		if s := c.mem.Slot(tn.Session).State; s != agent.SlotWaiting {
			t.Errorf("slot %s", s)
		}
		if _, err := c.nodes[0].Decide(t.Context(), mayNot, agent.Decision{Action: ids[0], State: agent.ActionApproved}); !errors.Is(err, agent.ErrForbidden) {
			t.Errorf("decide without agent.approve: %v", err)
		}
		if a := c.cancel(through, turn.StopRequest{Session: tn.Session}); !a.Cancelled || a.Status != turn.StopStopped || a.Actions != 1 {
			t.Errorf("with agent.approve: %+v", a)
		}
		calls := len(c.model.Calls())
		c.wantCancelled(tn)
		_, err := c.nodes[0].Decide(t.Context(), alice, agent.Decision{Action: ids[0], State: agent.ActionApproved})
		if d, ok := errors.AsType[*agent.DecidedError](err); !ok || d.Action.State != agent.ActionWithdrawn {
			t.Errorf("approved after the stop: %v", err)
		}
		time.Sleep(time.Minute)
		if len(c.model.Calls()) != calls {
			t.Error("a model call after the stop")
		}
		if e := last(c.end(1, c.begin(1, turn.Submit{Session: tn.Session}))); e.Status != agent.StatusCompleted {
			t.Errorf("the next turn ended %+v", e)
		}
	}, withTools(needsApproval()))
}

func TestANewMessageEndsAWaitingTurnAsSuperseded(t *testing.T) {
	tool := needsApproval()
	run(t, 2, func(t *testing.T, c *cluster) { // 91
		tn, ids := c.paused(1)
		next := c.begin(1, turn.Submit{Session: tn.Session, Input: "never mind"})
		c.end(1, next)
		if e := c.ended(tn); e.StopReason != agent.ReasonCancelled || e.StopDetail != agent.DetailSuperseded {
			t.Errorf("ended %+v", e)
		}
		if a, _, _ := c.mem.Action(t.Context(), ids[0]); a.State != agent.ActionWithdrawn || tool.Started() != 0 {
			t.Errorf("action %+v", a)
		}
	}, withTools(tool))
}

func TestAStopThatComesBeforeTheQuestionIsStoredAnswersEveryCall(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 32
		c.asks(3)
		gate := c.mem.Block("Record")
		tn := c.tool(0)
		<-gate.Arrived()
		c.cancel(1, turn.StopRequest{Session: tn.Session})
		gate.Release()
		ev := c.end(0, tn)
		c.wantCancelled(tn)
		for i := range 3 {
			if f := result(t, ev, fmt.Sprintf("c%d", i)); f.Outcome != agent.ToolAborted {
				t.Errorf("result %+v", f)
			}
		}
		if n := len(bodies[agent.ActionRequested](ev)); n != 0 {
			t.Errorf("%d actions were asked for", n)
		}
	}, withTools(needsApproval()))
}
