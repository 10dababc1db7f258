package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/turn"
)

// page is how many rows of the journal are read at once.
const page = 500

// find returns the turn that a task's id names, if it is one of the agent's and
// the caller may.
func (d *door) find(ctx context.Context, c *call, id string, may func(agent.Principal, agent.Session) error) (agent.Turn, error) {
	session, index, ok := parseTaskID(id)
	if !ok {
		return agent.Turn{}, noTask(agent.ErrNotFound)
	}
	t, s, err := d.store.TurnAt(ctx, session, index)
	if err == nil {
		err = may(c.caller, s)
	}
	if err == nil && (s.Agent != c.agent.Key || t.Depth > 0) {
		err = agent.ErrNotFound
	}
	httpapi.Note(ctx, t.Session, t.ID)
	return t, noTask(err)
}

// task returns the task of an id as it is now, without its receipts.
func (d *door) task(ctx context.Context, c *call, id string, may func(agent.Principal, agent.Session) error) (*view, error) {
	t, err := d.find(ctx, c, id, may)
	if err != nil {
		return nil, err
	}
	return d.load(ctx, t)
}

// load reads a turn's events. The turn was read before them: they are not behind it.
func (d *door) load(ctx context.Context, t agent.Turn) (*view, error) {
	v, err := loadTo(ctx, d.store, t, math.MaxInt64)
	if err == nil {
		v.stopping()
	}
	return v, err
}

// loadTo reads a turn's events as far as the one of number last.
func loadTo(ctx context.Context, journal Journal, t agent.Turn, last int64) (*view, error) {
	v := newView(t)
	for more := true; more && v.end == nil && v.seq < last; {
		events, err := journal.Events(ctx, t.Session, v.seq, page)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.Seq > last || v.end != nil {
				return v, nil
			}
			v.step(e)
		}
		more = len(events) > 0
	}
	return v, nil
}

// await steps a view on until over says so of an event; httpapi.ErrCeiling
// after most.
func (d *door) await(ctx context.Context, v *view, most time.Duration, over func(agent.Event) bool) error {
	_, err := d.wait.Await(ctx, &v.turn, v.seq, most, func(e agent.Event) (bool, error) {
		v.step(e)
		return over(e), nil
	})
	return err
}

