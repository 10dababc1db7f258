package turn_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// lasting gives both agents so many minutes for a background run.
func lasting(minutes int) func(*turn.Config) {
	return func(c *turn.Config) {
		agents := c.Agents.(turntest.Agents)
		for key, a := range agents {
			a.Execution.BackgroundMaxDurationMinutes = minutes
			agents[key] = a
		}
	}
}

// queue begins a background run.
func (c *cluster) queue(n int) agent.Turn { return c.begin(n, turn.Submit{Background: true}) }

// turn returns a turn as it is in the store.
func (c *cluster) turn(tn agent.Turn) agent.Turn {
	c.t.Helper()
	got, _, err := c.mem.Turn(c.t.Context(), tn.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	return got
}

func TestARunThatWorksForTooLongFailsAndKeepsThePartial(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("so far"), turntest.Block())
		began := time.Now()
		tn := c.queue(0)
		ev := c.end(0, tn)
		if e := last(ev); e.Status != agent.StatusFailed || e.Error.Code != agent.CodeMaxDuration || answer(ev).Text != "so far" {
			t.Errorf("ended %+v with %+v", e, answer(ev))
		}
		if d := time.Since(began); d < 2*time.Minute || d > 2*time.Minute+2*time.Second || c.model.Open() != 0 {
			t.Errorf("after %v, %d calls open", d, c.model.Open())
		}
		if f := c.turn(tn).RunError(); f == nil || f.Code != agent.CodeMaxDuration {
			t.Errorf("error %+v", f)
		}
	}, lasting(2))
}

func TestATurnThatSomebodyWaitsForHasNoSuchDeadline(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Pause(5*time.Minute), turntest.Text("x"), turntest.Finish(agent.FinishStop))
		tn := c.begin(0, turn.Submit{})
		time.Sleep(6 * time.Minute)
		if e := c.ended(tn); e.Status != agent.StatusCompleted {
			t.Errorf("ended %+v", e)
		}
	}, lasting(2))
}

