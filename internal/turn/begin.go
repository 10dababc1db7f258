package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// Begin takes the session's slot for a new turn and starts it here, or queues
// it for any node. It returns once that is durable; the turn then belongs to
// the node, whatever becomes of ctx. A session whose turn is stopping is waited
// for, up to Times.WindDown.
//
// Errors: agent.ErrNotFound (agent or session), agent.ErrForbidden,
// agent.FieldError, agent.BusyError with the turn in the way, agent.ErrDraining,
// agent.ErrUnavailable; for background runs also agent.ErrNoBackground,
// agent.ErrRunLimit, and with a key agent.UsedKeyError, agent.ErrKeyInline. After
// any of them nothing was begun, but for ErrUnavailable, after which it may have
// been.
func (e *Engine) Begin(ctx context.Context, s Submit) (agent.Turn, error) {
	if e.draining.Load() {
		return agent.Turn{}, agent.ErrDraining
	}
	if err := e.used(ctx, s); err != nil {
		return agent.Turn{}, err
	}
	b, err := e.prepare(ctx, s)
	if err != nil {
		return agent.Turn{}, err
	}
	return whenFree(ctx, e, func() (agent.Turn, error) { return e.take(ctx, b, b.Turn.Background) })
}

// Post writes messages into a session that nothing runs in, for a later turn to
// answer. A turn that waits for a person is ended by them, as by any message; one
// that is stopping is waited for, up to Times.WindDown. Errors as of Begin; after
// agent.ErrUnavailable the messages may be there.
func (e *Engine) Post(ctx context.Context, p Post) ([]agent.Event, error) {
	f, err := e.findSession(ctx, p.Session)
	if err == nil {
		err = p.Principal.MayAct(f.Session)
	}
	if err != nil {
		return nil, err
	}
	posting := agent.Posting{ID: agent.NewPostID(), Session: p.Session, By: p.Principal.ID, Door: p.Door, Messages: p.Messages}
	events, err := whenFree(ctx, e, func() ([]agent.Event, error) { return e.post(ctx, posting) })
	if err == nil {
		poke(e.pokeFeed)
		e.notify(agent.Hint{Kind: agent.HintEnd, Subject: p.Session})
	}
	return events, err
}

func (e *Engine) post(ctx context.Context, p agent.Posting) ([]agent.Event, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.times.Write)
	defer cancel()
	return retry(ctx, func() ([]agent.Event, error) { return e.store.Post(ctx, p) })
}

// whenFree calls f again while a stopping turn is in its way, for as long as one
// may wind down.
func whenFree[T any](ctx context.Context, e *Engine, f func() (T, error)) (T, error) {
	wait, cancel := context.WithTimeout(ctx, e.times.WindDown)
	defer cancel()
	for {
		v, err := f()
		busy, ok := errors.AsType[*agent.BusyError](err)
		if !ok || !busy.Stopping || wait.Err() != nil {
			return v, err
		}
		e.awaitFree(wait, busy)
		if ctx.Err() != nil {
			return v, busy
		}
	}
}

// prepare checks rights and resolves what the turn runs.
func (e *Engine) prepare(ctx context.Context, s Submit) (agent.Begin, error) {
	b := agent.Begin{History: s.History, Input: s.Input, NoInput: s.NoInput, Address: s.Principal.Address}
	if s.Session == "" {
		b.New = true
		b.Session = agent.Session{ID: agent.NewID(), Project: s.Principal.Project, Agent: s.Agent, Owner: s.Principal.ID, Door: s.Door, Metadata: s.Noted}
	} else {
		f, err := e.findSession(ctx, s.Session)
		if err == nil {
			err = s.Principal.MayAct(f.Session)
		}
		if err != nil {
			return b, err
		}
		b.Session = f.Session
	}
	if b.Session.Agent == "" {
		b.Session.Agent = s.Agent
	}
	if s.Agent != "" && b.Session.Agent != s.Agent {
		return b, agent.ErrNotFound
	}
	cfg, version, err := e.cfg.Agents.Resolve(ctx, b.Session.Project, b.Session.Agent, s.Version)
	if err != nil {
		return b, err
	}
	spec := s.Overrides.Apply(cfg)
	background, err := mode(s, spec.Execution)
	if err != nil {
		return b, err
	}
	if b.Callbacks, err = e.callbacks(ctx, s, background, cfg.Execution); err != nil {
		return b, err
	}
	spec.Execution.CallbackSecret = "" // a turn's row keeps no secret
	if err := spec.Validate(""); err != nil {
		return b, err
	}
	b.Turn = agent.Turn{
		ID: cmp.Or(s.ID, agent.NewID()), Session: b.Session.ID, Agent: b.Session.Agent, Version: version, Door: s.Door, By: s.Principal.ID,
		Background: background, Metadata: s.Metadata, Spec: spec,
	}
	if background {
		b.Once, b.MostRuns = s.once(), e.cfg.ProjectRuns
	}
	return b, nil
}

// checkAddress bounds the look-up of a callback's name. One that takes longer
// passes, as one that does not resolve: what counts is the check at delivery.
const checkAddress = 2 * time.Second

