package turn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// asks scripts one message with n calls of tool "t", then an answer.
func (c *cluster) asks(n int) {
	var steps []turntest.Step
	for i := range n {
		steps = append(steps, turntest.Call(fmt.Sprintf("c%d", i), "t", fmt.Sprintf(`{"n":%d}`, i)))
	}
	c.model.Reply(append(steps, turntest.Finish(agent.FinishCalls))...)
	c.model.Always(turntest.Answer("ok")...)
}

// result is the one result of a call.
func result(t *testing.T, events []agent.Event, call string) agent.ToolFinished {
	t.Helper()
	var out []agent.ToolFinished
	for _, f := range bodies[agent.ToolFinished](events) {
		if f.CallID == call {
			out = append(out, f)
		}
	}
	if len(out) != 1 {
		t.Errorf("call %s has %d results", call, len(out))
		return agent.ToolFinished{}
	}
	return out[0]
}

// oneCall runs a turn with one call of a tool and returns its result.
func oneCall(t *testing.T, tool *turntest.Tool, after func(c *cluster, tn agent.Turn)) (f agent.ToolFinished, calls int) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.asks(1)
		tn := c.tool(0)
		time.Sleep(time.Second)
		if after != nil {
			after(c, tn)
		}
		ev := c.end(0, tn)
		f, calls = result(t, ev, "c0"), len(c.model.Calls())
		if done := last(ev).Tools; len(done) != 1 || done[0].Outcome != f.Outcome {
			t.Errorf("the end accounts for %+v, the result is %+v", done, f)
		}
		if want := []string{tool.Kind + " " + string(f.Outcome)}; !slices.Equal(c.calls, want) && tool.Spec.Name == "t" {
			t.Errorf("the observer was told %q, want %q", c.calls, want)
		}
		time.Sleep(10 * time.Second) // one that was left behind ends
	}, withTools(tool))
	return f, calls
}

func TestAToolsEndIsToldAsItWas(t *testing.T) {
	hung := func(d time.Duration) *turntest.Tool {
		tool := turntest.DeafTool("t", d)
		tool.Abortable, tool.Timeout = true, 3*time.Second
		return tool
	}
	slow := turntest.SlowTool("t", time.Hour)
	slow.Timeout = 3 * time.Second
	long := turntest.InstantTool("t", strings.Repeat("é", 80_000))
	for name, x := range map[string]struct {
		tool *turntest.Tool
		want agent.ToolOutcome
		text string
	}{
		"success":                    {turntest.InstantTool("t", "out"), agent.ToolSuccess, "out"},
		"error":                      {turntest.FailingTool("t", errors.New("no such file")), agent.ToolError, "error: no such file"},
		"long error":                 {turntest.FailingTool("t", errors.New(strings.Repeat("x", 90_000))), agent.ToolError, "more bytes are not shown"},
		"panic":                      {turntest.PanickingTool("t"), agent.ToolError, "error: the tool failed"},
		"timeout":                    {slow, agent.ToolError, "error: the tool took longer than 3s"},
		"unknown":                    {turntest.InstantTool("another", "out"), agent.ToolError, `error: there is no tool named "t"`},
		"unconfirmed":                {turntest.FailingTool("t", fmt.Errorf("kill: %w", agent.ErrUnconfirmed)), agent.ToolUnconfirmed, "not confirmed: it may have run"},
		"deaf to its timeout":        {hung(4 * time.Second), agent.ToolSuccess, "slept"},
		"deaf beyond its grace":      {hung(9 * time.Second), agent.ToolUnconfirmed, "not confirmed: it may have run"},
		"invalid UTF-8":              {turntest.InstantTool("t", "a\xffb"), agent.ToolSuccess, "a\uFFFDb"},
		"long output, cut in a rune": {long, agent.ToolSuccess, "é\n[80000 more bytes are not shown]"},
	} {
		t.Run(name, func(t *testing.T) {
			f, calls := oneCall(t, x.tool, nil)
			if f.Outcome != x.want || !strings.Contains(f.Output, x.text) || calls != 2 {
				t.Errorf("%s %.90q after %d model calls, want %s %q", f.Outcome, f.Output, calls, x.want, x.text)
			}
			if len(f.Output) > 81_000 || x.tool.Spec.Name == "t" && x.tool.Started() != 1 {
				t.Errorf("%d bytes, %d starts", len(f.Output), x.tool.Started())
			}
		})
	}
}

