// Package callback tells the world outside of what became of turns: it sends each
// delivery, signed by the Standard Webhooks rules, until it has arrived or has
// been tried for half a day.
//
// What is to be sent is written by the transaction that closes a turn's leg,
// together with a job of River for it; this package is the worker of those jobs.
// A delivery is sent at least once: an id that stays the same tells a receiver
// what it has had already. Every attempt sends the same bytes, under a new
// timestamp, through the guarded way out, which looks at the address that is
// really connected to. Redirects are not followed.
package callback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/riverqueue/river"

	"github.com/belayrun/belay/internal/agent"
)

// Outbox keeps deliveries; postgres.Store is one.
type Outbox interface {
	// Due returns a delivery that is to be sent in this round, with its secrets;
	// agent.ErrNotFound where there is nothing to send any more.
	Due(ctx context.Context, id string, round int) (agent.Delivery, error)
	// KeepBody stores what is sent, unless that was done, and returns what is stored.
	KeepBody(ctx context.Context, id string, body []byte) ([]byte, error)
	// Tried records an attempt and what the delivery is after it.
	Tried(ctx context.Context, id string, round int, status agent.CallbackStatus, why string) error
}

// Render makes the JSON body of a delivery, from the journal as far as the
// delivery's Seq: what came later is another delivery's to tell.
type Render func(ctx context.Context, d agent.Delivery) ([]byte, error)

// Config is what a Worker is made of. Outbox, Transport and Render are required.
type Config struct {
	Outbox    Outbox
	Transport http.RoundTripper // the guarded one
	Refused   error             // what its errors wrap where an address is not allowed; nil: nothing
	Render    map[agent.CallbackKind]Render
	// Timeout bounds one attempt with its answer, default 10 s.
	Timeout time.Duration
	// Delays are the pauses between attempts; after the last one a delivery is
	// dead. Default: ten attempts within 13 hours. A fifth is added or taken away
	// at random.
	Delays  []time.Duration
	Observe func(Attempt) // nil: nobody
	Log     *slog.Logger  // default: discard
}

// Attempt is one attempt of a delivery, for metrics.
type Attempt struct {
	Kind    agent.CallbackKind
	Outcome string        // delivered, retry or dead
	Took    time.Duration // the attempt alone
	Age     time.Duration // of the delivery when it ended
}

// Worker sends deliveries: it is the worker of Args in a client of River.
type Worker struct {
	river.WorkerDefaults[Args]
	cfg  Config
	http *http.Client
}

// Args are a job's: River stores them as the transaction that made it wrote them.
type Args struct {
	Delivery string `json:"delivery"`
	Round    int    `json:"round"`
}

// Kind implements river.JobArgs.
func (Args) Kind() string { return "callback" }

const (
	soon      = 200 * time.Millisecond // when one that is behind another is looked at again
	overhead  = 20 * time.Second       // beside the attempt: rendering, and writing down what became of it
	lastWords = 5 * time.Second        // for that, where the job is being ended
	maxAnswer = 16 << 10               // bytes of an answer that are read, to use the connection again
)

// New makes a Worker; it starts nothing.
func New(cfg Config) *Worker {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	if cfg.Delays == nil {
		cfg.Delays = []time.Duration{
			5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
			time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour,
		}
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Attempt) {}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Worker{cfg: cfg, http: &http.Client{
		Transport: cfg.Transport, Timeout: cfg.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Timeout implements river.Worker.
func (w *Worker) Timeout(*river.Job[Args]) time.Duration { return w.cfg.Timeout + overhead }

// NextRetry implements river.Worker. River counts attempts that failed before
// anything was sent, too: those never end.
func (w *Worker) NextRetry(job *river.Job[Args]) time.Time {
	d := w.cfg.Delays[min(max(job.Attempt, 1), len(w.cfg.Delays))-1]
	return time.Now().Add(time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())))
}

// Work implements river.Worker: one attempt.
func (w *Worker) Work(ctx context.Context, job *river.Job[Args]) error {
	d, err := w.due(ctx, job.Args)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		return nil
	case err != nil:
		return err
	case d.Behind:
		return river.JobSnooze(soon)
	}
	began := time.Now()
	failed := w.send(ctx, d)
	if failed != nil && ctx.Err() != nil {
		return context.Cause(ctx) // the node ends: that says nothing of the receiver
	}
	a := Attempt{Kind: d.Callback.Kind, Took: time.Since(began), Age: time.Since(d.CreatedAt)}
	status, why := agent.CallbackDelivered, ""
	switch {
	case failed == nil:
		a.Outcome = "delivered"
	case d.Attempts >= len(w.cfg.Delays):
		a.Outcome, status, why = "dead", agent.CallbackDead, failed.Error()
		w.cfg.Log.Warn("callback given up", "delivery", d.ID, "turn_id", d.Turn, "attempts", d.Attempts+1, "err", why)
	default:
		a.Outcome, status, why = "retry", agent.CallbackPending, failed.Error()
	}
	w.cfg.Observe(a)
	note, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := w.cfg.Outbox.Tried(note, d.ID, d.Round, status, why); err != nil {
		return err
	}
	if status == agent.CallbackPending {
		return failed
	}
	return nil
}

// due returns the delivery of a job, with its body.
func (w *Worker) due(ctx context.Context, args Args) (agent.Delivery, error) {
	d, err := w.cfg.Outbox.Due(ctx, args.Delivery, args.Round)
	if err != nil || d.Body != nil || d.Behind {
		return d, err
	}
	render := w.cfg.Render[d.Callback.Kind]
	if render == nil {
		return d, fmt.Errorf("delivery %s: nobody renders callbacks of kind %s", d.ID, d.Callback.Kind)
	}
	body, err := render(ctx, d)
	if err != nil {
		return d, fmt.Errorf("render delivery %s: %w", d.ID, err)
	}
	d.Body, err = w.cfg.Outbox.KeepBody(ctx, d.ID, body)
	return d, err
}

// send makes one attempt. Its error is fit for the caller to read: it says
// nothing of the network behind the address.
func (w *Worker) send(ctx context.Context, d agent.Delivery) error {
	req, err := request(ctx, d, time.Now())
	if err != nil {
		return err
	}
	res, err := w.http.Do(req)
	if err != nil {
		return w.explain(err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // the status is the answer, whatever becomes of the rest
	switch {
	case res.StatusCode >= 200 && res.StatusCode <= 299:
		return nil
	case res.StatusCode >= 300 && res.StatusCode <= 399:
		return fmt.Errorf("answered %d: redirects are not followed", res.StatusCode)
	}
	return fmt.Errorf("answered %d", res.StatusCode)
}
