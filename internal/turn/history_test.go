package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// scriptOfTextToolText is a turn of text, two calls, text; each event at a time
// of its own.
func scriptOfTextToolText(m *turntest.Model) {
	gap := turntest.Pause(100 * time.Millisecond)
	m.Reply(gap, turntest.Reasoning("hm"), gap, turntest.Text("al"), gap, turntest.Text("pha"), gap,
		turntest.Call("c1", "t", `{"a":"b"}`), gap, turntest.Call("c2", "t", `{}`), gap, turntest.Finish(agent.FinishCalls))
	m.Reply(gap, turntest.Text("be"), gap, turntest.Text("ta"), gap, turntest.Finish(agent.FinishStop))
}

// The strict model fails the test by itself where a history is not valid. Field
// report 39: what was reasoned is shown, and given to no model again.
func TestTheHistoryIsValidWhereverATurnIsCut(t *testing.T) {
	whole := 0
	ways := map[string]func(c *cluster, tn agent.Turn){
		"stopped here":    func(c *cluster, tn agent.Turn) { c.cancel(0, turn.StopRequest{Session: tn.Session}) },
		"stopped there":   func(c *cluster, tn agent.Turn) { c.cancel(1, turn.StopRequest{Session: tn.Session}) },
		"its node killed": func(c *cluster, tn agent.Turn) { c.mem.KillNode(c.node(tn)) },
		"out of time":     func(c *cluster, tn agent.Turn) { c.nodes[0].Timeout(tn.Session, tn.ID) },
	}
	for name, cut := range ways { // 32, 33, 37, 40, 41, 42, 45
		for at := 1; at <= 16; at++ {
			t.Run(fmt.Sprintf("%s after event %d", name, at), func(t *testing.T) {
				run(t, 2, func(t *testing.T, c *cluster) {
					scriptOfTextToolText(c.model)
					tn := c.tool(0)
					seen := 0
					var shown strings.Builder
					for e, err := range c.nodes[0].Follow(t.Context(), tn.Session, tn.FirstSeq-1) {
						if err != nil {
							t.Fatal(err)
						}
						seen++
						shown.WriteString(text([]agent.Event{e}))
						if seen == at {
							time.Sleep(60 * time.Millisecond) // it is stored, and nothing has followed
							cut(c, tn)
						}
						if e.Ends() {
							break
						}
					}
					whole = max(whole, seen)
					c.checkCut(t, tn, shown.String())
				}, withTools(turntest.SlowTool("t", 100*time.Millisecond)))
			})
		}
	}
	if whole < 15 {
		t.Errorf("a whole turn has %d events", whole)
	}
}

// checkCut sends the next message and looks at what the model is given.
func (c *cluster) checkCut(t *testing.T, tn agent.Turn, shown string) {
	t.Helper()
	var kept strings.Builder
	for _, m := range bodies[agent.Message](of(c.mem.Journal(tn.Session), tn)) {
		if m.Role == agent.RoleAssistant {
			kept.WriteString(m.Text)
		}
	}
	if kept.String() != shown {
		t.Errorf("shown %q, kept %q", shown, kept.String())
	}
	c.until(5*time.Second, "the owner has given it up", func() bool { return c.model.Open() == 0 })
	before := len(c.model.Calls())
	c.model.Always(turntest.Answer("ok")...)
	// What the turn left of its own script goes to the next turn first.
	next := c.begin(1, turn.Submit{Session: tn.Session, Input: "next"})
	c.end(1, next)
	var said strings.Builder
	for _, p := range c.model.Calls()[before].Request.Prompts {
		if p.Role == agent.RoleAssistant {
			said.WriteString(p.Text)
		}
	}
	if said.String() != shown {
		t.Errorf("the next request has %q, %q was shown", said.String(), shown)
	}
}

func TestAWholeHistoryIsGivenAgainAsItWas(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		scriptOfTextToolText(c.model)
		c.model.Reply(turntest.Answer("ok")...)
		tn := c.tool(0)
		c.end(0, tn)
		c.end(0, c.begin(0, turn.Submit{Session: tn.Session, Input: "next"}))
		calls := c.model.Calls()
		first, then := calls[1].Request.Prompts, calls[2].Request.Prompts
		if len(first) != 5 || len(then) != 7 || first[0].Role != agent.RoleSystem {
			t.Fatalf("%d and %d prompts", len(first), len(then))
		}
		for i, p := range first {
			if got := then[i]; got.Role != p.Role || got.Text != p.Text || got.CallID != p.CallID || len(got.Calls) != len(p.Calls) {
				t.Errorf("prompt %d is %+v, was %+v", i, got, p)
			}
		}
	}, withTools(turntest.InstantTool("t", "out")), withAgent(func(a *agent.Config) { a.Instructions = "Be brief." }))
}

func TestAnEmptyMessageOfAPersonIsNotDropped(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{})
		c.end(0, tn)
		next, err := c.nodes[0].Begin(t.Context(), turn.Submit{Principal: alice, Session: tn.Session})
		if err != nil {
			t.Fatal(err)
		}
		c.end(0, next)
	})
}

func TestNoOutputIsStillAResult(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.asks(1)
		c.end(0, c.tool(0))
		if p := c.model.Calls()[1].Request.Prompts; p[len(p)-1].Text == "" {
			t.Errorf("prompts %+v", p)
		}
	}, withTools(turntest.InstantTool("t", "")))
}