func TestAStopEndsAToolAsItsKindSays(t *testing.T) {
	fails := turntest.NewTool("t", func(ctx context.Context, _ []byte) (string, error) { // 22
		<-ctx.Done()
		return "", errors.New("status 500")
	})
	finishes := turntest.NewTool("t", func(ctx context.Context, _ []byte) (string, error) {
		<-ctx.Done()
		return "done all the same", nil
	})
	for name, x := range map[string]struct {
		tool *turntest.Tool
		want agent.ToolOutcome
		text string
		ends time.Duration // after the stop
	}{
		"abortable":   {turntest.SlowTool("t", 20*time.Second), agent.ToolAborted, "aborted", 0},
		"fails":       {fails, agent.ToolAborted, "aborted", 0},
		"finishes":    {finishes, agent.ToolSuccess, "done all the same", 0},
		"unconfirmed": {turntest.UnconfirmedTool("t"), agent.ToolUnconfirmed, "not confirmed", 0},
		"deaf":        {turntest.DeafTool("t", 5*time.Second), agent.ToolDropped, "dropped", 4 * time.Second},
	} {
		for through := range 2 { // 22, 32, 34, 59
			t.Run(fmt.Sprintf("%s, through node %d", name, through+1), func(t *testing.T) {
				f, calls := oneCall(t, x.tool, func(c *cluster, tn agent.Turn) {
					c.cancel(through, turn.StopRequest{Session: tn.Session})
					began := time.Now()
					c.until(2*time.Millisecond, "turn.stopping is shown", func() bool {
						live := c.follow(0, tn.Session, tn.FirstSeq-1)
						time.Sleep(time.Microsecond)
						return len(bodies[agent.TurnStopping](live())) == 1
					})
					c.end(0, tn)
					if d := time.Since(began); d < x.ends || d > x.ends+100*time.Millisecond {
						t.Errorf("ended after %v", d)
					}
					c.wantCancelled(tn)
				})
				if f.Outcome != x.want || !strings.Contains(f.Output, x.text) || calls != 1 {
					t.Errorf("%+v after %d model calls", f, calls)
				}
			})
		}
	}
}

func TestAStoppedToolsResultIsNotInTheNextHistory(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) { // 32, 34, 59
		c.asks(1)
		tn := c.tool(0)
		time.Sleep(time.Second)
		c.cancel(0, turn.StopRequest{Session: tn.Session})
		c.end(0, tn)
		c.end(0, c.begin(0, turn.Submit{Agent: "tools", Session: tn.Session}))
		p := c.model.Calls()[1].Request.Prompts
		if len(p) != 4 || p[2].Role != agent.RoleTool || strings.Contains(p[2].Text, "slept") {
			t.Errorf("history %+v", p)
		}
	}, withTools(turntest.DeafTool("t", 5*time.Second)))
}

func TestToolsRunSideBySideUpToTheLimitAndAnswerInOrder(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	tool := turntest.NewTool("t", func(_ context.Context, args []byte) (string, error) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		now--
		mu.Unlock()
		return string(args), nil
	})
	run(t, 1, func(t *testing.T, c *cluster) {
		c.asks(7)
		tn := c.tool(0)
		began := time.Now()
		c.end(0, tn)
		if d := time.Since(began); most != 3 || d < 3*time.Second || d > 3100*time.Millisecond {
			t.Errorf("%d at once, %v", most, d)
		}
		for i, p := range c.model.Calls()[1].Request.Prompts[2:] {
			if p.CallID != fmt.Sprintf("c%d", i) || p.Text != fmt.Sprintf(`{"n":%d}`, i) {
				t.Errorf("result %d is %+v", i, p)
			}
		}
	}, withTools(tool), withAgent(func(a *agent.Config) { a.Limits.MaxParallelTools = 3 }))
}

func TestEveryCallOfAStoppedMessageHasOneResult(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) { // 32
		c.asks(10)
		tn := c.tool(0)
		time.Sleep(1500 * time.Millisecond)
		c.cancel(0, turn.StopRequest{Session: tn.Session})
		ev := c.end(0, tn)
		count := map[agent.ToolOutcome]int{}
		for i := range 10 {
			count[result(t, ev, fmt.Sprintf("c%d", i)).Outcome]++
		}
		if count[agent.ToolSuccess] != 2 || count[agent.ToolAborted] != 8 || len(last(ev).Tools) != 10 {
			t.Errorf("%v, %d in the account", count, len(last(ev).Tools))
		}
		if n := len(bodies[agent.ToolStarted](ev)); n != 4 {
			t.Errorf("%d starts", n)
		}
	}, withTools(turntest.SlowTool("t", time.Second)), withAgent(func(a *agent.Config) { a.Limits.MaxParallelTools = 2 }))
}

