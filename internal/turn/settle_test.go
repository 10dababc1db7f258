package turn_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func TestACommitOfUnknownEndLosesAndDoublesNothing(t *testing.T) {
	for _, method := range []string{"Take", "Claim", "Look", "Append", "Record", "Settle", "Transcript", "Renew"} {
		for _, n := range []int{1, 2} {
			for _, applied := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %d applied=%v", method, n, applied), func(t *testing.T) {
					unknown(t, method, n, applied)
				})
			}
		}
	}
}

// unknown runs a turn with text, a tool and text, whose n-th call of a method
// fails with or without its effect.
func unknown(t *testing.T, method string, n int, applied bool) {
	tool := turntest.InstantTool("t", "out")
	run(t, 2, func(t *testing.T, c *cluster) { // 43
		fault := once(method, n)
		if applied {
			c.mem.FailAfter(fault)
		} else {
			c.mem.Fail(fault)
		}
		c.model.Reply(turntest.Text("a"), turntest.Pause(time.Second), turntest.Text("b"), turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Text("c"), turntest.Pause(time.Second), turntest.Text("d"), turntest.Finish(agent.FinishStop))
		tn := c.begin(0, turn.Submit{Agent: "tools", Background: method == "Claim"})
		live := c.follow(0, tn.Session, tn.FirstSeq-1)
		ev := c.end(1, tn)
		if e := last(ev); e.Status != agent.StatusCompleted || text(ev) != "abcd" || answer(ev).Text != "cd" {
			t.Errorf("ended %+v with %q", e, text(ev))
		}
		if n := len(c.model.Calls()); n != 2 || tool.Started() != 1 || len(bodies[agent.ToolStarted](ev)) != 1 {
			t.Errorf("%d model calls, %d tools", n, tool.Started())
		}
		if u := c.mem.Usage(tn.ID); len(u) != 2 {
			t.Errorf("usage %+v", u)
		}
		time.Sleep(5 * time.Second)
		sameSeqs(t, "the journal", c.mem.Journal(tn.Session), ev)
		sameSeqs(t, "the other follower", live(), ev)
	}, withTools(tool))
}

func TestAStopOfUnknownEndIsSentAgainAndSaysTheTruth(t *testing.T) {
	for _, applied := range []bool{true, false} {
		eachNode(t, func(t *testing.T, c *cluster, through int) {
			if applied {
				c.mem.FailAfter(once("Stop", 1))
			} else {
				c.mem.Fail(once("Stop", 1))
			}
			c.model.Reply(turntest.Text("x"), turntest.Block())
			tn := c.begin(0, turn.Submit{})
			time.Sleep(time.Second)
			if a := c.cancel(through, turn.StopRequest{Session: tn.Session}); !a.Cancelled {
				t.Errorf("answer %+v", a)
			}
			c.end(0, tn)
			c.wantCancelled(tn)
		})
	}
}

func TestATakeThatStaysUnknownIsAdopted(t *testing.T) {
	for _, method := range []string{"Take", "Claim"} {
		t.Run(method, func(t *testing.T) {
			run(t, 1, func(t *testing.T, c *cluster) {
				c.model.Reply(turntest.Text("x"), turntest.Pause(10*time.Second), turntest.Finish(agent.FinishStop))
				first := c.begin(0, turn.Submit{})
				c.cancel(0, turn.StopRequest{Session: first.Session})
				c.end(0, first)
				c.model.Always(turntest.Text("x"), turntest.Pause(10*time.Second), turntest.Finish(agent.FinishStop))
				c.mem.FailAfter(away(method))
				_, err := c.nodes[0].Begin(t.Context(), turn.Submit{
					Principal: alice, Agent: "a", Session: first.Session, Input: "x", Background: method == "Claim"})
				if (method == "Claim") != (err == nil) {
					t.Errorf("begin: %v", err)
				}
				time.Sleep(time.Second)
				c.mem.FailAfter(nil)
				time.Sleep(5 * time.Second)
				if c.nodes[0].Running() != 1 {
					t.Fatal("the turn was not adopted")
				}
				tn := agent.Turn{ID: c.mem.Slot(first.Session).Lease.Turn, Session: first.Session, FirstSeq: 1}
				c.end(0, tn)
				if e := c.ended(tn); e.Status != agent.StatusCompleted {
					t.Errorf("ended %+v", e)
				}
				calls := 0
				for _, m := range c.model.Calls() {
					if m.Yielded > 1 {
						calls++
					}
				}
				if calls != 1 {
					t.Errorf("the turn called its model %d times", calls)
				}
			})
		})
	}
}

