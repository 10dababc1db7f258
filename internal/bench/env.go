package bench

import (
	"context"
	"time"
)

// Env is what a run measures, and what it needs for that from outside.
type Env struct {
	// Open gives two nodes of one cluster, by their URLs; push says whether they
	// are to hear of stops by push. Close ends them, if they are the run's own.
	Open func(ctx context.Context, push bool) (*Pair, error)
	// Foreign: the nodes are not the run's own, and there is one pair of them.
	Foreign bool

	Token, Agent string
	// Model is the provider behind the agent, and ModelURL its base URL; nil: the
	// agent's model is somebody else's, and is sent Input.
	Model    *Model
	ModelURL string
	Input    string
	// UpstreamURL is the base URL of the Upstream behind the agents' HTTP tool.
	UpstreamURL string

	// Hints returns n commit + NOTIFY round trips of the database alone; nil: not
	// measured, and neither is Disk.
	Hints func(ctx context.Context, n int) ([]time.Duration, error)
	// Disk returns the times of n commits that the database alone forces to disk.
	Disk func(ctx context.Context, n int) ([]time.Duration, error)
	// Commits counts the database's transactions; nil: not measured.
	Commits func(ctx context.Context) (Commits, error)
	// Analyze lets the database look at its tables as it does by itself within a
	// minute: plans that were made while they were empty are given up. Nil: it is not
	// known.
	Analyze func(ctx context.Context) error
	// DatabaseCPU is what the database's processes have used; nil: not known.
	DatabaseCPU func() time.Duration

	Versions map[string]string
	Notes    []string
	// Say tells whoever waits what is being done.
	Say func(format string, a ...any)
}

// Commits are counts of transactions since some moment.
type Commits struct {
	Writes int64 // that got a number, because they wrote
	All    int64 // committed, as the statistics have it: up to seconds late
}

// Pair is two nodes of one cluster.
type Pair struct {
	URLs  [2]string
	Close func() error
}

func (e *Env) report(bench string) *Report {
	r := &Report{
		Bench: bench, At: time.Now().UTC(), Machine: ThisMachine(), Versions: e.Versions,
		Rows: []Row{}, Ratios: []Row{}, Misses: []string{}, Notes: []string{},
	}
	r.Notes = append(r.Notes, e.Notes...)
	if load := loadAverage(); load != "" {
		r.note("load average when it began: %s; what else runs here is in the figures", load)
	}
	return r
}

// call announces a call of the model and returns what to ask; nil and Env's
// input where the model is somebody else's.
func (e *Env) call(chunks int) (*Call, string) {
	if e.Model == nil {
		return nil, e.Input
	}
	c := e.Model.Call(chunks)
	return c, c.Prompt
}

// pause waits; false: ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
