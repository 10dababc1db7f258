package turn_test

import (
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func wallClock(d time.Duration) func(*agent.Config) {
	return func(a *agent.Config) { a.Limits.MaxWallClockMS = d.Milliseconds() }
}

// limitedByClock fails unless a turn was ended by its wall clock.
func (c *cluster) limitedByClock(tn agent.Turn) {
	c.t.Helper()
	if e := c.ended(tn); e.StopReason != agent.ReasonLimit || e.StopDetail != "max_wall_clock_ms" {
		c.t.Errorf("ended %+v", e)
	}
}

func TestTheWallClockRunsOverAllLegsAndStandsStillWhileAPersonThinks(t *testing.T) {
	for _, through := range []int{0, 1} {
		tool := turntest.SlowTool("t", 4*time.Second)
		tool.Asks = agent.ActionApproval
		run(t, 2, func(t *testing.T, c *cluster) {
			for range 2 {
				c.model.Reply(turntest.Pause(4*time.Second), turntest.Call("", "t", `{}`), turntest.Finish(agent.FinishCalls))
			}
			c.model.Always(turntest.Answer("ok")...)
			tn := c.tool(0)
			// The first leg works for 4 s, the second for 8: after 3 s of the third the
			// turn has worked for 15.
			for range 2 {
				time.Sleep(time.Hour)
				asked := bodies[agent.ActionRequested](c.mem.Journal(tn.Session))
				c.decide(through, asked[len(asked)-1].ActionID, agent.ActionApproved)
			}
			began := time.Now()
			c.ends(0, tn)
			if d := time.Since(began); d < 2*time.Second || d > 4*time.Second {
				t.Errorf("the last leg worked for %v", d)
			}
			c.limitedByClock(tn)
			if n := tool.Started(); n != 2 {
				t.Errorf("%d starts", n)
			}
		}, withTools(tool), withAgent(wallClock(15*time.Second)))
	}
}

func TestALegThatGoesOnKeepsItsClock(t *testing.T) {
	tool, beside := needsApproval(), turntest.SlowTool("slow", 5*time.Second)
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c0", "t", `{}`), turntest.Call("c1", "slow", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Text("x"), turntest.Block())
		began := time.Now()
		tn := c.tool(0)
		time.Sleep(time.Second)
		c.decide(0, bodies[agent.ActionRequested](c.mem.Journal(tn.Session))[0].ActionID, agent.ActionApproved)
		c.ends(0, tn)
		if d := time.Since(began); d < 7*time.Second || d > 9*time.Second {
			t.Errorf("worked for %v", d)
		}
		c.limitedByClock(tn)
	}, withTools(tool, beside), withAgent(wallClock(8*time.Second)))
}

func TestAnAdoptedLegHasWorkedSinceItWasTaken(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Text("x"), turntest.Block())
		c.mem.FailAfter(away("Claim"))
		began := time.Now()
		tn := c.begin(0, turn.Submit{Agent: "tools", Background: true})
		time.Sleep(10 * time.Second) // claimed at once, and nobody knows
		c.mem.FailAfter(nil)
		c.end(0, tn)
		if d := time.Since(began); d < 14*time.Second || d > 16*time.Second {
			t.Errorf("worked for %v", d)
		}
		c.limitedByClock(tn)
	}, withTools(), withAgent(wallClock(15*time.Second)))
}
