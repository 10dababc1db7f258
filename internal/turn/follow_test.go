package turn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func TestFollowersOnEveryNodeSeeEveryEventOnceInOrder(t *testing.T) {
	for _, push := range []bool{true, false} {
		t.Run(fmt.Sprintf("push=%v", push), func(t *testing.T) { // 80, 82
			run(t, 3, func(t *testing.T, c *cluster) {
				scriptOfTextToolText(c.model)
				tn := c.tool(0)
				var early []func() []agent.Event
				for n := range c.nodes {
					early = append(early, c.follow(n, tn.Session, 0), c.follow(n, tn.Session, 0))
				}
				c.end(1, tn)
				time.Sleep(time.Second)
				want := c.mem.Journal(tn.Session)
				for i, live := range early {
					sameSeqs(t, fmt.Sprintf("follower %d", i), live(), want)
				}
				for n, e := range c.nodes {
					if e.Tails() != 0 || e.Followers() != 0 {
						t.Errorf("node %d keeps %d tails for %d followers", n+1, e.Tails(), e.Followers())
					}
				}
			}, withTools(turntest.SlowTool("t", time.Second)), func(c *turn.Config) {
				if !push {
					c.Hints = nil
				}
			})
		})
	}
}

func TestTheEndReachesOtherNodesWithinTheFeedOrAHint(t *testing.T) {
	for push, most := range map[bool]time.Duration{true: time.Millisecond, false: 100 * time.Millisecond} {
		t.Run(fmt.Sprintf("push=%v", push), func(t *testing.T) { // 82
			run(t, 2, func(t *testing.T, c *cluster) {
				c.mem.DropHints(!push)
				c.model.Reply(turntest.Text("x"), turntest.Pause(3333*time.Millisecond), turntest.Finish(agent.FinishStop))
				tn := c.begin(0, turn.Submit{})
				c.end(1, tn)
				if d := time.Since(c.model.Calls()[0].Ended); d > most {
					t.Errorf("the end came after %v", d)
				}
			})
		})
	}
}

func TestResumingAtEveryNumberGivesTheRest(t *testing.T) {
	for _, when := range []string{"running", "ended"} {
		t.Run(when, func(t *testing.T) { // 78, 86
			run(t, 2, func(t *testing.T, c *cluster) {
				scriptOfTextToolText(c.model)
				tn := c.tool(0)
				var lives []func() []agent.Event
				if when == "running" {
					for after := range int64(17) {
						time.Sleep(71 * time.Millisecond)
						for n := range c.nodes {
							lives = append(lives, c.follow(n, tn.Session, after))
						}
					}
				}
				c.end(0, tn)
				time.Sleep(time.Second)
				want := c.mem.Journal(tn.Session)
				for i, live := range lives {
					sameSeqs(t, fmt.Sprintf("after %d on node %d", i/2, i%2+1), live(), want[min(i/2, len(want)):])
				}
				for after := range int64(len(want)) {
					for n := range c.nodes {
						live := c.follow(n, tn.Session, after)
						time.Sleep(time.Second)
						sameSeqs(t, fmt.Sprintf("after %d on node %d, later", after, n+1), live(), want[after:])
					}
				}
			}, withTools(turntest.SlowTool("t", 100*time.Millisecond)))
		})
	}
}

func TestAFollowerThatStallsHoldsNobodyUpAndMissesNothing(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 83
		steps, want := words(1000, 5*time.Millisecond)
		c.model.Reply(steps...)
		tn := c.begin(0, turn.Submit{})
		got := make(chan string, 2)
		for n := range c.nodes {
			go func() {
				var ev []agent.Event
				for e, err := range c.nodes[n].Follow(t.Context(), tn.Session, tn.FirstSeq-1) {
					if err != nil {
						t.Error(err)
						break
					}
					if ev = append(ev, e); len(ev)%300 == 0 {
						time.Sleep(20 * time.Second)
					}
					if e.Ends() {
						break
					}
				}
				got <- text(ev)
			}()
		}
		began := time.Now()
		if s := text(c.end(0, tn)); s != want || time.Since(began) > 5100*time.Millisecond {
			t.Errorf("the others waited %v", time.Since(began))
		}
		for range c.nodes {
			if s := <-got; s != want {
				t.Errorf("a stalled follower saw %d bytes of %d", len(s), len(want))
			}
		}
	})
}

