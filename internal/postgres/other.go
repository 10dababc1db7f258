package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// readRemains reads what a turn's owner left in the journal: everything but what
// tools printed, and of the deltas those that no message repeats.
const readRemains = `
WITH t AS MATERIALIZED (
    SELECT t.id, t.session_id, t.first_seq, (
        SELECT max(m.seq) FROM events m
        WHERE m.session_id = t.session_id AND m.seq >= t.first_seq AND m.turn_id = t.id AND m.kind = 'message') AS said
    FROM turns t WHERE t.id = @turn::text
)
SELECT e.session_id, e.seq, e.last_seq, e.turn_id, e.kind, e.body, e.at, false, 0::bigint
FROM t JOIN events e ON e.session_id = t.session_id AND e.seq >= t.first_seq AND e.turn_id = t.id
WHERE e.kind <> 'tool.output' AND (e.kind NOT IN ('text.delta', 'reasoning.delta') OR e.seq > t.said)
ORDER BY e.seq`

const readLastNumber = `
SELECT last_seq FROM events WHERE session_id = @session::text ORDER BY seq DESC LIMIT 1`

// settleForOther closes a running leg whose owner can't, with the slot's lock
// held: cancelled if that was asked for, else lost. What the owner has shown and
// not stored is gone, so the numbers leave a gap; what it had begun is
// unconfirmed; the fence refuses what it may still send. It returns the stop for
// what lives below.
func (e *ender) settleForOther(ctx context.Context, sl *slot, withdraw bool) (agent.Stop, error) {
	var f facts
	var left remains
	var last int64
	var found bool
	var batch pgx.Batch
	f.queue(&batch, sl.session, sl.turn)
	batch.Queue(readRemains, pgx.StrictNamedArgs{"turn": sl.turn}).Query(left.collect)
	batch.Queue(readLastNumber, pgx.StrictNamedArgs{"session": sl.session}).QueryRow(into([]any{&last}, &found))
	if err := e.tx.send(ctx, &batch); err != nil {
		return agent.Stop{}, err
	}
	o := othersOutcome(sl)
	x := ending{outcome: o, fence: sl.fence + 1, seq: max(last, sl.seq) + agent.GapWhenClosedForOther}
	e.actions += f.withdraw(&x, stopBy(o), withdraw || o.Kind != agent.Stopped)
	if err := e.tellDecisions(ctx, *sl, &f, &x); err != nil {
		return agent.Stop{}, err
	}
	if err := left.lastWords(sl, &f, &x); err != nil {
		return agent.Stop{}, err
	}
	if err := e.close(sl, &f, x); err != nil {
		return agent.Stop{}, err
	}
	sl.fence, sl.seq, sl.messages = x.fence, x.seq, max(sl.messages, x.messages)
	return f.below(o, sl.now), nil
}

func othersOutcome(sl *slot) agent.Outcome {
	lost := agent.Outcome{Kind: agent.Lost, Failure: agent.LostFailure()}
	o, _ := agent.Decide(sl.asked(), 0, lost)
	return o
}

func stopBy(o agent.Outcome) string {
	if o.Stop == nil {
		return ""
	}
	return o.Stop.By
}

// remains is what the journal holds of a turn whose owner is gone.
type remains struct {
	draft    *agent.Draft
	messages int // highest index and one
	calls    []agent.ToolStarted
	finished []agent.ToolDone
	usage    []agent.Usage
	stopping bool
	answered bool // the last message is an answer that calls nothing
}

func (r *remains) collect(rows pgx.Rows) error {
	events, err := collectEvents(rows)
	for _, e := range events {
		r.read(e.Body)
	}
	return err
}

func (r *remains) read(b agent.Body) {
	switch b := b.(type) {
	case agent.TextDelta:
		r.write().Text += b.Text
	case agent.ReasoningDelta:
		r.write().Reasoning += b.Text
	case agent.Message:
		r.message(b)
	case agent.ToolStarted:
		r.calls = append(r.calls, b)
	case agent.ToolFinished:
		r.finished = append(r.finished, agent.ToolDone{CallID: b.CallID, Name: b.Name, Outcome: b.Outcome})
		r.calls = slices.DeleteFunc(r.calls, func(c agent.ToolStarted) bool { return c.CallID == b.CallID })
	case agent.TurnStopping:
		r.stopping = true
	}
}

func (r *remains) message(m agent.Message) {
	r.draft, r.messages = nil, max(r.messages, m.Index+1)
	r.answered = m.Role == agent.RoleAssistant && len(m.Calls) == 0
	if m.Usage != nil {
		r.usage = append(r.usage, *m.Usage)
	}
}

func (r *remains) write() *agent.Draft {
	if r.draft == nil {
		r.draft = &agent.Draft{}
	}
	return r.draft
}

// lastWords writes the closing events of a leg for its owner.
func (r *remains) lastWords(sl *slot, f *facts, x *ending) error {
	o := x.outcome
	x.usage = f.fresh(r.usage)
	if err := r.estimate(sl, f, x); err != nil {
		return err
	}
	var bodies []agent.Body
	if o.Stop != nil && !r.stopping {
		bodies = append(bodies, agent.TurnStopping{By: o.Stop.By, Door: o.Stop.Door, Node: o.Stop.Node})
	}
	words := agent.LastWords(sl.lease(), 0, o, r.draft, f.total.Add(sum(x.usage)), r.done(), nil, sl.now)
	end := len(words) - 1
	for _, w := range words[:end] {
		bodies = append(bodies, w.Body)
	}
	for _, c := range r.calls {
		bodies = append(bodies, agent.ToolFinished{CallID: c.CallID, Name: c.Name, Outcome: agent.ToolUnconfirmed, Output: agent.OutputUnconfirmed})
	}
	x.say(number(*sl, sl.turn, x.seq, append(bodies, words[end].Body))...)
	return nil
}

// estimate makes the usage row of the model call under way: nobody counted its
// tokens. A stop keeps an empty answer as an answer.
func (r *remains) estimate(sl *slot, f *facts, x *ending) error {
	stopped := x.outcome.Kind == agent.Stopped
	x.messages = max(r.messages, sl.messages)
	if r.draft == nil && (!stopped || r.answered || len(r.calls) > 0) {
		return nil
	}
	var config agent.Config
	if err := json.Unmarshal(f.config, &config); err != nil {
		return fmt.Errorf("decode config of turn %s: %w", sl.turn, err)
	}
	u := agent.Usage{Call: r.nextCall(f), Model: config.Model, Status: agent.UsageError, At: sl.now}
	if stopped {
		u.Status = agent.UsageCancelled
	}
	d := r.write()
	u.Tokens = agent.Tokens{Reasoning: estimate(d.Reasoning), Estimated: true}
	u.Output = estimate(d.Text) + u.Reasoning
	d.Index, d.Usage = x.messages, &u
	x.messages++
	x.usage = append(x.usage, u)
	return nil
}

func (r *remains) nextCall(f *facts) int {
	last := 0
	for _, c := range f.calls {
		last = max(last, int(c))
	}
	for _, u := range r.usage {
		last = max(last, u.Call)
	}
	return last + 1
}

// estimate is a rough count of the tokens of a text.
func estimate(text string) int64 { return int64(len(text)+3) / 4 }

// done is the turn's account of its tools.
func (r *remains) done() []agent.ToolDone {
	out := slices.Clone(r.finished)
	for _, c := range r.calls {
		out = append(out, agent.ToolDone{CallID: c.CallID, Name: c.Name, Outcome: agent.ToolUnconfirmed})
	}
	return out
}
