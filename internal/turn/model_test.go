package turn_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func busy(after time.Duration) error {
	return &agent.ModelError{Code: agent.CodeModelError, Message: "Too many requests.", Status: 429, Retryable: true, RetryAfter: after}
}

func refused() error {
	return &agent.ModelError{Code: agent.CodeModelAuth, Message: "The provider refused the key.", Status: 401}
}

// withFallback makes a second model of the agent "tools".
func withFallback(m *turntest.Model) func(*turn.Config) {
	return func(c *turn.Config) {
		models := c.Models.(turntest.Models)
		models["m2"] = m
		withAgent(func(a *agent.Config) { a.FallbackModels, a.Tools = []string{"m2"}, nil })(c)
	}
}

func statuses(u []agent.Usage) string {
	var out []string
	for i, x := range u {
		out = append(out, string(x.Status))
		if x.Call != i+1 {
			out = append(out, fmt.Sprintf("call %d", x.Call))
		}
	}
	return strings.Join(out, " ")
}

func TestTheWaitForARetryEndsOnAStop(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 6, 96
		for i, background := range []bool{false, true} {
			c.model.Reply(turntest.Fail(busy(30 * time.Second)))
			tn := c.begin(0, turn.Submit{Background: background})
			time.Sleep(2 * time.Second)
			asked := time.Now()
			c.cancel(through, turn.StopRequest{Session: tn.Session})
			c.end(0, tn)
			c.wantCancelled(tn)
			if d := time.Since(asked); d > 300*time.Millisecond {
				t.Errorf("ended after %v", d)
			}
			time.Sleep(time.Minute)
			if n := len(c.model.Calls()); n != i+1 {
				t.Errorf("%d requests", n)
			}
		}
	})
}

func TestARetryWaitsAsLongAsTheProviderAsks(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Fail(busy(7 * time.Second)))
		c.model.Reply(turntest.Fail(busy(0)))
		c.model.Reply(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{})
		began := time.Now()
		if e := last(c.end(0, tn)); e.Status != agent.StatusCompleted {
			t.Errorf("ended %+v", e)
		}
		calls := c.model.Calls()
		if d := calls[1].Begun.Sub(calls[0].Ended); d != 7*time.Second || time.Since(began) > 9*time.Second {
			t.Errorf("retried after %v, answered after %v", d, time.Since(began))
		}
		if s := statuses(c.mem.Usage(tn.ID)); s != "error error ok" {
			t.Errorf("usage %s", s)
		}
	})
}

func TestRetriesAreBoundedAndThenTheFallbackIsDialled(t *testing.T) {
	var second *turntest.Model
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Fail(busy(0)))
		second.Reply(turntest.Answer("from the second")...)
		tn := c.tool(0)
		ev := c.end(0, tn)
		if answer(ev).Text != "from the second" || len(c.model.Calls()) != 3 {
			t.Errorf("%q after %d calls of the first", answer(ev).Text, len(c.model.Calls()))
		}
		u := c.mem.Usage(tn.ID)
		if s := statuses(u); s != "error error error ok" || u[0].Model != "m" || u[3].Model != "m2" {
			t.Errorf("usage %s", s)
		}
	}, func(c *turn.Config) { second = turntest.NewModel(t); withFallback(second)(c) })
}

func TestARefusalIsNotTriedAgainButTheFallbackIsDialled(t *testing.T) {
	var second *turntest.Model
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Fail(refused()))
		second.Reply(turntest.Fail(refused()))
		tn := c.tool(0)
		e := last(c.end(0, tn))
		if e.Status != agent.StatusFailed || e.Error.Code != agent.CodeModelAuth || len(c.model.Calls()) != 1 || len(second.Calls()) != 1 {
			t.Errorf("ended %+v after %d and %d calls", e.Error, len(c.model.Calls()), len(second.Calls()))
		}
	}, func(c *turn.Config) { second = turntest.NewModel(t); withFallback(second)(c) })
}

