package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// family is a cluster with the agent "boss" on the cluster's model, which may ask
// the agent "kid" on a model of its own.
type family struct {
	*cluster
	kid *turntest.Model
}

// boss runs a test with a family on n nodes.
func boss(t *testing.T, n int, f func(t *testing.T, c *family), conf ...func(*turn.Config)) {
	kid := turntest.NewModel(t)
	setup := func(c *turn.Config) {
		c.Models.(turntest.Models)["k"] = kid
		agents := c.Agents.(turntest.Agents)
		agents["boss"] = agent.Config{Model: "m", Tools: []agent.ToolRef{askRef("kid")}}
		agents["kid"] = agent.Config{Model: "k"}
	}
	run(t, n, func(t *testing.T, c *cluster) { f(t, &family{cluster: c, kid: kid}) }, append([]func(*turn.Config){setup}, conf...)...)
}

func askRef(key string) agent.ToolRef {
	return agent.ToolRef{Source: agent.SourceAgent, Key: key, Agent: &agent.AgentSource{Agent: key}}
}

// change sets what an agent of the family is.
func change(key string, f func(*agent.Config)) func(*turn.Config) {
	return func(c *turn.Config) {
		agents := c.Agents.(turntest.Agents)
		a := agents[key]
		f(&a)
		agents[key] = a
	}
}

// asks scripts one message of the boss with n calls of the kid, then an answer.
func (c *family) asks(n int) {
	c.model.Reply(askCalls(0, n, "kid")...)
	c.model.Always(turntest.Answer("ok")...)
}

// asksLater is asks, a second after the turn has begun: a test has the time to get
// in between.
func (c *family) asksLater(n int) {
	c.model.Reply(append([]turntest.Step{turntest.Pause(time.Second)}, askCalls(0, n, "kid")...)...)
	c.model.Always(turntest.Answer("ok")...)
}

func askCalls(from, n int, key string) []turntest.Step {
	var steps []turntest.Step
	for i := range n {
		steps = append(steps, turntest.Call(fmt.Sprintf("c%d", from+i), "ask_"+key, `{"message":"help me"}`))
	}
	return append(steps, turntest.Used(10, 10), turntest.Finish(agent.FinishCalls))
}

func (c *family) boss(n int) agent.Turn {
	c.t.Helper()
	return c.begin(n, turn.Submit{Agent: "boss"})
}

// children waits until n calls have begun and returns what they begin.
func (c *family) children(tn agent.Turn, n int) []agent.Child {
	c.t.Helper()
	var out []agent.Child
	c.until(5*time.Second, "the children begin", func() bool {
		out = nil
		for _, s := range bodies[agent.ToolStarted](of(c.mem.Journal(tn.Session), tn)) {
			if s.Child != nil {
				out = append(out, *s.Child)
			}
		}
		return len(out) == n
	})
	return out
}

// child reads a child's turn, which must be there.
func (c *family) child(k agent.Child) agent.Turn {
	c.t.Helper()
	tn, _, err := c.mem.Turn(c.t.Context(), k.Turn)
	if err != nil {
		c.t.Fatalf("child %s: %v", k.Turn, err)
	}
	return tn
}

// idle holds the sessions to being idle, and the models to being closed.
func (c *family) idle(sessions ...string) {
	c.t.Helper()
	if n := c.model.Open() + c.kid.Open(); n != 0 {
		c.t.Errorf("%d model calls are open", n)
	}
	for _, s := range sessions {
		if got := c.mem.Slot(s); got.State != agent.SlotIdle {
			c.t.Errorf("session %s is %s", s, got.State)
		}
	}
}

// stoppedBelow holds a child to having ended as its parent's stop says.
func (c *family) stoppedBelow(k agent.Child, detail string) {
	c.t.Helper()
	tn := c.child(k)
	if tn.StopReason != agent.ReasonCancelled || tn.StopDetail != detail {
		c.t.Errorf("the child is %s %q %q, want cancelled %q", tn.Status, tn.StopReason, tn.StopDetail, detail)
	}
	c.ended(tn)
}

