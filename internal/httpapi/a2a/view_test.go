package a2a

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

var epoch = time.Date(2026, 10, 14, 9, 0, 0, 0, time.UTC)

func aTurn() agent.Turn {
	return agent.Turn{ID: "t", Session: "s", Index: 1, FirstSeq: 1, Status: agent.StatusRunning, CreatedAt: epoch, StartedAt: epoch}
}

// script numbers events of a turn, and gives each a time of its own.
func script(bodies ...agent.Body) []agent.Event {
	out := make([]agent.Event, len(bodies))
	for i, b := range bodies {
		out[i] = agent.Event{Session: "s", Seq: int64(i + 1), Turn: "t", Body: b, At: epoch.Add(time.Duration(i+1) * time.Second)}
	}
	return out
}

// client is what a client of a stream has put together: artifacts by their ids.
type client struct {
	ids   []int
	texts map[int]string
	last  map[int]bool
}

func (c *client) take(t *testing.T, k *chunk) {
	t.Helper()
	if _, known := c.texts[k.artifact]; !known {
		c.ids = append(c.ids, k.artifact)
	}
	if c.last[k.artifact] {
		t.Errorf("artifact %d goes on after its last chunk", k.artifact)
	}
	if k.append {
		k.text = c.texts[k.artifact] + k.text
	}
	c.texts[k.artifact], c.last[k.artifact] = k.text, k.last
}

// TestAClientPutsTogetherWhatTheTaskIs: whatever deltas were lost, or came without
// their message, what a client makes of a stream's chunks is what the task then
// has, and each artifact has one last chunk. 41, 42, 78.
func TestAClientPutsTogetherWhatTheTaskIs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		bodies := []agent.Body{agent.Message{Role: agent.RoleUser, Text: "hi"}, agent.TurnStarted{Index: 1}}
		index := 1
		for range rng.IntN(5) {
			var whole strings.Builder
			for i := range rng.IntN(4) {
				piece := fmt.Sprintf("%d.%d ", index, i)
				whole.WriteString(piece)
				if rng.IntN(4) > 0 { // else retention, or a lost node, has dropped it
					bodies = append(bodies, agent.TextDelta{Text: piece})
				}
			}
			bodies = append(bodies, agent.Message{Index: index, Role: agent.RoleAssistant, Text: whole.String()})
			index++
		}
		if rng.IntN(3) == 0 {
			bodies = append(bodies, agent.TextDelta{Text: "cut"})
		}
		bodies = append(bodies, agent.TurnEnded{Status: agent.StatusCompleted})

		v, c := newView(aTurn()), client{texts: map[int]string{}, last: map[int]bool{}}
		for _, e := range script(bodies...) {
			for _, x := range v.step(e) {
				if x.chunk != nil {
					c.take(t, x.chunk)
				}
			}
		}
		if len(c.ids) != len(v.artifacts) {
			t.Fatalf("seed %d: the client has %d artifacts, the task %d", seed, len(c.ids), len(v.artifacts))
		}
		for i, a := range v.artifacts {
			if id := c.ids[i]; id != a.index || c.texts[id] != string(a.text) || !c.last[id] {
				t.Errorf("seed %d: the client has %d %q, the task %d %q", seed, id, c.texts[id], a.index, a.text)
			}
		}
	}
}

func ask(id string, kind agent.ActionType) agent.ActionRequested {
	return agent.ActionRequested{ActionID: id, CallID: "c" + id, Type: kind, Name: "f", Arguments: json.RawMessage(`{"question":"Which?","options":["a","b"]}`)}
}

func decided(id string, s agent.ActionState) agent.ActionDecided {
	return agent.ActionDecided{ActionID: id, State: s}
}