func TestAStopInTheRowRefusesTheStartOfStepK(t *testing.T) {
	for k := 1; k <= 5; k++ { // 62
		t.Run(fmt.Sprintf("step %d of 5", k), func(t *testing.T) {
			tool := turntest.InstantTool("t", "out")
			run(t, 2, func(t *testing.T, c *cluster) {
				for i := range 5 {
					c.model.Reply(turntest.Text("step "), turntest.Call(fmt.Sprintf("c%d", i), "t", `{}`), turntest.Finish(agent.FinishCalls))
				}
				c.model.Reply(turntest.Answer("end")...)
				n := 0
				var session string
				c.mem.Fail(func(m string) error {
					if m == "Asked" {
						return errAway // only the record itself can see it
					}
					if m != "Record" {
						return nil
					}
					if n++; n == k {
						c.cancel(1, turn.StopRequest{Session: session})
					}
					return nil
				})
				gate := c.mem.Block("Look")
				tn := c.tool(0)
				session = tn.Session
				gate.Release()
				ev := c.end(0, tn)
				c.wantCancelled(tn)
				if tool.Started() != k-1 || len(c.model.Calls()) != k || len(bodies[agent.ToolStarted](ev)) != k-1 {
					t.Errorf("%d tools, %d model calls, %d starts", tool.Started(), len(c.model.Calls()), len(bodies[agent.ToolStarted](ev)))
				}
				if f := result(t, ev, fmt.Sprintf("c%d", k-1)); f.Outcome != agent.ToolAborted {
					t.Errorf("result %+v", f)
				}
				if n := len(bodies[agent.TurnStopping](ev)); n != 1 {
					t.Errorf("%d turn.stopping", n)
				}
				gapless(t, ev)
				c.mem.Fail(nil)
			}, withTools(tool))
		})
	}
}

// The first sending of the start was stored, its answer lost; the second is refused.
func TestAStartThatMayBeStoredKeepsItsNumberThoughItIsRefusedThen(t *testing.T) {
	tool := turntest.InstantTool("t", "out")
	run(t, 2, func(t *testing.T, c *cluster) {
		c.asks(1)
		c.mem.Fail(away("Asked"))
		var session string
		lost := once("Record", 1)
		c.mem.FailAfter(func(m string) error {
			err := lost(m)
			if err != nil {
				c.cancel(1, turn.StopRequest{Session: session})
			}
			return err
		})
		gate := c.mem.Block("Look")
		tn := c.tool(0)
		session = tn.Session
		live := c.follow(0, session, tn.FirstSeq-1)
		gate.Release()
		ev := c.end(1, tn)
		c.wantCancelled(tn)
		if f := result(t, ev, "c0"); f.Outcome != agent.ToolAborted || tool.Started() != 0 || len(bodies[agent.ToolStarted](ev)) != 1 {
			t.Errorf("result %+v, %d starts", f, tool.Started())
		}
		gapless(t, ev)
		time.Sleep(time.Second)
		sameSeqs(t, "the owner's follower", live(), ev)
		c.mem.Fail(nil)
		c.mem.FailAfter(nil)
	}, withTools(tool))
}

func TestAStopDuringStepKCallsTheModelNoMore(t *testing.T) {
	for k := 1; k <= 5; k++ { // 62
		t.Run(fmt.Sprintf("step %d of 5", k), func(t *testing.T) {
			eachNode(t, func(t *testing.T, c *cluster, through int) {
				for i := range 5 {
					c.model.Reply(turntest.Call(fmt.Sprintf("c%d", i), "t", `{}`), turntest.Finish(agent.FinishCalls))
				}
				c.model.Reply(turntest.Answer("end")...)
				tn := c.tool(0)
				time.Sleep(time.Duration(k)*time.Second - 500*time.Millisecond)
				c.cancel(through, turn.StopRequest{Session: tn.Session})
				c.end(0, tn)
				c.wantCancelled(tn)
				time.Sleep(3 * time.Second)
				if n := len(c.model.Calls()); n != k {
					t.Errorf("%d model calls", n)
				}
			}, withTools(turntest.SlowTool("t", time.Second)))
		})
	}
}

