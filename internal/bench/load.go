package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var limitMass = Limit{P99: 250 * time.Millisecond}

const (
	heapLimit  = 60  // KiB of heap for each streaming turn
	writeLimit = 3.5 // transactions of a turn of one step are 3; renewals of nodes are among them
	mass       = 200 // turns stopped at once
	ramp       = 16  // turns begun at once
	lazy       = 400 * time.Millisecond
	settleLoad = 2 * time.Second // from the last begin to the window
	endLimit   = 60 * time.Second
	begins     = 5  // times that a turn is asked for before the run is given up
	attentive  = 20 // one follower in so many reads at once
)

// LoadOptions say how much Load measures.
type LoadOptions struct {
	Turns  []int         // streaming at once, a stage each
	Rate   int           // chunks per second of each, as the Model sends them
	Window time.Duration // for which a stage is looked at
	Spread bool          // over both nodes instead of on the first
}

// Load measures nodes under many streaming turns, and then a mass stop through
// the other node. Every chunk is accounted for.
func Load(ctx context.Context, env *Env, o LoadOptions) (*Report, error) {
	if env.Model == nil {
		return nil, errors.New("load needs a model that counts what it sends: give --model-listen and point the agent's model there")
	}
	l := &loadRun{env: env, o: o, client: NewClient(env.Token, env.Agent), report: env.report("load")}
	defer l.client.Close()
	pair, err := env.Open(ctx, true)
	if err != nil {
		return nil, err
	}
	l.pair = pair
	err = l.stages(ctx)
	if e := pair.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	where := "one node"
	if o.Spread {
		where = "two nodes"
	}
	l.report.note("turns run on %s at %d events/s each; one follower in %d reads at once and looks at every chunk's number and age, the others count and read every %s", where, o.Rate, attentive, lazy)
	l.report.note("CPU is of the window, in cores of %d; client is what this process used without the model's writing", runtime.NumCPU())
	l.report.note("memory is what the first stage's idle node has grown by, garbage that is not collected yet included; live heap is what the last collection left")
	return l.report, nil
}

// loadRun runs stages on one pair of nodes.
type loadRun struct {
	env    *Env
	o      LoadOptions
	client *Client
	report *Report
	pair   *Pair

	idle map[string]float64 // the first node before the first turn
}

func (l *loadRun) stages(ctx context.Context) error {
	if _, err := l.client.awaitPush(ctx, l.pair.URLs[1], true); err != nil {
		return err
	}
	warm := &stopRun{env: l.env, client: l.client, report: l.report}
	if err := warm.warmUp(ctx, l.pair); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	var err error
	if l.idle, err = l.client.scrape(ctx, l.pair.URLs[0]); err != nil {
		return err
	}
	for _, n := range l.o.Turns {
		s := &stage{loadRun: l, n: n, name: fmt.Sprintf("%d turns: ", n)}
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("%d turns: %w", n, err)
		}
		pause(ctx, time.Second)
	}
	return nil
}

// stage is one number of turns.
type stage struct {
	*loadRun
	n     int
	name  string
	turns []*loadTurn

	refused atomic.Int64 // begins

	heap, live, stacks, rss []float64 // samples of the first node
}

// loadTurn is one turn of a stage.
type loadTurn struct {
	call *Call
	f    *Follower
	node int
	via  string // the node that a stop goes through; empty: it ends by itself
}

func (s *stage) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	s.env.Say("%d turns: beginning them", s.n)
	if err := s.begin(ctx); err != nil {
		return err
	}
	begun := time.Since(began)
	if !pause(ctx, settleLoad) {
		return context.Cause(ctx)
	}
	s.env.Say("%d turns: %s of streaming", s.n, s.o.Window)
	from, to, err := s.window(ctx)
	if err != nil {
		return err
	}
	s.report.add(
		Value(s.name+"begun per second", float64(s.n)/begun.Seconds(), "/s"),
		None(s.name+"begins refused, and sent again", int(s.refused.Load())),
	)
	s.streamed(from, to)
	s.env.Say("%d turns: stopping %d at once", s.n, min(mass, s.n))
	stops := s.stopMass(ctx)
	s.env.Say("%d turns: ending the others", s.n)
	s.finish(ctx)
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	lost := s.account(ctx)
	s.ages()
	s.costs(from, to)
	s.transactions(before, after)
	s.report.add(
		Times(s.name+fmt.Sprintf("stop to provider closed, %d at once, other node", len(stops.times)), NewDist(stops.times), limitMass),
		Times(s.name+"stop to its answer", NewDist(stops.answered), Limit{}),
	)
	s.heard(before, after)
	s.report.add(
		None(s.name+"stops missed", stops.missed),
		None(s.name+"turns that lost or repeated an event", lost),
	)
	return nil
}