// A follower that comes from the owner knows numbers that are not stored yet, and
// one that is mistaken names some of no event: neither may make its new node take
// them for stored, or others there would miss what comes.
func TestACursorAheadOfTheDatabaseHidesNothingFromOthers(t *testing.T) {
	for name, ahead := range map[string]int64{"not stored yet": 3, "of no event": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(t *testing.T, c *cluster) {
				steps, _ := words(20, 40*time.Millisecond)
				c.model.Always(steps...)
				tn := c.begin(0, turn.Submit{})
				time.Sleep(200 * time.Millisecond)
				c.mem.Fail(away("Append"))
				time.Sleep(200 * time.Millisecond)
				journal := c.mem.Journal(tn.Session)
				stored := journal[len(journal)-1].Seq
				early := c.follow(1, tn.Session, stored+ahead)
				synctest.Wait()
				late := c.follow(1, tn.Session, stored-1)
				time.Sleep(200 * time.Millisecond)
				c.mem.Fail(nil)
				c.end(1, tn)
				time.Sleep(time.Second)
				want := c.mem.Journal(tn.Session)
				sameSeqs(t, "who came behind it", late(), want[stored-1:])
				sameSeqs(t, "who came ahead", early(), want[min(int64(len(want)), stored+ahead):])
			})
		})
	}
}

func TestTwoHundredFollowersComeAndGoWhileTurnsRun(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 84
		steps, _ := words(20, 40*time.Millisecond)
		c.model.Always(steps...)
		sessions := make([]string, 4)
		for i := range sessions {
			tn := c.begin(i%2, turn.Submit{})
			c.end(0, tn)
			sessions[i] = tn.Session
		}
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				cursor := int64(0)
				for ctx.Err() == nil {
					one, stop := context.WithTimeout(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
					for e, err := range c.nodes[rand.IntN(2)].Follow(one, sessions[i%4], cursor) {
						if err != nil {
							break
						}
						if e.Seq != cursor+1 { // no leg is closed for another here
							t.Errorf("follower %d: %d after %d", i, e.Seq, cursor)
						}
						cursor = e.Seq
						if rand.IntN(20) == 0 {
							break
						}
					}
					stop()
				}
			})
		}
		for i := range 12 {
			s := sessions[i%4]
			tn := c.begin(i/4%2, turn.Submit{Session: s})
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
			if i%3 == 0 {
				c.cancel(i%2, turn.StopRequest{Turn: tn.ID})
			}
			c.end(1, tn)
		}
		cancel()
		wg.Wait()
		for n, e := range c.nodes {
			if e.Tails() != 0 || e.Followers() != 0 {
				t.Errorf("node %d keeps %d tails for %d followers", n+1, e.Tails(), e.Followers())
			}
		}
	})
}

func TestAFollowerGoesOnAcrossTurnsOfAllNodes(t *testing.T) {
	run(t, 3, func(t *testing.T, c *cluster) {
		steps, _ := words(5, 30*time.Millisecond)
		c.model.Always(steps...)
		first := c.begin(0, turn.Submit{})
		var lives []func() []agent.Event
		for n := range c.nodes {
			lives = append(lives, c.follow(n, first.Session, 0))
		}
		c.end(0, first)
		for i := range 9 {
			tn := c.begin([]int{0, 1, 1, 2, 0, 2, 2, 1, 0}[i], turn.Submit{Session: first.Session})
			if i%2 == 0 {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond)
				c.cancel(i%3, turn.StopRequest{Session: first.Session})
			}
			c.end((i+1)%3, tn)
		}
		time.Sleep(time.Second)
		want := c.mem.Journal(first.Session)
		for n, live := range lives {
			sameSeqs(t, fmt.Sprintf("node %d", n+1), live(), want)
		}
	})
}

