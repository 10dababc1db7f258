package turn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// run is one leg as this node runs it.
type run struct {
	e       *Engine
	lease   agent.Lease
	session agent.Session
	turn    agent.Turn
	queued  bool // counts against Config.MaxQueued
	began   time.Time

	ctx     context.Context
	cancel  context.CancelCauseFunc
	journal *journal
	tail    *tail
	done    chan struct{} // closed when nothing of the leg runs here any more

	settling bool // guarded by Engine.mu: a stop must now go through the row

	// asked is when and how the stop was heard of; asks counts the turns of
	// sub-agents that the turn has begun. Guarded by mu.
	mu    sync.Mutex
	asked time.Time
	path  StopPath
	asks  int

	// What follows belongs to the leg's own goroutine.
	first []agent.Event // what its taking wrote, until the leg has written more
	ahead *lookup       // of its model
	used  bool          // the lookup is used
	draft *agent.Draft
	index int // of the next assistant message
	usage []agent.Usage
	spent agent.Tokens // by the turn and all below it, earlier legs included
	calls int          // model calls of the turn
	tools []agent.ToolDone
	text  bool // the first text has come

	agents map[string]agent.ToolRef // those that may be asked, by the tool's name
}

// errWaiting ends a leg whose turn needs a person.
var errWaiting = errors.New("waits for a person")

// start runs a leg in a goroutine of its own.
func (e *Engine) start(l agent.Leg, queued bool) {
	ctx, cancel := context.WithCancelCause(e.base)
	r := &run{
		e: e, lease: l.Lease, session: l.Session, turn: l.Turn, queued: queued,
		began: time.Now(), ctx: ctx, cancel: cancel, done: make(chan struct{}), index: l.Turn.Index, first: l.Events,
	}
	e.mu.Lock()
	k := leg{r.lease.Turn, r.lease.Fence}
	if _, twice := e.runs[k]; twice {
		e.mu.Unlock()
		cancel(nil)
		return
	}
	r.tail = e.hub.write(l.Lease, l.Seq)
	seq := l.Seq
	if n := len(l.Events); n > 0 {
		r.tail.append(k.fence, l.Events...)
		seq = l.Events[n-1].Seq
		r.tail.durable(k.fence, seq)
	}
	r.journal = newJournal(r.lease, e.store, r.tail, seq)
	e.runs[k] = r
	if newest := e.bySession[r.lease.Session]; newest == nil || newest.lease.Fence < k.fence {
		e.bySession[r.lease.Session] = r
	}
	if e.shut {
		cancel(errShutdown)
	}
	if queued {
		e.queued++
	}
	e.wg.Add(1)
	e.mu.Unlock()
	e.obs.TurnStarted(r.turn.Door)
	go r.main()
}

// main runs the leg to its close.
func (r *run) main() {
	defer r.limitRun()()
	closed, again := false, true
	for again {
		closed, again = r.once()
	}
	r.leave(closed)
}

