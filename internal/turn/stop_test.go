package turn_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// eachNode runs a test that stops through the owner, then one through another node.
func eachNode(t *testing.T, f func(t *testing.T, c *cluster, through int), conf ...func(*turn.Config)) {
	for _, through := range []int{0, 1} {
		t.Run(fmt.Sprintf("through node %d", through+1), func(t *testing.T) {
			run(t, 2, func(t *testing.T, c *cluster) { f(t, c, through) }, conf...)
		})
	}
}

func (c *cluster) wantCancelled(tn agent.Turn) {
	c.t.Helper()
	if e := c.ended(tn); e.StopReason != agent.ReasonCancelled || e.Status != agent.StatusIncomplete || e.Stop == nil {
		c.t.Errorf("ended %+v, want cancelled", e)
	}
}

func TestStopOfAQueuedTurnEndsItAtOnceAndTheModelIsNeverCalled(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 26
		gate := c.mem.Block("Claim")
		tn := c.begin(0, turn.Submit{Background: true})
		a := c.cancel(through, turn.StopRequest{Session: tn.Session})
		if !a.Cancelled || a.Status != turn.StopStopped || len(a.Turns) != 1 {
			t.Errorf("answer %+v", a)
		}
		gate.Release()
		time.Sleep(5 * time.Second)
		c.wantCancelled(tn)
		if n := len(c.model.Calls()); n != 0 {
			t.Errorf("%d model calls", n)
		}
	})
}

func TestStopOfATurnBehindAFullNodeLeavesTheOthersAlone(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) { // 26, 27
		c.model.Reply(turntest.Pause(10*time.Second), turntest.Text("one"), turntest.Finish(agent.FinishStop))
		first := c.begin(0, turn.Submit{Background: true})
		time.Sleep(time.Second)
		second := c.begin(0, turn.Submit{Background: true})
		time.Sleep(time.Second)
		c.cancel(0, turn.StopRequest{Turn: second.ID})
		c.end(0, first)
		time.Sleep(5 * time.Second)
		c.wantCancelled(second)
		if e := c.ended(first); e.Status != agent.StatusCompleted || len(c.model.Calls()) != 1 {
			t.Errorf("first ended %+v after %d calls", e, len(c.model.Calls()))
		}
	}, func(c *turn.Config) { c.MaxQueued = 1 })
}

func TestStopBeforeTheFirstModelCallIsSeenByTheFirstLook(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 28, 30
		c.mem.Fail(away("Asked")) // only the first look can see it
		gate := c.mem.Block("Look")
		tn := c.begin(0, turn.Submit{})
		<-gate.Arrived()
		if a := c.cancel(1, turn.StopRequest{Session: tn.Session}); !a.Cancelled {
			t.Errorf("answer %+v", a)
		}
		gate.Release()
		c.end(1, tn)
		c.wantCancelled(tn)
		if n := len(c.model.Calls()); n != 0 {
			t.Errorf("%d model calls", n)
		}
		c.mem.Fail(nil)
	})
}

func TestStopUponTheFirstEventOfAFirstTurnIsFound(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 31
		c.model.Always(turntest.Block())
		tn := c.begin(0, turn.Submit{})
		if a := c.cancel(through, turn.StopRequest{Session: tn.Session}); !a.Cancelled {
			t.Errorf("answer %+v", a)
		}
		c.end(through, tn)
		c.wantCancelled(tn)
	})
}

func TestStopClosesTheModelCallAtOnceWithPush(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 1, 10
		c.model.Reply(turntest.Text("x"), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(333 * time.Millisecond)
		asked := time.Now()
		c.cancel(through, turn.StopRequest{Session: tn.Session})
		c.until(time.Millisecond, "model closed", func() bool { return c.model.Open() == 0 })
		c.end(through, tn)
		if d := c.model.Calls()[0].Ended.Sub(asked); d > 5*time.Millisecond {
			t.Errorf("closed after %v", d)
		}
	})
}

