package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func TestAChildThatTakesTooLongIsStoppedAndItsParentGoesOn(t *testing.T) {
	short := change("boss", func(a *agent.Config) { a.Tools[0].TimeoutMS = 3000 })
	boss(t, 1, func(t *testing.T, c *family) {
		c.asks(1)
		c.kid.Reply(turntest.Text("half"), turntest.Block())
		tn := c.boss(0)
		began := time.Now()
		ev := c.end(0, tn)
		f := result(t, ev, "c0")
		if d := time.Since(began); f.Outcome != agent.ToolError || !strings.Contains(f.Output, "it took longer than 3s and was stopped") ||
			!strings.HasSuffix(f.Output, "half") || d > 3100*time.Millisecond {
			t.Errorf("result %+v after %v", f, d)
		}
		k := c.children(tn, 1)[0]
		c.stoppedBelow(k, agent.DetailParentGaveUp)
		c.idle(k.Session)
		if e := last(ev); e.Status != agent.StatusCompleted {
			t.Errorf("the parent ended %+v", e)
		}
	}, short)
	uses := change("kid", func(a *agent.Config) { a.Tools = []agent.ToolRef{{Source: "function", Key: "t"}} })
	boss(t, 1, func(t *testing.T, c *family) {
		c.asks(1)
		c.kid.Reply(turntest.Call("k0", "t", `{}`), turntest.Finish(agent.FinishCalls))
		tn := c.boss(0)
		f := result(t, c.end(0, tn), "c0")
		if f.Outcome != agent.ToolError || !strings.Contains(f.Output, "it waited for a person and it took longer than 3s") {
			t.Errorf("result %+v", f)
		}
		k := c.children(tn, 1)[0]
		c.stoppedBelow(k, agent.DetailParentGaveUp)
		if a, _ := c.mem.Actions(t.Context(), k.Turn); len(a) != 1 || a[0].State != agent.ActionWithdrawn {
			t.Errorf("actions %+v", a)
		}
		c.idle(k.Session)
	}, short, uses, withTools(needsApproval()))
}

func TestAChildThatFailsOrReachesALimitIsAnErrorWithWhatItWrote(t *testing.T) {
	limit := change("kid", func(a *agent.Config) { a.MaxOutputTokens = 5 })
	for name, x := range map[string]struct {
		steps []turntest.Step
		want  string
	}{
		"failed":  {[]turntest.Step{turntest.Text("half"), turntest.Fail(&agent.ModelError{Code: agent.CodeModelError, Message: "The provider broke off."})}, "it failed: The provider broke off. It had written:\nhalf"},
		"limited": {[]turntest.Step{turntest.Text("half"), turntest.Finish(agent.FinishLength)}, "it reached its limit max_output_tokens. It had written:\nhalf"},
		"silent":  {[]turntest.Step{turntest.Finish(agent.FinishLength)}, "It had written nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			boss(t, 1, func(t *testing.T, c *family) {
				c.asks(1)
				c.kid.Reply(x.steps...)
				ev := c.end(0, c.boss(0))
				if f := result(t, ev, "c0"); f.Outcome != agent.ToolError || !strings.Contains(f.Output, x.want) {
					t.Errorf("result %+v", f)
				}
				if e := last(ev); e.Status != agent.StatusCompleted {
					t.Errorf("the parent ended %+v", e)
				}
			}, limit)
		})
	}
}

