package agent

import "time"

// Closing is all that the owner of a leg knows when it settles it.
type Closing struct {
	End   Outcome // what the engine made of the leg; the stop in the row goes before it
	Stop  *Stop   // the local cause, if it is a stop
	Path  string  // how the owner heard of a stop: local, push or poll; empty: it did not
	Rows  []Row   // events not known to be stored, grouped as they may have been sent
	Seq   int64   // the last number used
	Draft *Draft  // the message of the step under way, nil between steps
	Usage []Usage // of this leg's model calls
	Tools []ToolDone
}

// Draft is an assistant message that is being written.
type Draft struct {
	Index     int
	Text      string
	Reasoning string
	Usage     *Usage
}

// Closed is how a leg was closed.
type Closed struct {
	Outcome Outcome
	Events  []Event // those that the closing transaction wrote itself
	Notify  []string
}

// LastWords returns the events that close a leg, numbered from seq+1: the
// answer as far as it came and turn.ended, or turn.paused. total is what the
// turn's model calls used, all legs together; actions are the open ones.
//
// An answer that a stop or a limit cut is kept as it is, even when it is empty.
func LastWords(l Lease, seq int64, o Outcome, d *Draft, total Tokens, tools []ToolDone, actions []string, at time.Time) []Event {
	var out []Event
	add := func(b Body) {
		seq++
		out = append(out, Event{Session: l.Session, Seq: seq, Turn: l.Turn, Body: b, At: at})
	}
	if d != nil && (d.Text != "" || o.Kind == Answered || o.Kind == Stopped || o.Kind == Limited) {
		m := Message{Index: d.Index, Role: RoleAssistant, Text: d.Text, Reasoning: d.Reasoning, Usage: d.Usage, Status: StatusCompleted}
		if o.Kind != Answered {
			m.Status, m.StopReason = StatusIncomplete, o.reason()
		}
		add(m)
	}
	if o.Kind == Waiting {
		add(TurnPaused{Actions: actions})
		return out
	}
	add(TurnEnded{
		Status: o.Status(), StopReason: o.StopReason(), StopDetail: o.Detail,
		Stop: o.Stop, Error: o.Failure, Usage: total, Tools: tools,
	})
	return out
}

// reason says on a message why it is incomplete.
func (o Outcome) reason() string {
	if r := o.StopReason(); r != "" {
		return r
	}
	return string(o.Kind)
}
