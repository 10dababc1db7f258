package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Limits of architecture.md for a stop.
var (
	limitLocal = Limit{P50: 2 * time.Millisecond, P99: 20 * time.Millisecond}
	limitPush  = Limit{P50: 5 * time.Millisecond, P99: 40 * time.Millisecond}
	limitPoll  = Limit{Max: 400 * time.Millisecond}
)

const (
	ratioLimit = 2.0             // of a push stop to the database's own round trip
	batch      = 20              // turns that stream at once
	missed     = 5 * time.Second // what takes longer has not happened
	jitter     = 25 * time.Millisecond
	pollSpread = 500 * time.Millisecond // two polls: stops fall anywhere between them
)

// StopOptions say how much Stop measures.
type StopOptions struct {
	N int // stops for each path
}

// stopTimes are those of one path, from the sending of the stop.
type stopTimes struct{ closed, answered, ended []time.Duration }

// stopRun measures stops on one Env.
type stopRun struct {
	env    *Env
	client *Client
	report *Report
	n      int

	mu     sync.Mutex
	misses int

	rounds int             // of floor
	abort  []time.Duration // of the model alone
	hints  []time.Duration
	disk   []time.Duration
}

// Stop measures how long stops take: on the turn's node, through another one
// with push on, and with push off. In the same run it measures what the model's
// own client needs to abort a call, and the database for a commit and a NOTIFY.
func Stop(ctx context.Context, env *Env, o StopOptions) (*Report, error) {
	s := &stopRun{env: env, client: NewClient(env.Token, env.Agent), report: env.report("stop"), n: o.N}
	defer s.client.Close()
	var local, pushed stopTimes
	push, err := s.phase(ctx, true, func(pair *Pair) error {
		return s.batches(ctx, pair, []*stopTimes{&local, &pushed}, false)
	})
	if err != nil {
		return nil, err
	}
	name := "other node, push off"
	limit := limitPoll
	if push {
		name, limit = "other node, push on", limitPush
	}
	s.rows("same node", local, limitLocal)
	s.rows(name, pushed, limit)
	if !env.Foreign {
		var polled stopTimes
		if _, err := s.phase(ctx, false, func(pair *Pair) error {
			return s.batches(ctx, pair, []*stopTimes{nil, &polled}, true)
		}); err != nil {
			return nil, err
		}
		s.rows("other node, push off", polled, limitPoll)
	}
	s.floors(NewDist(local.closed), NewDist(pushed.closed), push)
	s.report.add(None("stops missed", s.misses))
	if env.Model == nil {
		s.report.note("the agent's model is not this command's: the provider's side of a stop can't be seen. Stop to terminal event is what a follower sees; give --model-listen and point the agent's model there for the rest")
	}
	return s.report, nil
}

// phase measures on a pair of nodes; push is what they say of themselves.
func (s *stopRun) phase(ctx context.Context, push bool, measure func(*Pair) error) (on bool, err error) {
	pair, err := s.env.Open(ctx, push)
	if err != nil {
		return false, err
	}
	defer func() {
		if e := pair.Close(); err == nil {
			err = e
		}
	}()
	if on, err = s.client.awaitPush(ctx, pair.URLs[1], push || s.env.Foreign); err != nil {
		return on, err
	}
	if err := s.warmUp(ctx, pair); err != nil {
		return on, fmt.Errorf("warm up: %w", err)
	}
	return on, measure(pair)
}

// awaitPush waits a moment for a node to hear of stops by push, if it is to.
func (c *Client) awaitPush(ctx context.Context, node string, want bool) (on bool, err error) {
	for range 20 {
		if on, err = c.push(ctx, node); err == nil && on == want || !pause(ctx, 100*time.Millisecond) {
			return on, err
		}
	}
	return on, err
}

// warmUp runs a few stops on both nodes that are not counted: connections are
// open then, and statements prepared.
func (s *stopRun) warmUp(ctx context.Context, pair *Pair) error {
	for i := range 6 {
		t, err := s.begin(ctx, pair.URLs[i%2])
		if err != nil {
			return err
		}
		var ignore stopTimes
		s.stop(ctx, t, pair.URLs[(i+i/3)%2], &ignore)
	}
	return ctx.Err()
}

