package agent

import "time"

// SessionQuery selects sessions of one project for people to look at. Empty is
// any.
type SessionQuery struct {
	Project    string
	Owner      string
	Agent      string
	State      string // a StateWord
	Door       Door
	StopReason string // of the newest turn
	Page       Page
}

// SessionView is a session as a list shows it.
type SessionView struct {
	SessionInfo
	Preview string // the beginning of the first message
	Live    *LiveTurn
}

// LiveTurn is the turn in a session's slot.
type LiveTurn struct {
	ID         string
	Door       Door
	By         string
	Background bool
	Since      time.Time     // when it was asked for
	Age        time.Duration // since then, by the database's clock
	Node       string        // label of the one that runs it, empty: none
	Stop       *Stop         // asked for
}

// TurnQuery selects turns of one project. Empty is any.
type TurnQuery struct {
	Project    string
	Owner      string // of their sessions
	Agent      string
	Session    string
	State      string // a TurnView's
	Background *bool
	Page       Page
}

// TurnView is a turn as a list shows it.
type TurnView struct {
	Turn
	Of   Session
	Node string // label of the one that runs it now, empty: none
	Path string // how its node heard of the stop that ended it: local, push, poll or empty
}

// State is the turn's state in one word: queued, running, stopping,
// requires_action, completed, cancelled, limited or failed.
func (t TurnView) State() string {
	switch {
	case t.Status == StatusRunning && t.Stop != nil:
		return "stopping"
	case t.Status == StatusWaiting:
		return "requires_action"
	case t.Status == StatusIncomplete && t.StopReason == ReasonCancelled:
		return ReasonCancelled
	case t.Status == StatusIncomplete:
		return "limited"
	}
	return string(t.Status)
}

// ActionQuery selects actions of one project. Empty is any.
type ActionQuery struct {
	Project string
	Owner   string // of their sessions
	Agent   string
	Closed  bool // those that are not open any more, instead of the open ones
	Type    ActionType
	Page    Page
}

// ActionView is an action and the session it belongs to.
type ActionView struct {
	Action
	Of Session
}

// Inbox says how many open actions there are. Another Version says that they
// are not the same ones.
type Inbox struct {
	Open    int
	Version string
}

// UsageQuery selects model calls of one project. Empty is any.
type UsageQuery struct {
	Project  string
	From, To time.Time
	Agent    string
	Model    string

	ByDay, ByAgent, ByModel, ByStatus bool // a row for each
}

// UsageRow is what model calls used. What it is not grouped by is empty; the sum
// of all has nothing.
type UsageRow struct {
	Sum                bool
	Day                string // UTC, as 2006-01-02
	Agent              string
	Model              string
	Status             UsageStatus
	Calls              int64
	Cancelled          int64
	Errors             int64
	EstimatedCalls     int64
	Tokens             Tokens
	CancelledCostUSD   float64
	FirstP50, FirstP95 *float64 // milliseconds to the first token; nil: none came
}

// OutcomeCount is how many turns that began on a day ended so.
type OutcomeCount struct {
	Day     string // UTC, as 2006-01-02
	Outcome string // completed, cancelled, limited, failed or lost
	Turns   int64
}

// Operations is what runs where.
type Operations struct {
	At    time.Time // by the database's clock
	Nodes []NodeView
	Live  []SlotView // those that most need a look first
	Total SlotCounts // LeftOut of them are not in Live
	Left  int
}

// SlotCounts counts a project's turns that have not ended.
type SlotCounts struct{ Running, Stopping, Queued, Waiting, Stuck int }

// NodeView is a node as the database knows it.
type NodeView struct {
	ID      string
	Label   string
	Silence time.Duration // since its last heartbeat
	Late    bool          // longer than its lease
	Dead    bool          // declared dead
	Slots   int           // of the project that it runs
}

// SlotView is a turn that has not ended.
type SlotView struct {
	Of         Session
	Turn       string
	State      string // a StateWord
	By         string
	Door       Door
	Background bool
	NodeID     string
	Node       string // its label
	Age        time.Duration
	StopAge    *time.Duration // since it was told to stop
	Stuck      string         // stopping, node_late, node_dead, queued; empty: it is not
}

// StopTimes are how long stops took to end their turns, of those whose node
// heard of the stop in one way.
type StopTimes struct {
	Path               string // local, push, poll or empty: not known
	Count              int64
	P50, P95, P99, Max float64 // milliseconds
	Buckets            []int64 // as many as bounds were asked for, and one for what is longer
}

// VersionInfo is a published version of an agent, without what it holds.
type VersionInfo struct {
	Version   int
	CreatedAt time.Time
	CreatedBy string // principal id, or what made it
}

// DraftState says of an agent's draft what a list does not.
type DraftState struct {
	Changed   bool // it is not what is published
	HasSecret bool // of its callbacks
}

// Stored says of a model what it does not say itself.
type Stored struct {
	HasSecret            bool
	UsedBy               []string // agents whose draft or published version names it
	CreatedAt, UpdatedAt time.Time
}