func TestStopLandsWithinThePollWithoutHints(t *testing.T) {
	stop := func(t *testing.T, c *cluster) { // 11, 12, 13
		c.mem.DropHints(true)
		c.model.Reply(turntest.Text("x"), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(333 * time.Millisecond)
		asked := time.Now()
		if a := c.cancel(1, turn.StopRequest{Session: tn.Session}); !a.Cancelled || a.Status != turn.StopStopping {
			t.Errorf("answer %+v", a)
		}
		c.end(0, tn)
		c.wantCancelled(tn)
		if d := c.model.Calls()[0].Ended.Sub(asked); d > 250*time.Millisecond {
			t.Errorf("closed after %v", d)
		}
	}
	t.Run("hints dropped", func(t *testing.T) { run(t, 2, stop) })
	t.Run("push off", func(t *testing.T) { run(t, 2, stop, noPush) })
}

func TestStopFindsATurnThatReconnectedListenersMissed(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 12
		c.mem.Fail(away("Notify"))
		c.model.Reply(turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(time.Second)
		if a := c.cancel(1, turn.StopRequest{Session: tn.Session}); !a.Cancelled {
			t.Errorf("a hint that is not sent failed the stop: %+v", a)
		}
		c.end(1, tn)
		c.mem.Fail(nil)
	})
}

func TestStopDuringSettleDecidesTheOutcome(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 20
		c.model.Reply(turntest.Answer("all of it")...)
		gate := c.mem.Block("Settle")
		tn := c.begin(0, turn.Submit{})
		<-gate.Arrived()
		if a := c.cancel(through, turn.StopRequest{Session: tn.Session}); !a.Cancelled {
			t.Errorf("answer %+v", a)
		}
		gate.Release()
		ev := c.end(0, tn)
		c.wantCancelled(tn)
		if m := answer(ev); m.Text != "all of it" {
			t.Errorf("message %+v", m)
		}
	})
}

func TestStopThatIsNotRecordedDuringSettleHasToldNobody(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 14, 19
		c.model.Reply(turntest.Answer("done")...)
		gate := c.mem.Block("Settle")
		tn := c.begin(0, turn.Submit{})
		<-gate.Arrived()
		c.mem.Fail(away("Stop"))
		go func() {
			time.Sleep(time.Second)
			gate.Release()
		}()
		_, err := c.nodes[through].Stop(t.Context(), turn.StopRequest{Principal: alice, Session: tn.Session})
		if e, ok := errors.AsType[*turn.NotRecordedError](err); !ok || e.Told {
			t.Errorf("answer: %v", err)
		}
		c.end(0, tn)
		if e := c.ended(tn); e.Status != agent.StatusCompleted {
			t.Errorf("ended %+v", e)
		}
		c.mem.Fail(nil)
	})
}

func TestStopAfterASettleOfUnknownEndSaysFalse(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 19
		c.model.Reply(turntest.Answer("done")...)
		settled := make(chan struct{})
		lost := once("Settle", 1)
		c.mem.FailAfter(func(m string) error {
			err := lost(m)
			if err != nil {
				close(settled)
			}
			return err
		})
		tn := c.begin(0, turn.Submit{})
		<-settled
		if a := c.cancel(through, turn.StopRequest{Turn: tn.ID}); a.Cancelled || len(a.Turns) != 0 {
			t.Errorf("answer %+v", a)
		}
		c.end(0, tn)
		if e := c.ended(tn); e.Status != agent.StatusCompleted {
			t.Errorf("ended %+v", e)
		}
	})
}

func TestStopTwiceKeepsTheFirst(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		tool := turntest.DeafTool("t", 5*time.Second)
		c.nodes = c.nodes[:0]
		c.conf.Tools = turntest.Toolbox{tool}
		c.add()
		time.Sleep(time.Second)
		c.model.Reply(turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
		tn := c.tool(0)
		time.Sleep(time.Second)
		for i := range 2 {
			p := alice
			p.ID = fmt.Sprintf("user:%d", i)
			if a := c.cancel(0, turn.StopRequest{Session: tn.Session, Principal: p}); !a.Cancelled || a.Turns[0] != tn.ID {
				t.Errorf("stop %d: %+v", i, a)
			}
		}
		if e := last(c.end(0, tn)); e.Stop.By != "user:0" {
			t.Errorf("stopped by %+v", e.Stop)
		}
	})
}

