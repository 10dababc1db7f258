package turn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// approver may approve, and nothing else.
var approver = agent.Principal{ID: "token:eve", Project: "p", Permissions: []agent.Permission{agent.PermAgentApprove}}

// left begins a turn of bob's, who may not approve, on the first node. It asks for
// n approvals beside a tool that takes 5 s, and bob stops it through a node.
func (c *cluster) left(n, through int) (agent.Turn, []string) {
	c.t.Helper()
	steps := []turntest.Step{turntest.Text("let me see")}
	for i := range n {
		steps = append(steps, turntest.Call("c"+string(rune('0'+i)), "t", `{"n":1}`))
	}
	c.model.Reply(append(steps, turntest.Call("beside", "slow", `{}`), turntest.Finish(agent.FinishCalls))...)
	tn := c.begin(0, turn.Submit{Agent: "tools", Principal: bob})
	time.Sleep(time.Second)
	if a := c.cancel(through, turn.StopRequest{Principal: bob, Session: tn.Session}); !a.Cancelled || a.Actions != 0 {
		c.t.Errorf("stop %+v", a)
	}
	c.end(0, tn)
	c.wantCancelled(tn)
	synctest.Wait()
	var ids []string
	for _, a := range bodies[agent.ActionRequested](c.mem.Journal(tn.Session)) {
		if x, _, _ := c.mem.Action(c.t.Context(), a.ActionID); x.State != agent.ActionOpen {
			c.t.Errorf("action %+v", x)
		}
		ids = append(ids, a.ActionID)
	}
	return tn, ids
}

func besides() (*turntest.Tool, func(*turn.Config)) {
	tool := needsApproval()
	return tool, withTools(tool, turntest.SlowTool("slow", 5*time.Second))
}

// next returns the turn that goes on with an action.
func (c *cluster) next(action string) agent.Turn {
	c.t.Helper()
	a, _, err := c.mem.Action(c.t.Context(), action)
	if err != nil {
		c.t.Fatal(err)
	}
	tn, _, err := c.mem.Turn(c.t.Context(), a.Turn)
	if err != nil {
		c.t.Fatal(err)
	}
	return tn
}

func TestAnApprovalThatOutlivedAStopGoesOnInANewTurn(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 91, 95
		tn, ids := c.left(1, through)
		calls := len(c.model.Calls())
		c.model.Reply(turntest.Answer("it is done")...).Reply(turntest.Answer("on we go")...)
		time.Sleep(time.Hour)
		for range 3 {
			d := agent.Decision{Action: ids[0], State: agent.ActionApproved, Door: agent.DoorStudio, Arguments: []byte(`{"n":42}`)}
			if _, err := c.nodes[through].Decide(t.Context(), approver, d); err != nil {
				t.Fatal(err)
			}
		}
		next := c.next(ids[0])
		ev := c.ends(1-through, next)
		if e := last(ev); e.Status != agent.StatusCompleted || len(e.Tools) != 1 || e.Tools[0].Outcome != agent.ToolSuccess {
			t.Errorf("ended %+v", e)
		}
		if next.ID == tn.ID || next.By != approver.ID || next.Door != agent.DoorStudio {
			t.Errorf("turn %+v", next)
		}
		tool := c.conf.Tools.(turntest.Toolbox)[0]
		if got := tool.Starts(); len(got) != 1 || string(got[0]) != `{"n":42}` {
			t.Errorf("the tool got %q", got)
		}
		if n := len(c.model.Calls()); n != calls+1 {
			t.Errorf("%d model calls", n-calls)
		}
		p := c.model.Calls()[calls].Request.Prompts
		if n := len(p); n != 6 || p[4].Role != agent.RoleAssistant || len(p[4].Calls) != 1 || p[4].Calls[0].ID == "c0" || p[5].Text != "done" {
			t.Errorf("history %+v", p)
		}
		// The next message finds a history that a strict provider takes.
		if e := last(c.end(1, c.begin(1, turn.Submit{Session: tn.Session, Principal: bob}))); e.Status != agent.StatusCompleted {
			t.Errorf("the next turn ended %+v", e)
		}
	}, func(c *turn.Config) { _, tools := besides(); tools(c) })
}

