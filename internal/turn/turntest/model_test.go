package turntest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// hello is a request that no provider refuses.
func hello() agent.Request {
	return agent.Request{Prompts: []agent.Prompt{{Role: agent.RoleUser, Text: "hello"}}}
}

// read reads a stream to its end.
func read(ctx context.Context, m *turntest.Model, req agent.Request) (text string, err error) {
	for d, e := range m.Stream(ctx, req) {
		text, err = text+d.Text, e
	}
	return text, err
}

func TestModelPlaysItsScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &agent.ModelError{Code: agent.CodeModelError, Message: "down", Retryable: true}
		m := turntest.NewModel(t).
			Reply(turntest.Text("one "), turntest.Pause(time.Second), turntest.Text("two")).
			Reply(turntest.Fail(down)).
			Always(turntest.Answer("the rest")...)
		began := time.Now()
		text, err := read(t.Context(), m, hello())
		if text != "one two" || err != nil || time.Since(began) != time.Second {
			t.Errorf("read %q, %v after %v", text, err, time.Since(began))
		}
		if _, err := read(t.Context(), m, hello()); !errors.Is(err, down) {
			t.Errorf("error %v, want %v", err, down)
		}
		if text, err := read(t.Context(), m, hello()); text != "the rest" || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
		if calls := m.Calls(); len(calls) != 3 || calls[0].Yielded != 2 || calls[0].Aborted || m.Open() != 0 {
			t.Errorf("calls %+v", calls)
		}
	})
}

func TestModelEndsWithTheCauseOfItsContext(t *testing.T) {
	for name, block := range map[string]turntest.Step{
		"block": turntest.Block(), "pause": turntest.Pause(time.Hour), "until": turntest.Until(nil),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := turntest.NewModel(t).Reply(turntest.Text("one "), block, turntest.Text("two"))
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := &agent.Stop{By: "p"}
				time.AfterFunc(time.Second, func() { cancel(stop) })
				text, err := read(ctx, m, hello())
				if text != "one " || !errors.Is(err, stop) {
					t.Errorf("read %q, %v", text, err)
				}
				if c := m.Calls()[0]; !c.Aborted || c.Ended.Sub(c.Begun) != time.Second {
					t.Errorf("call %+v", c)
				}
			})
		})
	}
}

func TestModelSeesThatTheCallerBrokeOff(t *testing.T) {
	m := turntest.NewModel(t).Reply(turntest.Text("one"), turntest.Text("two"))
	for range m.Stream(t.Context(), hello()) {
		if m.Open() != 1 {
			t.Errorf("%d streams are open", m.Open())
		}
		break
	}
	if c := m.Calls()[0]; !c.Aborted || c.Yielded != 1 || m.Open() != 0 {
		t.Errorf("call %+v", c)
	}
}

func TestHistoryIsHeldToTheStrictestRules(t *testing.T) {
	user := agent.Prompt{Role: agent.RoleUser, Text: "hello"}
	calls := agent.Prompt{Role: agent.RoleAssistant, Calls: []agent.Call{
		{ID: "c1", Name: "x", Arguments: []byte(`{}`)}, {ID: "c2", Name: "x", Arguments: []byte(`{"a":1}`)},
	}}
	r1, r2 := agent.Prompt{Role: agent.RoleTool, CallID: "c1", Text: ""}, agent.Prompt{Role: agent.RoleTool, CallID: "c2", Text: "r"}
	arguments := func(s string) agent.Prompt {
		return agent.Prompt{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "c1", Name: "x", Arguments: []byte(s)}}}
	}
	said := agent.Prompt{Role: agent.RoleAssistant, Text: "hi"}
	for name, c := range map[string]struct {
		ok      bool
		prompts []agent.Prompt
	}{
		"a message":                     {true, []agent.Prompt{user}},
		"calls with results, any order": {true, []agent.Prompt{user, calls, r2, r1}},
		"and the next message":          {true, []agent.Prompt{{Role: agent.RoleSystem, Text: "be"}, user, calls, r1, r2, said, user}},
		"two messages of the user":      {true, []agent.Prompt{user, user}},
		"nothing":                       {false, nil},
		"a call without a result":       {false, []agent.Prompt{user, calls, r1, user}},
		"a call open at the end":        {false, []agent.Prompt{user, calls, r1}},
		"a result twice":                {false, []agent.Prompt{user, calls, r1, r2, r2}},
		"a result of no call":           {false, []agent.Prompt{user, r1}},
		"a late result":                 {false, []agent.Prompt{user, calls, r1, said, r2}},
		"an empty answer":               {false, []agent.Prompt{user, {Role: agent.RoleAssistant}, user}},
		"cut arguments":                 {false, []agent.Prompt{user, arguments(`{"a":`), r1}},
		"no arguments":                  {false, []agent.Prompt{user, arguments(``), r1}},
		"arguments that are no object":  {false, []agent.Prompt{user, arguments(`[1]`), r1}},
		"null arguments":                {false, []agent.Prompt{user, arguments(`null`), r1}},
		"an answer last":                {false, []agent.Prompt{user, said}},
		"a late system message":         {false, []agent.Prompt{user, {Role: agent.RoleSystem, Text: "be"}, user}},
		"one id for two calls": {false, []agent.Prompt{user, {
			Role: agent.RoleAssistant, Calls: []agent.Call{calls.Calls[0], calls.Calls[0]},
		}, r1, r1}},
	} {
		if err := turntest.CheckHistory(agent.Request{Prompts: c.prompts}); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestToolsCountTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := &agent.Stop{By: "p"}
		call := func(tool *turntest.Tool) (out string, took time.Duration, err error) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(stop) })
			began := time.Now()
			defer func() {
				if p := recover(); p != nil {
					err = errors.New("panic")
				}
				took = time.Since(began)
			}()
			out, err = tool.Call(ctx, []byte(`{"x":1}`))
			return out, 0, err
		}
		slow, deaf := turntest.SlowTool("slow", time.Minute), turntest.DeafTool("deaf", time.Minute)
		if out, took, err := call(turntest.InstantTool("instant", "out")); out != "out" || err != nil || took != 0 {
			t.Errorf("instant: %q, %v after %v", out, err, took)
		}
		if _, took, err := call(slow); !errors.Is(err, stop) || took != time.Second || !slow.Abortable {
			t.Errorf("slow: %v after %v", err, took)
		}
		if out, took, err := call(deaf); out != "slept" || err != nil || took != time.Minute || deaf.Abortable {
			t.Errorf("deaf: %q, %v after %v", out, err, took)
		}
		if _, _, err := call(turntest.UnconfirmedTool("unconfirmed")); !errors.Is(err, agent.ErrUnconfirmed) {
			t.Errorf("unconfirmed: %v", err)
		}
		panics := turntest.PanickingTool("panics")
		if _, _, err := call(panics); err == nil || panics.Started() != 1 || panics.Ended() != 1 {
			t.Errorf("panicking: %v, started %d, ended %d", err, panics.Started(), panics.Ended())
		}
		if got := slow.Starts(); len(got) != 1 || string(got[0]) != `{"x":1}` || slow.Ended() != 1 {
			t.Errorf("slow was started with %q, ended %d", got, slow.Ended())
		}
	})
}
