package turn_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	alice = agent.Principal{ID: "token:alice", Project: "p", Permissions: agent.Permissions}
	bob   = agent.Principal{ID: "token:bob", Project: "p", Permissions: []agent.Permission{agent.PermAgentRun}}
	other = agent.Principal{ID: "token:alice", Project: "q", Permissions: agent.Permissions}
)

// cluster is a few nodes over one in-memory store, inside a synctest bubble.
type cluster struct {
	t     *testing.T
	mem   *turntest.Memory
	model *turntest.Model
	nodes []*turn.Engine
	kill  []context.CancelFunc
	conf  turn.Config
	wg    sync.WaitGroup
	lost  atomic.Int32 // legs that others closed

	mu    sync.Mutex
	calls []string // of tools, as the observers were told: kind and outcome
}

func run(t *testing.T, n int, f func(t *testing.T, c *cluster), conf ...func(*turn.Config)) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, mem: turntest.NewMemory(turntest.Times{}), model: turntest.NewModel(t)}
		c.conf = turn.Config{
			Store: c.mem, Hints: c.mem, Models: turntest.Models{"m": c.model},
			Agents: turntest.Agents{"a": {Model: "m"}, "tools": {Model: "m", Tools: []agent.ToolRef{{Source: "function", Key: "t"}}}},
			Times:  turn.Times{Drain: time.Second},
			Observer: turn.Observer{LegLost: func() { c.lost.Add(1) }, ToolCall: func(kind string, o agent.ToolOutcome, _ time.Duration) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.calls = append(c.calls, kind+" "+string(o))
			}},
		}
		for _, f := range conf {
			f(&c.conf)
		}
		for range n {
			c.add()
		}
		defer c.stop()
		synctest.Wait()
		f(t, c)
		if err := c.mem.CheckInvariants(); err != nil {
			t.Error(err)
		}
	})
}

// add starts one more node.
func (c *cluster) add() *turn.Engine {
	conf := c.conf
	conf.Label = fmt.Sprintf("node-%d", len(c.nodes)+1)
	conf.Log = slog.New(slog.NewTextHandler(c.t.Output(), nil)).With("node", conf.Label)
	e := turn.New(conf)
	ctx, cancel := context.WithCancel(context.Background())
	c.nodes, c.kill = append(c.nodes, e), append(c.kill, cancel)
	c.wg.Go(func() {
		if err := e.Run(ctx); err != nil {
			c.t.Error(err)
		}
	})
	return e
}

func (c *cluster) stop() {
	for _, k := range c.kill {
		k()
	}
	c.wg.Wait()
}

func (c *cluster) begin(n int, s turn.Submit) agent.Turn {
	c.t.Helper()
	if s.Principal.ID == "" {
		s.Principal = alice
	}
	if s.Agent == "" && s.Session == "" {
		s.Agent = "a"
	}
	if s.Input == "" {
		s.Input = "hello"
	}
	s.Door = agent.DoorClient
	tn, err := c.nodes[n].Begin(c.t.Context(), s)
	if err != nil {
		c.t.Fatalf("begin: %v", err)
	}
	return tn
}

// end follows a turn on a node until its leg closes and returns its events.
func (c *cluster) end(n int, tn agent.Turn) []agent.Event {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Minute)
	defer cancel()
	var out []agent.Event
	for e, err := range c.nodes[n].Follow(ctx, tn.Session, tn.FirstSeq-1) {
		if err != nil {
			c.t.Fatalf("follow %s: %v after %d events", tn.ID, err, len(out))
		}
		out = append(out, e)
		if e.Ends() && e.Turn == tn.ID {
			break
		}
	}
	return out
}

func (c *cluster) cancel(n int, q turn.StopRequest) turn.StopAnswer {
	c.t.Helper()
	if q.Principal.ID == "" {
		q.Principal = alice
	}
	a, err := c.nodes[n].Stop(c.t.Context(), q)
	if err != nil {
		c.t.Fatalf("stop: %v", err)
	}
	return a
}

func last(events []agent.Event) agent.TurnEnded {
	e, _ := events[len(events)-1].Body.(agent.TurnEnded)
	return e
}

func text(events []agent.Event) string {
	var b strings.Builder
	for _, e := range events {
		if d, ok := e.Body.(agent.TextDelta); ok {
			b.WriteString(d.Text)
		}
	}
	return b.String()
}

// answer is the last assistant message among events.
func answer(events []agent.Event) agent.Message {
	var m agent.Message
	for _, e := range events {
		if b, ok := e.Body.(agent.Message); ok && b.Role == agent.RoleAssistant {
			m = b
		}
	}
	return m
}

