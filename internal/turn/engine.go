package turn

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/belayrun/belay/internal/agent"
)

// Config is what an Engine is made of. Store, Agents, Models and Label are
// required.
type Config struct {
	Store  Store
	Hints  Hints // nil: push is off, everything is found by polling
	Agents Agents
	Models Models
	Tools  Tools // nil: agents have no tools
	// Addresses checks where callbacks lead; nil: they are taken as they are.
	Addresses Addresses
	Label     string // name of this node, for people
	// MaxQueued is how many queued turns this node runs at once, default 64. A
	// turn that somebody waits for is never refused for it.
	MaxQueued int
	// ProjectRuns is how many background runs a project may have queued or running
	// in the whole cluster before more are refused, default 1000.
	ProjectRuns int
	// ProjectRunning is how many of them may run at once; the others stay queued,
	// and are in nobody's way. 0: as many as the nodes take.
	ProjectRunning int
	Times          Times
	Observer       Observer
	Log            *slog.Logger // default: discard
}

// Engine is one node: it runs turns, and stops, follows and decides any.
// Its methods may be called from many goroutines, before Run too (they then
// fail or wait as if the database were away).
type Engine struct {
	cfg   Config
	store Store
	times Times
	obs   Observer
	log   *slog.Logger
	keep  *keeper
	hub   *hub

	pokeWatch, pokeFeed, pokeClaim, pokeHints chan struct{}
	push                                      atomic.Bool // the LISTEN connection stands
	draining                                  atomic.Bool
	over                                      chan struct{} // closed when the node's turns are over: followers end
	claims                                    atomic.Int32  // claims under way

	base context.Context    // parent of every turn's context; ends when turns must be given up
	quit context.CancelFunc //

	mu        sync.Mutex
	runs      map[leg]*run
	bySession map[string]*run         // the newest of a session
	hints     map[agent.Hint]struct{} // to be sent
	taking    map[string]struct{}     // turn ids whose take is not answered
	abandoned map[leg]relic           // had, and given up without closing it
	queued    int                     // background turns that run here
	shut      bool                    // the drain's time is up: what starts now ends at once
	wg        sync.WaitGroup          // runs, and who may be about to start one
}

// leg identifies a leg in memory.
type leg struct {
	turn  string
	fence int64
}

// relic is a leg that this node has given up.
type relic struct {
	lease agent.Lease
	since time.Time
}

// New makes an Engine; it starts nothing.
func New(cfg Config) *Engine {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.MaxQueued = cmp.Or(cfg.MaxQueued, 64)
	cfg.ProjectRuns = cmp.Or(cfg.ProjectRuns, 1000)
	times := cfg.Times.withDefaults()
	base, quit := context.WithCancel(context.Background())
	return &Engine{
		cfg: cfg, store: cfg.Store, times: times, obs: cfg.Observer.withDefaults(), log: cfg.Log,
		keep: newKeeper(cfg.Store, cfg.Label, times, cfg.Log), hub: newHub(),
		pokeWatch: make(chan struct{}, 1), pokeFeed: make(chan struct{}, 1), pokeClaim: make(chan struct{}, 1), pokeHints: make(chan struct{}, 1),
		over: make(chan struct{}), base: base, quit: quit,
		runs: make(map[leg]*run), bySession: make(map[string]*run),
		taking: make(map[string]struct{}), hints: make(map[agent.Hint]struct{}), abandoned: make(map[leg]relic),
	}
}

// Run keeps the node alive until ctx ends and everything it started has
// returned. When ctx ends the node drains: it takes nothing new, lets its turns
// finish for Times.Drain, then ends them as failed with code shutdown, settles
// them and leaves. Run may be called once.
func (e *Engine) Run(ctx context.Context) error {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, inner := errgroup.WithContext(inner)
	for _, loop := range []func(context.Context){e.keepLease, e.watch, e.flushLoop, e.feedLoop, e.claimLoop, e.janitor, e.listen, e.hintLoop} {
		g.Go(func() error { loop(inner); return nil })
	}
	<-ctx.Done()
	e.drain()
	close(e.over)
	stop()
	err := g.Wait()
	e.leave(context.WithoutCancel(ctx)) // last: a renewal after it would join again
	e.quit()
	return err
}

// enter announces a leg that may be about to start, so that a drain waits for
// it; false once the node drains. Who has entered calls wg.Done.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining.Load() {
		return false
	}
	e.wg.Add(1)
	return true
}

var errShutdown = &ending{agent.Outcome{Kind: agent.Failed, Failure: &agent.Failure{
	Code: agent.CodeShutdown, Message: "The server was shut down before the answer was finished."}}}

// drain lets the turns of this node end.
func (e *Engine) drain() {
	e.mu.Lock()
	e.draining.Store(true)
	e.mu.Unlock()
	done := make(chan struct{})
	go func() {
		e.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(e.times.Drain):
	}
	e.mu.Lock()
	e.shut = true
	e.mu.Unlock()
	for _, r := range e.all() {
		r.cancel(errShutdown)
	}
	select {
	case <-done:
	case <-time.After(e.times.ToolGrace + 2*e.times.Write):
		e.log.Error("turns are given up unsettled; another node will close them")
		e.quit()
		<-done
	}
}

// leave declares the node's row dead, so that nobody waits for its lease.
func (e *Engine) leave(ctx context.Context) {
	id := e.keep.node()
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.times.Limit)
	defer cancel()
	if err := e.store.Leave(ctx, id); err != nil {
		e.log.Warn("leaving", "err", err)
	}
}

// Ready says why the node should get no requests now; nil when it should.
func (e *Engine) Ready() error {
	switch {
	case e.draining.Load():
		return agent.ErrDraining
	case !e.keep.fresh(e.keep.node()):
		return agent.ErrUnavailable
	}
	return nil
}

// Push reports whether hints from other nodes arrive now.
func (e *Engine) Push() bool { return e.push.Load() }

// LeaseAge is the age of the node's last good renewal.
func (e *Engine) LeaseAge() time.Duration { return e.keep.age() }

// Running counts the turns that run here.
func (e *Engine) Running() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.runs)
}

// Claimed counts the turns from the queue that run here, and says how many may.
func (e *Engine) Claimed() (n, most int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queued, e.cfg.MaxQueued
}

// Followers counts the streams that follow sessions here.
func (e *Engine) Followers() int { return e.hub.followers() }

func (e *Engine) all() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*run, 0, len(e.runs))
	for _, r := range e.runs {
		out = append(out, r)
	}
	return out
}

func (e *Engine) keepLease(ctx context.Context) {
	lost := func(id string) {
		for _, r := range e.all() {
			if r.lease.Node == id {
				r.cancel(agent.ErrLeaseLost)
			}
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for k, l := range e.abandoned {
			if l.lease.Node == id {
				delete(e.abandoned, k)
			}
		}
	}
	outage := func() {
		e.log.Error("no renewal for too long: this node's turns end", "age", e.keep.age())
		for _, r := range e.all() {
			r.cancel(&ending{agent.Outcome{Kind: agent.Lost, Failure: agent.LostFailure()}})
		}
	}
	e.keep.run(ctx, lost, outage)
}

// poke asks a loop to look now.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// every calls f at each interval and at each poke until ctx ends. poked says
// which it was.
func every(ctx context.Context, d time.Duration, c <-chan struct{}, f func(poked bool)) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			f(false)
		case <-c:
			f(true)
		}
	}
}

// ending is a cancel cause that is no stop: how the turn is to end.
type ending struct{ agent.Outcome }

func (e *ending) Error() string { return "turn ends: " + string(e.Kind) + " " + e.Detail }