// TestStatesGoForward: a task is in each state since the event that brought it
// there, and a stream tells each change once.
func TestStatesGoForward(t *testing.T) {
	t.Parallel()
	cancelled := agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonCancelled, Stop: &agent.Stop{At: epoch.Add(90 * time.Second)}}
	for name, c := range map[string]struct {
		events []agent.Body
		states []state // as a stream tells them
		since  time.Duration
	}{
		"answered":          {[]agent.Body{agent.TextDelta{Text: "x"}, agent.TurnEnded{Status: agent.StatusCompleted}}, []state{completed}, 2 * time.Second},
		"limited":           {[]agent.Body{agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonLimit}}, []state{completed}, time.Second},
		"failed":            {[]agent.Body{agent.TurnEnded{Status: agent.StatusFailed}}, []state{failed}, time.Second},
		"stopped":           {[]agent.Body{agent.TurnStopping{}, agent.TextDelta{Text: "x"}, cancelled}, []state{canceled}, 90 * time.Second},
		"nothing after it":  {[]agent.Body{agent.TurnEnded{Status: agent.StatusCompleted}, agent.TurnEnded{Status: agent.StatusFailed}}, []state{completed}, time.Second},
		"waits":             {[]agent.Body{ask("1", agent.ActionQuestion), agent.TurnPaused{Actions: []string{"1"}}}, []state{inputRequired}, 2 * time.Second},
		"waits for another": {[]agent.Body{ask("1", agent.ActionQuestion), ask("2", agent.ActionApproval), agent.TurnPaused{}, decided("1", agent.ActionApproved)}, []state{inputRequired}, 3 * time.Second},
		"goes on": {
			[]agent.Body{ask("1", agent.ActionQuestion), agent.TurnPaused{}, decided("1", agent.ActionApproved), agent.TextDelta{Text: "x"}, agent.TurnEnded{Status: agent.StatusCompleted}},
			[]state{inputRequired, working, completed}, 5 * time.Second,
		},
		"decided before it paused": {
			[]agent.Body{ask("1", agent.ActionQuestion), ask("2", agent.ActionQuestion), decided("1", agent.ActionDenied), agent.TurnPaused{Actions: []string{"2"}}},
			[]state{inputRequired}, 4 * time.Second,
		},
		"stopped while it waits": {
			[]agent.Body{ask("1", agent.ActionQuestion), agent.TurnPaused{}, decided("1", agent.ActionWithdrawn), cancelled},
			[]state{inputRequired, canceled}, 90 * time.Second,
		},
		"goes on though the decision is told later": {
			[]agent.Body{ask("1", agent.ActionQuestion), agent.TurnPaused{}, agent.ToolStarted{CallID: "c1"}, decided("1", agent.ActionApproved)},
			[]state{inputRequired, working}, 3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newView(aTurn())
			var told []state
			for _, e := range script(c.events...) {
				for _, x := range v.step(e) {
					if x.state {
						told = append(told, v.state)
					}
				}
			}
			if fmt.Sprint(told) != fmt.Sprint(c.states) || !v.since.Equal(epoch.Add(c.since)) {
				t.Errorf("told %v since %v, want %v since %v", told, v.since.Sub(epoch), c.states, c.since)
			}
		})
	}
}

func TestTaskIDsNameATurnOfASession(t *testing.T) {
	t.Parallel()
	tn := agent.Turn{Session: "6f1c0a2b9d3e4f5a6b7c8d9e", Index: 3}
	if id := taskID(&tn); id != "task_6f1c0a2b9d3e4f5a6b7c8d9e_3" {
		t.Errorf("id %s", id)
	}
	if s, n, ok := parseTaskID(taskID(&tn)); s != tn.Session || n != 3 || !ok {
		t.Errorf("%s %d %v", s, n, ok)
	}
	for _, id := range []string{"", "task_", "task__1", "task_a", "task_a_", "task_a_-1", "task_a_01", "task_a_+1", "task_a_1x", "task_a_99999999999", "run_a_1"} {
		if _, _, ok := parseTaskID(id); ok {
			t.Errorf("%q is taken for a task's id", id)
		}
	}
}

// FuzzParse: whatever is sent, it is read or refused, and the id that is said back
// is JSON.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "{", "[]", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`, `{"id":{}}`, `{"id":" a"}`, `{"jsonrpc":1,"method":[]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := parse(body)
		if q.ID != nil && !json.Valid(q.ID) {
			t.Errorf("id %s", q.ID)
		}
		if err == nil && (q.Method == "" || q.Version != "2.0") {
			t.Errorf("%s is taken as %+v", body, q)
		}
		for _, snake := range []bool{false, true} {
			o, err := newObject(q.Params, snake)
			if err != nil {
				continue
			}
			c := &call{v: map[bool]binding{false: v03, true: v10}[snake], params: o}
			_, _ = c.message()
			_, _, _ = c.filter()
		}
	})
}
