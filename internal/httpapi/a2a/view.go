package a2a

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// state is how a task stands. What a turn that was never begun would be has no
// state here: it has no task.
type state int

const (
	submitted state = iota
	working
	inputRequired
	completed // a limit too: the metadata tells
	canceled
	failed
)

func (s state) terminal() bool { return s >= completed }

// taskID is the id of the task that a turn is.
func taskID(t *agent.Turn) string { return fmt.Sprintf("task_%s_%d", t.Session, t.Index) }

// parseTaskID returns the session and the index that a task's id names.
func parseTaskID(id string) (session string, index int, ok bool) {
	rest, ok := strings.CutPrefix(id, "task_")
	at := strings.LastIndexByte(rest, '_')
	if !ok || at < 1 {
		return "", 0, false
	}
	n, err := strconv.Atoi(rest[at+1:])
	return rest[:at], n, err == nil && n >= 0 && n <= 1<<31-1 && strconv.Itoa(n) == rest[at+1:]
}

// view is a task as the journal's events of its turn make it: a function of them
// and of what the turn was when they were begun to be read. Every answer and
// every stream of this door is a rendering of one.
type view struct {
	turn agent.Turn

	state state
	since time.Time // when that state was reached
	seq   int64     // of the last event seen, of any turn

	input     string // what the turn answers
	artifacts []*artifact
	next      int // index of the agent's message under way
	asked     []request
	end       *agent.TurnEnded

	receipts []agent.Receipt // for the history; not of the journal
}

// artifact is the text of one message of the agent's.
type artifact struct {
	index  int
	text   []byte
	shown  bool // some of it has been told
	closed bool
}

// request is what the turn asked of a person.
type request struct {
	agent.ActionRequested
	state agent.ActionState
}

// chunk is a piece of an artifact as a stream tells it.
type chunk struct {
	artifact     int // index of the message
	text         string
	append, last bool
}

// change is what an event changes of a task: some of its text, or its state.
type change struct {
	chunk *chunk
	state bool
}

// newView returns a view of a turn as it was just read. A turn that is stopping
// is canceled already: whoever stopped it was told so.
func newView(t agent.Turn) *view {
	v := &view{turn: t, state: working, since: t.StartedAt, seq: httpapi.Before(&t), next: t.Index}
	if t.StartedAt.IsZero() {
		v.state, v.since = submitted, t.CreatedAt
	}
	return v
}

// stopping tells of a view that has seen all that there is whether its turn is
// being stopped, and makes it canceled.
func (v *view) stopping() {
	if v.end == nil && v.turn.Stop != nil && !v.turn.Status.Final() {
		v.state, v.since = canceled, v.turn.Stop.At
	}
}

// step takes an event and returns what it changes. Events of other turns, and
// all after the end, change nothing.
func (v *view) step(e agent.Event) []change {
	v.seq = max(v.seq, e.Seq)
	if e.Turn != v.turn.ID || v.end != nil {
		return nil
	}
	var out []change
	if v.goesOn(e) {
		out = append(out, v.enter(working, e.At))
	}
	switch b := e.Body.(type) {
	case agent.TextDelta:
		return append(out, v.delta(b.Text))
	case agent.Message:
		return append(out, v.message(b)...)
	case agent.ActionRequested:
		v.asked = append(v.asked, request{b, agent.ActionOpen})
	case agent.ActionDecided:
		for i := range v.asked {
			if v.asked[i].ActionID == b.ActionID {
				v.asked[i].state = b.State
			}
		}
		if v.state == inputRequired && len(v.open()) == 0 && b.State != agent.ActionWithdrawn {
			return append(out, v.enter(working, e.At))
		}
	case agent.TurnPaused:
		return append(append(out, v.closeAll()...), v.enter(inputRequired, e.At))
	case agent.TurnEnded:
		return append(append(out, v.closeAll()...), v.finish(b, e.At))
	}
	return out
}

// goesOn reports whether an event shows that a turn that had not begun, or
// waited, goes on.
func (v *view) goesOn(e agent.Event) bool {
	switch e.Body.(type) {
	case agent.TextDelta, agent.ReasoningDelta, agent.ToolStarted:
		return v.state == submitted || v.state == inputRequired
	}
	return false
}

func (v *view) enter(s state, at time.Time) change {
	v.state, v.since = s, at
	return change{state: true}
}

// open returns the requests that nobody has decided.
func (v *view) open() []request {
	var out []request
	for _, q := range v.asked {
		if q.state == agent.ActionOpen {
			out = append(out, q)
		}
	}
	return out
}

