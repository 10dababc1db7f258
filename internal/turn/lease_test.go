package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// words streams n words, one every d.
func words(n int, d time.Duration) (steps []turntest.Step, text string) {
	for i := range n {
		w := fmt.Sprintf("w%d ", i)
		steps, text = append(steps, turntest.Text(w), turntest.Pause(d)), text+w
	}
	return append(steps, turntest.Finish(agent.FinishStop)), text
}

func TestAnOutageShorterThanTheLeaseEndsNothingAndLosesNoText(t *testing.T) {
	for _, outage := range []time.Duration{2 * time.Second, 9 * time.Second, 58 * time.Second} {
		t.Run(outage.String(), func(t *testing.T) {
			run(t, 2, func(t *testing.T, c *cluster) { // 43, 72
				steps, want := words(40, 2*time.Second)
				c.model.Reply(steps...)
				tn := c.begin(0, turn.Submit{})
				live := c.follow(0, tn.Session, tn.FirstSeq-1)
				time.Sleep(3 * time.Second)
				c.mem.Fail(away())
				time.Sleep(outage)
				c.mem.Fail(nil)
				ev := c.end(1, tn)
				if e := last(ev); e.Status != agent.StatusCompleted || text(ev) != want || answer(ev).Text != want {
					t.Errorf("ended %+v with %q", e, text(ev))
				}
				time.Sleep(time.Second)
				sameSeqs(t, "the owner's follower", live(), ev)
			})
		})
	}
}

func TestAFollowerHereSeesTextWhileTheDatabaseIsAway(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		steps, _ := words(10, time.Second)
		c.model.Reply(steps...)
		tn := c.begin(0, turn.Submit{})
		live := c.follow(0, tn.Session, tn.FirstSeq-1)
		time.Sleep(100 * time.Millisecond)
		c.mem.Fail(away())
		time.Sleep(5 * time.Second)
		if got := len(strings.Fields(text(live()))); got != 6 {
			t.Errorf("saw %d words", got)
		}
		c.mem.Fail(nil)
		c.end(0, tn)
	})
}

func TestNothingStartsWhileTheLeaseIsStale(t *testing.T) {
	tool := turntest.InstantTool("t", "out")
	run(t, 1, func(t *testing.T, c *cluster) { // 73
		c.model.Reply(turntest.Pause(10*time.Second), turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Answer("ok")...)
		tn := c.tool(0)
		time.Sleep(time.Second)
		c.mem.Fail(away("Renew")) // all else works
		time.Sleep(14 * time.Second)
		if n := tool.Started(); n != 0 {
			t.Errorf("%d tools started under a stale lease", n)
		}
		if n := len(bodies[agent.ToolStarted](c.mem.Journal(tn.Session))); n != 1 {
			t.Errorf("%d starts recorded", n)
		}
		if _, err := c.nodes[0].Begin(t.Context(), turn.Submit{Principal: alice, Agent: "a", Input: "x"}); !errors.Is(err, agent.ErrUnavailable) {
			t.Errorf("begin under a stale lease: %v", err)
		}
		bg := c.begin(0, turn.Submit{Background: true})
		time.Sleep(5 * time.Second)
		if s := c.mem.Slot(bg.Session).State; s != agent.SlotQueued || len(c.model.Calls()) != 1 {
			t.Errorf("claimed under a stale lease: %s", s)
		}
		if c.nodes[0].Ready() == nil {
			t.Error("ready under a stale lease")
		}
		c.model.Reply(turntest.Answer("ok")...)
		c.mem.Fail(nil)
		c.end(0, tn)
		c.end(0, bg)
		if tool.Started() != 1 {
			t.Errorf("%d starts", tool.Started())
		}
	}, withTools(tool))
}

func TestNoModelCallBeginsWhileTheLeaseIsStale(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
		c.model.Reply(turntest.Answer("ok")...)
		tn := c.tool(0)
		time.Sleep(time.Second)
		c.mem.Fail(away("Renew"))
		time.Sleep(15 * time.Second)
		if n := len(c.model.Calls()); n != 1 {
			t.Errorf("%d model calls", n)
		}
		c.mem.Fail(nil)
		if e := last(c.end(0, tn)); e.Status != agent.StatusCompleted {
			t.Errorf("ended %+v", e)
		}
	}, withTools(turntest.SlowTool("t", 10*time.Second)))
}

// flaky is a Models and a Tools that live in the database that is away.
type flaky struct {
	turn.Models
	turn.Tools
	away *atomic.Bool
}

