// Package retention deletes what has been kept for long enough: the pieces in
// which answers were streamed, whole conversations, deliveries of callbacks and
// the audit log, each after its own time. Its worker is run by a periodic job of
// River, on one node of the cluster at a time.
package retention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
)

// Expire deletes up to batch things of one sort that are at least age old and
// returns how many it did; fewer than batch: nothing is left.
type Expire func(ctx context.Context, age time.Duration, batch int) (int, error)

// Rule says how long one sort of thing is kept.
type Rule struct {
	Name   string
	Keep   time.Duration // 0: for ever
	Expire Expire
}

// Config is what a Worker is made of. Rules are required.
type Config struct {
	Rules []Rule
	Batch int           // default 100
	Pause time.Duration // between batches, for the others that use the database; default 50 ms
	Limit time.Duration // of one run, default 50 s; the next goes on
	// Observe is told what each rule has deleted in a run; nil: nobody is.
	Observe func(rule string, n int)
	Log     *slog.Logger // default: discard
}

// Worker deletes. It is the worker of Args in a client of River.
type Worker struct {
	river.WorkerDefaults[Args]
	cfg Config
}

// Args are those of the job: it has none.
type Args struct{}

// Kind implements river.JobArgs.
func (Args) Kind() string { return "retention" }

// New makes a Worker; it starts nothing.
func New(cfg Config) *Worker {
	cfg.Batch = cmp.Or(cfg.Batch, 100)
	cfg.Pause = cmp.Or(cfg.Pause, 50*time.Millisecond)
	cfg.Limit = cmp.Or(cfg.Limit, 50*time.Second)
	if cfg.Observe == nil {
		cfg.Observe = func(string, int) {}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Worker{cfg: cfg}
}

// Timeout implements river.Worker.
func (w *Worker) Timeout(*river.Job[Args]) time.Duration { return w.cfg.Limit }

// Work implements river.Worker: it applies every rule. One that fails does not
// keep the others from being applied.
func (w *Worker) Work(ctx context.Context, _ *river.Job[Args]) error {
	var errs []error
	for _, r := range w.cfg.Rules {
		if r.Keep <= 0 {
			continue
		}
		if err := w.apply(ctx, r); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (w *Worker) apply(ctx context.Context, r Rule) error {
	total := 0
	defer func() {
		w.cfg.Observe(r.Name, total)
		if total > 0 {
			w.cfg.Log.Info("retention", "rule", r.Name, "deleted", total)
		}
	}()
	for {
		n, err := r.Expire(ctx, r.Keep, w.cfg.Batch)
		total += n
		if err != nil || n < w.cfg.Batch {
			return err
		}
		select {
		case <-time.After(w.cfg.Pause):
		case <-ctx.Done():
			return nil // the next run goes on
		}
	}
}
