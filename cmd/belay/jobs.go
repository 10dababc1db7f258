package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/callback"
	"github.com/belayrun/belay/internal/httpapi/a2a"
	"github.com/belayrun/belay/internal/httpapi/responses"
	"github.com/belayrun/belay/internal/metrics"
	"github.com/belayrun/belay/internal/outbound"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/retention"
)

// Times of a node's jobs.
const (
	jobPoll      = 500 * time.Millisecond // for jobs that are due: there is no push
	jobRescue    = time.Minute            // age at which the job of a node that was killed is another's; more than any job takes
	jobGrace     = 5 * time.Second        // for jobs under way when the node has drained
	retainEvery  = 10 * time.Minute
	depthEvery   = 10 * time.Second
	maxCallbacks = 16 // at once, by one node
)

// jobs is a node's client of River: it delivers callbacks and deletes what was
// kept for long enough. It polls, on a pool of its own: that works behind every
// pooler, and what waits for a callback does not mind half a second.
type jobs struct {
	client *river.Client[pgx.Tx]
	store  *postgres.Store
	depths func(postgres.Depths)
	log    *slog.Logger
}

func newJobs(s *settings, store *postgres.Store, guard *outbound.Guard, m *metrics.Metrics, log *slog.Logger) (*jobs, error) {
	rules, err := s.Retain.rules(store)
	if err != nil {
		return nil, err
	}
	delays, err := s.delays()
	if err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, callback.New(callback.Config{
		Outbox: store, Transport: guard.Transport(), Refused: outbound.ErrRefused, Render: renderers(store), Delays: delays,
		Observe: func(a callback.Attempt) { m.CallbackAttempt(string(a.Kind), a.Outcome, a.Took, a.Age) }, Log: log,
	}))
	river.AddWorker(workers, retention.New(retention.Config{Rules: rules, Observe: m.Retained, Log: log}))
	client, err := river.NewClient(riverpgxv5.New(store.Jobs()), &river.Config{
		ID: agent.NewID(), Logger: log, Workers: workers, PollOnly: true, FetchPollInterval: jobPoll,
		JobTimeout: jobRescue / 2, RescueStuckJobsAfter: jobRescue, SoftStopTimeout: jobGrace,
		Queues: map[string]river.QueueConfig{
			postgres.JobQueue:  {MaxWorkers: maxCallbacks},
			river.QueueDefault: {MaxWorkers: 1},
		},
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(retainEvery), func() (river.JobArgs, *river.InsertOpts) {
			return retention.Args{}, &river.InsertOpts{MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByPeriod: retainEvery}}
		}, &river.PeriodicJobOpts{RunOnStart: true})},
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &jobs{client: client, store: store, depths: depthsOf(m), log: log}, nil
}

// run works until ctx ends and what it started has returned. A database that is
// away is waited for: the node goes on without jobs, as it does without one.
func (j *jobs) run(ctx context.Context) {
	for wait := jobPoll; ; wait = min(2*wait, depthEvery) {
		err := j.client.Start(ctx)
		if err == nil {
			break
		}
		j.log.Warn("jobs do not start yet", "err", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
	stopped := j.client.Stopped()
	j.measure(ctx)
	<-stopped
}

// measure reads now and then how much waits in the cluster, until ctx ends.
func (j *jobs) measure(ctx context.Context) {
	tick := time.NewTicker(depthEvery)
	defer tick.Stop()
	for {
		if d, err := j.store.Depths(ctx); err == nil {
			j.depths(d)
		} else if ctx.Err() == nil {
			j.log.Debug("depths of the queues", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// renderers make what callbacks are sent, by their kind.
func renderers(store *postgres.Store) map[agent.CallbackKind]callback.Render {
	return map[agent.CallbackKind]callback.Render{
		agent.CallbackRun: func(ctx context.Context, d agent.Delivery) ([]byte, error) {
			t, _, err := store.Turn(ctx, d.Turn)
			if err != nil {
				return nil, err
			}
			data, err := responses.RunAt(ctx, store, d.AsOf(t), d.Seq)
			if err != nil {
				return nil, err
			}
			return callback.Event(d, data)
		},
		agent.CallbackA2A: func(ctx context.Context, d agent.Delivery) ([]byte, error) { return a2a.Notification(ctx, store, d) },
	}
}

func depthsOf(m *metrics.Metrics) func(postgres.Depths) {
	return func(d postgres.Depths) {
		m.Depth("runs", d.Queued, d.QueuedAge)
		m.Depth("callbacks", d.Deliveries, d.DeliveriesAge)
		m.DeadCallbacks(d.Dead)
	}
}