func (f flaky) Model(ctx context.Context, p, key string) (agent.Model, turn.Model, error) {
	if f.away.Load() {
		return agent.Model{}, nil, errAway
	}
	return f.Models.Model(ctx, p, key)
}

func (f flaky) Open(ctx context.Context, s agent.Session, refs []agent.ToolRef) ([]agent.Tool, error) {
	if f.away.Load() {
		return nil, errAway
	}
	return f.Tools.Open(ctx, s, refs)
}

func TestModelsAndToolsThatCannotBeLookedUpNowAreWaitedFor(t *testing.T) {
	for name, set := range map[string]func(*turn.Config, flaky){
		"models": func(c *turn.Config, f flaky) { c.Models = f },
		"tools":  func(c *turn.Config, f flaky) { c.Tools = f },
	} {
		t.Run(name, func(t *testing.T) {
			var gone atomic.Bool
			gone.Store(true)
			run(t, 1, func(t *testing.T, c *cluster) {
				c.model.Reply(turntest.Answer("ok")...)
				tn := c.tool(0)
				time.Sleep(3 * time.Second)
				gone.Store(false)
				if e := last(c.end(0, tn)); e.Status != agent.StatusCompleted {
					t.Errorf("ended %+v", e.Error)
				}
			}, func(c *turn.Config) { set(c, flaky{c.Models, turntest.Toolbox{}, &gone}) })
		})
	}
}

func TestStopWithTheDatabaseAwayAbortsTheModelAndIsNotRecorded(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 9 * time.Second} { // lease fresh, and stale
		t.Run(after.String(), func(t *testing.T) {
			run(t, 2, func(t *testing.T, c *cluster) {
				c.model.Reply(turntest.Text("partial"), turntest.Block())
				tn := c.begin(0, turn.Submit{})
				time.Sleep(time.Second)
				c.mem.Fail(away())
				time.Sleep(after)
				for n, told := range []bool{true, false} {
					_, err := c.nodes[n].Stop(t.Context(), turn.StopRequest{Principal: alice, Session: tn.Session})
					e, ok := errors.AsType[*turn.NotRecordedError](err)
					if !ok || !errors.Is(err, agent.ErrStopNotRecorded) || e.Told != told {
						t.Errorf("node %d: %v", n+1, err)
					}
				}
				c.until(time.Millisecond, "model closed", func() bool { return c.model.Open() == 0 })
				if _, err := c.nodes[0].Stop(t.Context(), turn.StopRequest{Principal: alice, Session: "another", Turn: tn.ID}); errors.Is(err, agent.ErrStopNotRecorded) {
					if e, _ := errors.AsType[*turn.NotRecordedError](err); e.Told {
						t.Error("told a turn of another session")
					}
				}
				c.mem.Fail(nil)
				c.end(1, tn)
				c.wantCancelled(tn)
			})
		})
	}
}

// A caller that knows its turn by its first message alone can stop it where it
// runs, and no other, whether the database is away or not.
func TestAStopByIndexTellsThatTurnHereAndNoOther(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("partial"), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(time.Second)
		stop := func(n, index int) bool {
			_, err := c.nodes[n].Stop(t.Context(), turn.StopRequest{Principal: alice, Session: tn.Session, Index: index})
			e, _ := errors.AsType[*turn.NotRecordedError](err)
			return e == nil || e.Told
		}
		if stop(0, tn.Index+2) || stop(1, tn.Index) {
			t.Error("told another turn, or one that runs elsewhere")
		}
		c.mem.Fail(away())
		if stop(0, tn.Index+2) || c.model.Open() != 1 {
			t.Error("told another turn")
		}
		if !stop(0, tn.Index) {
			t.Error("not told")
		}
		c.until(time.Millisecond, "model closed", func() bool { return c.model.Open() == 0 })
		c.mem.Fail(nil)
		c.end(1, tn)
		c.wantCancelled(tn)
	})
}

func TestAForeignStopWithTheDatabaseAwayTellsNothing(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Pause(30*time.Second), turntest.Text("x"), turntest.Finish(agent.FinishStop))
		tn := c.begin(0, turn.Submit{})
		c.mem.Fail(away())
		time.Sleep(8 * time.Second)
		for _, p := range []agent.Principal{bob, other} {
			for _, q := range []turn.StopRequest{{Session: tn.Session}, {Turn: tn.ID}, {Session: "another", Turn: tn.ID}} {
				q.Principal = p
				if _, err := c.nodes[0].Stop(t.Context(), q); err == nil {
					t.Errorf("%s: %+v", p.ID, q)
				}
			}
		}
		_, err := c.nodes[0].Stop(t.Context(), turn.StopRequest{Principal: alice, Session: "another", Turn: tn.ID})
		if e, ok := errors.AsType[*turn.NotRecordedError](err); !ok || e.Told {
			t.Errorf("told a turn of another session: %v", err)
		}
		c.mem.Fail(nil)
		if e := last(c.end(0, tn)); e.Status != agent.StatusCompleted {
			t.Errorf("ended %+v", e)
		}
	})
}