func TestNothingIsTriedAgainOnceADeltaHasCome(t *testing.T) {
	var second *turntest.Model
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("half"), turntest.Fail(busy(0)))
		tn := c.tool(0)
		ev := c.end(0, tn)
		if e := last(ev); e.Status != agent.StatusFailed || e.Error.Message != "Too many requests." || answer(ev).Text != "half" {
			t.Errorf("ended %+v with %q", e, answer(ev).Text)
		}
		if u := c.mem.Usage(tn.ID); statuses(u) != "error" || u[0].Output == 0 || !u[0].Estimated {
			t.Errorf("usage %+v", u)
		}
		if len(c.model.Calls()) != 1 || len(second.Calls()) != 0 {
			t.Errorf("%d and %d calls", len(c.model.Calls()), len(second.Calls()))
		}
	}, func(c *turn.Config) { second = turntest.NewModel(t); withFallback(second)(c) })
}

func TestTheFallbackIsNeverDialledAfterAStop(t *testing.T) {
	// An abort looks like a retryable fault to a careless client.
	aborts := turntest.Do(func() {})
	for name, steps := range map[string][]turntest.Step{ // 7
		"before the first delta": {aborts, turntest.Block()},
		"mid-stream":             {turntest.Text("half"), turntest.Block()},
		"waiting for a retry":    {turntest.Fail(busy(time.Minute))},
	} {
		t.Run(name, func(t *testing.T) {
			var second *turntest.Model
			run(t, 1, func(t *testing.T, c *cluster) {
				c.model.Reply(steps...)
				tn := c.tool(0)
				time.Sleep(time.Second)
				c.cancel(0, turn.StopRequest{Session: tn.Session})
				c.end(0, tn)
				c.wantCancelled(tn)
				time.Sleep(2 * time.Minute)
				if len(c.model.Calls()) != 1 || len(second.Calls()) != 0 {
					t.Errorf("%d and %d calls", len(c.model.Calls()), len(second.Calls()))
				}
			}, func(c *turn.Config) { second = turntest.NewModel(t); withFallback(second)(c) })
		})
	}
}

// careless is a Model that turns an abort into a retryable error, and goes on
// streaming after it.
type careless struct {
	turn.Model
	calls int
	after int // deltas given after the context had ended
}

func (m *careless) Stream(ctx context.Context, _ agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		m.calls++
		if m.calls%2 == 1 {
			<-ctx.Done()
			yield(agent.Delta{}, busy(0))
			return
		}
		for yield(agent.Delta{Text: "more "}, nil) {
			if ctx.Err() != nil {
				m.after++
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func TestACarelessProviderIsCutOffByAStop(t *testing.T) {
	m := &careless{Model: turntest.NewModel(t)}
	run(t, 1, func(t *testing.T, c *cluster) { // 7, 8
		for i := range 2 {
			tn := c.begin(0, turn.Submit{})
			time.Sleep(time.Second)
			c.cancel(0, turn.StopRequest{Session: tn.Session})
			asked := time.Now()
			c.end(0, tn)
			c.wantCancelled(tn)
			if m.calls != i+1 || time.Since(asked) > 200*time.Millisecond || m.after > 1 {
				t.Errorf("%d calls, ended after %v, %d deltas later", m.calls, time.Since(asked), m.after)
			}
		}
	}, func(c *turn.Config) { c.Models = turntest.Models{"m": m} })
}

func TestUsageHasOneRowForEachCall(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) { // 48, 49, 52
		for i := range 2 {
			c.model.Reply(turntest.Text("x"), turntest.Call(fmt.Sprintf("c%d", i), "t", `{}`), turntest.Used(1000, 500), turntest.Finish(agent.FinishCalls))
		}
		c.model.Reply(turntest.Text("12345678"), turntest.Block())
		tn := c.tool(0)
		time.Sleep(time.Second)
		c.cancel(0, turn.StopRequest{Session: tn.Session})
		ev := c.end(0, tn)
		u := c.mem.Usage(tn.ID)
		if s := statuses(u); s != "ok ok cancelled" {
			t.Fatalf("usage %s", s)
		}
		if u[0].Estimated || u[0].Input != 1000 || u[0].Output != 500 || math.Abs(u[0].CostUSD-0.002) > 1e-9 {
			t.Errorf("counted call %+v", u[0])
		}
		if !u[2].Estimated || u[2].Output != 2 || u[2].Input == 0 || u[2].CostUSD == 0 || u[2].FirstTokenMS == nil || u[2].LatencyMS < 900 {
			t.Errorf("aborted call %+v", u[2])
		}
		if total := last(ev).Usage; total.Output != 1002 || !total.Estimated {
			t.Errorf("total %+v", total)
		}
	}, withTools(turntest.InstantTool("t", "out")))
}

func TestAnAbortedCallCostsWhatWasStreamedNotThePlaceholder(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) { // 50
		c.model.Reply(turntest.Used(25, 1), turntest.Text(strings.Repeat("word ", 80)), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(time.Second)
		c.cancel(0, turn.StopRequest{Session: tn.Session})
		c.end(0, tn)
		u := c.mem.Usage(tn.ID)[0]
		if u.Input != 25 || u.Output != 100 || !u.Estimated || math.Abs(u.CostUSD-225e-6) > 1e-12 {
			t.Errorf("usage %+v", u)
		}
	})
}