func TestAgentsThatAskEachOtherAreBoundedInDepth(t *testing.T) {
	loop := change("kid", func(a *agent.Config) { a.Tools = []agent.ToolRef{askRef("kid")} })
	boss(t, 1, func(t *testing.T, c *family) {
		c.asks(1)
		c.kid.Reply(askCalls(10, 1, "kid")...).Reply(askCalls(20, 1, "kid")...)
		c.kid.Always(turntest.Answer("done")...)
		tn := c.boss(0)
		ev := c.end(0, tn)
		k := c.child(c.children(tn, 1)[0])
		g := c.child(c.children(k, 1)[0])
		f := result(t, c.mem.Journal(g.Session), "c20")
		if k.Depth != 1 || g.Depth != 2 || f.Outcome != agent.ToolError || !strings.Contains(f.Output, "2 deep and no deeper") {
			t.Errorf("depths %d %d, result %+v", k.Depth, g.Depth, f)
		}
		if s := bodies[agent.ToolStarted](c.mem.Journal(g.Session)); len(s) != 1 || s[0].Child != nil {
			t.Errorf("the refused call names a child: %+v", s)
		}
		// What is below counts for all above: 20 tokens twice for the calls, 4 for the answers.
		if u := result(t, ev, "c0").Child.Usage; u.Output != c.ended(k).Usage.Output+c.ended(g).Usage.Output {
			t.Errorf("usage of the child and all below it: %+v", u)
		}
	}, loop)
}

func TestOneTurnAsksAgentsEightTimesAndNoMore(t *testing.T) {
	boss(t, 1, func(t *testing.T, c *family) {
		c.model.Reply(askCalls(0, 5, "kid")...).Reply(askCalls(5, 5, "kid")...)
		c.model.Always(turntest.Answer("ok")...)
		c.kid.Always(turntest.Answer("done")...)
		tn := c.boss(0)
		ev := c.end(0, tn)
		refused := 0
		for i := range 10 {
			if f := result(t, ev, fmt.Sprintf("c%d", i)); strings.Contains(f.Output, "8 times and no more") && f.Outcome == agent.ToolError {
				refused++
			}
		}
		if len(c.children(tn, 8)) != 8 || refused != 2 || len(c.kid.Calls()) != 8 {
			t.Errorf("%d refused, %d asked", refused, len(c.kid.Calls()))
		}
	})
}

func TestTheEndOfTheParentIsTheEndOfItsChildren(t *testing.T) {
	for name, x := range map[string]struct {
		conf   func(*agent.Config)
		during func(c *family, tn agent.Turn)
		status agent.Status
	}{
		"wall clock": {func(a *agent.Config) { a.Limits.MaxWallClockMS = 2000 }, func(*family, agent.Turn) {}, agent.StatusIncomplete},
		"ceiling":    {func(*agent.Config) {}, func(c *family, tn agent.Turn) { c.nodes[0].Timeout(tn.Session, tn.ID) }, agent.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			boss(t, 1, func(t *testing.T, c *family) {
				c.asks(1)
				c.kid.Reply(turntest.Text("half"), turntest.Block())
				tn := c.boss(0)
				time.Sleep(1900 * time.Millisecond)
				x.during(c, tn)
				time.Sleep(200 * time.Millisecond)
				if e := c.ended(tn); e.Status != x.status || e.StopReason == agent.ReasonCancelled {
					t.Errorf("the parent ended %+v", e)
				}
				k := c.children(tn, 1)[0]
				c.stoppedBelow(k, agent.DetailParentLost)
				c.idle(tn.Session, k.Session)
			}, change("boss", x.conf))
		})
	}
}

func TestWhatChildrenUseCountsForTheLimitsOfTheirParent(t *testing.T) {
	for name, set := range map[string]func(*agent.Config){
		"max_cost_usd":            func(a *agent.Config) { a.Limits.MaxCostUSD = 0.001 },
		"max_total_output_tokens": func(a *agent.Config) { a.Limits.MaxTotalOutputTokens = 500 },
	} {
		t.Run(name, func(t *testing.T) {
			boss(t, 1, func(t *testing.T, c *family) {
				c.asks(1)
				c.kid.Reply(turntest.Text("much"), turntest.Used(10, 490), turntest.Finish(agent.FinishStop))
				tn := c.boss(0)
				ev := c.end(0, tn)
				if e := last(ev); e.StopReason != agent.ReasonLimit || e.StopDetail != name || len(c.model.Calls()) != 1 {
					t.Errorf("ended %+v after %d calls", e, len(c.model.Calls()))
				}
				l := c.child(c.children(tn, 1)[0]).Spec.Limits
				if l.MaxCostUSD == 0 && l.MaxTotalOutputTokens != 490 || l.MaxCostUSD > 0.00098 {
					t.Errorf("the child may spend %+v", l)
				}
			}, change("boss", set))
		})
	}
}

