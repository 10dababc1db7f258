package agent

// OutcomeKind is how a leg of a turn ended.
type OutcomeKind string

// The six ways. Waiting closes a leg but not its turn; all others end the turn.
const (
	Answered OutcomeKind = "answered"
	Stopped  OutcomeKind = "stopped"
	Limited  OutcomeKind = "limited"
	Waiting  OutcomeKind = "waiting"
	Failed   OutcomeKind = "failed"
	Lost     OutcomeKind = "lost"
)

// Failure is what a caller is told about a turn that failed. Message is fit for
// the person who asked; what only the operator may see goes to the log.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Codes of failures.
const (
	CodeAgentError   = "agent_error"
	CodeModelError   = "provider_error"
	CodeModelAuth    = "provider_authentication_error"
	CodeModelDenied  = "provider_permission_error"
	CodeModelMissing = "agent_model_not_found"
	CodeModelIdle    = "provider_idle_timeout"
	CodeTimeout      = "timeout"
	CodeShutdown     = "shutdown"
	CodeWorkerLost   = "worker_lost"
	CodeMaxDuration  = "max_duration_exceeded"
	CodePrecondition = "precondition_failed"
)

// LostFailure is the failure of a turn whose node was lost.
func LostFailure() *Failure {
	return &Failure{Code: CodeWorkerLost, Message: "The node that ran this turn was lost. What it had written is kept; send the message again to go on."}
}

// ExpiredFailure is the failure of a turn that was queued for too long.
func ExpiredFailure() *Failure {
	return &Failure{Code: CodePrecondition, Message: "No node took the run within the time that it may last."}
}

// Outcome is how a leg ended and why.
type Outcome struct {
	Kind    OutcomeKind
	Detail  string   // Limited: which limit; Stopped: Stop.Detail
	Stop    *Stop    // Stopped only
	Failure *Failure // Failed and Lost only
}

// Decide is the one place where the outcome of a leg is decided. It is called
// under the lock of the slot row, so stop, open and end are all facts: stop is
// what the row says or, where it says nothing, the local cause; open is the
// number of actions still open; end is what the engine made of the leg.
//
// A stop wins over everything. An end of Waiting with nothing open is returned
// as it is with ok false: the decisions came first, and the leg must go on.
func Decide(stop *Stop, open int, end Outcome) (o Outcome, ok bool) {
	switch {
	case stop != nil:
		return Outcome{Kind: Stopped, Detail: stop.Detail, Stop: stop}, true
	case end.Kind == Waiting && open == 0:
		return end, false
	case end.Kind == Waiting:
		return Outcome{Kind: Waiting}, true
	}
	return end, true
}

// Status is the state of a turn as a whole.
type Status string

// The statuses. The last three are final and written once.
const (
	StatusQueued     Status = "queued"
	StatusRunning    Status = "running"
	StatusWaiting    Status = "waiting"
	StatusCompleted  Status = "completed"
	StatusIncomplete Status = "incomplete"
	StatusFailed     Status = "failed"
)

// Final reports whether a turn of this status has ended.
func (s Status) Final() bool {
	return s == StatusCompleted || s == StatusIncomplete || s == StatusFailed
}

// Stop reasons of ended turns. A completed or failed turn has none.
const (
	ReasonCancelled = "cancelled"
	ReasonLimit     = "limit"
	ReasonPaused    = "paused" // on the wire only: the turn waits for a person
)

// Status returns the status of a turn whose leg ended so.
func (o Outcome) Status() Status {
	switch o.Kind {
	case Answered:
		return StatusCompleted
	case Stopped, Limited:
		return StatusIncomplete
	case Waiting:
		return StatusWaiting
	}
	return StatusFailed
}

// StopReason returns the stop reason of a turn that ended so: cancelled if and
// only if a stop ended it.
func (o Outcome) StopReason() string {
	switch o.Kind {
	case Stopped:
		return ReasonCancelled
	case Limited:
		return ReasonLimit
	}
	return ""
}
