package responses

import (
	"fmt"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// renderer turns the journal's events of one turn into the events of a response,
// and into the response itself. It is a function of those events (and of what
// the turn was begun with) alone.
//
// A pause takes one number: it is the terminal event for whom the stream ends
// there, and response.in_progress for whom it goes on, so that a follower who
// resumes after a pause misses nothing.
type renderer struct {
	turn  agent.Turn
	after int64 // events up to this number are not wanted, but for a terminal one
	quiet bool  // none is: only the response is wanted

	number    int64
	began     bool
	taken     bool // a node has worked on it
	at, ended time.Time
	continued bool // the session had messages before
	paused    bool // the last word so far is a pause
	end       *agent.TurnEnded

	items    []*item
	index    int                   // of the assistant message under way
	first    int                   // no item of that message comes before this one
	text     *item                 // open, of that message
	thinking *item                 // likewise
	thoughts int                   // its reasoning items so far
	asked    map[string]agent.Call // that have no result yet
	calls    map[string]*item      // running
	actions  httpapi.OpenActions
	used     agent.Tokens // by the messages so far

	out []byte // what a Step appends to
}

func newRenderer(t agent.Turn) *renderer { return &renderer{turn: t, after: -1, index: t.Index} }

// over reports whether a caller that wants one leg has it.
func (r *renderer) over() bool { return r.end != nil || r.paused }

// Step appends to dst the frames that an event of the journal adds to the stream.
// Events of other turns add none.
func (r *renderer) Step(dst []byte, e agent.Event) ([]byte, error) {
	if e.Turn != r.turn.ID || r.end != nil {
		return dst, nil
	}
	if r.at.IsZero() {
		r.at = e.At
	}
	r.out = dst
	err := r.resume(e)
	if err == nil {
		err = r.begins(e)
	}
	if err == nil {
		err = r.step(e)
	}
	return r.take(), err
}

// take hands over what was rendered: it is the caller's.
func (r *renderer) take() []byte {
	out := r.out
	r.out = nil
	return out
}

// resume tells that a turn that had paused goes on.
func (r *renderer) resume(e agent.Event) error {
	if _, decided := e.Body.(agent.ActionDecided); !r.paused || decided {
		return nil
	}
	r.paused = false
	return r.lifecycle("response.in_progress", false)
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
	case agent.ActionRequested, agent.ActionDecided:
		r.actions.See(b)
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
	if r.turn.Background {
		return r.lifecycle("response.queued", false)
	}
	return r.lifecycle("response.in_progress", false)
}

// begins tells, at the first sign of it, that a node has taken a background run.
func (r *renderer) begins(e agent.Event) error {
	switch e.Kind() {
	case agent.KindTurnStarted, agent.KindTurnStopping, agent.KindTurnEnded:
		return nil
	}
	if !r.turn.Background || !r.began || r.taken {
		return nil
	}
	r.taken = true
	return r.lifecycle("response.in_progress", false)
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
	if rest := r.unthought(m.Reasoning); rest != "" {
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
	if r.asked == nil && len(m.Calls) > 0 {
		r.asked = make(map[string]agent.Call, len(m.Calls))
	}
	for _, c := range m.Calls {
		r.asked[c.ID] = c
	}
	r.index, r.first, r.thoughts = m.Index+1, len(r.items), 0
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
	if rest, ok := r.text.beyond(m.Text); ok && rest != "" {
		if err := r.textDelta(rest); err != nil {
			return err
		}
	}
	return r.closeText(m.Text, status)
}

// unthought returns what a message's whole reasoning has beyond that which was
// shown; nothing where what was shown is not its beginning.
func (r *renderer) unthought(whole string) string {
	for _, it := range r.items[r.first:] {
		if it.kind != reasoningItem {
			continue
		}
		rest, ok := it.beyond(whole)
		if !ok {
			return ""
		}
		whole = rest
	}
	return whole
}

// finish renders the end of the turn.
func (r *renderer) finish(b agent.TurnEnded, at time.Time) error {
	if err := r.closeAll(); err != nil {
		return err
	}
	r.end, r.ended = &b, at
	r.turn.Status, r.turn.StopReason, r.turn.StopDetail, r.turn.Error, r.turn.EndedAt = b.Status, b.StopReason, b.StopDetail, b.Error, at
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

// Pause appends the terminal event of a stream that ends where the turn pauses.
func (r *renderer) Pause(dst []byte) ([]byte, error) {
	r.out, r.turn.Status = dst, agent.StatusWaiting
	err := r.lifecycle("response.incomplete", true)
	return r.take(), err
}

// closeAll closes what is open, as incomplete. A call that goes on in a later
// leg keeps its item, but has no more events.
func (r *renderer) closeAll() error {
	if err := r.closeThinking(apigen.ItemStatusIncomplete); err != nil {
		return err
	}
	if r.text != nil {
		if err := r.closeText(r.text.said(), apigen.ItemStatusIncomplete); err != nil {
			return err
		}
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