func TestACallThatCannotAskIsAnErrorAndBeginsNothing(t *testing.T) {
	for name, x := range map[string]struct{ call, arguments, want string }{
		"no message":    {"ask_kid", `{}`, "do not match the tool's schema"},
		"empty message": {"ask_kid", `{"message":""}`, "do not match the tool's schema"},
		"more":          {"ask_kid", `{"message":"a","b":1}`, "do not match the tool's schema"},
		"no such agent": {"ask_nobody", `{"message":"a"}`, `there is no agent named "nobody"`},
	} {
		t.Run(name, func(t *testing.T) {
			boss(t, 1, func(t *testing.T, c *family) {
				c.model.Reply(turntest.Call("c0", x.call, x.arguments), turntest.Finish(agent.FinishCalls))
				c.model.Always(turntest.Answer("ok")...)
				ev := c.end(0, c.boss(0))
				if f := result(t, ev, "c0"); f.Outcome != agent.ToolError || !strings.Contains(f.Output, x.want) || f.Child != nil {
					t.Errorf("result %+v", f)
				}
				if last(ev).Status != agent.StatusCompleted || len(c.kid.Calls()) != 0 {
					t.Errorf("ended %+v", last(ev))
				}
			}, change("boss", func(a *agent.Config) { a.Tools = append(a.Tools, askRef("nobody")) }))
		})
	}
}

func TestATakeOfAChildOfUnknownEndBeginsItOnce(t *testing.T) {
	boss(t, 1, func(t *testing.T, c *family) {
		c.asks(1)
		c.kid.Reply(turntest.Answer("once")...)
		tn := c.boss(0)
		c.mem.FailAfter(once("Take", 1))
		ev := c.end(0, tn)
		if f := result(t, ev, "c0"); f.Outcome != agent.ToolSuccess || f.Output != "once" || len(c.kid.Calls()) != 1 {
			t.Errorf("result %+v after %d calls", f, len(c.kid.Calls()))
		}
	})
}

func TestATurnThatFinishesWhileItsNodeDrainsMayAsk(t *testing.T) {
	boss(t, 2, func(t *testing.T, c *family) {
		c.model.Reply(append([]turntest.Step{turntest.Pause(time.Second)}, askCalls(0, 1, "kid")...)...)
		c.model.Always(turntest.Answer("ok")...)
		c.kid.Reply(turntest.Answer("still here")...)
		tn := c.boss(0)
		time.Sleep(500 * time.Millisecond)
		c.kill[0]()
		if f := result(t, c.end(1, tn), "c0"); f.Output != "still here" {
			t.Errorf("result %+v", f)
		}
	}, func(c *turn.Config) { c.Times.Drain = 10 * time.Second })
}

func TestAnApprovedCallAsks(t *testing.T) {
	boss(t, 1, func(t *testing.T, c *family) {
		c.asks(1)
		c.kid.Reply(turntest.Answer("agreed")...)
		tn := c.boss(0)
		c.end(0, tn)
		open, err := c.mem.Actions(t.Context(), tn.ID)
		if err != nil || len(open) != 1 || len(c.kid.Calls()) != 0 {
			t.Fatalf("actions %+v %v", open, err)
		}
		c.decide(0, open[0].ID, agent.ActionApproved)
		if f := result(t, c.ends(0, tn), "c0"); f.Outcome != agent.ToolSuccess || f.Output != "agreed" {
			t.Errorf("result %+v", f)
		}
	}, change("boss", func(a *agent.Config) { a.Tools[0].Approval = "always" }))
}

