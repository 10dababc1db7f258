package turn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// asking is one call of a sub-agent: a child turn that is begun on this node, in
// a session of its own, and followed to its end wherever that is. While the
// child waits for a person the call waits too; a decision may move the child to
// another node.
type asking struct {
	ref     agent.ToolRef
	child   agent.Child
	message string
	limits  agent.Limits                   // what is left of the parent's
	refused error                          // why no turn is begun
	end     atomic.Pointer[agent.ChildEnd] // set once the call has seen it
}

// askParameters is the schema of what every sub-agent takes.
const askParameters = `{"type":"object","properties":{"message":{"type":"string",` +
	`"description":"What the agent is asked. It knows nothing of this conversation."}},"required":["message"],"additionalProperties":false}`

// addAgents puts the agents that may be asked into the toolbox.
func (r *run) addAgents(box toolbox) error {
	r.agents = make(map[string]agent.ToolRef)
	for i, ref := range r.turn.Spec.Tools {
		if ref.Source != agent.SourceAgent || ref.Agent == nil {
			continue
		}
		name := agent.AskName(ref)
		if _, twice := box[name]; twice {
			return &agent.FieldError{Field: fmt.Sprintf("tools[%d].key", i), Message: "another source gives a tool named " + name}
		}
		t := agent.Tool{
			Spec: agent.ToolSpec{
				Name: name, Parameters: json.RawMessage(askParameters),
				Description: cmp.Or(ref.Agent.Description, "Asks the agent "+ref.Agent.Agent+" and returns its answer."),
			},
			Kind: ref.Source, Source: ref.Key, Abortable: true,
			Timeout: askTimeout(ref) + 2*r.e.times.ToolGrace, // its own comes first, and tells what was written
		}
		t.Asks = t.Asks.AsksBy(ref.Approval)
		box[name], r.agents[name] = t, ref
	}
	return nil
}

// askTimeout is how long an agent may take that is asked: as long as who waits
// for an answer in one request does.
func askTimeout(ref agent.ToolRef) time.Duration {
	return cmp.Or(time.Duration(ref.TimeoutMS)*time.Millisecond, agent.DefaultSyncTimeout)
}

// newAsking makes ready to ask, where the call is one of a sub-agent; else nil.
func (r *run) newAsking(c agent.Call) *asking {
	ref, ok := r.agents[c.Name]
	if !ok {
		return nil
	}
	a := &asking{ref: ref}
	if a.message, a.refused = askedMessage(c.Arguments); a.refused == nil {
		a.limits, a.refused = r.left()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.refused != nil:
	case r.turn.Depth >= agent.MaxDepth:
		a.refused = fmt.Errorf("agents may ask each other %d deep and no deeper", agent.MaxDepth)
	case r.asks >= agent.MaxAsks:
		a.refused = fmt.Errorf("one turn may ask agents %d times and no more", agent.MaxAsks)
	default:
		r.asks++
		a.child = agent.Child{Session: agent.NewID(), Turn: agent.NewID()}
	}
	return a
}

// begins names the turn that the call will begin, for the journal.
func (a *asking) begins() *agent.Child {
	if a == nil || a.refused != nil {
		return nil
	}
	return &a.child
}

// ended is how that turn ended, nil where the call has not seen it.
func (a *asking) ended() *agent.ChildEnd {
	if a == nil {
		return nil
	}
	return a.end.Load()
}

func askedMessage(arguments []byte) (string, error) {
	var in struct{ Message *string }
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || in.Message == nil || *in.Message == "" {
		return "", errors.New(`the arguments do not match the tool's schema: must be {"message": "what is asked"}`)
	}
	return *in.Message, nil
}

// left is what a child may spend: its parent answers for it. Children that run
// side by side each get all of it.
func (r *run) left() (agent.Limits, error) {
	if err := r.withinLimits(); err != nil {
		return agent.Limits{}, errors.New("nothing is left of this turn's limits")
	}
	l := r.turn.Spec.Limits
	if l.MaxCostUSD > 0 {
		l.MaxCostUSD -= r.spent.CostUSD
	}
	if l.MaxTotalOutputTokens > 0 {
		l.MaxTotalOutputTokens -= r.spent.Output
	}
	return l, nil
}

// tooLong is the cause of a call that ends because of its own timeout.
type tooLong time.Duration