func TestAFollowerThatComesBeforeTheTurnSeesItAll(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Answer("ok")...)
		first := c.begin(0, turn.Submit{})
		c.end(0, first)
		lives := []func() []agent.Event{c.follow(0, first.Session, 0), c.follow(1, first.Session, 0)}
		time.Sleep(time.Minute)
		c.end(0, c.begin(0, turn.Submit{Session: first.Session}))
		c.end(0, c.begin(1, turn.Submit{Session: first.Session, Background: true}))
		time.Sleep(time.Second)
		for n, live := range lives {
			sameSeqs(t, fmt.Sprintf("node %d", n+1), live(), c.mem.Journal(first.Session))
		}
	})
}

// forgetful is a store whose retention has deleted what came before base.
type forgetful struct {
	turn.Store
	base int64
}

func (s forgetful) Events(ctx context.Context, session string, after int64, limit int) ([]agent.Event, error) {
	return s.Store.Events(ctx, session, max(after, s.base), limit)
}

func TestAFollowerFromBeforeTheRetentionGetsWhatIsLeft(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) { // 86
		c.conf.Store = forgetful{c.mem, 4}
		c.add()
		c.model.Reply(turntest.Text("a"), turntest.Pause(time.Second), turntest.Text("b"), turntest.Finish(agent.FinishStop))
		c.model.Always(turntest.Answer("ok")...)
		time.Sleep(time.Second)
		tn := c.begin(1, turn.Submit{})
		c.end(0, tn)
		next := c.begin(1, turn.Submit{Session: tn.Session})
		live := c.follow(1, tn.Session, 0) // while a tail stands, whose base is above all
		c.end(0, next)
		time.Sleep(time.Second)
		want := c.mem.Journal(tn.Session)[4:]
		sameSeqs(t, "while it runs", live(), want)
		live = c.follow(1, tn.Session, 0)
		time.Sleep(time.Second)
		sameSeqs(t, "later", live(), want)
	})
}

func TestAFollowerGoesOnFromTheTailWhereNothingBeforeItIsLeft(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) { // 86
		c.conf.Store = forgetful{c.mem, 1000}
		c.add()
		steps, _ := words(10, 100*time.Millisecond)
		c.model.Reply(steps...)
		time.Sleep(time.Second)
		tn := c.begin(1, turn.Submit{})
		time.Sleep(510 * time.Millisecond)
		live := c.follow(1, tn.Session, 0)
		time.Sleep(300 * time.Millisecond)
		if got := text(live()); got == "" {
			t.Error("saw nothing")
		}
		c.end(0, tn)
	})
}

func TestAFollowersContextEndsItThoughMuchIsThere(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		steps, _ := words(200, time.Millisecond)
		c.model.Reply(steps...)
		tn := c.begin(0, turn.Submit{})
		cause := errors.New("the client has gone")
		for _, running := range []bool{true, false} {
			ctx, cancel := context.WithCancelCause(t.Context())
			n := 0
			var end error
			for _, err := range c.nodes[0].Follow(ctx, tn.Session, 0) {
				if n++; n == 3 {
					cancel(cause)
				}
				end = err
			}
			if !errors.Is(end, cause) || running && n > 60 {
				t.Errorf("ended with %v after %d", end, n)
			}
			cancel(nil)
			c.end(0, tn)
		}
	})
}

func TestAFaultOfTheStoreEndsAFollower(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		fault := errors.New("a row that can't be read")
		c.mem.Fail(func(m string) error {
			if m == "Events" {
				return fault
			}
			return nil
		})
		for _, err := range c.nodes[0].Follow(t.Context(), "s", 0) {
			if !errors.Is(err, fault) {
				t.Errorf("ended with %v", err)
			}
		}
		c.mem.Fail(nil)
	})
}