func TestAHundredStopsLeaveAHundredUsageRows(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 49
		c.model.Always(turntest.Text("x"), turntest.Block())
		var turns []agent.Turn
		for i := range 100 {
			turns = append(turns, c.begin(i%2, turn.Submit{}))
		}
		time.Sleep(time.Second)
		for i, tn := range turns {
			c.cancel(i/2%2, turn.StopRequest{Turn: tn.ID})
		}
		rows := 0
		for _, tn := range turns {
			c.end(0, tn)
			for _, u := range c.mem.Usage(tn.ID) {
				if u.Status == agent.UsageCancelled && u.Output > 0 {
					rows++
				}
			}
		}
		if rows != 100 || c.model.Open() != 0 || c.nodes[0].Running() != 0 {
			t.Errorf("%d rows, %d open", rows, c.model.Open())
		}
	})
}

func TestAModelThatIsNotThereFailsTheTurn(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		tn := c.begin(0, turn.Submit{})
		if e := last(c.end(0, tn)); e.Status != agent.StatusFailed || e.Error.Code != agent.CodeModelMissing {
			t.Errorf("ended %+v", e.Error)
		}
	}, func(c *turn.Config) { c.Models = turntest.Models{} })
}

func TestToolsThatCannotBeOpenedFailTheTurnWithoutACall(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		tn := c.tool(0)
		if e := last(c.end(0, tn)); e.Status != agent.StatusFailed || e.Error.Code != agent.CodeAgentError || strings.Contains(e.Error.Message, "10.0.0.1") {
			t.Errorf("ended %+v", e.Error)
		}
	}, func(c *turn.Config) { c.Tools = broken{} })
}

type broken struct{}

func (broken) Open(context.Context, agent.Session, []agent.ToolRef) ([]agent.Tool, error) {
	return nil, errors.New("dial 10.0.0.1: refused")
}