func TestAnAgentsAnswerIsTheResultOfItsCall(t *testing.T) {
	boss(t, 2, func(t *testing.T, c *family) { // 63
		c.asks(1)
		c.kid.Reply(turntest.Text("forty"), turntest.Text("-two"), turntest.Used(7, 3), turntest.Finish(agent.FinishStop))
		tn := c.begin(0, turn.Submit{Agent: "boss", Principal: bob})
		ev := c.end(1, tn)
		kid := c.child(c.children(tn, 1)[0])
		f := result(t, ev, "c0")
		if f.Outcome != agent.ToolSuccess || f.Output != "forty-two" || last(ev).Status != agent.StatusCompleted {
			t.Errorf("result %+v, ended %+v", f, last(ev))
		}
		if f.Child == nil || f.Child.Turn != kid.ID || f.Child.Status != agent.StatusCompleted || f.Child.Usage.Output != 3 || f.Child.Usage.CostUSD == 0 {
			t.Errorf("child %+v", f.Child)
		}
		if kid.Depth != 1 || kid.Parent == nil || kid.Parent.Turn != tn.ID || kid.By != bob.ID || kid.Door != tn.Door || kid.Background {
			t.Errorf("turn of the child: %+v", kid)
		}
		if s, err := c.mem.Find(t.Context(), kid.Session); err != nil || s.Session.Owner != bob.ID || s.Session.Agent != "kid" {
			t.Errorf("session of the child: %+v %v", s, err)
		}
		if p := c.kid.Calls()[0].Request.Prompts; len(p) != 1 || p[0].Text != "help me" {
			t.Errorf("the child was asked %+v", p)
		}
		if e := c.ended(tn); e.Usage.Output != 11 {
			t.Errorf("the parent's own usage is %+v", e.Usage)
		}
	})
}

func TestAStopOfTheParentClosesItsChildren(t *testing.T) {
	for _, push := range []bool{true, false} {
		for through := range 2 { // 60
			conf := func(c *turn.Config) {
				if !push {
					c.Hints = nil
				}
			}
			t.Run(fmt.Sprintf("push %v, through node %d", push, through+1), func(t *testing.T) {
				boss(t, 2, func(t *testing.T, c *family) {
					c.asks(2)
					c.kid.Always(turntest.Text("half"), turntest.Block())
					tn := c.boss(0)
					time.Sleep(time.Second)
					kids := c.children(tn, 2)
					asked := time.Now()
					c.cancel(through, turn.StopRequest{Session: tn.Session})
					c.until(time.Second, "both model calls are closed", func() bool { return c.kid.Open() == 0 })
					if d := time.Since(asked); push && d > 10*time.Millisecond {
						t.Errorf("closed after %v", d)
					}
					ev := c.end(1, tn)
					c.wantCancelled(tn)
					for i, k := range kids {
						c.stoppedBelow(k, agent.DetailParentStopped)
						f := result(t, ev, fmt.Sprintf("c%d", i))
						if f.Outcome != agent.ToolAborted || f.Child == nil || f.Child.StopDetail != agent.DetailParentStopped {
							t.Errorf("result %+v", f)
						}
						c.idle(k.Session)
					}
					c.idle(tn.Session)
					if n := len(c.model.Calls()); n != 1 {
						t.Errorf("%d model calls of the parent", n)
					}
				}, conf)
			})
		}
	}
}

