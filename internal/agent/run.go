package agent

// RunStatus is the state of a background run in the words of its API.
type RunStatus string

// The statuses of runs. The last three are final.
const (
	RunQueued         RunStatus = "queued"
	RunRunning        RunStatus = "running"
	RunRequiresAction RunStatus = "requires_action"
	RunSucceeded      RunStatus = "succeeded"
	RunFailed         RunStatus = "failed"
	RunCanceled       RunStatus = "canceled"
)

// RunStatuses lists every status of a run.
var RunStatuses = []RunStatus{RunQueued, RunRunning, RunRequiresAction, RunSucceeded, RunFailed, RunCanceled}

// RunStatus is the turn's status as a run. A run that reached a limit of its
// agent succeeded: its answer is whole as far as it was allowed to go.
func (t Turn) RunStatus() RunStatus {
	switch {
	case t.Status == StatusQueued:
		return RunQueued
	case t.Status == StatusRunning:
		return RunRunning
	case t.Status == StatusWaiting:
		return RunRequiresAction
	case t.Status == StatusFailed:
		return RunFailed
	case t.StopReason == ReasonCancelled:
		return RunCanceled
	}
	return RunSucceeded
}

// CodeCanceled is the type of a canceled run's error.
const CodeCanceled = "canceled_by_caller"

// RunError says in the few types that runs have why one did not succeed; nil
// for one that did, or has not ended.
func (t Turn) RunError() *Failure {
	switch t.RunStatus() {
	case RunCanceled:
		if t.StopDetail == DetailSuperseded {
			return &Failure{CodeCanceled, "A new message to the conversation ended the run while it waited."}
		}
		return &Failure{CodeCanceled, "The run was canceled."}
	case RunFailed:
		f := Failure{CodeAgentError, "The run failed."}
		if t.Error != nil {
			f = Failure{runErrorType(t.Error.Code), t.Error.Message}
		}
		return &f
	}
	return nil
}

// runErrorType is the type of a run's error for the code of its turn's.
func runErrorType(code string) string {
	switch code {
	case CodeMaxDuration, CodePrecondition, CodeWorkerLost:
		return code
	case CodeShutdown:
		return CodeWorkerLost
	case CodeModelMissing:
		return CodePrecondition
	}
	return CodeAgentError
}
