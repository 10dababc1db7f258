package turn_test

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// small makes a tool refuse arguments that have 9 or 13 in them.
func small(tool *turntest.Tool) *turntest.Tool {
	tool.Check = func(arguments []byte) error {
		if bytes.ContainsAny(arguments, "9") || bytes.Contains(arguments, []byte("13")) {
			return errors.New("n is too big")
		}
		return nil
	}
	return tool
}

func TestArgumentsThatDoNotFitBotherNobody(t *testing.T) {
	for name, asks := range map[string]agent.ActionType{"a plain tool": "", "one to approve": agent.ActionApproval, "a question": agent.ActionQuestion} {
		t.Run(name, func(t *testing.T) {
			tool := small(turntest.InstantTool("t", "done"))
			tool.Asks = asks
			run(t, 1, func(t *testing.T, c *cluster) {
				c.model.Reply(turntest.Call("c0", "t", `{"n":9}`), turntest.Finish(agent.FinishCalls))
				c.model.Always(turntest.Answer("ok")...)
				tn := c.tool(0)
				ev := c.ends(0, tn)
				f := result(t, ev, "c0")
				if f.Outcome != agent.ToolError || !strings.Contains(f.Output, "too big") || tool.Started() != 0 {
					t.Errorf("result %+v after %d starts", f, tool.Started())
				}
				if n := len(bodies[agent.ActionRequested](ev)); n != 0 || last(ev).Status != agent.StatusCompleted {
					t.Errorf("%d actions, ended %+v", n, last(ev))
				}
			}, withTools(tool))
		})
	}
}

func TestOneCallThatFitsAndOneThatDoesNot(t *testing.T) {
	tool := small(needsApproval())
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c0", "t", `{"n":9}`), turntest.Call("c1", "t", `{"n":1}`), turntest.Finish(agent.FinishCalls))
		c.model.Always(turntest.Answer("ok")...)
		tn := c.tool(0)
		ev := c.end(0, tn)
		p, ok := ev[len(ev)-1].Body.(agent.TurnPaused)
		if !ok || len(p.Actions) != 1 {
			t.Fatalf("the turn does not wait for the call that fits: %+v", ev[len(ev)-1].Body)
		}
		c.decide(0, p.Actions[0], agent.ActionApproved)
		ev = c.ends(0, tn)
		if a, b := result(t, ev, "c0"), result(t, ev, "c1"); a.Outcome != agent.ToolError || b.Outcome != agent.ToolSuccess || tool.Started() != 1 {
			t.Errorf("results %+v and %+v after %d starts", a, b, tool.Started())
		}
	}, withTools(tool))
}

func TestEditedArgumentsThatDoNotFitAreRefused(t *testing.T) {
	tool := small(needsApproval())
	run(t, 1, func(t *testing.T, c *cluster) {
		tn, ids := c.paused(1)
		d := agent.Decision{Action: ids[0], State: agent.ActionApproved, Arguments: []byte(`{"n":9}`)}
		_, err := c.nodes[0].Decide(t.Context(), alice, d)
		if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "arguments" || !strings.Contains(f.Message, "too big") {
			t.Errorf("refused with %v", err)
		}
		time.Sleep(time.Minute)
		if a, _, _ := c.mem.Action(t.Context(), ids[0]); a.State != agent.ActionOpen || tool.Started() != 0 {
			t.Errorf("action %+v, %d starts", a, tool.Started())
		}
		d.Arguments = []byte(`{"n":8}`)
		if _, err := c.nodes[0].Decide(t.Context(), alice, d); err != nil {
			t.Error(err)
		}
		c.ends(0, tn)
		if got := tool.Starts(); len(got) != 1 || string(got[0]) != `{"n":8}` {
			t.Errorf("the tool got %q", got)
		}
	}, withTools(tool))
}