func TestTurnStreamsAndIsAnswered(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Text("Hel"), turntest.Pause(time.Second), turntest.Text("lo"), turntest.Used(3, 2), turntest.Finish(agent.FinishStop))
		tn := c.begin(0, turn.Submit{})
		ev := c.end(0, tn)
		if got := text(ev); got != "Hello" || answer(ev).Text != got {
			t.Errorf("text %q, message %+v", got, answer(ev))
		}
		if e := last(ev); e.Status != agent.StatusCompleted || e.StopReason != "" || e.Usage.Input != 3 {
			t.Errorf("ended %+v", e)
		}
		for i, e := range ev {
			if e.Seq != tn.FirstSeq+int64(i) {
				t.Errorf("event %d has number %d", i, e.Seq)
			}
		}
	})
}

func TestStopKeepsThePartialOnEveryNode(t *testing.T) {
	for _, through := range []int{0, 1} {
		t.Run(fmt.Sprintf("through node %d", through+1), func(t *testing.T) {
			run(t, 2, func(t *testing.T, c *cluster) {
				c.model.Reply(turntest.Text("The code word is ZEBRA"), turntest.Block())
				c.model.Reply(turntest.Answer("ok")...)
				tn := c.begin(0, turn.Submit{})
				time.Sleep(time.Second)
				a := c.cancel(through, turn.StopRequest{Session: tn.Session, Wait: 5 * time.Second})
				if !a.Cancelled || a.Status != turn.StopStopped || len(a.Turns) != 1 || a.Turns[0] != tn.ID {
					t.Errorf("answer %+v", a)
				}
				for n := range c.nodes {
					ev := c.end(n, tn)
					if e := last(ev); e.StopReason != agent.ReasonCancelled || e.Stop == nil || e.Stop.By != alice.ID {
						t.Errorf("node %d: ended %+v", n+1, e)
					}
					if m := answer(ev); m.Text != "The code word is ZEBRA" || m.StopReason != agent.ReasonCancelled {
						t.Errorf("node %d: message %+v", n+1, m)
					}
				}
				u := c.mem.Usage(tn.ID)
				if len(u) != 1 || u[0].Status != agent.UsageCancelled || !u[0].Estimated || u[0].Output == 0 {
					t.Errorf("usage %+v", u)
				}
				// 45: the partial is in the next turn's context.
				next := c.begin(1-through, turn.Submit{Session: tn.Session, Input: "go on"})
				c.end(0, next)
				calls := c.model.Calls()
				if p := calls[len(calls)-1].Request.Prompts; len(p) != 3 || p[1].Text != "The code word is ZEBRA" {
					t.Errorf("next prompts %+v", p)
				}
			})
		})
	}
}

func TestStopBeforeTheFirstTokenLeavesAnEmptyAnswer(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) { // 40
		c.model.Reply(turntest.Block())
		c.model.Reply(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{})
		time.Sleep(time.Second)
		c.cancel(0, turn.StopRequest{Session: tn.Session})
		ev := c.end(0, tn)
		if m := answer(ev); m.Text != "" || m.StopReason != agent.ReasonCancelled || m.Index != 1 {
			t.Errorf("message %+v", m)
		}
		c.end(0, c.begin(0, turn.Submit{Session: tn.Session})) // the strict model would refuse an empty message
	})
}

func TestNothingRunningIsNoError(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{})
		c.end(0, tn)
		for _, q := range []turn.StopRequest{{Session: tn.Session}, {Turn: tn.ID}, {Session: tn.Session, Turn: tn.ID}} {
			if a := c.cancel(0, q); a.Cancelled || len(a.Turns) != 0 || a.Status != turn.StopNone {
				t.Errorf("%+v: %+v", q, a)
			}
		}
	})
}

func TestWhoMayNotStopChangesNothing(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) { // 112
		c.model.Reply(turntest.Text("x"), turntest.Pause(time.Hour), turntest.Finish(agent.FinishStop))
		tn := c.begin(0, turn.Submit{})
		for n, e := range c.nodes {
			for _, q := range []turn.StopRequest{{Session: tn.Session}, {Turn: tn.ID}} {
				q.Principal = bob
				if _, err := e.Stop(t.Context(), q); !errors.Is(err, agent.ErrForbidden) {
					t.Errorf("node %d: another's session: %v", n+1, err)
				}
				q.Principal = other
				if _, err := e.Stop(t.Context(), q); !errors.Is(err, agent.ErrNotFound) {
					t.Errorf("node %d: another project's: %v", n+1, err)
				}
			}
		}
		if s := c.mem.Slot(tn.Session); s.Stop != nil || s.State != agent.SlotRunning {
			t.Errorf("slot %+v", s)
		}
		c.cancel(0, turn.StopRequest{Turn: tn.ID})
		c.end(0, tn)
	})
}