func TestAStopOfAChildAloneIsToldToItsParentWhichGoesOn(t *testing.T) {
	for through := range 2 { // 61
		t.Run(fmt.Sprintf("through node %d", through+1), func(t *testing.T) {
			boss(t, 2, func(t *testing.T, c *family) {
				c.asks(1)
				c.kid.Reply(turntest.Text("half an answer"), turntest.Block())
				tn := c.boss(0)
				time.Sleep(time.Second)
				k := c.children(tn, 1)[0]
				c.cancel(through, turn.StopRequest{Session: k.Session})
				ev := c.end(0, tn)
				f := result(t, ev, "c0")
				if f.Outcome != agent.ToolError || !strings.Contains(f.Output, "was stopped before it finished") || !strings.HasSuffix(f.Output, "half an answer") {
					t.Errorf("result %+v", f)
				}
				c.stoppedBelow(k, "")
				if e := last(ev); e.Status != agent.StatusCompleted || e.Stop != nil {
					t.Errorf("the parent ended %+v", e)
				}
				if p := c.model.Calls()[1].Request.Prompts; p[2].Text != f.Output {
					t.Errorf("the model read %+v", p)
				}
			})
		})
	}
}

// elsewhere runs a family whose child was begun on node 1 and goes on, after a
// person's word, on node 2, where its model is silent.
func elsewhere(t *testing.T, f func(t *testing.T, c *family, tn agent.Turn, k agent.Child), conf ...func(*turn.Config)) {
	tool := func(c *turn.Config) { c.Tools, c.MaxQueued = turntest.Toolbox{needsApproval()}, -1 }
	uses := change("kid", func(a *agent.Config) { a.Tools = []agent.ToolRef{{Source: "function", Key: "t"}} })
	boss(t, 1, func(t *testing.T, c *family) {
		time.Sleep(130 * time.Millisecond) // the nodes' polls are not in step
		c.conf.MaxQueued = 64
		c.add()
		synctest.Wait()
		c.asks(1)
		c.kid.Reply(turntest.Call("k0", "t", `{}`), turntest.Finish(agent.FinishCalls))
		c.kid.Reply(turntest.Text("half"), turntest.Block())
		tn := c.boss(0)
		k := c.children(tn, 1)[0]
		c.decideOf(k)
		c.until(2*time.Second, "the child goes on", func() bool { return c.kid.Open() == 1 })
		if a, b := c.node(tn), c.mem.Slot(k.Session).Lease.Node; a == b || b == "" {
			t.Fatalf("parent on %s, child on %s", a, b)
		}
		f(t, c, tn, k)
	}, append([]func(*turn.Config){tool, uses}, conf...)...)
}

// decideOf approves what a child asks for.
func (c *family) decideOf(k agent.Child) {
	c.t.Helper()
	var open []agent.Action
	c.until(2*time.Second, "the child waits", func() bool {
		open, _ = c.mem.Actions(c.t.Context(), k.Turn)
		return len(open) == 1 && c.mem.Slot(k.Session).State == agent.SlotWaiting
	})
	c.decide(0, open[0].ID, agent.ActionApproved)
}

func TestAStopOfTheParentClosesAChildOnAnotherNode(t *testing.T) {
	for through := range 2 { // 60
		for _, after := range []time.Duration{0, 60, 120, 180, 240} {
			t.Run(fmt.Sprintf("through node %d after %d ms", through+1, after), func(t *testing.T) {
				elsewhere(t, func(t *testing.T, c *family, tn agent.Turn, k agent.Child) {
					time.Sleep(after * time.Millisecond)
					asked := time.Now()
					c.cancel(through, turn.StopRequest{Session: tn.Session})
					c.until(time.Second, "the model call is closed", func() bool { return c.kid.Open() == 0 })
					ev := c.end(1, tn)
					if d := time.Since(asked); d > time.Second {
						t.Errorf("ended after %v", d)
					}
					c.wantCancelled(tn)
					c.stoppedBelow(k, agent.DetailParentStopped)
					if f := result(t, ev, "c0"); f.Outcome != agent.ToolAborted {
						t.Errorf("result %+v", f)
					}
					c.idle(tn.Session, k.Session)
					if n := len(c.model.Calls()); n != 1 {
						t.Errorf("%d model calls of the parent", n)
					}
				}, noPush)
			})
		}
	}
}

