package turn_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// prompted is what the model was given by its n-th call, roles and texts.
func (c *cluster) prompted(n int) (out []string) {
	for _, p := range c.model.Calls()[n].Request.Prompts {
		out = append(out, fmt.Sprintf("%s: %s", p.Role, p.Text))
	}
	return out
}

func TestAHistoryIsTheContextOfItsTurnAndOfThoseAfterIt(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{
			History: []agent.Prompt{
				{Role: agent.RoleSystem, Text: "Be brief."}, {Role: agent.RoleUser, Text: "one"}, {Role: agent.RoleAssistant, Text: " "},
				{Role: agent.RoleSystem, Text: "Be kind."}, {Role: agent.RoleAssistant, Text: "two"},
			},
			Input: "three", Overrides: agent.Overrides{Instructions: new("Help."), Additional: "Now."},
		})
		c.end(1, tn)
		c.end(0, c.begin(0, turn.Submit{Session: tn.Session, Input: "four"}))
		for n, want := range [][]string{
			{"system: Help.\n\nNow.\n\nBe brief.\n\nBe kind.", "user: one", "assistant: two", "user: three"},
			{"system: Be brief.\n\nBe kind.", "user: one", "assistant: two", "user: three", "assistant: ok", "user: four"},
		} {
			if got := c.prompted(n); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("call %d was given %q, want %q", n+1, got, want)
			}
		}
	})
}

func TestATurnAnswersWhatWasPosted(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{})
		c.end(0, tn)
		seen := c.follow(1, tn.Session, 0)
		for n := range 2 {
			if _, err := c.nodes[n].Post(t.Context(), turn.Post{
				Principal: alice, Session: tn.Session, Messages: []agent.Prompt{{Role: agent.RoleUser, Text: fmt.Sprint("more ", n)}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		next, err := c.nodes[0].Begin(t.Context(), turn.Submit{Principal: alice, Session: tn.Session, NoInput: true})
		if err != nil {
			t.Fatal(err)
		}
		c.end(0, next)
		want := []string{"user: hello", "assistant: ok", "user: more 0", "user: more 1"}
		if got := c.prompted(1); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("given %q, want %q", got, want)
		}
		time.Sleep(time.Second)
		sameSeqs(t, "the follower", seen(), c.mem.Journal(tn.Session))
		if m := answer(of(c.mem.Journal(tn.Session), next)); m.Index != 4 {
			t.Errorf("message %+v", m)
		}
	})
}

func TestWhoMayNotSendMayNotPost(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Always(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{})
		c.end(0, tn)
		for p, want := range map[*agent.Principal]error{&bob: agent.ErrForbidden, &other: agent.ErrNotFound} {
			if _, err := c.nodes[0].Post(t.Context(), turn.Post{Principal: *p, Session: tn.Session}); !errors.Is(err, want) {
				t.Errorf("%s of %s: %v, want %v", p.ID, p.Project, err, want)
			}
		}
	})
}

// 77 and 121: a message is posted as soon as the stopped turn has ended.
func TestAPostWaitsForAStoppingTurn(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c1", "t", `{}`), turntest.Finish(agent.FinishCalls))
		tn := c.tool(0)
		time.Sleep(time.Second)
		c.cancel(1, turn.StopRequest{Session: tn.Session})
		began := time.Now()
		events, err := c.nodes[1].Post(t.Context(), turn.Post{
			Principal: alice, Session: tn.Session, Messages: []agent.Prompt{{Role: agent.RoleUser, Text: "more"}},
		})
		if d := time.Since(began); err != nil || len(events) != 1 || d > 2*time.Second {
			t.Fatalf("after %v: %v, %v", d, events, err)
		}
	}, withTools(turntest.DeafTool("t", 2*time.Second)))
}

func TestAPostWhoseReplyIsLostIsPostedOnce(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Answer("ok")...)
		tn := c.begin(0, turn.Submit{})
		c.end(0, tn)
		c.mem.FailAfter(once("Post", 1))
		events, err := c.nodes[0].Post(t.Context(), turn.Post{
			Principal: alice, Session: tn.Session, Messages: []agent.Prompt{{Role: agent.RoleUser, Text: "more"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		journal := c.mem.Journal(tn.Session)
		if n := len(bodies[agent.Message](journal)); n != 3 || len(events) != 1 || journal[len(journal)-1].Seq != events[0].Seq {
			t.Errorf("%d messages, posted %+v", n, events)
		}
	})
}