// The clock stands still while the run waits for a person or for a node, and goes
// on where it stood.
func TestWaitingIsNoWork(t *testing.T) {
	tool := needsApproval()
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Pause(90*time.Second), turntest.Call("c1", "t", `{"x":1}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Text("part two"), turntest.Block())
		tn := c.begin(0, turn.Submit{Agent: "tools", Background: true})
		c.end(1, tn)
		time.Sleep(20 * time.Minute)
		if s := c.turn(tn); s.RunStatus() != agent.RunRequiresAction || s.Worked < 89*time.Second || s.Worked > 95*time.Second {
			t.Errorf("later %s, worked %v", s.RunStatus(), s.Worked)
		}
		actions, err := c.mem.Actions(t.Context(), tn.ID)
		if err != nil || len(actions) != 1 {
			t.Fatalf("actions %v, %v", actions, err)
		}
		began := time.Now()
		c.decide(1, actions[0].ID, agent.ActionApproved)
		c.until(time.Minute, "the run ends", func() bool { return c.turn(tn).Status.Final() })
		if d := time.Since(began); d < 25*time.Second || d > 35*time.Second {
			t.Errorf("the second leg worked for %v", d)
		}
		got := c.turn(tn)
		if f := got.RunError(); f == nil || f.Code != agent.CodeMaxDuration || tool.Started() != 1 {
			t.Errorf("ended %+v, %d starts", got, tool.Started())
		}
		if m := answer(of(c.mem.Journal(tn.Session), tn)); m.Text != "part two" {
			t.Errorf("message %+v", m)
		}
	}, withTools(tool), lasting(2))
}

func TestARunThatWaitsBehindOthersIsTakenInTime(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Text("x"), turntest.Pause(110*time.Second), turntest.Finish(agent.FinishStop))
		busy := []agent.Turn{c.queue(0), c.queue(1)} // all that the nodes take
		time.Sleep(time.Second)
		late := c.queue(0)
		time.Sleep(100 * time.Second)
		taken := c.queue(0)
		time.Sleep(3 * time.Minute)
		for _, tn := range append(busy, taken) {
			if e := c.ended(tn); e.Status != agent.StatusCompleted {
				t.Errorf("ended %+v", e)
			}
		}
		if got := c.turn(late); got.Status == agent.StatusFailed {
			t.Errorf("%+v", got)
		}
	}, lasting(2), func(c *turn.Config) { c.MaxQueued = 1 })
}

func TestARunThatNoNodeTakesFails(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Text("x"), turntest.Pause(100*time.Second), turntest.Finish(agent.FinishStop))
		c.mem.Fail(away("Claim"))
		late := c.queue(0)
		time.Sleep(121 * time.Second)
		follow := c.follow(0, late.Session, 0)
		time.Sleep(2 * time.Second)
		c.mem.Fail(nil)
		time.Sleep(time.Minute)
		if got := c.turn(late); got.RunError() == nil || got.RunError().Code != agent.CodePrecondition || !got.StartedAt.IsZero() {
			t.Errorf("%+v", got)
		}
		if ends := bodies[agent.TurnEnded](follow()); len(ends) != 1 || len(c.model.Calls()) != 0 {
			t.Errorf("%d ends were shown, %d calls", len(ends), len(c.model.Calls()))
		}
	}, lasting(2))
}

// Field report P 98: a dead node's run is closed, not run again.
func TestARunOfADeadNodeIsLostAndNeverRunAgain(t *testing.T) {
	tool := turntest.InstantTool("t", "done")
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Text("half"), turntest.Block())
		tn := c.begin(0, turn.Submit{Agent: "tools", Background: true})
		time.Sleep(2 * time.Second)
		c.mem.KillNode(c.node(tn))
		c.until(time.Minute, "the run is closed", func() bool { return c.turn(tn).Status.Final() })
		time.Sleep(time.Minute)
		if f := c.turn(tn).RunError(); f == nil || f.Code != agent.CodeWorkerLost {
			t.Errorf("error %+v", f)
		}
		if tool.Started() != 1 || len(c.model.Calls()) != 2 {
			t.Errorf("%d starts, %d calls", tool.Started(), len(c.model.Calls()))
		}
	}, withTools(tool))
}

func TestQueuedRunsOfADrainingNodeStayForOthers(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("partial"), turntest.Block())
		c.model.Always(turntest.Answer("ok")...)
		first, second := c.queue(0), c.queue(0)
		time.Sleep(time.Second)
		c.kill[0]()
		time.Sleep(10 * time.Second)
		if got := c.turn(first); got.RunError() == nil || got.RunError().Code != agent.CodeWorkerLost || got.Error.Code != agent.CodeShutdown {
			t.Errorf("the running one ended %+v", got)
		}
		if got := c.turn(second); got.RunStatus() != agent.RunQueued {
			t.Errorf("the queued one is %s", got.RunStatus())
		}
		c.add()
		if e := last(c.end(1, second)); e.Status != agent.StatusCompleted {
			t.Errorf("the queued one ended %+v", e)
		}
	}, func(c *turn.Config) { c.MaxQueued = 1 })
}

func TestAProjectAtItsBoundIsInNobodysWay(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Text("x"), turntest.Pause(10*time.Second), turntest.Finish(agent.FinishStop))
		var mine []agent.Turn
		for range 5 {
			mine = append(mine, c.queue(0))
		}
		foreign := c.begin(1, turn.Submit{Principal: other, Agent: "a", Background: true})
		time.Sleep(time.Second)
		if s := c.turn(foreign).RunStatus(); s != agent.RunRunning {
			t.Errorf("another project's run is %s", s)
		}
		running := 0
		for _, tn := range mine {
			if c.turn(tn).RunStatus() == agent.RunRunning {
				running++
			}
		}
		if running != 2 || c.turn(mine[0]).RunStatus() != agent.RunRunning || c.turn(mine[1]).RunStatus() != agent.RunRunning {
			t.Errorf("%d run at once", running)
		}
		began := time.Now()
		for _, tn := range mine {
			c.end(0, tn)
		}
		if d := time.Since(began); d > 35*time.Second {
			t.Errorf("five runs, two at once, took %v more", d)
		}
	}, func(c *turn.Config) { c.ProjectRunning = 2 })
}

func TestSubmitsAreRefusedAsTheAgentAndTheProjectSay(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Text("x"), turntest.Pause(time.Minute), turntest.Finish(agent.FinishStop))
		for _, r := range []struct {
			s    turn.Submit
			want error
		}{
			{turn.Submit{Agent: "never", Background: true}, agent.ErrNoBackground},
			{turn.Submit{Agent: "a", Key: "k"}, agent.ErrKeyInline},
			{turn.Submit{Agent: "a", Key: "k", AsAgentSays: true}, agent.ErrKeyInline},
			{turn.Submit{Agent: "a", Background: true}, nil},
			{turn.Submit{Agent: "default", AsAgentSays: true}, nil},
			{turn.Submit{Agent: "a", Background: true}, agent.ErrRunLimit},
		} {
			r.s.Principal, r.s.Input = alice, "x"
			if tn, err := c.nodes[0].Begin(t.Context(), r.s); !errors.Is(err, r.want) || err == nil && !tn.Background {
				t.Errorf("%+v: %v, background %v, want %v", r.s, err, tn.Background, r.want)
			}
		}
		for _, s := range []turn.Submit{{Agent: "default"}, {Agent: "never", AsAgentSays: true}} {
			if tn := c.begin(0, s); tn.Background {
				t.Errorf("%+v is a background run", s)
			}
		}
		time.Sleep(2 * time.Minute)
		c.end(0, c.queue(0))
	}, func(c *turn.Config) {
		c.ProjectRuns = 2
		agents := c.Agents.(turntest.Agents)
		agents["default"] = agent.Config{Model: "m", Execution: agent.Execution{DefaultMode: agent.ModeBackground}}
		agents["never"] = agent.Config{Model: "m", Execution: agent.Execution{DefaultMode: agent.ModeBackground, BackgroundEnabled: new(false)}}
	})
}

func TestFiftyEqualSubmitsBeginOneRun(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 98
		c.model.Reply(turntest.Answer("once")...)
		s := turn.Submit{Principal: alice, Agent: "a", Input: "x", Background: true, Key: "k", Request: [32]byte{1}}
		turns := make([]string, 50)
		var wg sync.WaitGroup
		for i := range turns {
			wg.Go(func() {
				tn, err := c.nodes[i%2].Begin(t.Context(), s)
				if used, ok := errors.AsType[*agent.UsedKeyError](err); ok && used.Same {
					turns[i] = used.Turn
				} else if turns[i] = tn.ID; err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, id := range turns {
			if id != turns[0] {
				t.Fatalf("turns %v", turns)
			}
		}
		time.Sleep(time.Minute)
		delete(c.conf.Agents.(turntest.Agents), "a") // what became of the agent is no matter
		if _, err := c.nodes[0].Begin(t.Context(), s); !same(err, turns[0], true) {
			t.Errorf("sent again: %v", err)
		}
		s.Request = [32]byte{2}
		if _, err := c.nodes[1].Begin(t.Context(), s); !same(err, turns[0], false) {
			t.Errorf("another request: %v", err)
		}
		if n := len(c.model.Calls()); n != 1 {
			t.Errorf("%d model calls", n)
		}
	})
}

func same(err error, turn string, same bool) bool {
	used, ok := errors.AsType[*agent.UsedKeyError](err)
	return ok && used.Turn == turn && used.Same == same
}

func TestARunIsCanceledInEachStateFromEachNode(t *testing.T) {
	for _, through := range []int{0, 1} {
		t.Run(fmt.Sprint(through), func(t *testing.T) {
			tool := needsApproval()
			run(t, 2, func(t *testing.T, c *cluster) { // 26, 106
				c.model.Reply(turntest.Text("half"), turntest.Block())
				c.model.Reply(turntest.Call("c1", "t", `{"x":1}`), turntest.Finish(agent.FinishCalls))
				running := c.queue(0)
				time.Sleep(time.Second)
				waiting := c.begin(1, turn.Submit{Agent: "tools", Background: true})
				c.end(0, waiting)
				synctest.Wait() // no claim is under way
				gate := c.mem.Block("Claim")
				queued := c.queue(0)
				for _, tn := range []agent.Turn{queued, running, waiting} {
					if a := c.cancel(through, turn.StopRequest{Turn: tn.ID, Wait: 5 * time.Second}); !a.Cancelled || a.Status != turn.StopStopped {
						t.Errorf("%s: %+v", c.turn(tn).RunStatus(), a)
					}
					if s := c.turn(tn); s.RunStatus() != agent.RunCanceled || s.RunError().Code != agent.CodeCanceled {
						t.Errorf("%+v", s)
					}
					c.wantCancelled(tn)
				}
				gate.Release()
				time.Sleep(5 * time.Second)
				if n := len(c.model.Calls()); n != 2 || tool.Started() != 0 || c.model.Open() != 0 {
					t.Errorf("%d calls, %d starts", n, tool.Started())
				}
			}, withTools(tool))
		})
	}
}