func TestTheDeathOfTheParentsNodeStopsAChildOnAnother(t *testing.T) {
	elsewhere(t, func(t *testing.T, c *family, tn agent.Turn, k agent.Child) { // 60, 64
		c.mem.KillNode(c.node(tn))
		ev := c.end(1, tn)
		if e := last(ev); e.Status != agent.StatusFailed || e.Error.Code != agent.CodeWorkerLost {
			t.Errorf("ended %+v", e)
		}
		if f := result(t, ev, "c0"); f.Outcome != agent.ToolUnconfirmed {
			t.Errorf("result %+v", f)
		}
		c.until(time.Second, "the child is over", func() bool { return c.child(k).Status.Final() })
		c.stoppedBelow(k, agent.DetailParentLost)
		c.until(3*time.Second, "the old owner has let go", func() bool { return c.nodes[0].Running() == 0 })
		c.idle(tn.Session, k.Session)
		if n := len(c.model.Calls()); n != 1 {
			t.Errorf("%d model calls of the parent", n)
		}
	})
}

func TestTheDeathOfTheChildsNodeIsAnErrorThatTheParentReads(t *testing.T) {
	elsewhere(t, func(t *testing.T, c *family, tn agent.Turn, k agent.Child) { // 63, 64
		c.mem.KillNode(c.mem.Slot(k.Session).Lease.Node)
		ev := c.end(0, tn)
		f := result(t, ev, "c0")
		if f.Outcome != agent.ToolError || !strings.Contains(f.Output, "it failed: The node that ran this turn was lost") || f.Child.Status != agent.StatusFailed {
			t.Errorf("result %+v", f)
		}
		if e := last(ev); e.Status != agent.StatusCompleted {
			t.Errorf("the parent ended %+v", e)
		}
	})
}

func TestTheDeathOfTheNodeOfBothEndsBoth(t *testing.T) {
	boss(t, 2, func(t *testing.T, c *family) { // 60, 64
		c.asks(1)
		c.kid.Reply(turntest.Text("half"), turntest.Block())
		tn := c.boss(0)
		time.Sleep(time.Second)
		k := c.children(tn, 1)[0]
		c.mem.KillNode(c.node(tn))
		ev := c.end(1, tn)
		if f := result(t, ev, "c0"); f.Outcome != agent.ToolUnconfirmed || last(ev).Status != agent.StatusFailed {
			t.Errorf("result %+v, ended %+v", f, last(ev))
		}
		c.stoppedBelow(k, agent.DetailParentLost)
		c.until(3*time.Second, "the old owner has let go", func() bool { return c.nodes[0].Running() == 0 })
		c.idle(tn.Session, k.Session)
	})
}

func TestAChildThatWaitsForAPersonIsWaitedFor(t *testing.T) {
	uses := change("kid", func(a *agent.Config) { a.Tools = []agent.ToolRef{{Source: "function", Key: "t"}} })
	boss(t, 2, func(t *testing.T, c *family) {
		c.asks(1)
		c.kid.Reply(turntest.Call("k0", "t", `{}`), turntest.Finish(agent.FinishCalls)).Reply(turntest.Answer("agreed")...)
		tn := c.boss(0)
		k := c.children(tn, 1)[0]
		time.Sleep(20 * time.Second)
		c.decideOf(k)
		if f := result(t, c.end(0, tn), "c0"); f.Outcome != agent.ToolSuccess || f.Output != "agreed" {
			t.Errorf("result %+v", f)
		}
	}, uses, withTools(needsApproval()))
}

