package a2a

import (
	"context"
	"errors"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

// patience is how long a message waits for the task that it names to need it.
const patience = 5 * time.Second

// taken is what became of a message: the turn that it began or answered.
type taken struct {
	turn   agent.Turn
	view   *view  // of a turn that was there before, up to the answer
	action string // that it answered
	again  bool   // it was taken before
}

// send takes a message and answers with its task: as it is, or once it has ended
// or needs somebody. The wait is bounded; the task goes on.
func (d *door) send(c *call) (any, error) {
	m, err := c.message()
	if err != nil {
		return nil, err
	}
	x, err := d.take(c, m)
	if err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	v := x.view
	if v == nil || x.again {
		if v, err = d.load(ctx, x.turn); err != nil {
			return nil, err
		}
	}
	taken := x.action == "" // the journal has the message
	if !taken || m.wait && !v.settled() {
		err = d.await(ctx, v, v.turn.Spec.Execution.SyncTimeout(), func(e agent.Event) bool {
			taken = taken || decides(e, x.action)
			return taken && (v.settled() || !m.wait)
		})
	}
	if err != nil && !errors.Is(err, httpapi.ErrCeiling) {
		return nil, err
	}
	if v.receipts, err = d.store.Receipts(ctx, v.turn.ID); err != nil {
		return nil, err
	}
	return c.v.sent(v, parts{history: m.history, artifacts: true}), nil
}

func decides(e agent.Event, action string) bool {
	b, ok := e.Body.(agent.ActionDecided)
	return ok && b.ActionID == action
}

// sendStreaming takes a message and streams its task, to its end or until it
// needs somebody.
func (d *door) sendStreaming(c *call) (*flow, error) {
	m, err := c.message()
	if err != nil {
		return nil, err
	}
	x, err := d.take(c, m)
	if err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	f := &flow{view: x.view}
	switch {
	case x.again:
		f.view, err = d.load(ctx, x.turn)
	case x.action != "":
		f.opens = func(e agent.Event) bool { return decides(e, x.action) }
	default:
		f.view = newView(x.turn)
		f.opens = func(e agent.Event) bool { return e.Turn == x.turn.ID && e.Kind() == agent.KindTurnStarted }
	}
	if err == nil {
		f.view.receipts, err = d.store.Receipts(ctx, f.view.turn.ID)
	}
	return f, err
}

// take gives a message to its turn: a new one, or the one that waits for it. A
// message that was taken before is not taken again.
func (d *door) take(c *call, m message) (taken, error) {
	if err := httpapi.Need(c.caller, agent.PermAgentRun); err != nil {
		return taken{}, err
	}
	if err := d.mayCost(c, m); err != nil {
		return taken{}, err
	}
	if m.push != nil {
		if err := c.needsToken(); err != nil {
			return taken{}, err
		}
		if err := d.mayCall(c.r.Context(), "configuration."+c.v.inline()+".", *m.push); err != nil {
			return taken{}, err
		}
	}
	x, err := taken{}, error(nil)
	if m.task != "" {
		x, err = d.answer(c, m)
	} else {
		x, err = d.begin(c, m)
	}
	httpapi.Note(c.r.Context(), x.turn.Session, x.turn.ID)
	return x, err
}

// receipt is that of a message. Of a sender who may be anybody an id names
// nothing: another's message may have the same.
func (c *call) receipt(m message) agent.Receipt {
	sender := c.caller.ID
	if c.portal != nil {
		sender += "/" + agent.NewID()
	}
	return agent.Receipt{Project: c.caller.Project, Agent: c.agent.Key, Sender: sender, ID: m.id, Text: m.text}
}

// begin begins a turn, in the session of the context or a new one. The receipt is
// kept first, with the id that the turn will have: of two that send the same
// message one begins it, and the other finds it.
func (d *door) begin(c *call, m message) (taken, error) {
	ctx, done := httpapi.Detach(c.r.Context(), 0)
	defer done()
	if err := d.mayContinue(ctx, c, m.context); err != nil {
		return taken{}, err
	}
	r := c.receipt(m)
	r.Turn, r.Session = agent.NewID(), m.context
	kept, err := d.store.Receive(ctx, r)
	if err != nil {
		return taken{}, err
	}
	if kept.Turn != r.Turn {
		return d.again(ctx, m, kept)
	}
	q := turn.Submit{Principal: c.caller, Door: agent.DoorA2A, ID: r.Turn, Session: m.context, Agent: c.agent.Key, Input: m.text}
	if m.push != nil {
		q.Callbacks = []agent.Callback{*m.push}
	}
	t, err := d.engine.Begin(ctx, q)
	if err != nil {
		if !errors.Is(err, agent.ErrUnavailable) {
			err = errors.Join(err, d.store.DropReceipt(ctx, r))
		}
		return taken{}, err
	}
	if r.Session == "" {
		r.Session = t.Session
		err = d.store.BindReceipt(ctx, r)
	}
	return taken{turn: t}, err
}

// mayContinue says whether the caller may go on with a context, if there is one:
// it never becomes a new one in silence.
func (d *door) mayContinue(ctx context.Context, c *call, id string) error {
	if id == "" {
		return nil
	}
	info, err := d.store.Session(ctx, id)
	if err == nil {
		err = c.caller.MayAct(info.Session)
	}
	if err == nil && info.Agent != c.agent.Key {
		err = agent.ErrNotFound
	}
	if errors.Is(err, agent.ErrNotFound) || errors.Is(err, agent.ErrForbidden) {
		return invalid("message.contextId", "is not that of a conversation with this agent: leave it out for a new one")
	}
	return err
}

// again answers a message that was taken before, and may be being taken now.
func (d *door) again(ctx context.Context, m message, kept agent.Receipt) (taken, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		t, s, err := d.store.Turn(ctx, kept.Turn)
		switch {
		case err == nil && m.context != "" && m.context != s.ID:
			return taken{}, invalid("message.messageId", "is that of a message in another context: give each message its own")
		case !errors.Is(err, agent.ErrNotFound):
			return taken{turn: t, again: true}, err
		}
		select {
		case <-ctx.Done():
			return taken{}, &fault{code: internalError, message: "This message is being taken by another request. Try again.", data: map[string]any{"code": "agent_run_conflict"}}
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// answer gives a message to the task that it names.
func (d *door) answer(c *call, m message) (taken, error) {
	ctx := c.r.Context()
	v, err := d.task(ctx, c, m.task, agent.Principal.MayAct)
	if err != nil {
		return taken{}, err
	}
	if m.context != "" && m.context != v.turn.Session {
		return taken{}, invalid("message.contextId", "is not the context of that task: leave it out")
	}
	r := c.receipt(m)
	r.Turn, r.Session = v.turn.ID, v.turn.Session
	if x, ok, err := d.repeated(ctx, v, r); ok || err != nil {
		return x, err
	}
	if !v.settled() {
		err := d.await(ctx, v, patience, func(agent.Event) bool { return v.settled() })
		if errors.Is(err, httpapi.ErrCeiling) {
			err = &agent.BusyError{Session: v.turn.Session, Turn: v.turn.ID}
		}
		if err != nil {
			return taken{}, err
		}
	}
	if v.state.terminal() {
		return taken{}, &fault{code: unsupportedOperation, message: "The task has ended: send the message with its contextId alone, for a new task in the same context.",
			data: map[string]any{"context_id": v.turn.Session}}
	}
	q, dec, err := v.decide(m)
	if err != nil {
		return taken{}, err
	}
	if m.push != nil { // first: the turn may end as soon as it is answered
		if err := d.store.PutCallback(ctx, v.turn.ID, *m.push); err != nil {
			return taken{}, err
		}
	}
	r.Action = q.ActionID
	return d.decide(c, v, r, dec)
}

// repeated reports whether the turn has the message already.
func (d *door) repeated(ctx context.Context, v *view, r agent.Receipt) (taken, bool, error) {
	var err error
	if v.receipts, err = d.store.Receipts(ctx, v.turn.ID); err != nil {
		return taken{}, false, err
	}
	for _, had := range v.receipts {
		if had.ID == r.ID && had.Sender == r.Sender && (had.Action == "" || !v.isOpen(had.Action)) {
			return taken{turn: v.turn, again: true}, true, nil
		}
	}
	return taken{}, false, nil
}

func (v *view) isOpen(action string) bool {
	for _, q := range v.open() {
		if q.ActionID == action {
			return true
		}
	}
	return false
}

// decide returns the request that a message is about and what it decides: a
// question is answered by the text, an approval by the decision alone.
func (v *view) decide(m message) (request, agent.Decision, error) {
	open := v.open()
	ids := make([]string, len(open))
	var found *request
	for i, q := range open {
		ids[i] = q.ActionID
		if found == nil && (m.action == q.ActionID || m.action == "" && m.decision == "" && q.Type == agent.ActionQuestion) {
			found = &open[i]
		}
	}
	if found == nil && m.action == "" && m.decision != "" && len(open) == 1 {
		found = &open[0]
	}
	pending := map[string]any{"pending_action_ids": ids}
	switch {
	case found == nil && m.action != "":
		return request{}, agent.Decision{}, &fault{code: invalidParams, data: pending, message: "message.metadata.decision_id: is not that of an open request of this task"}
	case found == nil || found.Type == agent.ActionApproval && m.decision == "":
		return request{}, agent.Decision{}, &fault{code: invalidParams, data: pending,
			message: "The task waits for an approval: send message.metadata with decision approve or reject, and decision_id."}
	}
	dec := agent.Decision{Action: found.ActionID, State: agent.ActionApproved, Answer: m.text}
	switch {
	case m.decision == "reject":
		dec.State = agent.ActionDenied
	case found.Type == agent.ActionQuestion:
		dec.Type = agent.ActionQuestion
	default:
		dec.Type = agent.ActionApproval
	}
	return *found, dec, nil
}

// decide decides a request of the task, under the message's id. A decision that
// is made twice is made once.
func (d *door) decide(c *call, v *view, r agent.Receipt, dec agent.Decision) (taken, error) {
	ctx, done := httpapi.Detach(c.r.Context(), 0)
	defer done()
	kept, err := d.store.Receive(ctx, r)
	if err != nil {
		return taken{}, err
	}
	if kept.Turn != r.Turn || kept.Action != r.Action {
		return taken{}, invalid("message.messageId", "is that of another message: give each message its own")
	}
	if _, err := d.engine.Decide(ctx, c.caller, dec); err != nil {
		if !errors.Is(err, agent.ErrUnavailable) {
			err = errors.Join(undecided(err, dec), d.store.DropReceipt(ctx, r))
		}
		return taken{}, err
	}
	return taken{turn: v.turn, view: v, action: r.Action}, nil
}

// undecided says why a decision was not taken, in the words of this door.
func undecided(err error, dec agent.Decision) error {
	id := map[string]any{"decision_id": dec.Action}
	if errors.Is(err, agent.ErrForbidden) {
		id["code"] = "action_forbidden"
		return &fault{code: notPermitted, message: "You may not decide this request: an approval needs the permission agent.approve.", data: id, err: err}
	}
	if had, ok := errors.AsType[*agent.DecidedError](err); ok {
		return &fault{code: invalidParams, message: "The request is already " + string(had.Action.State) + ".", data: id, err: err}
	}
	return noTask(err)
}
