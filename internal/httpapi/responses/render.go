package responses

import (
	"fmt"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// event is one event of a response's stream.
type event struct {
	kind     string
	number   int64
	terminal bool
	data     []byte // JSON, good until the next Step
}

// renderer turns the journal's events of one turn into the events of a response,
// and into the response itself. It is a function of those events (and of what
// the turn was begun with) alone.
//
// A pause takes one number: it is the terminal event for whom the stream ends
// there, and response.in_progress for whom it goes on, so that a follower who
// resumes after a pause misses nothing.
type renderer struct {
	turn  agent.Turn
	quiet bool // no events: only the response is wanted

	number    int64
	began     bool
	at, ended time.Time
	continued bool // the session had messages before
	paused    bool // the last word so far is a pause
	end       *agent.TurnEnded

	items    []*item
	index    int    // of the assistant message under way
	text     *item  // open, of that message
	thinking *item  // likewise
	thought  []byte // reasoning of that message so far
	thoughts int    // its reasoning items so far
	asked    map[string]agent.Call
	calls    map[string]*item // running
	actions  []apigen.RequiredAction
	used     agent.Tokens // by the messages so far

	events []event
	buf    []byte
}

func newRenderer(t agent.Turn) *renderer {
	return &renderer{turn: t, index: t.Index, asked: map[string]agent.Call{}, calls: map[string]*item{}}
}

// over reports whether a caller that wants one leg has it.
func (r *renderer) over() bool { return r.end != nil || r.paused }

// Step returns what an event of the journal adds to the stream. Events of other
// turns add nothing. The result is good until the next call.
func (r *renderer) Step(e agent.Event) ([]event, error) {
	r.events, r.buf = r.events[:0], r.buf[:0]
	if e.Turn != r.turn.ID || r.end != nil {
		return nil, nil
	}
	if r.at.IsZero() {
		r.at = e.At
	}
	if _, decided := e.Body.(agent.ActionDecided); r.paused && !decided {
		r.paused = false
		if err := r.lifecycle("response.in_progress", false); err != nil {
			return nil, err
		}
	}
	err := r.step(e)
	return r.events, err
}

func (r *renderer) step(e agent.Event) error {
	switch b := e.Body.(type) {
	case agent.TurnStarted:
		return r.start(b)
	case agent.TextDelta:
		return r.textDelta(b.Text)
	case agent.ReasoningDelta:
		return r.reasoningDelta(b.Text)
	case agent.Message:
		return r.message(b)
	case agent.ToolStarted:
		_, err := r.startCall(agent.Call{ID: b.CallID, Name: b.Name, Arguments: b.Arguments}, b.Source)
		return err
	case agent.ToolFinished:
		return r.finishCall(b)
	case agent.ActionRequested:
		r.actions = append(r.actions, apigen.RequiredAction{Id: b.ActionID, Type: b.Type, CallId: b.CallID, Name: b.Name, Arguments: orNull(b.Arguments)})
	case agent.ActionDecided:
		r.decided(b.ActionID)
	case agent.TurnPaused:
		r.paused = true
		return r.closeAll()
	case agent.TurnEnded:
		return r.finish(b, e.At)
	}
	return nil
}

// start renders the begin of the response.
func (r *renderer) start(b agent.TurnStarted) error {
	if r.began {
		return nil
	}
	r.began, r.index = true, b.Index
	if err := r.lifecycle("response.created", false); err != nil {
		return err
	}
	return r.lifecycle("response.in_progress", false)
}

func (r *renderer) decided(action string) {
	for i, a := range r.actions {
		if a.Id == action {
			r.actions = append(r.actions[:i:i], r.actions[i+1:]...)
			return
		}
	}
}

// message takes a whole message for what it is: deltas that the journal no
// longer has, or that were lost, are made up for.
func (r *renderer) message(m agent.Message) error {
	if m.Role != agent.RoleAssistant {
		r.continued = m.Index > 0
		return nil
	}
	if m.Usage != nil {
		r.used = r.used.Add(m.Usage.Tokens)
	}
	if rest := unseen(r.thought, m.Reasoning); rest != "" {
		if err := r.reasoningDelta(rest); err != nil {
			return err
		}
	}
	if err := r.closeThinking(apigen.ItemStatusCompleted); err != nil {
		return err
	}
	if err := r.closeMessage(m); err != nil {
		return err
	}
	for _, c := range m.Calls {
		r.asked[c.ID] = c
	}
	r.index, r.thought, r.thoughts = m.Index+1, nil, 0
	return nil
}

// closeMessage closes the message's item, making one first where nothing was
// streamed. An empty text is an item only where it is the whole answer.
func (r *renderer) closeMessage(m agent.Message) error {
	status := apigen.ItemStatusCompleted
	if m.Status != agent.StatusCompleted {
		status = apigen.ItemStatusIncomplete
	}
	answer := len(m.Calls) == 0 && m.Status == agent.StatusCompleted
	if r.text == nil && m.Text == "" && !answer {
		return nil
	}
	if err := r.openText(); err != nil {
		return err
	}
	if rest := unseen(r.text.text, m.Text); rest != "" {
		if err := r.textDelta(rest); err != nil {
			return err
		}
	}
	r.text.text = []byte(m.Text)
	return r.closeText(status)
}

// unseen returns what whole has beyond seen; nothing where seen is not its
// beginning.
func unseen(seen []byte, whole string) string {
	if len(seen) <= len(whole) && whole[:len(seen)] == string(seen) {
		return whole[len(seen):]
	}
	return ""
}

// finish renders the end of the turn.
func (r *renderer) finish(b agent.TurnEnded, at time.Time) error {
	if err := r.closeAll(); err != nil {
		return err
	}
	r.end, r.ended = &b, at
	switch b.Status {
	case agent.StatusCompleted:
		return r.lifecycle("response.completed", true)
	case agent.StatusIncomplete:
		return r.lifecycle("response.incomplete", true)
	case agent.StatusFailed:
		return r.lifecycle("response.failed", true)
	}
	return fmt.Errorf("turn %s ended with status %q", r.turn.ID, b.Status)
}

// Pause returns the terminal event of a stream that ends where the turn pauses.
func (r *renderer) Pause() ([]event, error) {
	r.events, r.buf = r.events[:0], r.buf[:0]
	r.turn.Status = agent.StatusWaiting
	err := r.lifecycle("response.incomplete", true)
	return r.events, err
}

// closeAll closes what is open, as incomplete. A call that goes on in a later
// leg keeps its item, but has no more events.
func (r *renderer) closeAll() error {
	if err := r.closeThinking(apigen.ItemStatusIncomplete); err != nil {
		return err
	}
	if err := r.closeText(apigen.ItemStatusIncomplete); err != nil {
		return err
	}
	for _, it := range r.items {
		if it.kind == callItem && it.status == string(apigen.ItemStatusInProgress) {
			it.status = string(apigen.ItemStatusIncomplete)
			if err := r.itemEvent("response.output_item.done", it); err != nil {
				return err
			}
		}
	}
	return nil
}
