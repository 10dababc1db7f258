package agent

import (
	"encoding/json"
	"fmt"
	"time"
)

// Kind names what an event says. It is the event's type on the wire too.
type Kind string

// The kinds of events. Text, reasoning and tool output deltas are display
// only: all else is the transcript, and the history that a model is given.
const (
	KindTurnStarted     Kind = "turn.started"
	KindTurnPaused      Kind = "turn.paused"
	KindTurnStopping    Kind = "turn.stopping"
	KindTurnEnded       Kind = "turn.ended"
	KindMessage         Kind = "message"
	KindTextDelta       Kind = "text.delta"
	KindReasoningDelta  Kind = "reasoning.delta"
	KindToolStarted     Kind = "tool.started"
	KindToolOutput      Kind = "tool.output"
	KindToolFinished    Kind = "tool.finished"
	KindActionRequested Kind = "action.requested"
	KindActionDecided   Kind = "action.decided"
)

// Event is one numbered entry of a session's journal. Seq grows within a
// session; it has no gaps within a lease, and a gap of GapWhenClosedForOther
// where somebody else closed a leg.
type Event struct {
	Session string
	Seq     int64
	Turn    string // or the posting: see Run
	Body    Body
	At      time.Time
}

// GapWhenClosedForOther is what is added to the numbers when a leg is closed by
// somebody who cannot know which numbers its owner has shown already.
const GapWhenClosedForOther = 100_000

// Kind returns the kind of the event's body.
func (e Event) Kind() Kind { return e.Body.Kind() }

// Body is what an event says: one of the types below. Bodies are values; who
// receives one must not change what it points to.
type Body interface{ Kind() Kind }

// TurnStarted is a turn's first event after its user message.
type TurnStarted struct {
	Agent   string `json:"agent"`
	Version int    `json:"version"` // 0: the draft
	Model   string `json:"model"`
	Door    Door   `json:"door"`
	By      string `json:"by"`
	// Index is that of the turn's first assistant message.
	Index      int  `json:"message_index"`
	Background bool `json:"background,omitempty"`
}

// Message is a whole message: a person's, or what one model call produced. It
// follows the deltas that streamed it and repeats their text exactly. One of
// RoleSystem adds to the instructions of every turn after it.
type Message struct {
	Index      int    `json:"index"` // within the session, from 0
	Role       Role   `json:"role"`
	Text       string `json:"content"`
	Reasoning  string `json:"reasoning,omitempty"`
	Calls      []Call `json:"calls,omitempty"`
	Status     Status `json:"status"`                // completed or incomplete
	StopReason string `json:"stop_reason,omitempty"` // why it is incomplete
	Usage      *Usage `json:"usage,omitempty"`       // of the model call that produced it
}

// TextDelta is a piece of the answer as it is produced.
type TextDelta struct {
	Text string `json:"text"`
}

// ReasoningDelta is a piece of the model's shown reasoning.
type ReasoningDelta struct {
	Text string `json:"text"`
}

// ToolStarted is stored before a tool is started: a call with no such event
// was never run.
type ToolStarted struct {
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Source    string          `json:"source,omitempty"`
	Arguments json.RawMessage `json:"arguments"`
	Abortable bool            `json:"abortable"`
	Child     *Child          `json:"child,omitempty"` // the call of a sub-agent: the turn that it is about to begin
}

// ToolOutput is a piece of what a running tool prints.
type ToolOutput struct {
	CallID string `json:"call_id"`
	Text   string `json:"text"`
}

// ToolFinished is the one result of a call.
type ToolFinished struct {
	CallID     string      `json:"call_id"`
	Name       string      `json:"name"`
	Outcome    ToolOutcome `json:"outcome"`
	Output     string      `json:"output"` // what the model reads
	DurationMS int64       `json:"duration_ms"`
	Child      *ChildEnd   `json:"child,omitempty"` // how a sub-agent's turn ended, where the call saw it end
}

// ToolOutcome is how a tool call ended.
type ToolOutcome string

// The outcomes of a tool call. Dropped: it could not be aborted, ran to its end
// after a stop and its result is used for nothing. Unconfirmed: nobody can say
// whether it ran or still runs.
const (
	ToolSuccess     ToolOutcome = "success"
	ToolError       ToolOutcome = "error"
	ToolAborted     ToolOutcome = "aborted"
	ToolDropped     ToolOutcome = "dropped"
	ToolUnconfirmed ToolOutcome = "unconfirmed"
)

