package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testSession = "5e0000000000000000000001"
	testTurn    = "7a0000000000000000000002"
)

// story writes journals as an engine might.
type story struct {
	t       *rapid.T
	events  []agent.Event
	index   int
	calls   int
	stopped bool
}

func (s *story) add(b agent.Body) {
	s.events = append(s.events, agent.Event{
		Session: testSession, Seq: int64(len(s.events) + 1), Turn: testTurn, Body: b, At: time.Unix(1709500000, 0).UTC(),
	})
}

var words = rapid.SampledFrom([]string{"a", "ß ", "\"", "\n", "<b>", "one two ", "\u2028", "😀", "\\"})

// pieces adds deltas and returns their text.
func (s *story) pieces(label string, most int, body func(string) agent.Body) string {
	var all strings.Builder
	for range rapid.IntRange(0, most).Draw(s.t, label) {
		w := words.Draw(s.t, "word")
		all.WriteString(w)
		s.add(body(w))
	}
	return all.String()
}

func textBody(s string) agent.Body      { return agent.TextDelta{Text: s} }
func reasoningBody(s string) agent.Body { return agent.ReasoningDelta{Text: s} }

// step adds one model call and what follows from it; it reports whether the turn
// goes on.
func (s *story) step(last bool) {
	m := agent.Message{Index: s.index, Role: agent.RoleAssistant, Status: agent.StatusCompleted}
	m.Reasoning = s.pieces("reasoning", 3, reasoningBody)
	m.Text = s.pieces("text", 3, textBody)
	m.Reasoning += s.pieces("more reasoning", 1, reasoningBody)
	m.Text += s.pieces("more text", 2, textBody)
	s.index++
	if last {
		if rapid.Bool().Draw(s.t, "cut") {
			m.Status, m.StopReason, s.stopped = agent.StatusIncomplete, agent.ReasonCancelled, true
			s.add(agent.TurnStopping{By: "token:x"})
		}
		if rapid.Bool().Draw(s.t, "said") || !s.stopped {
			s.add(m)
		}
		return
	}
	for range rapid.IntRange(1, 3).Draw(s.t, "calls") {
		s.calls++
		m.Calls = append(m.Calls, agent.Call{ID: fmt.Sprintf("call_%d", s.calls), Name: "tool", Arguments: json.RawMessage(`{"n":1}`)})
	}
	s.add(m)
	s.tools(m.Calls)
}

func (s *story) tools(calls []agent.Call) {
	var asked []agent.Call
	for _, c := range calls {
		switch rapid.IntRange(0, 3).Draw(s.t, "fate") {
		case 0:
			asked = append(asked, c)
			s.add(agent.ActionRequested{ActionID: "ac_" + c.ID, CallID: c.ID, Type: agent.ActionApproval, Name: c.Name, Arguments: c.Arguments})
		case 1:
			s.add(agent.ToolFinished{CallID: c.ID, Name: c.Name, Outcome: agent.ToolAborted, Output: "not run"})
		default:
			s.run(c)
		}
	}
	if len(asked) == 0 {
		return
	}
	s.add(agent.TurnPaused{Actions: []string{"ac_" + asked[0].ID}})
	for _, c := range asked {
		s.add(agent.ActionDecided{ActionID: "ac_" + c.ID, State: agent.ActionApproved})
	}
	for _, c := range asked {
		s.run(c)
	}
}

func (s *story) run(c agent.Call) {
	s.add(agent.ToolStarted{CallID: c.ID, Name: c.Name, Source: "src", Arguments: c.Arguments})
	s.add(agent.ToolOutput{CallID: c.ID, Text: "…"})
	outcome := rapid.SampledFrom([]agent.ToolOutcome{agent.ToolSuccess, agent.ToolError, agent.ToolAborted, agent.ToolDropped, agent.ToolUnconfirmed}).Draw(s.t, "outcome")
	s.add(agent.ToolFinished{CallID: c.ID, Name: c.Name, Outcome: outcome, Output: "out"})
}