func TestAHundredStopsAtOnceEndTheTurnOnce(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 16
		c.model.Reply(turntest.Text("x"), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(time.Second)
		gate := c.mem.Block("Settle")
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				a, err := c.nodes[i%2].Stop(t.Context(), turn.StopRequest{Principal: alice, Session: tn.Session, Turn: tn.ID})
				if err != nil || !a.Cancelled || len(a.Turns) != 1 || a.Turns[0] != tn.ID {
					t.Errorf("stop %d: %+v, %v", i, a, err)
				}
			})
		}
		wg.Wait()
		gate.Release()
		ev := c.end(1, tn)
		c.wantCancelled(tn)
		if n := len(bodies[agent.TurnStopping](ev)); n != 1 {
			t.Errorf("%d turn.stopping", n)
		}
	})
}

func TestStopOfATurnThatHasEndedNeverHitsTheNext(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) { // 69
		c.model.Reply(turntest.Answer("one")...)
		c.model.Reply(turntest.Text("two"), turntest.Pause(time.Minute), turntest.Finish(agent.FinishStop))
		first := c.begin(0, turn.Submit{})
		c.end(0, first)
		second := c.begin(0, turn.Submit{Session: first.Session})
		time.Sleep(time.Second)
		for _, q := range []turn.StopRequest{{Turn: first.ID}, {Session: first.Session, Turn: first.ID}} {
			if a := c.cancel(through, q); a.Cancelled || len(a.Turns) != 0 {
				t.Errorf("%+v: %+v", q, a)
			}
		}
		if e := last(c.end(0, second)); e.Status != agent.StatusCompleted {
			t.Errorf("the next turn ended %+v", e)
		}
	})
}

func TestStopThatIsHeldUpNeverHitsTheNextTurn(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 21
		c.model.Reply(turntest.Pause(time.Second), turntest.Text("one"), turntest.Finish(agent.FinishStop))
		c.model.Reply(turntest.Text("two"), turntest.Pause(time.Minute), turntest.Finish(agent.FinishStop))
		first := c.begin(0, turn.Submit{})
		gate := c.mem.Block("Stop")
		answers := make(chan turn.StopAnswer)
		go func() { answers <- c.cancel(1, turn.StopRequest{Session: first.Session}) }()
		<-gate.Arrived()
		c.end(0, first)
		second := c.begin(0, turn.Submit{Session: first.Session})
		time.Sleep(500 * time.Millisecond)
		gate.Release()
		if a := <-answers; a.Cancelled || a.Status != turn.StopFinished {
			t.Errorf("answer %+v", a)
		}
		if e := last(c.end(0, second)); e.Status != agent.StatusCompleted {
			t.Errorf("the next turn ended %+v", e)
		}
	})
}

func TestStopSaysTrueIfAndOnlyIfTheTurnEndsCancelled(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 19, 21, 23
		c.model.Always(turntest.Text("x"), turntest.Pause(10*time.Millisecond), turntest.Text("y"), turntest.Finish(agent.FinishStop))
		// Statements take a moment, so that they interleave.
		c.mem.Fail(func(m string) error {
			switch m {
			case "Find", "Stop", "Settle", "Turn", "Asked":
				time.Sleep(time.Duration(rand.IntN(40)) * time.Microsecond)
			}
			return nil
		})
		var mu sync.Mutex
		said := map[bool]int{}
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 125 {
					tn := c.begin(0, turn.Submit{})
					time.Sleep(10*time.Millisecond + time.Duration(rand.IntN(160)-80)*time.Microsecond)
					q := turn.StopRequest{Principal: alice, Session: tn.Session, Turn: tn.ID}
					if i%3 == 0 {
						q.Turn = ""
					}
					a, err := c.nodes[(w+i)%2].Stop(t.Context(), q)
					if err != nil {
						t.Error(err)
					}
					c.end(0, tn)
					if e := c.ended(tn); a.Cancelled != (e.StopReason == agent.ReasonCancelled) {
						t.Errorf("said %+v, ended %+v", a, e)
					}
					mu.Lock()
					said[a.Cancelled]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if said[true] < 50 || said[false] < 50 {
			t.Errorf("no race: %v", said)
		}
		c.mem.Fail(nil)
	})
}