// batches stops turns that run on the first node, those of even number through
// it, the others through the second; a path without times is left out. Batches
// keep a few turns streaming beside the one that is stopped. atOnce sends a
// batch's stops at random moments of two polls instead of one after the other.
func (s *stopRun) batches(ctx context.Context, pair *Pair, paths []*stopTimes, atOnce bool) error {
	for left := s.n; left > 0 && ctx.Err() == nil; {
		var turns []stopTurn
		for range min(left, batch/len(paths)) {
			left--
			for i, p := range paths {
				if p == nil {
					continue
				}
				t, err := s.begin(ctx, pair.URLs[0])
				if err != nil {
					return err
				}
				t.via, t.into = pair.URLs[i], p
				turns = append(turns, t)
			}
		}
		s.env.Say("stopping %d turns, %d to go", len(turns), left)
		if atOnce {
			s.spread(ctx, turns)
			continue
		}
		for _, t := range turns {
			pause(ctx, rand.N(jitter)+time.Millisecond)
			s.stop(ctx, t, t.via, t.into)
			if err := s.floor(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// stopTurn is a turn that streams.
type stopTurn struct {
	closed <-chan time.Time // gets the moment at which what runs was seen to end; nil: it can't be seen
	f      *Follower
	cancel context.CancelFunc
	what   string // that runs, for people; empty: the provider's connection
	via    string
	into   *stopTimes
}

// begin starts a turn and waits until its text has begun.
func (s *stopRun) begin(ctx context.Context, node string) (stopTurn, error) {
	call, input := s.env.call(0)
	turn, cancel := context.WithCancel(ctx)
	f, err := s.client.Ask(turn, node, input, Reading{})
	if err != nil {
		cancel()
		return stopTurn{}, err
	}
	select {
	case <-f.First():
		t := stopTurn{f: f, cancel: cancel}
		if call != nil {
			t.closed = call.Closed()
		}
		return t, nil
	case <-f.Done():
		cancel()
		return stopTurn{}, fmt.Errorf("a turn ended before its first text: %+v", f.End())
	case <-time.After(missed):
		cancel()
		return stopTurn{}, fmt.Errorf("a turn had no text within %s", missed)
	case <-ctx.Done():
		cancel()
		return stopTurn{}, context.Cause(ctx)
	}
}

func (s *stopRun) spread(ctx context.Context, turns []stopTurn) {
	var wg sync.WaitGroup
	for _, t := range turns {
		wg.Go(func() {
			pause(ctx, rand.N(pollSpread))
			s.stop(ctx, t, t.via, t.into)
		})
	}
	wg.Wait()
}

// stop stops a turn and waits for all that must follow.
func (s *stopRun) stop(ctx context.Context, t stopTurn, via string, into *stopTimes) {
	defer t.cancel()
	sent := time.Now()
	answer, err := s.client.Stop(ctx, via, t.f)
	answered := time.Since(sent)
	if err != nil || !answer.Cancelled {
		s.miss(ctx, "a stop was answered %+v, %v", answer, err)
		return
	}
	var closed time.Duration
	if t.closed != nil {
		select {
		case at := <-t.closed:
			closed = at.Sub(sent)
		case <-time.After(missed):
			s.miss(ctx, "%s not ended within %s of a stop", cmp.Or(t.what, "the provider's connection was"), missed)
			return
		}
	}
	select {
	case <-t.f.Done():
	case <-time.After(missed):
		s.miss(ctx, "a stream did not end within %s of a stop", missed)
		return
	}
	end := t.f.End()
	if !end.Cancelled || end.Kept != t.f.Deltas() && t.closed != nil {
		s.miss(ctx, "a stopped stream of %d chunks ended %+v", t.f.Deltas(), end)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.closed != nil {
		into.closed = append(into.closed, closed)
	}
	into.answered = append(into.answered, answered)
	into.ended = append(into.ended, end.At.Sub(sent))
}

// miss notes a promise that was not kept, unless the run itself has ended.
func (s *stopRun) miss(ctx context.Context, format string, a ...any) {
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.misses++
	s.report.miss(format, a...)
}

// floor measures once what lies below a stop: an abort without Belay, and the
// database's round trip.
func (s *stopRun) floor(ctx context.Context) error {
	if s.env.Model != nil {
		d, err := s.abortDirect(ctx)
		if err != nil {
			return fmt.Errorf("the model alone: %w", err)
		}
		s.abort = append(s.abort, d)
	}
	if s.rounds++; s.env.Hints == nil || s.rounds%batch != 1 {
		return nil
	}
	hints, err := s.env.Hints(ctx, batch)
	if err != nil {
		return fmt.Errorf("the database alone: %w", err)
	}
	disk, err := s.env.Disk(ctx, batch)
	if err != nil {
		return fmt.Errorf("the database alone: %w", err)
	}
	s.hints, s.disk = append(s.hints, hints...), append(s.disk, disk...)
	return nil
}

// abortDirect calls the model and drops the call once it streams.
func (s *stopRun) abortDirect(ctx context.Context) (time.Duration, error) {
	call := s.env.Model.Call(0)
	ctx, cancel := context.WithTimeout(ctx, missed)
	defer cancel()
	one, drop := context.WithCancel(ctx)
	defer drop()
	body, err := s.client.direct(one, s.env.ModelURL, call.Prompt)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	dropped := time.Now()
	drop()
	select {
	case at := <-call.Closed():
		return at.Sub(dropped), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (s *stopRun) rows(path string, t stopTimes, l Limit) {
	if s.env.Model != nil {
		s.report.add(Times("stop to provider closed, "+path, NewDist(t.closed), l))
	}
	s.report.add(
		Times("stop to its answer, "+path, NewDist(t.answered), Limit{}),
		Times("stop to terminal event, "+path, NewDist(t.ended), Limit{}),
	)
}

// floors reports what the machine and the database do without Belay, and how
// Belay compares.
func (s *stopRun) floors(local, pushed Dist, push bool) {
	abort, hints := NewDist(s.abort), NewDist(s.hints)
	ratio := func(name string, of, to Dist) {
		if len(of) > 0 && len(to) > 0 {
			s.report.Ratios = append(s.report.Ratios, Value(name, float64(of.Quantile(.5))/float64(to.Quantile(.5)), "x"))
		}
	}
	if len(abort) > 0 {
		s.report.add(Times("model alone: abort to closed", abort, Limit{}))
	}
	ratio("same node / model alone, p50", local, abort)
	if len(hints) == 0 {
		return
	}
	s.report.add(
		Times("database alone: commit + NOTIFY to heard", hints, Limit{}),
		Times("database alone: one commit forced to disk", NewDist(s.disk), Limit{}),
	)
	if push && len(pushed) > 0 {
		s.report.Ratios = append(s.report.Ratios, Below("other node / database alone, p50",
			float64(pushed.Quantile(.5))/float64(hints.Quantile(.5)), ratioLimit, "x"))
	}
}