// journal draws the whole journal of a turn.
func journal(t *rapid.T) []agent.Event {
	s := &story{t: t, index: 1}
	s.add(agent.Message{Index: 0, Role: agent.RoleUser, Text: "Hello", Status: agent.StatusCompleted})
	s.add(agent.TurnStarted{Agent: "support", Index: 1})
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		s.step(false)
	}
	s.step(true)
	end := agent.TurnEnded{Status: agent.StatusCompleted, Usage: agent.Tokens{Input: 3, Output: 4}}
	if s.stopped {
		end.Status, end.StopReason = agent.StatusIncomplete, agent.ReasonCancelled
	} else if rapid.Bool().Draw(t, "fails") {
		end.Status, end.Error = agent.StatusFailed, &agent.Failure{Code: "agent_error", Message: "No."}
	}
	s.add(end)
	return s.events
}

func testTurnRow() agent.Turn {
	return agent.Turn{ID: testTurn, Session: testSession, Agent: "support", Index: 1, FirstSeq: 1, Status: agent.StatusRunning}
}

// rendered is an event as a client reads it.
type rendered struct {
	kind   string
	number int64
	body   map[string]any
}

func render(t interface{ Fatalf(string, ...any) }, events []agent.Event) []rendered {
	return renderAbove(t, events, -1)
}

func renderAbove(t interface{ Fatalf(string, ...any) }, events []agent.Event, after int64) []rendered {
	r := newRenderer(testTurnRow())
	r.after = after
	var frames []byte
	for _, e := range events {
		var err error
		if frames, err = r.Step(frames, e); err != nil {
			t.Fatalf("step %d: %v", e.Seq, err)
		}
	}
	return read(t, frames)
}

// read reads frames, of which nothing may be left over.
func read(t interface{ Fatalf(string, ...any) }, frames []byte) []rendered {
	if len(frames) > 0 && !strings.HasSuffix(string(frames), httpapi.FrameEnd) {
		t.Fatalf("a frame does not end: %q", frames)
	}
	events, err := httpapitest.ReadSSE(bytes.NewReader(frames))
	if err != nil || len(events) != strings.Count(string(frames), "\n\n") {
		t.Fatalf("%d events, %v: %q", len(events), err, frames)
	}
	var out []rendered
	for _, ev := range events {
		var body map[string]any
		if err := json.Unmarshal(ev.Data, &body); err != nil {
			t.Fatalf("%s is no JSON: %v: %s", ev.Event, err, ev.Data)
		}
		number, err := strconv.ParseInt(ev.ID, 10, 64)
		if err != nil {
			t.Fatalf("%s has number %q", ev.Event, ev.ID)
		}
		out = append(out, rendered{ev.Event, number, body})
	}
	return out
}

// client reads a stream as the SDKs do, and as strictly.
type client struct {
	t      *rapid.T
	items  []map[string]any
	done   map[string]bool
	ids    map[string]bool
	ended  bool
	number int64
}

func (c *client) read(ev rendered) {
	if c.ended {
		c.t.Fatalf("%s after the terminal event", ev.kind)
	}
	if ev.number != c.number || ev.body["sequence_number"] != float64(c.number) || ev.body["type"] != ev.kind {
		c.t.Fatalf("number %d, want %d: %v", ev.number, c.number, ev.body)
	}
	c.number++
	if ev.number == 0 && ev.kind != "response.created" {
		c.t.Fatalf("the first event is %s", ev.kind)
	}
	switch ev.kind {
	case "response.output_item.added":
		item := ev.body["item"].(map[string]any)
		id := item["id"].(string)
		if id == "" || c.ids[id] || ev.body["output_index"] != float64(len(c.items)) {
			c.t.Fatalf("bad item %v among %d", ev.body, len(c.items))
		}
		c.ids[id] = true
		c.items = append(c.items, item)
	case "response.output_item.done":
		item := ev.body["item"].(map[string]any)
		c.items[c.at(ev)] = item
		c.done[item["id"].(string)] = true
	case "response.completed", "response.incomplete", "response.failed":
		c.finish(ev)
	default:
		c.part(ev)
	}
}

// at returns which item an event is about; it must be open.
func (c *client) at(ev rendered) int {
	i := int(ev.body["output_index"].(float64))
	if i >= len(c.items) {
		c.t.Fatalf("missing output at index %d: %v", i, ev.body)
	}
	if id, ok := ev.body["item_id"]; ok && id != c.items[i]["id"] {
		c.t.Fatalf("item_id %v is not %v", id, c.items[i]["id"])
	}
	if c.done[c.items[i]["id"].(string)] {
		c.t.Fatalf("%s about an item that is done", ev.kind)
	}
	return i
}

