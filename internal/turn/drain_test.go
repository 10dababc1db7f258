package turn_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func drainFor(d time.Duration) func(*turn.Config) {
	return func(c *turn.Config) { c.Times.Drain = d }
}

func TestADrainLetsTurnsFinishAndRefusesNewOnes(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 127
		c.model.Always(turntest.Text("x"), turntest.Pause(5*time.Second), turntest.Finish(agent.FinishStop))
		tn := c.begin(0, turn.Submit{})
		ends := make(chan error, 2)
		for _, s := range []string{tn.Session, "another"} {
			go func() {
				var end error
				for _, err := range c.nodes[0].Follow(t.Context(), s, 0) {
					end = err
				}
				ends <- end
			}()
		}
		time.Sleep(time.Second)
		id := c.node(tn)
		c.kill[0]()
		synctest.Wait()
		if _, err := c.nodes[0].Begin(t.Context(), turn.Submit{Principal: alice, Agent: "a", Input: "x"}); !errors.Is(err, agent.ErrDraining) {
			t.Errorf("begin: %v", err)
		}
		if !errors.Is(c.nodes[0].Ready(), agent.ErrDraining) {
			t.Error("ready while it drains")
		}
		bg := c.begin(1, turn.Submit{Background: true})
		c.end(1, bg)
		if e := last(c.end(1, tn)); e.Status != agent.StatusCompleted {
			t.Errorf("ended %+v", e)
		}
		for range 2 {
			if err := <-ends; !errors.Is(err, agent.ErrDraining) {
				t.Errorf("a follower ended with %v", err)
			}
		}
		time.Sleep(3 * time.Second)
		if err := c.mem.Renew(t.Context(), id); !errors.Is(err, agent.ErrNodeDead) {
			t.Errorf("the node has not left: %v", err)
		}
		// What it does not run any more it can still stop and find.
		if a := c.cancel(0, turn.StopRequest{Session: tn.Session}); a.Cancelled {
			t.Errorf("answer %+v", a)
		}
	}, drainFor(20*time.Second))
}

func TestADrainThatTakesTooLongFailsTheTurnsAsShutdown(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 127
		c.model.Always(turntest.Text("partial"), turntest.Block())
		var turns []agent.Turn
		for range 20 {
			turns = append(turns, c.begin(0, turn.Submit{}))
		}
		time.Sleep(time.Second)
		began := time.Now()
		c.kill[0]()
		for _, tn := range turns {
			ev := c.end(1, tn)
			e := last(ev)
			if e.Status != agent.StatusFailed || e.StopReason != "" || e.Error.Code != agent.CodeShutdown || answer(ev).Text != "partial" {
				t.Errorf("ended %+v", e)
			}
		}
		if d := time.Since(began); d < 5*time.Second || d > 6*time.Second || c.model.Open() != 0 {
			t.Errorf("after %v", d)
		}
	}, drainFor(5*time.Second))
}

func TestAStopDuringADrainIsAStop(t *testing.T) {
	eachNode(t, func(t *testing.T, c *cluster, through int) {
		c.model.Reply(turntest.Text("partial"), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(time.Second)
		c.kill[0]()
		time.Sleep(time.Second)
		if a := c.cancel(through, turn.StopRequest{Session: tn.Session, Wait: time.Second}); a.Status != turn.StopStopped {
			t.Errorf("answer %+v", a)
		}
		c.wantCancelled(tn)
	}, drainFor(5*time.Second))
}

func TestADrainWithTheDatabaseAwayEndsAndLeavesTheTurnsToOthers(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		n, way := c.cuttable()
		time.Sleep(15 * time.Second)
		c.model.Reply(turntest.Text("partial"), turntest.Block())
		tn := c.begin(n, turn.Submit{})
		time.Sleep(time.Second)
		way.cut.Store(true)
		c.kill[n]()
		began := time.Now()
		c.until(10*time.Second, "the node gives up", func() bool { return c.nodes[n].Running() == 0 })
		ev := c.end(0, tn)
		if e := last(ev); e.Status != agent.StatusFailed || answer(ev).Text != "partial" || time.Since(began) > 15*time.Second {
			t.Errorf("ended %+v after %v", e, time.Since(began))
		}
	})
}

