package agent

import "time"

// Receipt is a message under the id that its client gave it. It makes sending a
// message again safe: the id names one message of its sender to an agent, and so
// one turn.
type Receipt struct {
	Project string
	Agent   string // key
	Sender  string // principal id
	ID      string // the client's
	Turn    string // that the message begins or answers; it may not have begun yet
	Session string // empty: made with the turn
	Action  string // that the message answers, empty: it begins the turn
	Text    string
	At      time.Time
}

// TurnFilter selects turns of one project that nobody's turn began.
type TurnFilter struct {
	Project string
	Agent   string    // key
	Owner   string    // of their sessions; empty: anybody
	Session string    // empty: any
	States  []string  // of TurnState; none: any
	Since   time.Time // of the change to that state; zero: ever
	Page    Page
}

// TurnState is how a turn stands in one word: its status, but stopping and
// cancelled turns are cancelled, limited ones limit, and one that is queued to go
// on is running.
type TurnState struct {
	Turn    Turn
	Session Session
	Word    string
	Since   time.Time
}