func (c *client) part(ev rendered) {
	field, index := "content", "content_index"
	if strings.Contains(ev.kind, "summary") {
		field, index = "summary", "summary_index"
	}
	switch {
	case strings.HasSuffix(ev.kind, "part.added"):
		i := c.at(ev)
		list, _ := c.items[i][field].([]any)
		c.items[i][field] = append(list, ev.body["part"])
	case strings.Contains(ev.kind, "text.delta"):
		list := c.items[c.at(ev)][field].([]any)
		n := int(ev.body[index].(float64))
		if n >= len(list) {
			c.t.Fatalf("missing content at index %d", n)
		}
		p := list[n].(map[string]any)
		p["text"] = p["text"].(string) + ev.body["delta"].(string)
	case strings.Contains(ev.kind, "text.done"):
		p := c.items[c.at(ev)][field].([]any)[0].(map[string]any)
		if p["text"] != ev.body["text"] {
			c.t.Fatalf("%s says %q, streamed was %q", ev.kind, ev.body["text"], p["text"])
		}
	case strings.Contains(ev.kind, "mcp_call"):
		c.at(ev)
	}
}

// finish compares what was streamed with the whole response.
func (c *client) finish(ev rendered) {
	c.ended = true
	output := ev.body["response"].(map[string]any)["output"].([]any)
	if len(output) != len(c.items) {
		c.t.Fatalf("%d items in the end, %d streamed", len(output), len(c.items))
	}
	for i, item := range output {
		id := c.items[i]["id"].(string)
		if !c.done[id] {
			c.t.Fatalf("item %s was never done", id)
		}
		if !reflect.DeepEqual(item, any(c.items[i])) {
			c.t.Fatalf("item %d in the end\n%v\nstreamed\n%v", i, item, c.items[i])
		}
	}
}

func TestStreamsAreWhatStrictClientsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &client{t: t, done: map[string]bool{}, ids: map[string]bool{}}
		for _, ev := range render(t, journal(t)) {
			c.read(ev)
		}
		if !c.ended {
			t.Fatal("no terminal event")
		}
	})
}

// TestReplayAboveAnyNumberIsTheRest: rendering is a function of the journal, so
// a follower who resumes gets exactly what it had not.
func TestReplayAboveAnyNumberIsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := journal(t)
		all := render(t, events)
		after := rapid.Int64Range(-1, int64(len(all)+3)).Draw(t, "after")
		got := renderAbove(t, events, after)
		want := all[min(int(after+1), len(all)-1):]
		if len(got) != len(want) {
			t.Fatalf("%d events above %d of %d, want %d", len(got), after, len(all), len(want))
		}
		for i, ev := range got {
			if !reflect.DeepEqual(ev, want[i]) {
				t.Fatalf("event %d is %v, want %v", i, ev, want[i])
			}
		}
	})
}

// TestAPauseTakesOneNumber: whose stream ended at a pause and who resumes behind
// it misses nothing.
func TestAPauseTakesOneNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := journal(t)
		all := render(t, events)
		r := newRenderer(testTurnRow())
		for _, e := range events {
			if _, err := r.Step(nil, e); err != nil {
				t.Fatal(err)
			}
			if !r.paused {
				continue
			}
			cut := *r
			end, err := cut.Pause(nil)
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, end)
			if len(got) != 1 || got[0].kind != "response.incomplete" || all[got[0].number].kind != "response.in_progress" {
				t.Fatalf("pause renders %v where the stream that goes on has %v", got, all[got[0].number])
			}
			if e.Kind() == agent.KindTurnPaused && len(got[0].body["response"].(map[string]any)["required_actions"].([]any)) == 0 {
				t.Fatal("a pause with nothing to do")
			}
		}
	})
}