// current is the artifact that text goes to.
func (v *view) current() *artifact {
	if n := len(v.artifacts); n > 0 && !v.artifacts[n-1].closed {
		return v.artifacts[n-1]
	}
	a := &artifact{index: v.next}
	v.artifacts = append(v.artifacts, a)
	return a
}

func (v *view) delta(text string) change {
	a := v.current()
	a.text = append(a.text, text...)
	c := &chunk{artifact: a.index, text: text, append: a.shown}
	a.shown = true
	return change{chunk: c}
}

// message takes a whole message for what it is: it closes its artifact with what
// the deltas did not have. One without text, of which nothing was told, is none.
func (v *view) message(m agent.Message) []change {
	if m.Role != agent.RoleAssistant {
		v.input = m.Text
		return nil
	}
	v.next = m.Index
	n := len(v.artifacts)
	defer func() { v.next = m.Index + 1 }()
	if (n == 0 || v.artifacts[n-1].closed) && m.Text == "" {
		return nil
	}
	a := v.current()
	rest, ok := strings.CutPrefix(m.Text, string(a.text))
	c := &chunk{artifact: m.Index, text: rest, append: a.shown, last: true}
	if !ok {
		c.text, c.append = m.Text, false
	}
	a.index, a.text, a.shown, a.closed = m.Index, []byte(m.Text), true, true
	return []change{{chunk: c}}
}

// closeAll closes an artifact whose message will not come.
func (v *view) closeAll() []change {
	n := len(v.artifacts)
	if n == 0 || v.artifacts[n-1].closed {
		return nil
	}
	a := v.artifacts[n-1]
	a.closed = true
	return []change{{chunk: &chunk{artifact: a.index, append: true, last: true}}}
}

func (v *view) finish(b agent.TurnEnded, at time.Time) change {
	v.end = &b
	switch {
	case b.StopReason == agent.ReasonCancelled:
		if b.Stop != nil && !b.Stop.At.IsZero() {
			at = b.Stop.At
		}
		return v.enter(canceled, at)
	case b.Status == agent.StatusFailed:
		return v.enter(failed, at)
	}
	return v.enter(completed, at)
}

// settled reports whether there is nothing to wait for: the task has ended, or
// needs somebody.
func (v *view) settled() bool { return v.state.terminal() || v.state == inputRequired }

// said is a message of a task.
type said struct {
	id   string
	user bool
	text string
	asks []request // that it puts in words
}

// status is what the agent says about the state: its questions, or why it failed.
func (v *view) status() *said {
	switch {
	case v.state == inputRequired:
		var texts []string
		for _, q := range v.open() {
			texts = append(texts, q.text())
		}
		if len(texts) == 0 {
			return nil
		}
		return &said{id: "msg_" + v.open()[0].ActionID, text: strings.Join(texts, "\n\n"), asks: v.open()}
	case v.state == failed && v.end != nil:
		text := "The turn failed."
		if v.end.Error != nil {
			text = v.end.Error.Message
		}
		return &said{id: "msg_" + v.turn.ID + "_failed", text: text}
	}
	return nil
}

// text is the request in words.
func (q request) text() string {
	if q.Type == agent.ActionApproval {
		return fmt.Sprintf("May %s be called with %s? Answer with metadata.decision approve or reject, and metadata.decision_id %s.", q.Name, q.Arguments, q.ActionID)
	}
	var ask agent.Question
	if json.Unmarshal(q.Arguments, &ask) != nil {
		return string(q.Arguments)
	}
	return strings.Join(slices.Concat([]string{ask.Question}, prefixed("- ", ask.Options)), "\n")
}

func prefixed(with string, list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = with + s
	}
	return out
}

// history returns the messages of the task: what the client said, under its own
// ids, and what it was asked and has decided.
func (v *view) history() []said {
	first := said{id: httpapi.MessageID(v.turn.Session, v.turn.Index-1), user: true, text: v.input}
	for _, r := range v.receipts {
		if r.Action == "" && r.Turn == v.turn.ID {
			first.id, first.text = r.ID, r.Text
		}
	}
	out := []said{first}
	for _, q := range v.asked {
		if q.state == agent.ActionOpen {
			continue
		}
		out = append(out, said{id: "msg_" + q.ActionID, text: q.text()})
		for _, r := range v.receipts {
			if r.Action == q.ActionID {
				out = append(out, said{id: r.ID, user: true, text: r.Text})
			}
		}
	}
	return out
}