// once works and settles. A panic leaves the leg to reconcile.
func (r *run) once() (closed, again bool) {
	defer func() {
		if p := recover(); p != nil {
			r.e.log.Error("panic in a turn", "session_id", r.lease.Session, "turn_id", r.lease.Turn, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	err := r.watched()
	r.setSettling(true)
	return r.settle(err)
}

// watched works, and shows everybody at once when it is told to stop.
func (r *run) watched() error {
	told := make(chan struct{})
	unwatch := context.AfterFunc(r.ctx, func() {
		defer close(told)
		if s, ok := errors.AsType[*agent.Stop](context.Cause(r.ctx)); ok {
			r.journal.emit(agent.TurnStopping{By: s.By, Door: s.Door, Node: s.Node})
		}
	})
	defer func() {
		if !unwatch() {
			<-told
		}
	}()
	return r.work(r.ctx)
}

// setSettling makes stops go through the row from now on: the outcome is about
// to be decided there.
func (r *run) setSettling(on bool) {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	r.settling = on
}

// leave takes the leg out of the node.
func (r *run) leave(closed bool) {
	e := r.e
	r.cancel(nil)
	e.mu.Lock()
	delete(e.runs, leg{r.lease.Turn, r.lease.Fence})
	if e.bySession[r.lease.Session] == r {
		delete(e.bySession, r.lease.Session)
	}
	if !closed {
		e.abandoned[leg{r.lease.Turn, r.lease.Fence}] = relic{r.lease, time.Now()}
	}
	if r.queued {
		e.queued--
	}
	e.mu.Unlock()
	e.hub.leave(r.tail, true)
	close(r.done)
	if r.queued {
		poke(e.pokeClaim)
	}
	poke(e.pokeFeed)
	if closed {
		e.notify(agent.Hint{Kind: agent.HintEnd, Subject: r.lease.Session})
	}
	e.wg.Done()
}

// stop cancels the leg's context with a stop as its cause; the first cause wins.
func (r *run) stop(s agent.Stop, path StopPath, age time.Duration) {
	r.mu.Lock()
	if r.asked.IsZero() {
		r.asked, r.path = time.Now().Add(-age), path
	}
	r.mu.Unlock()
	if r.ctx.Err() == nil {
		r.cancel(&s)
		r.stage(StageTold)
	}
}

// stage times how far a stop has got.
func (r *run) stage(s StopStage) {
	r.mu.Lock()
	asked, path := r.asked, r.path
	r.mu.Unlock()
	if !asked.IsZero() {
		r.e.obs.StopStage(path, s, time.Since(asked))
	}
}

// heard is how this node heard of a stop, empty where it did not.
func (r *run) heard() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.path)
}

// outcome is the one place where the engine says how a leg ended, from its
// context's cause and the error that its work returned.
func (r *run) outcome(err error) agent.Outcome {
	cause := context.Cause(r.ctx)
	if s, ok := errors.AsType[*agent.Stop](cause); ok {
		return agent.Outcome{Kind: agent.Stopped, Detail: s.Detail, Stop: s}
	}
	if end, ok := errors.AsType[*ending](cause); ok {
		return end.Outcome
	}
	if end, ok := errors.AsType[*ending](err); ok {
		return end.Outcome
	}
	switch {
	case err == nil:
		return agent.Outcome{Kind: agent.Answered}
	case errors.Is(err, errWaiting):
		return agent.Outcome{Kind: agent.Waiting}
	}
	return agent.Outcome{Kind: agent.Failed, Failure: r.failure(err)}
}

func (r *run) failure(err error) *agent.Failure {
	if m, ok := errors.AsType[*agent.ModelError](err); ok {
		r.e.log.Warn("model call failed", "session_id", r.lease.Session, "turn_id", r.lease.Turn, "status", m.Status, "err", err)
		return &agent.Failure{Code: m.Code, Message: m.Message}
	}
	if f, ok := errors.AsType[*agent.Failure](err); ok {
		return f
	}
	r.e.log.Error("turn failed", "session_id", r.lease.Session, "turn_id", r.lease.Turn, "err", err)
	return &agent.Failure{Code: agent.CodeAgentError, Message: "The agent could not finish its answer."}
}

// settle closes the leg in the database, however long that takes while the
// lease is not another's. closed: it is closed, by us or by others. again: it
// would have paused, but everything is decided; the leg goes on.
func (r *run) settle(err error) (closed, again bool) {
	end := r.outcome(err)
	if errors.Is(context.Cause(r.ctx), agent.ErrLeaseLost) || errors.Is(err, agent.ErrLeaseLost) {
		return r.lost(), false
	}
	log := r.e.log.With("session_id", r.lease.Session, "turn_id", r.lease.Turn)
	for tries, wait := 0, 20*time.Millisecond; ; wait = min(2*wait, time.Second) {
		c, err := r.trySettle(end)
		switch {
		case err == nil:
			r.ended(c)
			return true, false
		case errors.Is(err, agent.ErrGoOn):
			r.setSettling(false)
			return false, true
		case errors.Is(err, agent.ErrLeaseLost), r.e.keep.node() != r.lease.Node && r.e.keep.node() != "":
			return r.lost(), false
		case !errors.Is(err, agent.ErrUnavailable):
			if tries++; tries == 5 {
				log.Error("settling given up", "err", err)
				return false, false
			}
		}
		log.Warn("not settled yet", "outcome", end.Kind, "err", err)
		if !sleep(r.e.base, wait) {
			return false, false
		}
	}
}

func (r *run) trySettle(end agent.Outcome) (agent.Closed, error) {
	j := r.journal
	j.alone()
	defer j.mu.Unlock()
	if err := j.seal(); err != nil {
		return agent.Closed{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.e.times.Write)
	defer cancel()
	c, err := r.e.store.Settle(ctx, r.lease, agent.Closing{
		End: end, Stop: end.Stop, Path: r.heard(), Rows: j.rows, Seq: j.seq, Draft: r.draft, Usage: r.usage, Tools: r.tools,
	})
	if err == nil {
		j.close(c.Events, false)
	}
	return c, err
}

func (r *run) ended(c agent.Closed) {
	if c.Outcome.Kind == agent.Stopped {
		r.stage(StageSettled)
	}
	r.e.obs.TurnEnded(c.Outcome, r.turn.Door)
	for _, n := range c.Notify {
		r.e.hintStop(n)
	}
	r.e.log.Info("turn closed", "session_id", r.lease.Session, "turn_id", r.lease.Turn, "outcome", c.Outcome.Kind,
		"detail", c.Outcome.Detail, "ms", time.Since(r.began).Milliseconds())
}

// lost forgets a leg that others have closed or will close.
func (r *run) lost() bool {
	r.e.log.Warn("lease lost: nothing more is written for this turn", "session_id", r.lease.Session, "turn_id", r.lease.Turn)
	r.e.obs.LegLost()
	r.e.obs.TurnEnded(agent.Outcome{Kind: agent.Lost, Failure: agent.LostFailure()}, r.turn.Door)
	j := r.journal
	j.alone()
	defer j.mu.Unlock()
	j.close(nil, true)
	return true
}

// work is the turn itself: first look, history, then model calls and tools in
// turn until the model has answered.
func (r *run) work(ctx context.Context) error {
	defer r.limitTime()()
	r.lookAhead(ctx)
	defer r.ahead.wait()
	if err := r.firstLook(ctx); err != nil {
		return err
	}
	h, err := r.recall(ctx)
	r.first = nil
	if err != nil {
		return err
	}
	box, err := r.openTools(ctx)
	if err != nil {
		return err
	}
	if err := r.resume(ctx, box, h); err != nil {
		return err
	}
	for {
		calls, err := r.ask(ctx, box, h)
		if err != nil || len(calls) == 0 {
			return err
		}
		if err := r.runTools(ctx, box, h, calls); err != nil {
			return err
		}
	}
}

// firstLook waits for a fresh lease and looks whether the turn is still ours to
// run: it may have been stopped or taken away before it began.
func (r *run) firstLook(ctx context.Context) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if err := r.e.keep.await(ctx, r.lease.Node); err != nil {
			return err
		}
		one, cancel := context.WithTimeout(ctx, r.e.times.Limit)
		s, err := r.e.store.Look(one, r.lease)
		cancel()
		switch {
		case s != nil:
			r.stop(*s, PathPoll, 0)
			return context.Cause(ctx)
		case err == nil:
			return ctxErr(ctx)
		case errors.Is(err, agent.ErrLeaseLost):
			return err
		case !sleep(ctx, wait):
			return context.Cause(ctx)
		}
	}
}

