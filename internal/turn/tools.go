package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

func sortSpecs(s []agent.ToolSpec) {
	slices.SortFunc(s, func(a, b agent.ToolSpec) int { return cmp.Compare(a.Name, b.Name) })
}

// job is a call to be run, and what it came to.
type job struct {
	call   agent.Call
	tool   agent.Tool
	result agent.ToolFinished
	asking *asking     // set with its start, where the tool is another agent
	left   atomic.Bool // it has its result: nothing that its tool says counts any more
}

// runTools runs the calls of one message and appends their results to the
// history, in the order of the calls. Calls that need a person's word become
// actions; errWaiting is returned once the others have ended.
func (r *run) runTools(ctx context.Context, box toolbox, h *history, calls []agent.Call) error {
	jobs, asks := r.sortCalls(box, calls)
	if err := r.runJobs(ctx, jobs, asks); err != nil {
		return err
	}
	return r.addResults(ctx, h, calls, jobs, len(asks) > 0)
}

// addResults gives the model what the calls came to.
func (r *run) addResults(ctx context.Context, h *history, calls []agent.Call, jobs []*job, waiting bool) error {
	if c := ctxErr(ctx); c != nil {
		return c
	}
	if waiting {
		return errWaiting
	}
	for _, c := range calls {
		for _, jb := range jobs {
			if jb.call.ID == c.ID {
				h.prompts = append(h.prompts, agent.Prompt{Role: agent.RoleTool, CallID: c.ID, Text: resultText(jb.result, true, true)})
			}
		}
	}
	return nil
}

// sortCalls finds the calls' tools. A call that needs a person is asked about,
// not started.
func (r *run) sortCalls(box toolbox, calls []agent.Call) (jobs []*job, asks []*job) {
	for _, c := range calls {
		t := box.tool(c)
		if t.Asks != "" {
			asks = append(asks, &job{call: c, tool: t})
			continue
		}
		jobs = append(jobs, &job{call: c, tool: t})
	}
	return jobs, asks
}

// tool finds the tool of a call. In place of one that isn't there, or that would
// not take the arguments, it is one that says so: nobody is asked about those.
func (b toolbox) tool(c agent.Call) agent.Tool {
	t, ok := b[c.Name]
	if !ok {
		return unknownTool(c.Name)
	}
	if t.Check == nil {
		return t
	}
	if err := t.Check(c.Arguments); err != nil {
		return agent.Tool{Kind: t.Kind, Source: t.Source, Abortable: true, Call: func(context.Context, []byte) (string, error) { return "", err }}
	}
	return t
}

// unknownTool answers a call of a tool that the agent does not have.
func unknownTool(name string) agent.Tool {
	return agent.Tool{Abortable: true, Call: func(context.Context, []byte) (string, error) {
		return "", fmt.Errorf("there is no tool named %q", name)
	}}
}