// The tool can't be had when the decision is made, and refuses when it is called.
func TestEditedArgumentsOfAToolThatIsAwayAreCheckedAtTheCall(t *testing.T) {
	tool := small(needsApproval())
	var away atomic.Bool
	run(t, 1, func(t *testing.T, c *cluster) {
		tn, ids := c.paused(1)
		away.Store(true)
		d := agent.Decision{Action: ids[0], State: agent.ActionApproved, Arguments: []byte(`{"n":9}`)}
		_, err := c.nodes[0].Decide(t.Context(), alice, d)
		away.Store(false)
		if err != nil {
			t.Fatal(err)
		}
		f := result(t, c.ends(0, tn), "c0")
		if f.Outcome != agent.ToolError || !strings.Contains(f.Output, "too big") || tool.Started() != 0 {
			t.Errorf("result %+v after %d starts", f, tool.Started())
		}
	}, withTools(tool), func(cfg *turn.Config) { cfg.Tools = flaky{Tools: cfg.Tools, away: &away} })
}

func TestAnAnswerIsTheResultOfItsQuestion(t *testing.T) {
	tool := turntest.InstantTool("t", "not to be run")
	tool.Asks, tool.Call = agent.ActionQuestion, nil
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c0", "t", `{"question":"Which?","options":["tea","coffee"]}`), turntest.Finish(agent.FinishCalls))
		c.model.Always(turntest.Answer("ok")...)
		tn := c.tool(0)
		ev := c.end(0, tn)
		id := ev[len(ev)-1].Body.(agent.TurnPaused).Actions[0]
		d := agent.Decision{Action: id, Type: agent.ActionQuestion, State: agent.ActionApproved, Answer: "milk"}
		_, err := c.nodes[1].Decide(t.Context(), alice, d)
		if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "answer" {
			t.Errorf("milk: %v", err)
		}
		d.Answer = "tea"
		for range 2 {
			if _, err := c.nodes[1].Decide(t.Context(), alice, d); err != nil {
				t.Error(err)
			}
		}
		if f := result(t, c.ends(1, tn), "c0"); f.Outcome != agent.ToolSuccess || f.Output != "tea" {
			t.Errorf("result %+v", f)
		}
		d.Answer = "milk"
		_, err = c.nodes[0].Decide(t.Context(), alice, d)
		if x, ok := errors.AsType[*agent.DecidedError](err); !ok || x.Action.Answer != "tea" {
			t.Errorf("a second answer: %v", err)
		}
	}, withTools(tool))
}

func TestAQuestionThatIsNotAnsweredIsToldSo(t *testing.T) {
	tool := turntest.InstantTool("t", "not to be run")
	tool.Asks, tool.Call = agent.ActionQuestion, nil
	run(t, 1, func(t *testing.T, c *cluster) {
		tn, ids := c.paused(1)
		c.decide(0, ids[0], agent.ActionDenied)
		if f := result(t, c.ends(0, tn), "c0"); f.Outcome != agent.ToolError || f.Output != "The person did not want to answer." {
			t.Errorf("result %+v", f)
		}
	}, withTools(tool))
}

// A question ends with its turn although a tool beside it runs and whoever stops
// may approve nothing; an approval beside it is left for those who may.
func TestAStopEndsAQuestionOfARunningTurn(t *testing.T) {
	for name, want := range map[agent.ActionType]agent.ActionState{agent.ActionQuestion: agent.ActionWithdrawn, agent.ActionApproval: agent.ActionOpen} {
		t.Run(string(name), func(t *testing.T) {
			tool, beside := turntest.InstantTool("t", "done"), turntest.SlowTool("slow", time.Hour)
			tool.Asks = name
			run(t, 2, func(t *testing.T, c *cluster) {
				c.model.Reply(turntest.Call("c0", "t", `{"question":"Why?"}`), turntest.Call("c1", "slow", `{}`), turntest.Finish(agent.FinishCalls))
				tn := c.tool(0)
				time.Sleep(time.Second)
				id := bodies[agent.ActionRequested](c.mem.Journal(tn.Session))[0].ActionID
				owner := alice
				owner.Permissions = []agent.Permission{agent.PermAgentRun}
				a, err := c.nodes[1].Stop(t.Context(), turn.StopRequest{Principal: owner, Session: tn.Session})
				if err != nil || !a.Cancelled {
					t.Fatalf("%+v, %v", a, err)
				}
				if e := last(c.ends(0, tn)); e.StopReason != agent.ReasonCancelled {
					t.Errorf("ended %+v", e)
				}
				if x, _, _ := c.mem.Action(t.Context(), id); x.State != want {
					t.Errorf("the action is %s, want %s", x.State, want)
				}
			}, withTools(tool, beside))
		})
	}
}