func (d tooLong) Error() string { return fmt.Sprintf("it took longer than %v", time.Duration(d)) }

// askAgent runs a call of a sub-agent. It returns when the child has ended, or
// Times.ToolGrace after the call had to end.
func (r *run) askAgent(ctx context.Context, a *asking) (string, error) {
	if a.refused != nil {
		return "", a.refused
	}
	limit := askTimeout(a.ref)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLong(limit))
	defer cancel()
	b, err := r.childBegin(ctx, a)
	if err != nil {
		return "", err
	}
	v := &childView{e: r.e, child: a.child}
	switch _, err := retry(ctx, func() (agent.Turn, error) { return r.e.takeSlot(ctx, b, false) }); {
	case errors.Is(err, agent.ErrParentStopped):
		return "", cmp.Or(r.ownEnd(ctx), err)
	case err != nil && !errors.Is(err, agent.ErrUnavailable):
		r.e.log.Error("a sub-agent's turn was not begun", "session_id", r.lease.Session, "turn_id", r.lease.Turn, "err", err)
		return "", errors.New("the agent could not be asked")
	case err == nil:
		v.follow(ctx)
	}
	if v.end == nil {
		r.endChild(ctx, v)
	}
	if v.end == nil {
		return "", fmt.Errorf("%w: the turn %s of agent %s", agent.ErrUnconfirmed, a.child.Turn, b.Turn.Agent)
	}
	a.end.Store(v.ended())
	return r.childSaid(ctx, v, b.Turn.Agent)
}

// childBegin resolves what the child runs. It belongs to who the parent belongs
// to, came through the same door and calls nobody back.
func (r *run) childBegin(ctx context.Context, a *asking) (agent.Begin, error) {
	key := a.ref.Agent.Agent
	type resolved struct {
		agent.Config
		version int
	}
	c, err := retry(ctx, func() (c resolved, err error) {
		c.Config, c.version, err = r.e.cfg.Agents.Resolve(ctx, r.session.Project, key, nil)
		return c, err
	})
	switch f, field := errors.AsType[*agent.FieldError](err); {
	case errors.Is(err, agent.ErrNotFound):
		return agent.Begin{}, fmt.Errorf("there is no agent named %q", key)
	case field:
		return agent.Begin{}, fmt.Errorf("the agent %s can't be asked: %s", key, f.Message)
	case err != nil:
		return agent.Begin{}, cmp.Or(ctxErr(ctx), err)
	}
	c.Execution.CallbackURL, c.Execution.CallbackSecret = "", ""
	c.Limits.MaxCostUSD = lesser(c.Limits.MaxCostUSD, a.limits.MaxCostUSD)
	c.Limits.MaxTotalOutputTokens = lesser(c.Limits.MaxTotalOutputTokens, a.limits.MaxTotalOutputTokens)
	return agent.Begin{
		New: true, Input: a.message,
		Session: agent.Session{ID: a.child.Session, Project: r.session.Project, Agent: key, Owner: r.session.Owner, Door: r.turn.Door},
		Turn: agent.Turn{
			ID: a.child.Turn, Session: a.child.Session, Agent: key, Version: c.version, Door: r.turn.Door, By: r.turn.By,
			Spec: c.Config, Depth: r.turn.Depth + 1, Parent: new(r.lease),
		},
	}, nil
}