func TestALimitEndsTheTurnAndKeepsTheAnswer(t *testing.T) {
	call := func(n int) []turntest.Step {
		return []turntest.Step{turntest.Text("looking "), turntest.Call(fmt.Sprintf("c%d", n), "t", `{}`), turntest.Used(1000, 500), turntest.Finish(agent.FinishCalls)}
	}
	for name, x := range map[string]struct {
		set    func(*agent.Config)
		script func(*turntest.Model)
		detail string
		calls  int
		text   string
	}{
		"max_tool_calls": {
			func(a *agent.Config) { a.Limits.MaxToolCalls = 2 },
			func(m *turntest.Model) { m.Reply(call(0)...).Reply(call(1)...).Reply(call(2)...) },
			"max_tool_calls", 3, "looking ",
		},
		"max_wall_clock_ms": {
			func(a *agent.Config) { a.Limits.MaxWallClockMS = 1500 },
			func(m *turntest.Model) { m.Reply(turntest.Text("par"), turntest.Text("tial"), turntest.Block()) },
			"max_wall_clock_ms", 1, "partial",
		},
		"max_total_output_tokens": {
			func(a *agent.Config) { a.Limits.MaxTotalOutputTokens = 900 },
			func(m *turntest.Model) { m.Reply(call(0)...).Reply(call(1)...) },
			"max_total_output_tokens", 2, "looking ",
		},
		"max_cost_usd": {
			func(a *agent.Config) { a.Limits.MaxCostUSD = 0.0015 },
			func(m *turntest.Model) { m.Reply(call(0)...) },
			"max_cost_usd", 1, "looking ",
		},
		"length": {
			func(a *agent.Config) { a.MaxOutputTokens = 7 },
			func(m *turntest.Model) {
				m.Reply(turntest.Text("cut o"), turntest.Used(3, 7), turntest.Finish(agent.FinishLength))
			},
			"max_output_tokens", 1, "cut o",
		},
		"length by the turn's limit": {
			func(a *agent.Config) { a.Limits.MaxTotalOutputTokens = 7 },
			func(m *turntest.Model) {
				m.Reply(turntest.Text("cut o"), turntest.Call("c9", "t", `{}`), turntest.Used(3, 7), turntest.Finish(agent.FinishLength))
			},
			"max_total_output_tokens", 1, "cut o",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tool := turntest.InstantTool("t", "out")
			run(t, 1, func(t *testing.T, c *cluster) {
				x.script(c.model)
				tn := c.tool(0)
				ev := c.end(0, tn)
				e := last(ev)
				if e.Status != agent.StatusIncomplete || e.StopReason != agent.ReasonLimit || e.StopDetail != x.detail || answer(ev).Text != x.text {
					t.Errorf("ended %+v with %q", e, answer(ev).Text)
				}
				if n := len(c.model.Calls()); n != x.calls || c.model.Open() != 0 {
					t.Errorf("%d calls", n)
				}
				for _, m := range bodies[agent.Message](ev) {
					for _, k := range m.Calls {
						result(t, ev, k.ID)
					}
				}
				c.model.Always(turntest.Answer("ok")...)
				if e := last(c.end(0, c.begin(0, turn.Submit{Session: tn.Session}))); e.Status == agent.StatusFailed {
					t.Errorf("the next turn ended %+v", e)
				}
			}, withTools(tool), withAgent(x.set))
		})
	}
}

func TestTheLastCallIsAskedForNoMoreThanIsLeft(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c0", "t", `{}`), turntest.Used(1, 300), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Answer("ok")...)
		c.end(0, c.tool(0))
		for i, want := range []int{500, 500} {
			if got := c.model.Calls()[i].Request.MaxOutputTokens; got != want {
				t.Errorf("call %d may answer %d", i, got)
			}
		}
	}, withTools(turntest.InstantTool("t", "out")), withAgent(func(a *agent.Config) { a.MaxOutputTokens, a.Limits.MaxTotalOutputTokens = 500, 800 }))
}

func TestTimeoutIsNoStop(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("half"), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(time.Second)
		c.nodes[1].Timeout(tn.Session, tn.ID)
		c.nodes[0].Timeout(tn.Session, "another")
		time.Sleep(time.Second)
		if c.model.Open() != 1 {
			t.Fatal("ended by a timeout that was not its own")
		}
		c.nodes[0].Timeout(tn.Session, tn.ID)
		ev := c.end(1, tn)
		if e := last(ev); e.Status != agent.StatusFailed || e.Error.Code != agent.CodeTimeout || e.StopReason != "" || answer(ev).Text != "half" {
			t.Errorf("ended %+v", e)
		}
	})
}

func TestProviderThatAsksForTooLongAWaitHasRefused(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Fail(&agent.ModelError{Code: agent.CodeModelError, Message: "busy", Retryable: true, RetryAfter: time.Hour}))
		began := time.Now()
		ev := c.end(0, c.begin(0, turn.Submit{}))
		if e := last(ev); e.Status != agent.StatusFailed || time.Since(began) > time.Minute {
			t.Errorf("%+v after %v", e, time.Since(began))
		}
	})
}