func TestAnApprovalThatOutlivedAStopIsRejected(t *testing.T) {
	tool, tools := besides()
	run(t, 2, func(t *testing.T, c *cluster) {
		tn, ids := c.left(1, 0)
		calls := len(c.model.Calls())
		if _, err := c.nodes[1].Decide(t.Context(), bob, agent.Decision{Action: ids[0], State: agent.ActionDenied}); !errors.Is(err, agent.ErrForbidden) {
			t.Errorf("bob: %v", err)
		}
		if _, err := c.nodes[1].Decide(t.Context(), approver, agent.Decision{Action: ids[0], State: agent.ActionDenied}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s := c.mem.Slot(tn.Session).State; s != agent.SlotIdle || len(c.model.Calls()) != calls || tool.Started() != 0 {
			t.Errorf("%s, %d starts", s, tool.Started())
		}
		_, err := c.nodes[0].Decide(t.Context(), approver, agent.Decision{Action: ids[0], State: agent.ActionApproved})
		if d, ok := errors.AsType[*agent.DecidedError](err); !ok || d.Action.State != agent.ActionDenied {
			t.Errorf("approved after it was rejected: %v", err)
		}
	}, tools)
}

func TestTwoApprovalsThatOutlivedAStopGoOnOneAfterTheOther(t *testing.T) {
	tool, tools := besides()
	run(t, 2, func(t *testing.T, c *cluster) {
		_, ids := c.left(2, 0)
		c.model.Reply(turntest.Text("working"), turntest.Pause(time.Minute), turntest.Finish(agent.FinishStop))
		c.model.Reply(turntest.Answer("both")...)
		yes := func(id string) error {
			_, err := c.nodes[1].Decide(t.Context(), approver, agent.Decision{Action: id, State: agent.ActionApproved})
			return err
		}
		if err := yes(ids[0]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		busy, ok := errors.AsType[*agent.BusyError](yes(ids[1]))
		if !ok || busy.Turn != c.next(ids[0]).ID {
			t.Errorf("busy %+v", busy)
		}
		c.ends(0, c.next(ids[0]))
		synctest.Wait()
		if err := yes(ids[1]); err != nil {
			t.Fatal(err)
		}
		if e := last(c.ends(0, c.next(ids[1]))); e.Status != agent.StatusCompleted || tool.Started() != 2 {
			t.Errorf("ended %+v after %d starts", e, tool.Started())
		}
	}, tools)
}

func TestAnApprovalWaitsForTheEndOfItsStoppingTurn(t *testing.T) {
	tool := needsApproval()
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c0", "t", `{}`), turntest.Call("c1", "deaf", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Answer("done")...)
		tn := c.begin(0, turn.Submit{Agent: "tools", Principal: bob})
		time.Sleep(time.Second)
		id := bodies[agent.ActionRequested](c.mem.Journal(tn.Session))[0].ActionID
		c.cancel(1, turn.StopRequest{Principal: bob, Session: tn.Session})
		began := time.Now()
		if _, err := c.nodes[1].Decide(t.Context(), approver, agent.Decision{Action: id, State: agent.ActionApproved}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d < 500*time.Millisecond || d > 2*time.Second {
			t.Errorf("decided after %v", d)
		}
		if e := last(c.ends(0, c.next(id))); e.Status != agent.StatusCompleted || tool.Started() != 1 {
			t.Errorf("ended %+v after %d starts", e, tool.Started())
		}
		c.wantCancelled(tn)
	}, withTools(tool, turntest.DeafTool("deaf", 2*time.Second)))
}

func TestAStopOfWhoMayApproveLeavesNothingOpen(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 91
		tn, ids := c.left(2, 0)
		if a := c.cancel(through, turn.StopRequest{Principal: bob, Session: tn.Session}); a.Cancelled || a.Actions != 0 {
			t.Errorf("bob's second stop %+v", a)
		}
		if a := c.cancel(through, turn.StopRequest{Session: tn.Session}); !a.Cancelled || a.Actions != 2 || len(a.Turns) != 0 || a.Status != turn.StopNone {
			t.Errorf("alice's stop %+v", a)
		}
		for _, id := range ids {
			if a, _, _ := c.mem.Action(t.Context(), id); a.State != agent.ActionWithdrawn || a.DecidedBy != alice.ID {
				t.Errorf("action %+v", a)
			}
		}
		if a := c.cancel(through, turn.StopRequest{Session: tn.Session}); a.Cancelled || a.Actions != 0 {
			t.Errorf("alice's second stop %+v", a)
		}
		// However the stop of a running turn and its settling fall: nothing is open.
		for range 10 {
			c.model.Reply(turntest.Call("", "t", `{"n":1}`), turntest.Call("", "slow", `{}`), turntest.Finish(agent.FinishCalls))
			tn = c.begin(0, turn.Submit{Agent: "tools"})
			time.Sleep(time.Second)
			c.cancel(through, turn.StopRequest{Session: tn.Session})
			c.end(0, tn)
			synctest.Wait()
			if a, _ := c.mem.Actions(t.Context(), tn.ID); len(a) != 1 || a[0].State != agent.ActionWithdrawn {
				t.Fatalf("actions %+v", a)
			}
		}
	}, func(c *turn.Config) { _, tools := besides(); tools(c) })
}