// runJobs starts the jobs side by side, as many at once as the agent allows.
// The first ones' starts and the questions for people are stored together; each
// later one's when its time comes.
func (r *run) runJobs(ctx context.Context, jobs []*job, asks []*job) error {
	width := min(len(jobs), orDefault(r.turn.Spec.Limits.MaxParallelTools, agent.DefaultMaxParallelTools))
	if err := r.recordStart(ctx, jobs[:width], asks); err != nil {
		r.notStarted(append(jobs, asks...), err)
		return err
	}
	var mu sync.Mutex
	next := width
	take := func() *job {
		mu.Lock()
		defer mu.Unlock()
		if next == len(jobs) {
			return nil
		}
		next++
		return jobs[next-1]
	}
	var wg sync.WaitGroup
	errs := make([]error, width)
	for i := range width {
		wg.Go(func() {
			r.runJob(ctx, jobs[i])
			for jb := take(); jb != nil; jb = take() {
				if errs[i] = r.recordStart(ctx, []*job{jb}, nil); errs[i] != nil {
					return
				}
				r.runJob(ctx, jb)
			}
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	var left []*job
	for _, jb := range jobs {
		if jb.result.Outcome == "" {
			left = append(left, jb)
			continue
		}
		r.finished(jb.result)
	}
	r.notStarted(left, cmp.Or(ctxErr(ctx), err))
	return err
}

// finished enters a call into the turn's account of its tools, and what a
// sub-agent used into what the turn has spent.
func (r *run) finished(f agent.ToolFinished) {
	if f.Child != nil {
		r.spent = r.spent.Add(f.Child.Usage)
	}
	r.tools = append(r.tools, agent.ToolDone{CallID: f.CallID, Name: f.Name, Outcome: f.Outcome})
}

// recordStart makes the starts durable, and waits for a fresh lease: nothing
// may stand between that test and the start itself.
func (r *run) recordStart(ctx context.Context, jobs []*job, asks []*job) error {
	var bodies []agent.Body
	var actions []agent.Action
	for _, jb := range jobs {
		jb.asking = r.newAsking(jb.call)
		bodies = append(bodies, agent.ToolStarted{
			CallID: jb.call.ID, Name: jb.call.Name, Source: jb.tool.Source, Arguments: jb.call.Arguments, Abortable: jb.tool.Abortable,
			Child: jb.asking.begins(),
		})
	}
	for _, jb := range asks {
		c := jb.call
		a := agent.Action{ID: agent.NewID(), Session: r.lease.Session, Turn: r.lease.Turn, CallID: c.ID, Type: jb.tool.Asks, Name: c.Name, Arguments: c.Arguments,
			Lasts: r.turn.Spec.Execution.ActionExpiry()}
		actions = append(actions, a)
		bodies = append(bodies, agent.ActionRequested{ActionID: a.ID, CallID: c.ID, Type: a.Type, Name: c.Name, Arguments: c.Arguments})
	}
	if err := ctxErr(ctx); err != nil {
		return err
	}
	if err := r.journal.record(ctx, r.e.times.Write, actions, bodies...); err != nil {
		if s, ok := errors.AsType[*agent.Stop](err); ok {
			r.stop(*s, PathPoll, 0)
		} else if errors.Is(err, agent.ErrLeaseLost) {
			r.cancel(err) // the calls beside this one are no longer ours either
		}
		return err
	}
	return r.e.keep.await(ctx, r.lease.Node)
}

// notStarted answers calls that did not run, and why. Where others have the
// turn there is nothing to say: they answer for it.
func (r *run) notStarted(jobs []*job, why error) {
	if errors.Is(why, agent.ErrLeaseLost) {
		return
	}
	for _, jb := range jobs {
		jb.result = agent.ToolFinished{CallID: jb.call.ID, Name: jb.call.Name, Outcome: agent.ToolAborted, Output: textNotRun}
		r.tell(jb)
		r.finished(jb.result)
	}
}

// tell makes it known what a call came to. What it was given and what it said
// is in the journal alone.
func (r *run) tell(jb *job) {
	f := jb.result
	r.journal.emit(f)
	r.e.log.Info("tool ended", "session_id", r.lease.Session, "turn_id", r.lease.Turn, "call_id", f.CallID, "tool", f.Name,
		"kind", jb.tool.Kind, "source", jb.tool.Source, "outcome", f.Outcome, "ms", f.DurationMS)
	r.e.obs.ToolCall(jb.tool.Kind, f.Outcome, time.Duration(f.DurationMS)*time.Millisecond)
}

// runJob runs one call and tells what it came to; nothing where the turn ended
// just before.
func (r *run) runJob(ctx context.Context, jb *job) {
	began := time.Now()
	if ctx.Err() != nil {
		return
	}
	out, err := r.callTool(ctx, jb)
	f := agent.ToolFinished{CallID: jb.call.ID, Name: jb.call.Name, DurationMS: time.Since(began).Milliseconds()}
	f.Outcome, f.Output = judge(jb.tool, ctx.Err() != nil, out, err)
	f.Child = jb.asking.ended()
	jb.result = f
	r.tell(jb)
}

// judge says how a call ended.
func judge(t agent.Tool, stopped bool, out string, err error) (agent.ToolOutcome, string) {
	switch {
	case errors.Is(err, agent.ErrUnconfirmed):
		return agent.ToolUnconfirmed, agent.OutputUnconfirmed
	case stopped && !t.Abortable:
		return agent.ToolDropped, textDropped
	case stopped && err != nil:
		return agent.ToolAborted, textAborted
	case err != nil:
		return agent.ToolError, cut(strings.ToValidUTF8("error: "+err.Error(), "\uFFFD"))
	}
	return agent.ToolSuccess, cut(strings.ToValidUTF8(out, "\uFFFD"))
}

func cut(s string) string {
	if len(s) <= agent.MaxToolOutput {
		return s
	}
	head := strings.ToValidUTF8(s[:agent.MaxToolOutput], "")
	return fmt.Sprintf("%s\n[%d more bytes are not shown]", head, len(s)-len(head))
}

type toolAnswer struct {
	out string
	err error
}

// callTool calls the tool under its timeout. A tool that breaks its contract and
// outlives its context by Times.ToolGrace is left behind as unconfirmed.
func (r *run) callTool(ctx context.Context, jb *job) (string, error) {
	parent := ctx
	if !jb.tool.Abortable {
		parent = context.WithoutCancel(ctx)
	}
	limit := cmp.Or(jb.tool.Timeout, agent.DefaultToolTimeout)
	ctx, cancel := context.WithTimeoutCause(parent, limit, fmt.Errorf("the tool took longer than %v", limit))
	defer cancel()
	defer jb.left.Store(true)
	answer := make(chan toolAnswer, 1)
	go func() {
		out, err := r.guarded(ctx, jb)
		answer <- toolAnswer{out, err}
	}()
	select {
	case a := <-answer:
		return a.out, whyEnded(ctx, a.err)
	case <-ctx.Done():
	}
	grace := time.NewTimer(r.e.times.ToolGrace)
	defer grace.Stop()
	select {
	case a := <-answer:
		return a.out, whyEnded(ctx, a.err)
	case <-grace.C:
		return "", fmt.Errorf("%w: tool %s did not end", agent.ErrUnconfirmed, jb.call.Name)
	}
}

// whyEnded puts the context's cause in place of what a tool made of its end.
func whyEnded(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, agent.ErrUnconfirmed) {
		return err
	}
	return context.Cause(ctx)
}

// guarded turns a tool's panic into an error; what it panicked with is for the log.
func (r *run) guarded(ctx context.Context, jb *job) (out string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the tool failed")
			r.e.log.Error("panic in a tool", "session_id", r.lease.Session, "turn_id", r.lease.Turn, "tool", jb.call.Name,
				"panic", p, "stack", string(debug.Stack()))
		}
	}()
	if jb.asking != nil {
		return r.askAgent(ctx, jb.asking)
	}
	if jb.tool.Stream == nil {
		return jb.tool.Call(ctx, jb.call.Arguments)
	}
	return jb.tool.Stream(ctx, jb.call.Arguments, func(text string) {
		if !jb.left.Load() {
			r.journal.emit(agent.ToolOutput{CallID: jb.call.ID, Text: strings.ToValidUTF8(text, "\uFFFD")})
		}
	})
}