func TestAFollowerWaitsForADatabaseThatIsAwayOrHangs(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{})
		c.end(0, tn)
		c.mem.Fail(away("Events"))
		live := c.follow(0, tn.Session, 0)
		time.Sleep(10 * time.Second)
		gate := c.mem.Block("Events")
		c.mem.Fail(nil)
		time.Sleep(10 * time.Second)
		gate.Release()
		time.Sleep(3 * time.Second)
		sameSeqs(t, "follower", live(), c.mem.Journal(tn.Session))
	})
}

func TestTailsAreBoundedWhileATurnStreams(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		steps, want := words(3000, 10*time.Millisecond)
		c.model.Reply(steps...)
		tn := c.begin(0, turn.Submit{})
		live := c.follow(0, tn.Session, 0)
		most := 0
		for c.nodes[0].Running() > 0 {
			time.Sleep(100 * time.Millisecond)
			most = max(most, c.nodes[0].Kept(tn.Session))
		}
		if most > 200 {
			t.Errorf("%d events in memory", most)
		}
		if s := text(live()); s != want {
			t.Errorf("the follower saw %d bytes of %d", len(s), len(want))
		}
		synctest.Wait()
		if n := c.nodes[0].Tails(); n != 0 {
			t.Errorf("%d tails", n)
		}
	})
}

// 87: who watches is told of silence, also while the database is away, and of
// nothing else.
func TestWatchTellsSilence(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("a"), turntest.Pause(35*time.Second), turntest.Text("b"), turntest.Finish(agent.FinishStop))
		tn := c.begin(0, turn.Submit{})
		var silent, events int
		for batch, err := range c.nodes[1].Watch(t.Context(), tn.Session, 0, 10*time.Second) {
			if err != nil {
				t.Fatal(err)
			}
			if events += len(batch); len(batch) == 0 {
				silent++
			}
			if len(batch) > 0 && batch[len(batch)-1].Ends() {
				break
			}
		}
		if silent != 3 || events < 5 {
			t.Errorf("told %d times of silence, %d events", silent, events)
		}
		c.mem.Fail(func(string) error { return agent.ErrUnavailable })
		defer c.mem.Fail(nil)
		silent = 0
		began := time.Now()
		for batch, err := range c.nodes[1].Watch(t.Context(), tn.Session, 0, 10*time.Second) {
			if err != nil || len(batch) > 0 {
				t.Fatal(batch, err)
			}
			if silent++; silent == 2 {
				break
			}
		}
		if d := time.Since(began); d < 20*time.Second || d > 25*time.Second {
			t.Errorf("with the database away: told of silence twice in %v", d)
		}
	})
}

// poison is a store that can't hold what one session writes.
type poison struct {
	turn.Store
	session atomic.Value
}

func (p *poison) Append(ctx context.Context, batches []agent.Batch) ([]bool, error) {
	for _, b := range batches {
		if b.Lease.Session == p.session.Load() {
			return nil, errors.New("can't be stored")
		}
	}
	return p.Store.Append(ctx, batches)
}

func TestTextThatCannotBeStoredHoldsUpNobodyElse(t *testing.T) {
	var p *poison
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Text("shown"), turntest.Pause(time.Second), turntest.Text(" and more"), turntest.Pause(time.Minute), turntest.Finish(agent.FinishStop))
		bad := c.begin(0, turn.Submit{})
		p.session.Store(bad.Session)
		good := c.begin(0, turn.Submit{})
		time.Sleep(2 * time.Second)
		if got := text(c.mem.Journal(good.Session)); got != "shown and more" {
			t.Errorf("stored of the other turn: %q", got)
		}
		c.cancel(0, turn.StopRequest{Session: bad.Session})
		c.cancel(0, turn.StopRequest{Session: good.Session})
		c.end(1, good)
		if m := answer(c.end(1, bad)); m.Text != "shown and more" {
			t.Errorf("kept %q", m.Text)
		}
	}, func(conf *turn.Config) {
		p = &poison{Store: conf.Store}
		p.session.Store("")
		conf.Store = p
	})
}