func TestSendRightAfterAStopIsNeverRefused(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 77
		c.model.Always(turntest.Text("x"), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		for i := range 200 {
			time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
			if a := c.cancel(i%2, turn.StopRequest{Session: tn.Session}); !a.Cancelled {
				t.Fatalf("loop %d: %+v", i, a)
			}
			next, err := c.nodes[i/2%2].Begin(t.Context(), turn.Submit{Principal: alice, Agent: "a", Session: tn.Session, Input: "next"})
			if err != nil {
				t.Fatalf("loop %d: %v", i, err)
			}
			c.wantCancelled(tn)
			tn = next
		}
		c.cancel(0, turn.StopRequest{Session: tn.Session})
		c.end(0, tn)
	})
}

func TestAMessageWaitsTwoSecondsForAStoppingTurnAndIsThenRefused(t *testing.T) {
	for _, through := range []int{0, 1} {
		for hold, ok := range map[time.Duration]bool{1500 * time.Millisecond: true, 10 * time.Second: false} {
			t.Run(fmt.Sprintf("node %d, turn winds down for %v", through+1, hold), func(t *testing.T) {
				run(t, 2, func(t *testing.T, c *cluster) {
					c.model.Reply(turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
					c.model.Always(turntest.Answer("ok")...)
					tn := c.tool(0)
					time.Sleep(time.Second)
					c.cancel(0, turn.StopRequest{Session: tn.Session})
					time.Sleep(100 * time.Millisecond)
					began := time.Now()
					next, err := c.nodes[through].Begin(t.Context(), turn.Submit{Principal: alice, Agent: "tools", Session: tn.Session, Input: "next"})
					d := time.Since(began)
					busy, refused := errors.AsType[*agent.BusyError](err)
					if ok != (err == nil) || d > 2100*time.Millisecond || !ok && (!refused || !busy.Stopping || busy.Turn != tn.ID || d < 1900*time.Millisecond) {
						t.Errorf("after %v: %v", d, err)
					}
					c.end(0, tn)
					if ok {
						c.end(0, next)
					}
				}, withTools(turntest.DeafTool("t", hold+time.Second)))
			})
		}
	}
}

func TestStopAnswersWithinTwoSecondsThoughTheDatabaseHangs(t *testing.T) {
	for _, method := range []string{"Find", "Stop"} {
		t.Run(method, func(t *testing.T) {
			run(t, 1, func(t *testing.T, c *cluster) {
				c.model.Reply(turntest.Text("x"), turntest.Block())
				tn := c.begin(0, turn.Submit{})
				time.Sleep(time.Second)
				hold := []*turntest.Gate{c.mem.Block(method), c.mem.Block("Settle")}
				if method == "Find" { // asked only where the lease is stale
					hold = append(hold, c.mem.Block("Renew"))
					time.Sleep(8 * time.Second)
				}
				began := time.Now()
				_, err := c.nodes[0].Stop(t.Context(), turn.StopRequest{Principal: alice, Session: tn.Session})
				e, ok := errors.AsType[*turn.NotRecordedError](err)
				if !ok || !e.Told || time.Since(began) > 2100*time.Millisecond {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				c.until(time.Millisecond, "model closed", func() bool { return c.model.Open() == 0 })
				for _, g := range hold {
					g.Release()
				}
				c.end(0, tn)
				c.wantCancelled(tn)
			})
		})
	}
}

func TestWaitSaysHowItEnded(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 14, 129
		for through := range 2 {
			c.model.Reply(turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
			tn := c.tool(0)
			time.Sleep(time.Second)
			if a := c.cancel(through, turn.StopRequest{Session: tn.Session, Wait: time.Second}); !a.Cancelled || a.Done() {
				t.Errorf("a turn that has not ended: %+v", a)
			}
			if a := c.cancel(through, turn.StopRequest{Session: tn.Session, Wait: 20 * time.Second}); a.Status != turn.StopStopped {
				t.Errorf("a turn that has ended: %+v", a)
			}
		}
	}, withTools(turntest.DeafTool("t", 5*time.Second)))
}