func (d *door) getTask(c *call) (any, error) {
	n, err := c.params.count("historyLength", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	id, err := c.params.need("id")
	if err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	v, err := d.task(ctx, c, id, agent.Principal.MayView)
	if err != nil {
		return nil, err
	}
	if v.receipts, err = d.store.Receipts(ctx, v.turn.ID); err != nil {
		return nil, err
	}
	return c.v.task(v, parts{history: n, artifacts: true}), nil
}

// subscribe streams a task from where it is to its end. An ended one is told as
// it is in 0.3, and refused in 1.0.
func (d *door) subscribe(c *call) (*flow, error) {
	id, err := c.params.need("id")
	if err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	v, err := d.task(ctx, c, id, agent.Principal.MayView)
	if err != nil {
		return nil, err
	}
	if v.state.terminal() && c.v == v10 {
		return nil, &fault{code: unsupportedOperation, message: "The task has ended: there is nothing to subscribe to. Read it with GetTask."}
	}
	v.receipts, err = d.store.Receipts(ctx, v.turn.ID)
	return &flow{view: v, stays: true}, err
}

// cancelTask stops a task. Rights are looked at first; the stop binds to this
// turn. Where the turn is over before the stop finds it, it is answered like an
// ended one.
func (d *door) cancelTask(c *call) (any, error) {
	id, err := c.params.need("id")
	if err != nil {
		return nil, err
	}
	decision, err := c.decisionID()
	if err != nil {
		return nil, err
	}
	ctx, done := httpapi.Detach(c.r.Context(), 0)
	defer done()
	v, err := d.task(ctx, c, id, agent.Principal.MayAct)
	if errors.Is(err, agent.ErrUnavailable) {
		return nil, d.stopHere(c, err)
	}
	if err != nil {
		return nil, err
	}
	if err := v.cancelable(c, decision); err != nil {
		return nil, err
	}
	a, err := d.engine.Stop(ctx, turn.StopRequest{
		Principal: c.caller, Door: agent.DoorA2A, Session: v.turn.Session, Turn: v.turn.ID, RunningOnly: c.v == v03 && decision == "",
	})
	if busy, ok := errors.AsType[*agent.BusyError](err); err != nil && !(ok && busy.Waiting) {
		return nil, noTask(err)
	}
	if v, err = d.task(ctx, c, id, agent.Principal.MayAct); err != nil {
		return nil, err
	}
	if !a.Cancelled {
		return nil, cmp.Or(v.cancelable(c, decision), error(v.notRunning(c.v)))
	}
	return c.v.bare(v), nil
}

// stopHere tells the turn of a task to stop while the database is away, if it runs
// on this node. Its answer is no success: nothing durable says so.
func (d *door) stopHere(c *call, away error) error {
	id, err := c.params.need("id")
	if err != nil {
		return err
	}
	session, index, ok := parseTaskID(id)
	if !ok {
		return noTask(agent.ErrNotFound)
	}
	_, err = d.engine.Stop(c.r.Context(), turn.StopRequest{Principal: c.caller, Door: agent.DoorA2A, Session: session, Index: index})
	if err == nil { // the database is back
		err = &turn.NotRecordedError{Told: true, Err: away}
	}
	return noTask(err)
}

func (c *call) decisionID() (string, error) {
	id, err := c.params.text(c.v.name("decision_id"))
	if err != nil || id != "" {
		return id, err
	}
	meta, err := c.params.object("metadata")
	if err != nil {
		return "", err
	}
	return meta.text(c.v.name("decision_id"))
}

// cancelable says why a task can't be canceled; nil where it can.
func (v *view) cancelable(c *call, decision string) error {
	switch {
	case v.state.terminal():
		return v.notRunning(c.v)
	case decision != "" && !v.isOpen(decision):
		return &fault{code: invalidParams, message: "decision_id: is not that of an open request of this task", data: map[string]any{"decision_id": decision}}
	case v.state != inputRequired:
		return nil
	}
	ids := []string{}
	forbidden := ""
	for _, q := range v.open() {
		ids = append(ids, q.ActionID)
		if q.Type == agent.ActionApproval && !c.caller.Can(agent.PermAgentApprove) {
			forbidden = cmp.Or(forbidden, q.ActionID)
		}
	}
	switch {
	case decision == "" && c.v == v03:
		return &fault{code: unsupportedOperation, data: map[string]any{"pending_action_ids": ids},
			message: "the task cannot be canceled: it is waiting for an approval or an answer, so there is no running turn to stop"}
	case forbidden != "":
		if slices.Contains(ids, decision) {
			forbidden = decision
		}
		return &fault{code: notPermitted, data: map[string]any{"code": "action_forbidden", "decision_id": forbidden},
			message: "the task cannot be canceled: it is waiting for an approval that you may not answer, which needs the permission agent.approve"}
	}
	return nil
}

func (v *view) notRunning(b binding) *fault {
	f := &fault{code: unsupportedOperation, message: "the task cannot be canceled: it is not running"}
	if b == v10 {
		f.code = taskNotCancelable
	}
	return f
}

// words are those of agent.TurnState for each state.
var words = map[state][]string{
	submitted: {"queued"}, working: {"running"}, inputRequired: {"waiting"}, completed: {"completed", "limit"}, canceled: {"cancelled"}, failed: {"failed"},
}

type taskList struct {
	Tasks         []wireTask `json:"tasks"`
	NextPageToken string     `json:"nextPageToken"`
	PageSize      int        `json:"pageSize"`
	TotalSize     int        `json:"totalSize"`
}

// listTasks lists the caller's own tasks, or everybody's where the caller may see
// them.
func (d *door) listTasks(c *call) (any, error) {
	f, p, err := c.filter()
	if err != nil {
		return nil, err
	}
	out := taskList{Tasks: []wireTask{}, PageSize: f.Page.Limit}
	if c.portal != nil && f.Session == "" {
		return out, nil // of everybody's tasks none is the caller's own
	}
	ctx := c.r.Context()
	list, next, total, err := d.store.TurnStates(ctx, f)
	if err != nil {
		if bad, ok := errors.AsType[*agent.FieldError](err); ok && bad.Field == "cursor" {
			err = invalid("pageToken", "must be the nextPageToken of the page before")
		}
		return nil, err
	}
	out.NextPageToken, out.TotalSize = next, total
	for _, x := range list {
		t, err := d.listed(ctx, c, x, p)
		if err != nil {
			return nil, err
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// listed returns a task of a list, by its row alone where nothing more is wanted.
// The list's own word and time of the state stand, so that its order is true.
func (d *door) listed(ctx context.Context, c *call, x agent.TurnState, p parts) (wireTask, error) {
	v := newView(x.Turn)
	if t := x.Turn; t.Status.Final() {
		v.end = &agent.TurnEnded{Status: t.Status, StopReason: t.StopReason, StopDetail: t.StopDetail, Stop: t.Stop, Error: t.Error}
	}
	if p.artifacts || p.history == nil || *p.history > 0 || x.Word == string(agent.StatusWaiting) {
		var err error
		if v, err = d.load(ctx, x.Turn); err != nil {
			return wireTask{}, err
		}
		if v.receipts, err = d.store.Receipts(ctx, x.Turn.ID); err != nil {
			return wireTask{}, err
		}
	}
	for s, list := range words {
		if slices.Contains(list, x.Word) {
			v.state = s
		}
	}
	v.since = x.Since
	return c.v.task(v, p), nil
}

// filter reads what of the tasks is wanted. No history is the default of a list.
func (c *call) filter() (agent.TurnFilter, parts, error) {
	f := agent.TurnFilter{Project: c.caller.Project, Agent: c.agent.Key, Owner: c.caller.ID, Page: agent.Page{Limit: 50}}
	if c.caller.Can(agent.PermSessionViewOthers) || c.caller.Can(agent.PermSessionManageOthers) {
		f.Owner = ""
	}
	p := parts{history: new(0)}
	o := c.params
	size, err := o.count("pageSize", 1, 100)
	if size != nil {
		f.Page.Limit = *size
	}
	n, err2 := o.count("historyLength", 0, math.MaxInt32)
	if n != nil {
		p.history = n
	}
	var err3, err4, err5, err6 error
	f.Session, err3 = o.text("contextId")
	f.Page.Cursor, err4 = o.text("pageToken")
	p.artifacts, err5 = o.flag("includeArtifacts")
	f.States, err6 = o.wantedStates()
	err = cmp.Or(err, err2, err3, err4, err5, err6)
	if v := o.get("statusTimestampAfter"); err == nil && v != nil && json.Unmarshal(v, &f.Since) != nil {
		err = invalid("statusTimestampAfter", "must be a time as in 2026-10-14T09:00:00Z")
	}
	return f, p, err
}

func (o object) wantedStates() ([]string, error) {
	word, err := o.text("status")
	if err != nil || word == "" || word == "TASK_STATE_UNSPECIFIED" {
		return nil, err
	}
	for s, name := range states[v10] {
		if name == word {
			return words[s], nil
		}
	}
	if word == "TASK_STATE_REJECTED" || word == "TASK_STATE_AUTH_REQUIRED" {
		return []string{"none"}, nil // no task is ever in it
	}
	return nil, o.wrong("status", "must be a state of a task, as TASK_STATE_WORKING")
}