func TestTextIsStoredOnceThoughTheSettleFailsForFiveSeconds(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 43
		c.model.Reply(turntest.Text("par"), turntest.Text("tial"), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(10 * time.Millisecond)
		c.mem.Fail(away("Settle", "Append"))
		c.cancel(0, turn.StopRequest{Session: tn.Session})
		time.Sleep(5 * time.Second)
		if s := c.mem.Slot(tn.Session); s.State != agent.SlotRunning || s.Stop == nil {
			t.Errorf("slot %+v", s)
		}
		if ends := bodies[agent.TurnEnded](c.mem.Journal(tn.Session)); len(ends) != 0 {
			t.Error("an end before its commit")
		}
		c.mem.Fail(nil)
		if ev := c.end(1, tn); answer(ev).Text != "partial" || text(ev) != "partial" {
			t.Errorf("message %q, text %q", answer(ev).Text, text(ev))
		}
		c.wantCancelled(tn)
	})
}

func TestAnEndIsShownOnlyOnceItIsDurable(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) { // 43
		c.model.Reply(turntest.Answer("x")...)
		gate := c.mem.Block("Settle")
		tn := c.begin(0, turn.Submit{})
		live := c.follow(0, tn.Session, tn.FirstSeq-1)
		<-gate.Arrived()
		time.Sleep(time.Second)
		if ev := live(); len(bodies[agent.TurnEnded](ev)) != 0 || text(ev) != "x" {
			t.Errorf("shown before the commit: %v", ev)
		}
		gate.Release()
		c.end(0, tn)
	})
}

// panics is a Model that panics after its first delta.
func panics() turntest.Step { return turntest.Do(func() { panic("model") }) }

func TestAPanicAbandonsTheLegAndReconcileClosesIt(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("kept"), turntest.Pause(time.Second), panics())
		c.model.Reply(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{})
		ev := c.end(0, tn)
		if e := last(ev); e.Status != agent.StatusFailed || e.Error.Code != agent.CodeWorkerLost || answer(ev).Text != "kept" {
			t.Errorf("ended %+v with %q", e, answer(ev).Text)
		}
		synctest.Wait()
		if n := c.nodes[0].Relics(); n != 0 {
			t.Errorf("%d legs are remembered for ever", n)
		}
		c.end(0, c.begin(0, turn.Submit{Session: tn.Session}))
	})
}

func TestAStopOfAnAbandonedLegIsTrue(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("x"), panics())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(100 * time.Millisecond)
		if a := c.cancel(1, turn.StopRequest{Session: tn.Session, Wait: 10 * time.Second}); !a.Cancelled || a.Status != turn.StopStopped {
			t.Errorf("answer %+v", a)
		}
		c.wantCancelled(tn)
	})
}

func TestASettleThatIsGivenUpButWasCommittedIsForgotten(t *testing.T) {
	var committed atomic.Bool
	run(t, 1, func(t *testing.T, c *cluster) {
		c.mem.FailAfter(func(m string) error {
			if m == "Settle" && !committed.Swap(true) {
				return errAway
			}
			return nil
		})
		c.mem.Fail(func(m string) error {
			if m == "Settle" && committed.Load() {
				return fmt.Errorf("a fault of the store")
			}
			return nil
		})
		c.model.Reply(turntest.Answer("x")...)
		tn := c.begin(0, turn.Submit{})
		c.end(0, tn)
		time.Sleep(5 * time.Second)
		if n := c.nodes[0].Relics(); n != 1 {
			t.Errorf("%d legs given up", n)
		}
		time.Sleep(10 * time.Second)
		if n := c.nodes[0].Relics(); n != 0 {
			t.Errorf("%d legs are remembered for ever", n)
		}
		c.mem.Fail(nil)
	})
}

func TestASettleThatFailsForGoodIsClosedByReconcile(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.mem.Fail(func(m string) error {
			if m == "Settle" {
				return fmt.Errorf("a fault of the store")
			}
			return nil
		})
		c.model.Reply(turntest.Text("kept"), turntest.Pause(time.Second), turntest.Finish(agent.FinishStop))
		tn := c.begin(0, turn.Submit{})
		ev := c.end(0, tn)
		if e := last(ev); e.Status != agent.StatusFailed || answer(ev).Text != "kept" {
			t.Errorf("ended %+v with %q", e, answer(ev).Text)
		}
		c.mem.Fail(nil)
	})
}
