package turn

import (
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// StopPath is how the owner of a turn heard of a stop.
type StopPath string

// The paths: the stop came to the owner itself, a hint came, or the poll found it.
const (
	PathLocal StopPath = "local"
	PathPush  StopPath = "push"
	PathPoll  StopPath = "poll"
)

// StopStage is how far a stop has got.
type StopStage string

// The stages, in order. Each is timed from the moment the stop was asked for.
const (
	StageTold        StopStage = "told"         // the turn's context is cancelled
	StageModelClosed StopStage = "model_closed" // the provider's connection is closed
	StageSettled     StopStage = "settled"      // the end is durable
)

// Observer is told what happens, for metrics. Its functions may be nil; they
// are called from many goroutines and must not block.
type Observer struct {
	StopStage   func(p StopPath, s StopStage, d time.Duration)
	TurnStarted func(d agent.Door)
	TurnEnded   func(o agent.Outcome, d agent.Door)
	ModelCall   func(u agent.Usage)
	ToolCall    func(kind string, o agent.ToolOutcome, d time.Duration) // kind: agent.Tool.Kind
	Claimed     func(d time.Duration)                                   // a queued turn, after d in the queue
	FirstText   func(d time.Duration)                                   // from taking the slot to the first text
	Flush       func(rows int, d time.Duration, e error)
	LegLost     func() // a leg of this node was closed by others
	LegSwept    func() // this node closed a leg of a dead one
	RunExpired  func() // this node ended a run that no node had taken in time
	NodeDead    func() // this node declared another dead
	NotifyError func()
}

func (o Observer) withDefaults() Observer {
	if o.StopStage == nil {
		o.StopStage = func(StopPath, StopStage, time.Duration) {}
	}
	if o.TurnStarted == nil {
		o.TurnStarted = func(agent.Door) {}
	}
	if o.TurnEnded == nil {
		o.TurnEnded = func(agent.Outcome, agent.Door) {}
	}
	if o.ModelCall == nil {
		o.ModelCall = func(agent.Usage) {}
	}
	if o.ToolCall == nil {
		o.ToolCall = func(string, agent.ToolOutcome, time.Duration) {}
	}
	if o.Claimed == nil {
		o.Claimed = func(time.Duration) {}
	}
	if o.FirstText == nil {
		o.FirstText = func(time.Duration) {}
	}
	if o.Flush == nil {
		o.Flush = func(int, time.Duration, error) {}
	}
	for _, f := range []*func(){&o.LegLost, &o.LegSwept, &o.RunExpired, &o.NodeDead, &o.NotifyError} {
		if *f == nil {
			*f = func() {}
		}
	}
	return o
}