// ctxErr is the context's cause, nil while it lives.
func ctxErr(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// limitTime ends the work when the turn has worked for as long as its agent may,
// until the returned function is called. What its earlier legs took counts, and
// what this one took before it was adopted; the time between two legs does not.
func (r *run) limitTime() (lift func()) {
	ms := r.turn.Spec.Limits.MaxWallClockMS
	if ms == 0 {
		return func() {}
	}
	left := time.Duration(ms)*time.Millisecond - r.turn.Worked - time.Since(r.began)
	t := time.AfterFunc(left, func() { r.cancel(limited("max_wall_clock_ms")) })
	return func() { t.Stop() }
}

// limitRun ends a background run that has worked for as long as it may, until the
// returned function is called. What waits is no work: each leg gets what the ones
// before have left.
func (r *run) limitRun() (lift func()) {
	if !r.turn.Background {
		return func() {}
	}
	most := r.turn.Spec.Execution.MaxDuration()
	t := time.AfterFunc(most-r.turn.Worked, func() {
		r.cancel(&ending{agent.Outcome{Kind: agent.Failed, Failure: &agent.Failure{
			Code: agent.CodeMaxDuration, Message: fmt.Sprintf("The run worked for longer than the %s it may; what was written is kept.", minutes(most))}}})
	})
	return func() { t.Stop() }
}

// minutes is a duration of whole minutes for people.
func minutes(d time.Duration) string {
	if d == time.Minute {
		return "minute"
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}

// limited ends a turn because a limit of its agent is reached.
func limited(which string) error {
	return &ending{agent.Outcome{Kind: agent.Limited, Detail: which}}
}

// openTools makes the turn's toolbox: what the agent's sources give, and the
// agents that it may ask.
func (r *run) openTools(ctx context.Context) (toolbox, error) {
	tools, err := r.sourceTools(ctx)
	if err != nil {
		return nil, err
	}
	box := make(toolbox, len(tools))
	for _, t := range tools {
		box[t.Spec.Name] = t
	}
	if err := r.addAgents(box); err != nil {
		return nil, fmt.Errorf("open the agent's tools: %w", err)
	}
	if err := box.rule(r.turn.Spec.Approvals); err != nil {
		return nil, fmt.Errorf("open the agent's tools: %w", err)
	}
	return box, nil
}

// rule applies an agent's rules about its tools by their names. One that names no
// tool is an error: what it was to guard may be called something else now.
func (b toolbox) rule(approvals map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(approvals)) {
		t, ok := b[name]
		if !ok {
			return &agent.FieldError{Field: "approvals." + name, Message: agent.NoSuchTool}
		}
		t.Asks = t.Asks.AsksBy(approvals[name])
		b[name] = t
	}
	return nil
}

func (r *run) sourceTools(ctx context.Context) ([]agent.Tool, error) {
	others := slices.ContainsFunc(r.turn.Spec.Tools, func(t agent.ToolRef) bool { return t.Source != agent.SourceAgent })
	if r.e.cfg.Tools == nil || !others {
		return nil, nil
	}
	tools, err := retry(ctx, func() ([]agent.Tool, error) {
		return r.e.cfg.Tools.Open(ctx, r.session, r.turn.Spec.Tools)
	})
	if err != nil {
		if c := ctxErr(ctx); c != nil {
			return nil, c
		}
		return nil, fmt.Errorf("open the agent's tools: %w", err)
	}
	return tools, nil
}
