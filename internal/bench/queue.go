package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// limitClaim is what a claim may add to a turn while a node is free.
var limitClaim = Limit{P50: 10 * time.Millisecond}

// ratioQueued is how much longer a claim may take with a long queue than with a
// short one.
const ratioQueued = 1.5

// QueueOptions say how much Queue measures.
type QueueOptions struct {
	N       int // runs, and as many turns that somebody waits for
	Backlog int // runs that are queued at once
	Lanes   int // runs that the nodes run at once, all together
}

// Queue measures what being queued adds to a turn while a node is free, and what
// the claim of the next run costs with a few and with many queued behind it.
func Queue(ctx context.Context, env *Env, o QueueOptions) (*Report, error) {
	if env.Model == nil {
		return nil, errors.New("the queue is measured at the model: give --model-listen and point the agent's model there")
	}
	q := &queueRun{env: env, client: NewClient(env.Token, env.Agent), report: env.report("queue"), o: o}
	defer q.client.Close()
	pair, err := env.Open(ctx, true)
	if err != nil {
		return nil, err
	}
	err = q.measure(ctx, pair)
	if e := pair.Close(); err == nil {
		err = e
	}
	return q.report, err
}

type queueRun struct {
	env    *Env
	client *Client
	report *Report
	o      QueueOptions
}

func (q *queueRun) measure(ctx context.Context, pair *Pair) error {
	if _, err := q.client.awaitPush(ctx, pair.URLs[1], true); err != nil {
		return err
	}
	if err := q.free(ctx, pair); err != nil {
		return err
	}
	if q.env.Foreign {
		q.report.note("how many runs these nodes run at once is not known: what a queue costs was not measured")
		return nil
	}
	q.env.Say("queueing %d runs, then %d", q.few(), q.o.Backlog)
	few, err := q.backlog(ctx, pair, q.few())
	if err != nil {
		return err
	}
	many, err := q.backlog(ctx, pair, q.o.Backlog)
	if err != nil {
		return err
	}
	q.report.add(
		Times(fmt.Sprintf("end of a run to the next one's model call, %d queued", q.few()), few, Limit{}),
		Times(fmt.Sprintf("the same, %d queued", q.o.Backlog), many, Limit{}))
	q.report.Ratios = append(q.report.Ratios, Below(fmt.Sprintf("%d queued / %d queued, p50", q.o.Backlog, q.few()),
		float64(many.Quantile(.5))/float64(max(few.Quantile(.5), 1)), ratioQueued, "x"))
	return nil
}

// aftermath is how long the database is left alone after it was filled.
const aftermath = 3 * time.Second

// few is the short queue; what is looked at of the long one is as much.
func (q *queueRun) few() int { return min(150, q.o.Backlog) }

// free measures turns and runs by turns, with nothing else to do for the nodes.
func (q *queueRun) free(ctx context.Context, pair *Pair) error {
	var direct, queued, claimed []time.Duration
	for i := range q.o.N + warmTurns {
		if i == warmTurns {
			direct, queued, claimed = nil, nil, nil
		}
		d, _, err := q.one(ctx, pair.URLs[i%2], q.client.Ask)
		if err != nil {
			return err
		}
		b, after, err := q.one(ctx, pair.URLs[i%2], q.client.AskQueued)
		if err != nil {
			return err
		}
		direct, queued, claimed = append(direct, d), append(queued, b), append(claimed, after)
	}
	q.report.add(
		Times("request to model call, turn", NewDist(direct), Limit{}),
		Times("request to model call, background run", NewDist(queued), Limit{}),
		Added("added by the queue", NewDist(queued), NewDist(direct), limitClaim),
		Times("queued (it is told so) to model call", NewDist(claimed), limitClaim))
	return ctx.Err()
}

// one asks and waits for the end: how long the model's call came after the
// request, and after its first answer.
func (q *queueRun) one(ctx context.Context, node string, ask func(context.Context, string, string, Reading) (*Follower, error)) (all, after time.Duration, err error) {
	call := q.env.Model.Call(1)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	sent := time.Now()
	f, err := ask(ctx, node, call.Prompt, Reading{})
	if err != nil {
		return 0, 0, err
	}
	told := time.Now()
	<-f.Done() // ends with ctx at the latest
	if end := f.End(); end.Event != "response.completed" {
		return 0, 0, fmt.Errorf("a turn ended %+v", end)
	}
	return call.beganAt.Sub(sent), max(0, call.beganAt.Sub(told)), nil
}

// backlog queues n runs behind some that hold all lanes, lets those end, and
// returns how long after the end of each the next one's model call came: the k-th
// end makes room for the k-th call after the first ones.
func (q *queueRun) backlog(ctx context.Context, pair *Pair, n int) (Dist, error) {
	holds := make([]*Call, q.o.Lanes)
	for i := range holds {
		holds[i] = q.env.Model.Call(0)
		if err := q.client.Queue(ctx, pair.URLs[0], holds[i].Prompt); err != nil {
			return nil, err
		}
		if err := wait(ctx, holds[i].Called()); err != nil {
			return nil, fmt.Errorf("run %d of %d that hold the nodes: %w", i+1, len(holds), err)
		}
	}
	calls, err := q.fill(ctx, pair, n)
	if err != nil {
		return nil, err
	}
	if q.env.Analyze != nil {
		if err := q.env.Analyze(ctx); err != nil {
			return nil, fmt.Errorf("analyze: %w", err)
		}
	}
	if !pause(ctx, aftermath) {
		return nil, context.Cause(ctx)
	}
	for _, c := range holds {
		c.Finish()
	}
	looked := append(slices.Clone(holds), calls[:min(len(calls), q.few())]...)
	for _, c := range looked {
		if err := wait(ctx, c.Over()); err != nil {
			return nil, err
		}
	}
	gaps := gaps(looked, len(holds))
	return NewDist(gaps), q.empty(ctx, calls)
}

// gaps matches ends with the calls that they made room for.
func gaps(calls []*Call, lanes int) []time.Duration {
	var began, ended []time.Time
	for _, c := range calls {
		began, ended = append(began, c.beganAt), append(ended, c.endedAt)
	}
	slices.SortFunc(began, time.Time.Compare)
	slices.SortFunc(ended, time.Time.Compare)
	var out []time.Duration
	for i := lanes; i < len(began); i++ {
		out = append(out, began[i].Sub(ended[i-lanes]))
	}
	return out
}

// fill queues n runs of one chunk, oldest first as far as that can be said.
func (q *queueRun) fill(ctx context.Context, pair *Pair, n int) ([]*Call, error) {
	calls := make([]*Call, n)
	for i := range calls {
		calls[i] = q.env.Model.Call(1)
	}
	errs := make(chan error, 8)
	next := make(chan *Call)
	var wg sync.WaitGroup
	for i := range cap(errs) {
		wg.Go(func() {
			var failed error
			for c := range next {
				if failed == nil {
					failed = q.client.Queue(ctx, pair.URLs[i%2], c.Prompt)
				}
			}
			errs <- failed
		})
	}
	for _, c := range calls {
		next <- c
	}
	close(next)
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return calls, nil
}

// empty waits for the queue's end, so that the next one begins with nothing.
func (q *queueRun) empty(ctx context.Context, calls []*Call) error {
	if len(calls) > q.few() {
		return nil // nothing comes after it
	}
	for _, c := range calls {
		if err := wait(ctx, c.Over()); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for what must come.
func wait(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-time.After(time.Minute):
		return errors.New("it does not come")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