// TestRetentionKeepsTheResponse: without the deltas the texts come in one piece,
// and the response is the same but for reasoning that came after its text.
func TestRetentionKeepsTheResponse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := journal(t)
		kept := slices.DeleteFunc(slices.Clone(events), func(e agent.Event) bool {
			return e.Kind() == agent.KindTextDelta || e.Kind() == agent.KindReasoningDelta
		})
		texts := func(events []agent.Event) (text, reasoning string) {
			all := render(t, events)
			for _, item := range all[len(all)-1].body["response"].(map[string]any)["output"].([]any) {
				m := item.(map[string]any)
				if m["type"] == "message" {
					text += m["content"].([]any)[0].(map[string]any)["text"].(string) + "|"
				}
				if m["type"] == "reasoning" {
					reasoning += m["summary"].([]any)[0].(map[string]any)["text"].(string)
				}
			}
			return text, reasoning
		}
		hasEnd := slices.ContainsFunc(events, func(e agent.Event) bool {
			m, ok := e.Body.(agent.Message)
			return ok && m.Status == agent.StatusIncomplete
		}) || !slices.ContainsFunc(events, func(e agent.Event) bool { return e.Kind() == agent.KindTurnStopping })
		if !hasEnd {
			return // the stopped text was never said in a message: an engine does not do that
		}
		wantText, wantReasoning := texts(events)
		gotText, gotReasoning := texts(kept)
		if gotText != wantText || gotReasoning != wantReasoning {
			t.Fatalf("%q %q, want %q %q", gotText, gotReasoning, wantText, wantReasoning)
		}
	})
}

func TestAQuietRendererCountsAndKeepsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := journal(t)
		loud, quiet := newRenderer(testTurnRow()), newRenderer(testTurnRow())
		quiet.quiet = true
		for _, e := range events {
			if _, err := loud.Step(nil, e); err != nil {
				t.Fatal(err)
			}
			if got, err := quiet.Step(nil, e); err != nil || len(got) != 0 {
				t.Fatalf("%v %v", got, err)
			}
		}
		if quiet.number != loud.number || !reflect.DeepEqual(quiet.response(), loud.response()) {
			t.Fatalf("%+v\n%+v", quiet.response(), loud.response())
		}
	})
}

// TestRequestFieldsAreThoseOfTheDocument holds the hand-written request to it.
func TestRequestFieldsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	schemas := httpapitest.Load(t).Spec.Components.Schemas
	for name, typ := range map[string]reflect.Type{
		"ResponseRequest": reflect.TypeFor[request](), "InputMessage": reflect.TypeFor[message](), "InputText": reflect.TypeFor[httpapi.TextPart](),
	} {
		var got, want []string
		for field := range typ.Fields() {
			got = append(got, field.Tag.Get("json"))
		}
		for field := range schemas[name].Value.Properties {
			want = append(want, field)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, the document %q", name, got, want)
		}
	}
}

// TestADeltaCostsNoAllocation: they are most of all events.
func TestADeltaCostsNoAllocation(t *testing.T) {
	for _, body := range []agent.Body{agent.TextDelta{Text: "some \"words\" "}, agent.ReasoningDelta{Text: "größer\n"}, agent.ToolOutput{Text: "x"}} {
		r := newRenderer(testTurnRow())
		e := agent.Event{Session: testSession, Turn: testTurn, Seq: 2, Body: body, At: time.Now()}
		frames := make([]byte, 0, 4<<10)
		step := func() {
			var err error
			if frames, err = r.Step(frames[:0], e); err != nil {
				t.Fatal(err)
			}
		}
		step()
		for _, it := range r.items {
			it.text = slices.Grow(it.text, 64<<10)
		}
		if n := testing.AllocsPerRun(1000, step); n != 0 {
			t.Errorf("%s: %v allocations", e.Kind(), n)
		}
		if r.out != nil {
			t.Error("the renderer keeps the caller's buffer")
		}
	}
}

func BenchmarkTextDelta(b *testing.B) {
	r := newRenderer(testTurnRow())
	start := agent.Event{Session: testSession, Turn: testTurn, Seq: 1, Body: agent.TurnStarted{Index: 1}, At: time.Now()}
	if _, err := r.Step(nil, start); err != nil {
		b.Fatal(err)
	}
	e := agent.Event{Session: testSession, Turn: testTurn, Seq: 2, Body: agent.TextDelta{Text: "some words of an answer "}, At: time.Now()}
	var frames []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if frames, err = r.Step(frames[:0], e); err != nil {
			b.Fatal(err)
		}
	}
}