// callbacks returns who is told of the turn, checked.
func (e *Engine) callbacks(ctx context.Context, s Submit, background bool, own agent.Execution) ([]agent.Callback, error) {
	out := s.Callbacks
	c := agent.Callback{
		Kind: agent.CallbackRun, URL: cmp.Or(s.CallbackURL, own.CallbackURL), Secret: cmp.Or(s.CallbackSecret, own.CallbackSecret),
	}
	switch {
	case !background && s.CallbackURL != "":
		return nil, &agent.CallbackError{Field: "callback_url", Message: "goes with background: true only"}
	case !background && s.CallbackSecret != "":
		return nil, &agent.CallbackError{Field: "callback_secret", Message: "goes with background: true only"}
	case s.CallbackSecret != "" && c.URL == "":
		return nil, &agent.CallbackError{Field: "callback_secret", Message: "goes with callback_url"}
	case background && c.URL != "":
		out = append([]agent.Callback{c}, out...)
	}
	for _, c := range out {
		if err := e.checkCallback(ctx, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *Engine) checkCallback(ctx context.Context, c agent.Callback) error {
	if err := c.Check(); err != nil || e.cfg.Addresses == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkAddress)
	defer cancel()
	if err := e.cfg.Addresses.CheckURL(ctx, c.URL); err != nil && ctx.Err() == nil {
		return &agent.CallbackError{Field: "callback_url", Message: err.Error()}
	}
	return nil
}

// mode says whether a turn is a background run.
func mode(s Submit, x agent.Execution) (background bool, err error) {
	background = s.Background || s.AsAgentSays && x.DefaultMode == agent.ModeBackground && x.Background()
	switch {
	case background && !x.Background():
		return true, agent.ErrNoBackground
	case !background && s.Key != "":
		return false, agent.ErrKeyInline
	}
	return background, nil
}

// used finds a request that has been answered before, whatever has become of its
// agent since. That it finds none proves nothing: the take looks again.
func (e *Engine) used(ctx context.Context, s Submit) error {
	o := s.once()
	if o == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.times.Write)
	defer cancel()
	return e.store.Used(ctx, *o)
}

// once is the name of the request, nil for one without a key.
func (s Submit) once() *agent.Once {
	if s.Key == "" {
		return nil
	}
	return &agent.Once{Project: s.Principal.Project, Principal: s.Principal.ID, Key: s.Key, Request: s.Request, Keep: KeepKey}
}

// findSession is Find with a bound: a database that hangs is one that is away.
func (e *Engine) findSession(ctx context.Context, session string) (agent.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, e.times.Write)
	defer cancel()
	return e.store.Find(ctx, session)
}

// take makes the map entry, then the row. An unknown commit is sent again; if
// it stays unknown, reconcile finds the row and runs it.
func (e *Engine) take(ctx context.Context, b agent.Begin, queue bool) (agent.Turn, error) {
	if !e.enter() {
		return agent.Turn{}, agent.ErrDraining
	}
	defer e.wg.Done()
	return e.takeSlot(ctx, b, queue)
}

// takeSlot is take for who has entered, or has a turn here: a turn that may
// finish while the node drains may also ask agents.
func (e *Engine) takeSlot(ctx context.Context, b agent.Begin, queue bool) (agent.Turn, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.times.Write)
	defer cancel()
	id := ""
	if !queue {
		var err error
		if id, err = e.keep.awaitAny(ctx); err != nil {
			return agent.Turn{}, err
		}
		b.Node = id
	}
	e.mu.Lock()
	e.taking[b.Turn.ID] = struct{}{}
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		delete(e.taking, b.Turn.ID)
		e.mu.Unlock()
	}()
	l, err := retry(ctx, func() (agent.Leg, error) { return e.store.Take(ctx, b) })
	switch {
	case errors.Is(err, agent.ErrNodeDead):
		return agent.Turn{}, agent.ErrUnavailable
	case err != nil:
		return agent.Turn{}, err
	case queue:
		poke(e.pokeClaim)
		e.notify(agent.Hint{Kind: agent.HintQueue})
		return l.Turn, nil
	case e.keep.node() != id:
		return agent.Turn{}, fmt.Errorf("the node was declared dead meanwhile: %w", agent.ErrUnavailable)
	}
	e.start(l, false)
	return l.Turn, nil
}

// retry calls f until it does not say that the database is away, or ctx ends.
func retry[T any](ctx context.Context, f func() (T, error)) (T, error) {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		v, err := f()
		if !errors.Is(err, agent.ErrUnavailable) || !sleep(ctx, wait) {
			return v, err
		}
	}
}

// awaitFree waits for a stopping turn to end here, or a moment where it runs
// elsewhere; at most until ctx ends.
func (e *Engine) awaitFree(ctx context.Context, busy *agent.BusyError) {
	e.mu.Lock()
	r := e.bySession[busy.Session]
	e.mu.Unlock()
	if r == nil || r.lease.Turn != busy.Turn {
		sleep(ctx, 25*time.Millisecond)
		return
	}
	select {
	case <-r.done:
	case <-ctx.Done():
	}
}

// Timeout ends a turn that runs here as failed with code timeout, because who
// waited for its whole answer has waited long enough. It is no stop. A turn that
// does not run here is left alone.
func (e *Engine) Timeout(session, turn string) {
	e.mu.Lock()
	r := e.bySession[session]
	e.mu.Unlock()
	if r != nil && r.lease.Turn == turn {
		r.cancel(&ending{agent.Outcome{Kind: agent.Failed, Failure: &agent.Failure{
			Code: agent.CodeTimeout, Message: "The answer took longer than the agent's synchronous limit; what was written is kept."}}})
	}
}