func TestANewMessageWithdrawsWhatAStopHasLeft(t *testing.T) {
	tool, tools := besides()
	run(t, 2, func(t *testing.T, c *cluster) {
		tn, ids := c.left(1, 0)
		c.model.Reply(turntest.Answer("all right")...)
		c.end(1, c.begin(1, turn.Submit{Session: tn.Session, Principal: bob, Input: "never mind"}))
		_, err := c.nodes[1].Decide(t.Context(), approver, agent.Decision{Action: ids[0], State: agent.ActionApproved})
		if d, ok := errors.AsType[*agent.DecidedError](err); !ok || d.Action.State != agent.ActionWithdrawn || d.Action.DecidedBy != bob.ID || tool.Started() != 0 {
			t.Errorf("approved after a new message: %v", err)
		}
	}, tools)
}

// expiring lets requests of the agent "tools" stay open for so long.
func expiring(d time.Duration) func(*turn.Config) {
	return withAgent(func(a *agent.Config) { a.Execution.ActionExpirySeconds = int(d.Seconds()) })
}

func TestARequestThatNobodyDecidesInTimeExpires(t *testing.T) {
	for kind, reads := range map[agent.ActionType]string{agent.ActionApproval: "Nobody approved this call in time", agent.ActionQuestion: "Nobody answered in time"} {
		tool := needsApproval()
		tool.Asks = kind
		run(t, 2, func(t *testing.T, c *cluster) {
			tn, ids := c.paused(2)
			time.Sleep(50 * time.Minute)
			for _, id := range ids {
				if a, _, _ := c.mem.Action(t.Context(), id); a.State != agent.ActionOpen || a.ExpiresAt.Sub(a.CreatedAt) != time.Hour {
					t.Errorf("action %+v", a)
				}
			}
			c.kill[0]() // whoever is there does it
			began := time.Now()
			ev := c.ends(1, tn)
			if d := time.Since(began); d < 10*time.Minute-time.Second || d > 10*time.Minute+3*time.Second {
				t.Errorf("went on after %v", d)
			}
			if e := last(ev); e.Status != agent.StatusCompleted || tool.Started() != 0 {
				t.Errorf("ended %+v after %d starts", e, tool.Started())
			}
			p := c.model.Calls()[1].Request.Prompts
			if got := p[len(p)-1].Text; !strings.Contains(got, reads) {
				t.Errorf("the model reads %q", got)
			}
			decided := bodies[agent.ActionDecided](ev)
			if len(decided) != 2 || slices.ContainsFunc(decided, func(d agent.ActionDecided) bool { return d.State != agent.ActionExpired || d.By != "" }) {
				t.Errorf("decided %+v", decided)
			}
			_, err := c.nodes[1].Decide(t.Context(), alice, agent.Decision{Action: ids[0], State: agent.ActionApproved, Answer: "x"})
			if d, ok := errors.AsType[*agent.DecidedError](err); !ok || d.Action.State != agent.ActionExpired {
				t.Errorf("decided after it expired: %v", err)
			}
		}, withTools(tool), expiring(time.Hour))
	}
}

func TestAStopDuringAnApprovedCallLeavesItStartedOnce(t *testing.T) {
	tool := turntest.SlowTool("t", time.Minute)
	tool.Asks = agent.ActionApproval
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 95
		before := tool.Started()
		tn, ids := c.paused(1)
		c.decide(through, ids[0], agent.ActionApproved)
		time.Sleep(5 * time.Second)
		if a := c.cancel(through, turn.StopRequest{Session: tn.Session}); !a.Cancelled {
			t.Errorf("stop %+v", a)
		}
		ev := c.ends(through, tn)
		c.decide(1-through, ids[0], agent.ActionApproved) // pressed again
		time.Sleep(time.Minute)
		if f := result(t, ev, "c0"); f.Outcome != agent.ToolAborted || tool.Started() != before+1 {
			t.Errorf("result %+v after %d starts", f, tool.Started()-before)
		}
		c.wantCancelled(tn)
	}, withTools(tool))
}

func TestAnApprovedCallIsNotRunAgainThoughTheModelFailsAfterIt(t *testing.T) {
	tool := needsApproval()
	run(t, 2, func(t *testing.T, c *cluster) { // 95
		c.model.Reply(turntest.Call("c0", "t", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Fail(&agent.ModelError{Code: agent.CodeModelError, Message: "no"}))
		c.model.Always(turntest.Answer("ok")...)
		tn := c.tool(0)
		c.end(0, tn)
		id := bodies[agent.ActionRequested](c.mem.Journal(tn.Session))[0].ActionID
		c.decide(0, id, agent.ActionApproved)
		if e := last(c.ends(0, tn)); e.Status != agent.StatusFailed || len(e.Tools) != 1 || e.Tools[0].Outcome != agent.ToolSuccess {
			t.Errorf("ended %+v", e)
		}
		c.decide(1, id, agent.ActionApproved) // pressed again
		next := c.begin(1, turn.Submit{Session: tn.Session, Input: "again"})
		if e := last(c.end(1, next)); e.Status != agent.StatusCompleted || tool.Started() != 1 {
			t.Errorf("the next turn ended %+v after %d starts", e, tool.Started())
		}
	}, withTools(tool))
}