func TestALaterLegKnowsWhatChildrenHaveUsed(t *testing.T) {
	both := change("boss", func(a *agent.Config) {
		a.Tools, a.Limits.MaxCostUSD = append(a.Tools, agent.ToolRef{Source: "function", Key: "t"}), 0.0012
	})
	boss(t, 1, func(t *testing.T, c *family) {
		c.asks(1)
		c.kid.Reply(turntest.Text("much"), turntest.Used(10, 490), turntest.Finish(agent.FinishStop))
		c.model.Reply(turntest.Call("c1", "t", `{}`), turntest.Used(10, 100), turntest.Finish(agent.FinishCalls))
		tn := c.boss(0)
		c.end(0, tn)
		open, err := c.mem.Actions(t.Context(), tn.ID)
		if err != nil || len(open) != 1 {
			t.Fatalf("actions %+v %v", open, err)
		}
		c.decide(0, open[0].ID, agent.ActionApproved)
		if e := last(c.ends(0, tn)); e.StopDetail != "max_cost_usd" || len(c.model.Calls()) != 2 {
			t.Errorf("ended %+v after %d calls", e, len(c.model.Calls()))
		}
	}, both, withTools(needsApproval()))
}

func TestAnOutageEndsNoCallOfASubAgent(t *testing.T) {
	boss(t, 2, func(t *testing.T, c *family) {
		c.asksLater(2)
		steps, want := words(60, 100*time.Millisecond)
		c.kid.Always(steps...)
		tn := c.boss(0)
		gate := c.mem.Block("Take")
		<-gate.Arrived()
		c.mem.Fail(away())
		gate.Release()
		time.Sleep(5 * time.Second)
		c.mem.Fail(nil)
		time.Sleep(3 * time.Second) // in the midst of the answers
		c.mem.Fail(away())
		time.Sleep(5 * time.Second)
		c.mem.Fail(nil)
		ev := c.end(1, tn)
		for _, k := range []string{"c0", "c1"} {
			if f := result(t, ev, k); f.Outcome != agent.ToolSuccess || f.Output != want {
				t.Errorf("result %+v", f)
			}
		}
		if n := len(c.kid.Calls()); n != 2 {
			t.Errorf("%d model calls", n)
		}
	})
}

// Whenever a stop comes, it is true if and only if the parent ends cancelled, and
// nothing of the tree is left.
func TestAStopAtAnyMomentLeavesNothingBelow(t *testing.T) {
	loop := change("kid", func(a *agent.Config) { a.Tools = []agent.ToolRef{askRef("kid")} })
	for i := range 60 {
		through, after := i%2, time.Duration(i)*23*time.Millisecond
		t.Run(fmt.Sprintf("through node %d after %v", through+1, after), func(t *testing.T) {
			boss(t, 2, func(t *testing.T, c *family) { // 60, 62
				c.model.Reply(append([]turntest.Step{turntest.Pause(100 * time.Millisecond)}, askCalls(0, 2, "kid")...)...)
				c.model.Always(turntest.Pause(100*time.Millisecond), turntest.Text("ok"), turntest.Finish(agent.FinishStop))
				c.kid.Reply(append([]turntest.Step{turntest.Pause(300 * time.Millisecond)}, askCalls(10, 1, "kid")...)...)
				c.kid.Always(turntest.Text("a"), turntest.Pause(400*time.Millisecond), turntest.Text("b"), turntest.Finish(agent.FinishStop))
				tn := c.boss(0)
				time.Sleep(after)
				a := c.cancel(through, turn.StopRequest{Session: tn.Session})
				ev := c.end(1, tn)
				if e := last(ev); a.Cancelled != (e.StopReason == agent.ReasonCancelled) {
					t.Errorf("answer %+v, ended %+v", a, e)
				}
				time.Sleep(time.Second)
				for _, s := range bodies[agent.ToolStarted](ev) {
					result(t, ev, s.CallID)
					if _, _, err := c.mem.Turn(t.Context(), s.Child.Turn); err == nil {
						c.ended(c.child(*s.Child))
						c.idle(s.Child.Session)
					}
				}
				c.idle(tn.Session)
			}, loop, noPush)
		})
	}
}