// lesser is the lesser of two limits, of which 0 is none.
func lesser[T int64 | float64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// ownEnd looks into the turn's own row, where a child says that its parent is
// stopped or gone: the child's node may have heard of it first.
func (r *run) ownEnd(ctx context.Context) error {
	err := r.firstLook(ctx)
	if errors.Is(err, agent.ErrLeaseLost) {
		r.cancel(err)
	}
	return err
}

// endChild ends a child whose call must end, and follows it for a last while. A
// stop of the parent has stopped the child in its row already, so all there is
// to do is to tell it at once where it runs here. Of a lost lease nothing more
// is said: who closes the parent closes the child.
func (r *run) endChild(ctx context.Context, v *childView) {
	cause := context.Cause(ctx)
	if errors.Is(cause, agent.ErrLeaseLost) {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.e.times.ToolGrace)
	defer cancel()
	s := agent.Stop{By: r.turn.By, Door: r.turn.Door, Node: r.e.cfg.Label, Detail: agent.DetailParentGaveUp, At: time.Now()}
	stop, stopped := errors.AsType[*agent.Stop](cause)
	switch {
	case stopped:
		s = *stop
		s.Detail = agent.DetailParentStopped
	case r.ctx.Err() != nil:
		s.Detail = agent.DetailParentLost
	}
	r.e.tellChild(v.child, s)
	if !stopped {
		r.e.stopChild(last, v.child, s)
	}
	v.follow(last)
}

// tellChild cancels a child's leg that runs here.
func (e *Engine) tellChild(c agent.Child, s agent.Stop) {
	e.mu.Lock()
	r := e.bySession[c.Session]
	e.mu.Unlock()
	if r != nil && r.lease.Turn == c.Turn {
		e.tell(r, s, time.Now())
	}
}

// stopChild writes the stop of a child alone. What fails is made good when the
// parent closes: that stops all below it.
func (e *Engine) stopChild(ctx context.Context, c agent.Child, s agent.Stop) {
	res, err := retry(ctx, func() (agent.StopResult, error) { return e.store.Stop(ctx, c.Session, c.Turn, s, true) })
	if err != nil {
		e.log.Warn("a sub-agent's turn was not stopped", "session_id", c.Session, "turn_id", c.Turn, "err", err)
		return
	}
	for _, n := range res.Notify {
		e.hintStop(n)
	}
	if res.Ended {
		poke(e.pokeFeed)
		e.notify(agent.Hint{Kind: agent.HintEnd, Subject: c.Session})
	}
}

// childSaid is what the model is told of a child that has ended.
func (r *run) childSaid(ctx context.Context, v *childView, key string) (string, error) {
	if d := v.end.StopDetail; d == agent.DetailParentStopped || d == agent.DetailParentLost {
		if err := r.ownEnd(ctx); err != nil {
			return "", err
		}
	}
	why := ""
	switch end := v.end; {
	case end.Status == agent.StatusCompleted:
		return v.answer, nil
	case end.StopDetail == agent.DetailParentGaveUp && v.waited:
		why = fmt.Sprintf("it waited for a person and %v, and was stopped", context.Cause(ctx))
	case end.StopDetail == agent.DetailParentGaveUp:
		why = fmt.Sprintf("%v and was stopped", context.Cause(ctx))
	case end.StopReason == agent.ReasonCancelled:
		why = "it was stopped before it finished"
	case end.StopReason == agent.ReasonLimit:
		why = "it reached its limit " + end.StopDetail
	case end.Error != nil:
		why = "it failed: " + strings.TrimSuffix(end.Error.Message, ".")
	default:
		why = "it failed"
	}
	if v.written == "" {
		return "", fmt.Errorf("the agent %s did not answer: %s. It had written nothing", key, why)
	}
	return "", fmt.Errorf("the agent %s did not answer: %s. It had written:\n%s", key, why, v.written)
}

// childView is what a call sees of its child's journal.
type childView struct {
	e       *Engine
	child   agent.Child
	after   int64
	answer  string // of its last message
	written string // the last that was not empty
	waited  bool   // for a person, when it was last heard of
	below   agent.Tokens
	end     *agent.TurnEnded
}

// follow reads on until the child has ended, or ctx has.
func (v *childView) follow(ctx context.Context) {
	for ev, err := range v.e.Follow(ctx, v.child.Session, v.after) {
		if err != nil {
			return
		}
		if v.after = ev.Seq; ev.Turn == v.child.Turn {
			v.see(ev)
		}
		if v.end != nil {
			return
		}
	}
}

func (v *childView) see(ev agent.Event) {
	switch b := ev.Body.(type) {
	case agent.Message:
		if b.Role == agent.RoleAssistant {
			v.answer, v.written = b.Text, cmp.Or(b.Text, v.written)
		}
	case agent.ToolFinished:
		if b.Child != nil {
			v.below = v.below.Add(b.Child.Usage)
		}
	case agent.TurnPaused:
		v.waited = true
	case agent.ActionDecided:
		v.waited = v.waited && b.State == agent.ActionWithdrawn
	case agent.TurnEnded:
		v.end = &b
	}
}

func (v *childView) ended() *agent.ChildEnd {
	return &agent.ChildEnd{
		Child: v.child, Status: v.end.Status, StopReason: v.end.StopReason, StopDetail: v.end.StopDetail, Usage: v.end.Usage.Add(v.below),
	}
}