// ActionRequested says that the turn needs a person.
type ActionRequested struct {
	ActionID  string          `json:"action_id"`
	CallID    string          `json:"call_id"`
	Type      ActionType      `json:"action_type"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ActionDecided says what became of an action.
type ActionDecided struct {
	ActionID string      `json:"action_id"`
	State    ActionState `json:"state"`
	By       string      `json:"by,omitempty"`
}

// TurnPaused closes a leg whose turn waits for a person.
type TurnPaused struct {
	Actions []string `json:"actions"`
}

// TurnStopping says that the owner of a turn has been told to stop it.
type TurnStopping struct {
	By   string `json:"by"`
	Door Door   `json:"door"`
	Node string `json:"node"`
}

// TurnEnded is the last event of a turn; a turn has exactly one. Only what people
// decide about an approval that outlived the turn's stop may come after it.
type TurnEnded struct {
	Status     Status     `json:"status"`
	StopReason string     `json:"stop_reason,omitempty"`
	StopDetail string     `json:"stop_detail,omitempty"`
	Stop       *Stop      `json:"stop,omitempty"`
	Error      *Failure   `json:"error,omitempty"`
	Usage      Tokens     `json:"usage"`
	Tools      []ToolDone `json:"tools,omitempty"`
}

// OutputUnconfirmed is what the model reads of a call whose end nobody knows.
const OutputUnconfirmed = "The end of this call is not confirmed: it may have run."

// ToolDone is a line of a turn's account of its tools.
type ToolDone struct {
	CallID  string      `json:"call_id"`
	Name    string      `json:"name"`
	Outcome ToolOutcome `json:"outcome"`
}

// Kind implements Body.
func (TurnStarted) Kind() Kind { return KindTurnStarted }

// Kind implements Body.
func (TurnPaused) Kind() Kind { return KindTurnPaused }

// Kind implements Body.
func (TurnStopping) Kind() Kind { return KindTurnStopping }

// Kind implements Body.
func (TurnEnded) Kind() Kind { return KindTurnEnded }

// Kind implements Body.
func (Message) Kind() Kind { return KindMessage }

// Kind implements Body.
func (TextDelta) Kind() Kind { return KindTextDelta }

// Kind implements Body.
func (ReasoningDelta) Kind() Kind { return KindReasoningDelta }

// Kind implements Body.
func (ToolStarted) Kind() Kind { return KindToolStarted }

// Kind implements Body.
func (ToolOutput) Kind() Kind { return KindToolOutput }

// Kind implements Body.
func (ToolFinished) Kind() Kind { return KindToolFinished }

// Kind implements Body.
func (ActionRequested) Kind() Kind { return KindActionRequested }

// Kind implements Body.
func (ActionDecided) Kind() Kind { return KindActionDecided }

// Ends reports whether the event closes a leg: the turn has ended, or waits.
func (e Event) Ends() bool {
	k := e.Kind()
	return k == KindTurnEnded || k == KindTurnPaused
}

// Row is how events are stored. Consecutive text (or reasoning) deltas of one
// leg share a row: Seq is the number of the first, Last of the last, and Body
// holds their texts in order. A row that may have been sent is never regrouped,
// so storing it twice is storing it once.
type Row struct {
	Seq, Last int64
	Turn      string
	Kind      Kind
	Body      []byte // JSON
	At        time.Time
}

type texts struct {
	Texts []string `json:"texts"`
}

// Pack turns the events of one session into as few rows as they need. Events
// must be in the order of their numbers.
func Pack(events []Event) ([]Row, error) {
	var rows []Row
	for i := 0; i < len(events); {
		e := events[i]
		row := Row{Seq: e.Seq, Last: e.Seq, Turn: e.Turn, Kind: e.Kind(), At: e.At}
		var body any = e.Body
		n := 1
		if _, ok := deltaText(e.Body); ok {
			var t texts
			for n = 0; i+n < len(events) && joins(events[i], events[i+n], int64(n)); n++ {
				s, _ := deltaText(events[i+n].Body)
				t.Texts = append(t.Texts, s)
			}
			row.Last = e.Seq + int64(n) - 1
			body = t
		}
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode %s event %d: %w", row.Kind, row.Seq, err)
		}
		row.Body = b
		rows = append(rows, row)
		i += n
	}
	return rows, nil
}

func joins(first, e Event, n int64) bool {
	return e.Kind() == first.Kind() && e.Turn == first.Turn && e.Seq == first.Seq+n
}

func deltaText(b Body) (string, bool) {
	switch b := b.(type) {
	case TextDelta:
		return b.Text, true
	case ReasoningDelta:
		return b.Text, true
	}
	return "", false
}

// Unpack appends the events that a row holds to dst.
func (r Row) Unpack(dst []Event, session string) ([]Event, error) {
	add := func(seq int64, b Body) {
		dst = append(dst, Event{Session: session, Seq: seq, Turn: r.Turn, Body: b, At: r.At})
	}
	if r.Kind == KindTextDelta || r.Kind == KindReasoningDelta {
		var t texts
		if err := json.Unmarshal(r.Body, &t); err != nil {
			return dst, fmt.Errorf("decode %s event %d of session %s: %w", r.Kind, r.Seq, session, err)
		}
		for i, s := range t.Texts {
			if r.Kind == KindTextDelta {
				add(r.Seq+int64(i), TextDelta{s})
			} else {
				add(r.Seq+int64(i), ReasoningDelta{s})
			}
		}
		return dst, nil
	}
	b, err := decode(r.Kind, r.Body)
	if err != nil {
		return dst, fmt.Errorf("decode %s event %d of session %s: %w", r.Kind, r.Seq, session, err)
	}
	add(r.Seq, b)
	return dst, nil
}

func decode(k Kind, b []byte) (Body, error) {
	switch k {
	case KindTurnStarted:
		return as[TurnStarted](b)
	case KindTurnPaused:
		return as[TurnPaused](b)
	case KindTurnStopping:
		return as[TurnStopping](b)
	case KindTurnEnded:
		return as[TurnEnded](b)
	case KindMessage:
		return as[Message](b)
	case KindToolStarted:
		return as[ToolStarted](b)
	case KindToolOutput:
		return as[ToolOutput](b)
	case KindToolFinished:
		return as[ToolFinished](b)
	case KindActionRequested:
		return as[ActionRequested](b)
	case KindActionDecided:
		return as[ActionDecided](b)
	}
	return nil, fmt.Errorf("unknown kind %q", k)
}

func as[T Body](b []byte) (Body, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}