func TestALostLeaseAbortsTheToolsBesideTheOneThatFoundOut(t *testing.T) {
	tool := turntest.NewTool("t", func(ctx context.Context, args []byte) (string, error) {
		if slices.Equal(args, []byte(`{"n":0}`)) {
			time.Sleep(time.Millisecond) // the other has begun
			return "", nil
		}
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	run(t, 1, func(t *testing.T, c *cluster) {
		n, way := c.cuttable()
		time.Sleep(time.Second)
		c.asks(3)
		gate := c.mem.Block("Record")
		tn := c.tool(n)
		<-gate.Arrived()
		records := 0
		c.mem.Fail(func(m string) error {
			if m == "Renew" || m == "Append" {
				return errAway // nothing but the record finds out
			}
			if m == "Record" {
				if records++; records == 1 { // the one that is held has passed
					c.mem.KillNode(c.node(tn))
					c.cancel(0, turn.StopRequest{Session: tn.Session})
				}
			}
			return nil
		})
		gate.Release()
		c.until(time.Second, "the leg is given up", func() bool { return c.nodes[n].Running() == 0 })
		if tool.Ended() != 2 || tool.Started() != 2 {
			t.Errorf("%d of %d ended", tool.Ended(), tool.Started())
		}
		c.mem.Fail(nil)
		way.cut.Store(false)
	}, withTools(tool), withAgent(func(a *agent.Config) { a.Limits.MaxParallelTools = 2 }))
}

func TestCallsWithIdsThatAreTakenGetTheirOwn(t *testing.T) {
	tool := turntest.InstantTool("t", "out")
	run(t, 1, func(t *testing.T, c *cluster) {
		for range 2 { // the strict model refuses an id twice, and calls without results
			for range 2 {
				c.model.Reply(turntest.Call("c1", "t", `{}`), turntest.Call("c1", "t", `{}`), turntest.Call("", "t", `{}`), turntest.Finish(agent.FinishCalls))
			}
			c.model.Reply(turntest.Answer("ok")...)
		}
		tn := c.tool(0)
		c.end(0, tn)
		c.end(0, c.begin(0, turn.Submit{Agent: "tools", Session: tn.Session}))
		calls := c.model.Calls()
		seen := map[string]bool{}
		for _, p := range calls[len(calls)-1].Request.Prompts {
			for _, call := range p.Calls {
				seen[call.ID] = true
			}
		}
		if len(seen) != 12 || tool.Started() != 12 {
			t.Errorf("%d calls in the history, %d starts", len(seen), tool.Started())
		}
	}, withTools(tool))
}

func TestAStartWaitsForTheFlushUnderWay(t *testing.T) {
	tool := turntest.InstantTool("t", "out")
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("before"), turntest.Pause(100*time.Millisecond), turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Answer("ok")...)
		gate := c.mem.Block("Append")
		tn := c.tool(0)
		<-gate.Arrived()
		time.Sleep(time.Second)
		if tool.Started() != 0 {
			t.Error("two write the leg's rows at once")
		}
		gate.Release()
		ev := c.end(0, tn)
		if last(ev).Status != agent.StatusCompleted || text(ev) != "beforeok" || tool.Started() != 1 {
			t.Errorf("ended %+v with %q", last(ev), text(ev))
		}
		gapless(t, ev)
	}, withTools(tool))
}

func TestToolOutputIsShownWhileTheToolRuns(t *testing.T) {
	tool := turntest.InstantTool("say", "")
	tool.Call = nil
	tool.Stream = func(ctx context.Context, _ []byte, emit func(string)) (string, error) {
		emit("one ")
		time.Sleep(time.Second)
		emit("two\xff")
		return "done", nil
	}
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c1", "say", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{Agent: "tools"})
		time.Sleep(500 * time.Millisecond)
		var seen []string
		for _, e := range c.mem.Journal(tn.Session) {
			if o, ok := e.Body.(agent.ToolOutput); ok {
				seen = append(seen, o.Text)
			}
		}
		if len(seen) != 1 || seen[0] != "one " {
			t.Errorf("while it runs: %q", seen)
		}
		var kinds []agent.Kind
		for _, e := range c.end(1, tn) {
			kinds = append(kinds, e.Kind())
			if o, ok := e.Body.(agent.ToolOutput); ok && o.CallID != "c1" {
				t.Errorf("%+v", o)
			}
		}
		if p := c.model.Calls()[1].Request.Prompts; p[len(p)-1].Text != "done" {
			t.Errorf("the model read %+v", p[len(p)-1])
		}
		if !strings.Contains(fmt.Sprint(kinds), "tool.started tool.output tool.output tool.finished") {
			t.Errorf("%v", kinds)
		}
	}, func(conf *turn.Config) { conf.Tools = turntest.Toolbox{tool} })
}