// resume goes on with the calls of a turn that waited: approved ones are run,
// denied ones answered so, and one that an earlier leg began is never begun again.
func (r *run) resume(ctx context.Context, box toolbox, h *history) error {
	if len(h.open) == 0 {
		return nil
	}
	actions, err := retry(ctx, func() ([]agent.Action, error) { return r.e.store.Actions(ctx, r.lease.Turn) })
	if err != nil {
		return cmp.Or(ctxErr(ctx), err)
	}
	var jobs []*job
	waiting := false
	for _, c := range h.open {
		jb, wait := decided(box, c, actions, h.started[c.ID])
		waiting = waiting || wait
		if jb != nil {
			jobs = append(jobs, jb)
		}
	}
	var run []*job
	for _, jb := range jobs {
		if jb.result.Outcome == "" {
			run = append(run, jb)
			continue
		}
		r.tell(jb)
		r.finished(jb.result)
	}
	if err := r.runJobs(ctx, run, nil); err != nil {
		return err
	}
	return r.addResults(ctx, h, h.open, jobs, waiting)
}

// What a model reads of a call that a person did not agree to, or did not answer.
var (
	refusals = map[agent.ActionType]string{
		agent.ActionApproval: "A person refused this call.",
		agent.ActionQuestion: "The person did not want to answer.",
	}
	unanswered = map[agent.ActionType]string{
		agent.ActionApproval: "Nobody approved this call: the request was withdrawn.",
		agent.ActionQuestion: "Nobody answered: the question was withdrawn.",
	}
	overdue = map[agent.ActionType]string{
		agent.ActionApproval: "Nobody approved this call in time, so it was not made.",
		agent.ActionQuestion: "Nobody answered in time.",
	}
)

// decided says what is to become of an open call: a job to run, a job that has
// its result already, or more waiting.
func decided(box toolbox, c agent.Call, actions []agent.Action, started bool) (jb *job, waiting bool) {
	jb = &job{call: c, tool: box.tool(c)}
	done := func(o agent.ToolOutcome, text string) (*job, bool) {
		jb.result = agent.ToolFinished{CallID: c.ID, Name: c.Name, Outcome: o, Output: text}
		return jb, false
	}
	if started {
		return done(agent.ToolUnconfirmed, agent.OutputUnconfirmed)
	}
	i := slices.IndexFunc(actions, func(a agent.Action) bool { return a.CallID == c.ID })
	switch {
	case i < 0 && jb.tool.Asks != "":
		return done(agent.ToolAborted, textNotRun) // nobody was asked, so nobody agreed
	case i < 0:
		return jb, false
	}
	switch a := actions[i]; a.State {
	case agent.ActionOpen:
		return nil, true
	case agent.ActionApproved:
		if a.Type == agent.ActionQuestion {
			return done(agent.ToolSuccess, cut(a.Answer))
		}
		jb.call.Arguments = a.Arguments
		jb.tool = box.tool(jb.call) // they may have been edited
		return jb, false
	case agent.ActionDenied:
		return done(agent.ToolError, cut(strings.TrimSpace(refusals[a.Type]+" "+a.Answer)))
	case agent.ActionExpired:
		return done(agent.ToolError, overdue[a.Type])
	default:
		return done(agent.ToolError, unanswered[a.Type])
	}
}