func TestAnOutageLongerThanMaxOutageEndsTheTurnsAsLost(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("partial"), turntest.Block())
		tn := c.begin(0, turn.Submit{})
		time.Sleep(time.Second)
		began := time.Now()
		c.mem.Fail(away())
		time.Sleep(80 * time.Second)
		if d := c.model.Calls()[0].Ended.Sub(began); c.model.Open() != 0 || d < 60*time.Second || d > 69*time.Second {
			t.Errorf("model closed after %v", d)
		}
		if c.nodes[0].Running() != 1 {
			t.Error("the settle is not pending")
		}
		c.mem.Fail(nil)
		ev := c.end(0, tn)
		if e := last(ev); e.Status != agent.StatusFailed || e.Error.Code != agent.CodeWorkerLost || answer(ev).Text != "partial" {
			t.Errorf("ended %+v with %q", e, answer(ev).Text)
		}
	})
}

func TestTheTurnOfANodeThatIsDeclaredDeadIsSweptAndItsOwnerWritesNothingMore(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 33, 64, 69, 70
		steps, _ := words(100, 100*time.Millisecond)
		c.model.Reply(steps...)
		tn := c.begin(0, turn.Submit{})
		time.Sleep(time.Second)
		old := c.node(tn)
		c.mem.KillNode(old)
		ev := c.end(1, tn)
		e := last(ev)
		if e.Status != agent.StatusFailed || e.Error.Code != agent.CodeWorkerLost || len(strings.Fields(answer(ev).Text)) < 9 {
			t.Errorf("ended %+v with %q", e, answer(ev).Text)
		}
		c.until(time.Second, "the old owner aborts its model call", func() bool { return c.model.Open() == 0 })
		time.Sleep(5 * time.Second)
		if got := c.mem.Journal(tn.Session); len(got) != len(ev) {
			t.Errorf("%d events were written after the end", len(got)-len(ev))
		}
		c.model.Always(turntest.Answer("ok")...)
		next := c.begin(0, turn.Submit{Session: tn.Session})
		if c.node(next) == old {
			t.Error("the old id is used again")
		}
		if e := last(c.end(1, next)); e.Status != agent.StatusCompleted {
			t.Errorf("the next turn ended %+v", e)
		}
	})
}

func TestALostLegThatWindsDownHidesNothingOfItsSuccessor(t *testing.T) {
	deaf := turntest.DeafTool("t", 20*time.Second)
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
		steps, want := words(40, 999*time.Millisecond)
		c.model.Reply(steps...)
		tn := c.tool(0)
		time.Sleep(time.Second)
		c.mem.KillNode(c.node(tn))
		c.end(1, tn)
		time.Sleep(3 * time.Second) // the old owner knows, and its tool runs on
		next := c.begin(0, turn.Submit{Agent: "tools", Session: tn.Session})
		live := c.follow(0, next.Session, next.FirstSeq-1)
		c.mem.Fail(away("Append", "Events")) // what is shown comes from memory alone
		time.Sleep(30 * time.Second)
		c.mem.Fail(nil)
		if a := c.cancel(0, turn.StopRequest{Session: "", Turn: next.ID}); !a.Cancelled {
			t.Errorf("the successor is not found: %+v", a)
		}
		ev := c.end(0, next)
		time.Sleep(time.Second)
		got := live()
		sameSeqs(t, "follower", got, ev)
		if s := text(got); !strings.HasPrefix(want, s) || len(strings.Fields(s)) < 30 {
			t.Errorf("saw %q", s)
		}
	}, withTools(deaf))
}

func TestAStopOfATurnWhoseNodeDiedEndsItAtOnce(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 64, 66
		c.model.Reply(turntest.Text("partial"), turntest.Pause(time.Hour))
		tn := c.begin(0, turn.Submit{})
		time.Sleep(990 * time.Millisecond)
		c.mem.KillNode(c.node(tn))
		if a := c.cancel(1, turn.StopRequest{Session: tn.Session}); !a.Cancelled || a.Status != turn.StopStopped {
			t.Errorf("answer %+v", a)
		}
		c.wantCancelled(tn)
		c.until(3*time.Second, "model closed", func() bool { return c.model.Open() == 0 })
	})
}