func TestAStopGoesDownTheWholeTree(t *testing.T) {
	loop := change("kid", func(a *agent.Config) { a.Tools = []agent.ToolRef{askRef("kid")} })
	boss(t, 2, func(t *testing.T, c *family) { // 60
		c.asks(1)
		c.kid.Reply(askCalls(10, 1, "kid")...).Reply(turntest.Text("deep"), turntest.Block())
		tn := c.boss(0)
		time.Sleep(time.Second)
		k := c.children(tn, 1)[0]
		g := c.children(c.child(k), 1)[0]
		c.cancel(1, turn.StopRequest{Session: tn.Session})
		c.until(time.Second, "the model call is closed", func() bool { return c.kid.Open() == 0 })
		c.end(1, tn)
		c.wantCancelled(tn)
		c.stoppedBelow(k, agent.DetailParentStopped)
		c.stoppedBelow(g, agent.DetailParentStopped)
		c.idle(tn.Session, k.Session, g.Session)
	}, loop)
}

func TestAChildIsNotBegunBelowAStop(t *testing.T) {
	boss(t, 2, func(t *testing.T, c *family) { // 60
		c.asksLater(1)
		tn := c.boss(0)
		gate := c.mem.Block("Take")
		<-gate.Arrived()
		c.cancel(1, turn.StopRequest{Session: tn.Session})
		gate.Release()
		ev := c.end(1, tn)
		c.wantCancelled(tn)
		k := c.children(tn, 1)[0]
		if _, _, err := c.mem.Turn(t.Context(), k.Turn); err == nil || len(c.kid.Calls()) != 0 {
			t.Errorf("a child was begun: %v", err)
		}
		if f := result(t, ev, "c0"); f.Outcome != agent.ToolAborted || f.Child != nil {
			t.Errorf("result %+v", f)
		}
	})
}

func TestAChildThatDoesNotEndIsUnconfirmedAndItsParentEnds(t *testing.T) {
	deaf := turntest.DeafTool("t", 20*time.Second)
	uses := change("kid", func(a *agent.Config) { a.Tools = []agent.ToolRef{{Source: "function", Key: "t"}} })
	boss(t, 2, func(t *testing.T, c *family) {
		c.asks(1)
		c.kid.Reply(turntest.Call("k0", "t", `{}`), turntest.Finish(agent.FinishCalls))
		tn := c.boss(0)
		time.Sleep(time.Second)
		k := c.children(tn, 1)[0]
		asked := time.Now()
		c.cancel(1, turn.StopRequest{Session: tn.Session})
		ev := c.end(0, tn)
		if d := time.Since(asked); d > 2100*time.Millisecond {
			t.Errorf("ended after %v", d)
		}
		if f := result(t, ev, "c0"); f.Outcome != agent.ToolUnconfirmed || f.Child != nil {
			t.Errorf("result %+v", f)
		}
		c.wantCancelled(tn)
		time.Sleep(20 * time.Second)
		c.stoppedBelow(k, agent.DetailParentStopped)
		c.idle(tn.Session, k.Session)
		if f := result(t, c.mem.Journal(k.Session), "k0"); f.Outcome != agent.ToolDropped {
			t.Errorf("the child's tool: %+v", f)
		}
	}, uses, withTools(deaf))
}

func TestAStopWithTheDatabaseAwayClosesTheChildrenToo(t *testing.T) {
	boss(t, 1, func(t *testing.T, c *family) {
		c.asks(1)
		c.kid.Reply(turntest.Text("half"), turntest.Block())
		tn := c.boss(0)
		time.Sleep(time.Second)
		k := c.children(tn, 1)[0]
		c.mem.Fail(away())
		if _, err := c.nodes[0].Stop(t.Context(), turn.StopRequest{Principal: alice, Session: tn.Session}); err == nil {
			t.Error("a stop that is not recorded is no error")
		}
		if n := c.kid.Open(); n != 0 {
			t.Errorf("%d model calls are open", n)
		}
		c.mem.Fail(nil)
		c.end(0, tn)
		c.wantCancelled(tn)
		c.until(3*time.Second, "the child is over", func() bool { return c.child(k).Status.Final() })
		c.stoppedBelow(k, agent.DetailParentStopped)
		c.idle(tn.Session, k.Session)
	})
}