// begin begins the turns, a few at a time, and waits for the text of each.
func (s *stage) begin(ctx context.Context) error {
	ctx2, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.turns = make([]*loadTurn, s.n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(ramp, s.n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < s.n && ctx2.Err() == nil; i = int(next.Add(1)) - 1 {
				t, err := s.beginOne(ctx, i)
				if err != nil {
					cancel(err)
					return
				}
				s.turns[i] = t
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx2)
}

func (s *stage) beginOne(ctx context.Context, i int) (*loadTurn, error) {
	t := &loadTurn{call: s.env.Model.Call(0)}
	if s.o.Spread {
		t.node = i % 2
	}
	how := Reading{Every: lazy}
	if i%attentive == 0 {
		how = Reading{Age: s.env.Model.age}
	}
	var err error
	for try := 1; ; try++ {
		if t.f, err = s.client.Ask(ctx, s.pair.URLs[t.node], t.call.Prompt, how); err == nil {
			break
		}
		if try == begins || !pause(ctx, 500*time.Millisecond) {
			return nil, err
		}
		s.refused.Add(1) // a node that is too busy says so, and is asked again
		t.call = s.env.Model.Call(0)
	}
	select {
	case <-t.f.First():
		return t, nil
	case <-t.f.Done():
		return nil, fmt.Errorf("a turn ended before its first text: %+v", t.f.End())
	case <-time.After(endLimit):
		return nil, fmt.Errorf("a turn had no text within %s", endLimit)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// window looks at the stage before and after a while of nothing but streaming.
func (s *stage) window(ctx context.Context) (from, to looked, err error) {
	if from, err = s.look(ctx); err != nil {
		return
	}
	end := time.Now().Add(s.o.Window)
	for left := s.o.Window; left > 0; left = time.Until(end) {
		if !pause(ctx, min(left, time.Second)) {
			return from, to, context.Cause(ctx)
		}
		m, err := s.client.scrape(ctx, s.pair.URLs[0])
		if err != nil {
			return from, to, err
		}
		s.heap = append(s.heap, m[heapInUse])
		s.live = append(s.live, live(m))
		s.stacks = append(s.stacks, m[stackInUse])
		s.rss = append(s.rss, m[resident])
	}
	to, err = s.look(ctx)
	return from, to, err
}

// massStop is what a stop of many turns at once came to.
type massStop struct {
	times, answered []time.Duration
	missed          int
}

// stopMass stops turns at once, each through the node that does not run it.
func (s *stage) stopMass(ctx context.Context) massStop {
	n := min(mass, s.n)
	for _, node := range s.pair.URLs {
		s.client.warm(ctx, node, n)
	}
	var m massStop
	var mu sync.Mutex
	var wg sync.WaitGroup
	gun := make(chan struct{})
	for i := range n {
		t := s.turns[i*(s.n/n)]
		t.via = s.pair.URLs[1-t.node]
		wg.Go(func() {
			<-gun
			closed, answered, err := s.stopOne(ctx, t)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				m.missed++
				s.report.miss("%s%v", s.name, err)
				return
			}
			m.times, m.answered = append(m.times, closed), append(m.answered, answered)
		})
	}
	pause(ctx, 50*time.Millisecond)
	close(gun)
	wg.Wait()
	return m
}

// stopOne times the closing of the provider's connection and the stop's answer.
func (s *stage) stopOne(ctx context.Context, t *loadTurn) (closed, answered time.Duration, err error) {
	sent := time.Now()
	answer, err := s.client.Stop(ctx, t.via, t.f)
	answered = time.Since(sent)
	if err != nil || !answer.Cancelled {
		return 0, 0, fmt.Errorf("a stop was answered %+v, %v", answer, err)
	}
	select {
	case at := <-t.call.Closed():
		return at.Sub(sent), answered, nil
	case <-time.After(missed):
		return 0, 0, fmt.Errorf("the provider's connection was not closed within %s of a stop", missed)
	}
}

// finish lets the model end the other turns and waits for every stream's end.
func (s *stage) finish(ctx context.Context) {
	for _, t := range s.turns {
		t.call.Finish()
	}
	limit := time.After(endLimit)
	for _, t := range s.turns {
		select {
		case <-t.f.Done():
		case <-limit:
			return // account finds those that have not ended
		case <-ctx.Done():
			return
		}
	}
}

// account holds every follower to what the model sent: all of it in a turn that
// ended by itself, all up to some chunk in one that was stopped, and in both the
// kept answer is what was streamed.
func (s *stage) account(ctx context.Context) (lost int) {
	for i, t := range s.turns {
		select {
		case <-t.f.Done():
		default:
			lost++
			s.report.miss("%sturn %d: its stream has not ended", s.name, i)
			continue
		}
		end, got, sent := t.f.End(), t.f.Deltas(), t.call.Sent()
		ok := end.Err == nil && end.Kept == got && end.Last == got && t.f.gaps == 0
		if t.via == "" {
			ok = ok && got == sent && end.Event == "response.completed"
		} else {
			ok = ok && got <= sent && end.Cancelled
		}
		if !ok && ctx.Err() == nil {
			lost++
			s.report.miss("%sturn %d: %d chunks sent, %d received, %d gaps, ended %+v", s.name, i, sent, got, t.f.gaps, end)
		}
	}
	return lost
}