func TestACutOffNodeIsDeclaredDeadAndWritesNothingWhenItIsBack(t *testing.T) {
	tool := turntest.InstantTool("t", "out")
	run(t, 1, func(t *testing.T, c *cluster) { // 64, 65, 69, 72, 73
		n, way := c.cuttable()
		time.Sleep(15 * time.Second) // node 1 has been in contact for a lease
		steps, _ := words(30, 500*time.Millisecond)
		steps[len(steps)-1] = turntest.Call("c1", "t", `{}`)
		c.model.Reply(append(steps, turntest.Finish(agent.FinishCalls))...)
		tn := c.tool(n)
		here := c.follow(n, tn.Session, tn.FirstSeq-1)
		time.Sleep(3 * time.Second)
		way.cut.Store(true)
		began := time.Now()
		ev := c.end(0, tn)
		if d := time.Since(began); d > 13*time.Second || d < 10*time.Second-2*time.Second {
			t.Errorf("free after %v", d)
		}
		if e := last(ev); e.Error == nil || e.Error.Code != agent.CodeWorkerLost || len(strings.Fields(answer(ev).Text)) < 5 {
			t.Errorf("ended %+v with %q", e, answer(ev).Text)
		}
		c.model.Reply(turntest.Answer("ok")...)
		next := c.begin(0, turn.Submit{Agent: "tools", Session: tn.Session})
		c.end(0, next)
		time.Sleep(10 * time.Second) // the cut-off turn has come to its tool
		way.cut.Store(false)
		c.until(5*time.Second, "the owner gives the turn up", func() bool { return c.nodes[n].Running() == 0 })
		time.Sleep(2 * time.Second)
		if tool.Started() != 0 {
			t.Error("a tool ran after others had settled the turn")
		}
		want := c.mem.Journal(tn.Session)
		if w := append(ev, of(want, next)...); len(w) != len(want) {
			t.Errorf("%d events in the journal, want %d", len(want), len(w))
		}
		// Its follower saw more text than is stored, and then the journal's end.
		got := here()
		if k := got[len(got)-1]; k.Seq != want[len(want)-1].Seq || len(bodies[agent.TurnEnded](got)) != 2 {
			t.Errorf("the follower there has seen up to %d %s", k.Seq, k.Kind())
		}
		for i := 1; i < len(got); i++ {
			if got[i].Seq <= got[i-1].Seq {
				t.Errorf("number %d after %d", got[i].Seq, got[i-1].Seq)
			}
		}
	}, withTools(tool))
}

func TestATurnThatEndsWhileItsRowIsReadIsNotRunAgain(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Pause(3500*time.Millisecond), turntest.Text("one"), turntest.Finish(agent.FinishStop))
		c.model.Reply(turntest.Text("two"), turntest.Pause(time.Minute), turntest.Finish(agent.FinishStop))
		began := time.Now()
		tn := c.begin(0, turn.Submit{})
		// The rows are read while the turn runs; their reading ends after it has.
		slow := func(m string) error {
			if m == "Strays" && time.Since(began) >= 3*time.Second {
				time.Sleep(time.Second)
			}
			return nil
		}
		c.mem.FailAfter(slow)
		c.end(0, tn)
		next := c.begin(0, turn.Submit{Session: tn.Session})
		time.Sleep(5 * time.Second)
		if a := c.cancel(0, turn.StopRequest{Session: tn.Session}); !a.Cancelled || a.Turns[0] != next.ID {
			t.Errorf("the running turn is not found: %+v", a)
		}
		c.end(0, next)
		if c.lost.Load() != 0 {
			t.Errorf("%d legs were lost that nobody took", c.lost.Load())
		}
	})
}

func TestARefusedFlushFindsOutThatTheLeaseIsLost(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 70
		steps, _ := words(1000, 20*time.Millisecond)
		c.model.Reply(steps...)
		tn := c.begin(0, turn.Submit{})
		time.Sleep(910 * time.Millisecond) // between two sweeps
		c.mem.Fail(away("Renew"))          // the renewal would tell too, later
		c.mem.KillNode(c.node(tn))
		c.cancel(1, turn.StopRequest{Session: tn.Session})
		c.until(300*time.Millisecond, "model closed", func() bool { return c.model.Open() == 0 })
		c.mem.Fail(nil)
		c.wantCancelled(tn)
	})
}