// A take that is under way when a drain finds nothing running is waited for.
func TestATakeThatRacesADrainIsRunOrRefused(t *testing.T) {
	for name, method := range map[string]string{"begin": "Take", "claim": "Claim"} {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(t *testing.T, c *cluster) {
				c.model.Always(turntest.Pause(100*time.Millisecond), turntest.Text("x"), turntest.Finish(agent.FinishStop))
				first := c.begin(1, turn.Submit{})
				c.end(1, first)
				gate := c.mem.Block(method)
				var wg sync.WaitGroup
				wg.Go(func() {
					_, err := c.nodes[0].Begin(t.Context(), turn.Submit{
						Principal: alice, Agent: "a", Session: first.Session, Input: "x", Background: method == "Claim"})
					if err != nil {
						t.Errorf("begin: %v", err)
					}
				})
				<-gate.Arrived()
				c.kill[0]()
				time.Sleep(500 * time.Millisecond)
				gate.Release()
				wg.Wait()
				tn := agent.Turn{ID: c.mem.Slot(first.Session).Lease.Turn, Session: first.Session, FirstSeq: 1}
				for e, err := range c.nodes[1].Follow(t.Context(), tn.Session, 0) {
					if err != nil || e.Ends() && e.Turn == tn.ID {
						break
					}
				}
				if e := c.ended(tn); e.Status != agent.StatusCompleted {
					t.Errorf("ended %+v", e.Error)
				}
				synctest.Wait()
				if n := c.nodes[0].Running(); n != 0 {
					t.Errorf("%d turns run on a node that has left", n)
				}
			})
		})
	}
}

func TestABeginThatOutlivesTheDrainIsRefused(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Answer("ok")...)
		first := c.begin(1, turn.Submit{})
		c.end(1, first)
		gate := c.mem.Block("Find")
		refused := make(chan error)
		go func() {
			_, err := c.nodes[0].Begin(t.Context(), turn.Submit{Principal: alice, Session: first.Session, Input: "x"})
			refused <- err
		}()
		<-gate.Arrived()
		c.kill[0]()
		time.Sleep(time.Second)
		gate.Release()
		if err := <-refused; !errors.Is(err, agent.ErrDraining) {
			t.Errorf("begin: %v", err)
		}
		if s := c.mem.Slot(first.Session).State; s != agent.SlotIdle {
			t.Errorf("slot %s", s)
		}
	})
}

func TestALegThatStartsAfterTheDrainsTimeIsUpEndsAsShutdown(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Text("x"), turntest.Block())
		gate := c.mem.Block("Take")
		var tn agent.Turn
		var wg sync.WaitGroup
		wg.Go(func() { tn = c.begin(0, turn.Submit{}) })
		<-gate.Arrived()
		c.kill[0]()
		time.Sleep(1500 * time.Millisecond)
		gate.Release()
		wg.Wait()
		if e := last(c.end(1, tn)); e.Error == nil || e.Error.Code != agent.CodeShutdown {
			t.Errorf("ended %+v", e)
		}
	})
}

func TestANodeThatHasLeftDoesNotJoinAgain(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		time.Sleep(time.Second)
		joins := 0
		c.mem.Fail(func(m string) error {
			if m == "Join" {
				joins++
			}
			return nil
		})
		c.mem.FailAfter(func(m string) error {
			if m == "Leave" {
				time.Sleep(900 * time.Millisecond) // longer than to the next renewal
			}
			return nil
		})
		time.Sleep(500 * time.Millisecond)
		c.kill[0]()
		c.wg.Wait()
		if joins != 0 {
			t.Errorf("%d joins", joins)
		}
		c.mem.Fail(nil)
		c.mem.FailAfter(nil)
	})
}

func TestAnEngineThatDoesNotRunYetRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := turntest.NewMemory(turntest.Times{})
		e := turn.New(turn.Config{Store: mem, Models: turntest.Models{}, Agents: turntest.Agents{"a": {Model: "m"}}})
		if _, err := e.Begin(t.Context(), turn.Submit{Principal: alice, Agent: "a", Input: "x"}); !errors.Is(err, agent.ErrUnavailable) {
			t.Errorf("begin: %v", err)
		}
		if e.Ready() == nil {
			t.Error("ready")
		}
	})
}
