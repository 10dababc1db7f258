package turntest

import (
	"context"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

// Sweep implements turn.Janitor.
func (m *Memory) Sweep(ctx context.Context, me string) (agent.Swept, bool, error) {
	return m.closing(ctx, "Sweep", func() *memSession {
		var found []*memSession
		for _, s := range m.sessions {
			if m.ownerless(s) {
				found = append(found, s)
			}
		}
		if len(found) == 0 {
			return m.expired()
		}
		return slices.MinFunc(found, bySlot)
	})
}

// expired returns the session whose turn was queued for too long the longest, nil
// for none.
func (m *Memory) expired() *memSession {
	var first *memSession
	for _, s := range m.sessions {
		if s.slot.expires.IsZero() || s.slot.expires.After(now()) || s.slot.state != agent.SlotQueued {
			continue
		}
		if first == nil || s.slot.expires.Before(first.slot.expires) {
			first = s
		}
	}
	return first
}

// CloseFor implements turn.Closer.
func (m *Memory) CloseFor(ctx context.Context, l agent.Lease) (agent.Swept, bool, error) {
	return m.closing(ctx, "CloseFor", func() *memSession {
		s, _ := m.running(l)
		return s
	})
}

// closing settles the leg in the session that find returns, if any.
func (m *Memory) closing(ctx context.Context, method string, find func() *memSession) (agent.Swept, bool, error) {
	ok := false
	swept, err := call(ctx, m, method, func() (agent.Swept, error) {
		s := find()
		if s == nil {
			return agent.Swept{}, nil
		}
		ok = true
		if s.slot.state == agent.SlotQueued {
			o := agent.Outcome{Kind: agent.Failed, Failure: agent.ExpiredFailure()}
			return agent.Swept{Lease: s.lease(), Outcome: o.Kind}, m.endIdleAs(s, o, new(agent.StopResult))
		}
		swept := agent.Swept{Lease: s.lease(), Outcome: othersOutcome(s).Kind}
		return swept, m.settleForOther(s, new(agent.StopResult))
	})
	return swept, ok && err == nil, err
}

// Strays implements turn.Janitor.
func (m *Memory) Strays(ctx context.Context, node string, known []agent.Lease) ([]agent.Leg, error) {
	return call(ctx, m, "Strays", func() ([]agent.Leg, error) {
		var out []agent.Leg
		for _, s := range m.byID() {
			if s.slot.state != agent.SlotRunning || s.slot.node != node || now().Sub(s.slot.taken) <= m.times.Stray {
				continue
			}
			if slices.ContainsFunc(known, func(l agent.Lease) bool { return l.Turn == s.slot.turn && l.Fence == s.slot.fence }) {
				continue
			}
			leg := agent.Leg{
				Lease: s.lease(), Session: s.Session, Turn: m.readTurn(m.turns[s.slot.turn]), Seq: s.slot.seq,
			}
			var err error
			leg.Events, err = s.events(func(r memRow) bool { return r.fence == s.slot.fence })
			if err != nil {
				return nil, err
			}
			if len(leg.Events) > 0 {
				leg.Seq = leg.Events[0].Seq - 1
			}
			out = append(out, leg)
		}
		return out, nil
	})
}

// othersOutcome is how a leg ends that its owner doesn't close.
func othersOutcome(s *memSession) agent.Outcome {
	if stop := s.slot.stop; stop != nil {
		return agent.Outcome{Kind: agent.Stopped, Detail: stop.Detail, Stop: stop}
	}
	return agent.Outcome{Kind: agent.Lost, Failure: agent.LostFailure()}
}

// settleForOther closes a running leg whose owner can't: what it had shown and
// not stored is gone, so the numbers leave a gap, and what it had begun is
// unconfirmed. What it does below the turn is added to res.
func (m *Memory) settleForOther(s *memSession, res *agent.StopResult) error {
	t, o := m.turns[s.slot.turn], othersOutcome(s)
	left, err := s.remains(t)
	if err != nil {
		return err
	}
	s.slot.fence++
	s.slot.seq = s.last() + agent.GapWhenClosedForOther
	t.addUsage(left.usage)
	left.draftUsage(t, o)

	events := m.untold(s, t, o)
	add := func(b agent.Body) {
		events = append(events, numbered(s.ID, t.ID, s.slot.seq+int64(len(events)), b)...)
	}
	if o.Stop != nil && !left.stopping {
		add(agent.TurnStopping{By: o.Stop.By, Door: o.Stop.Door, Node: o.Stop.Node})
	}
	words := agent.LastWords(s.lease(), 0, o, left.draft, t.total(), left.done(), nil, now())
	for _, w := range words[:len(words)-1] {
		add(w.Body)
	}
	for _, c := range left.calls {
		add(agent.ToolFinished{CallID: c.CallID, Name: c.Name, Outcome: agent.ToolUnconfirmed, Output: agent.OutputUnconfirmed})
	}
	add(words[len(words)-1].Body)
	if err := s.write(events); err != nil {
		return err
	}
	m.closeLeg(s, t, o)
	return m.stopChildren(t, parentStop(t, o), res)
}

// remains is what the journal holds of a turn whose owner is gone.
type remains struct {
	draft    *agent.Draft
	index    int // of the next message
	calls    []agent.ToolStarted
	finished []agent.ToolDone
	usage    []agent.Usage
	stopping bool
	settled  bool // the last step has its message, and waits for no tool
}

// remains reads the journal of a turn back.
func (s *memSession) remains(t *memTurn) (*remains, error) {
	events, err := s.events(func(r memRow) bool { return r.Turn == t.ID })
	if err != nil {
		return nil, err
	}
	left := &remains{index: s.slot.messages}
	for _, e := range events {
		left.read(e.Body)
	}
	return left, nil
}

func (r *remains) read(b agent.Body) {
	switch b := b.(type) {
	case agent.TextDelta:
		r.write().Text += b.Text
	case agent.ReasoningDelta:
		r.write().Reasoning += b.Text
	case agent.Message:
		r.draft, r.settled = nil, b.Role == agent.RoleAssistant && len(b.Calls) == 0
		if b.Usage != nil {
			r.usage = append(r.usage, *b.Usage)
		}
	case agent.ToolStarted:
		r.calls = append(r.calls, b)
	case agent.ToolFinished:
		r.finished = append(r.finished, agent.ToolDone{CallID: b.CallID, Name: b.Name, Outcome: b.Outcome})
		r.calls = slices.DeleteFunc(r.calls, func(c agent.ToolStarted) bool { return c.CallID == b.CallID })
	case agent.TurnStopping:
		r.stopping = true
	}
}

func (r *remains) write() *agent.Draft {
	if r.draft == nil {
		r.draft = &agent.Draft{Index: r.index}
	}
	return r.draft
}

// draftUsage makes the row of the model call under way. Nobody counted its
// tokens: they are estimated from the text that was stored. A stop keeps an
// empty answer as an answer.
func (r *remains) draftUsage(t *memTurn, o agent.Outcome) {
	if r.draft == nil && (o.Kind != agent.Stopped || r.settled || len(r.calls) > 0) {
		return
	}
	d := r.write()
	u := agent.Usage{Call: 1, Model: t.Spec.Model, Status: agent.UsageError, At: now()}
	if o.Kind == agent.Stopped {
		u.Status = agent.UsageCancelled
	}
	if n := len(t.usage); n > 0 {
		u.Call = t.usage[n-1].Call + 1
	}
	u.Tokens = agent.Tokens{Output: estimate(d.Text), Reasoning: estimate(d.Reasoning), Estimated: true}
	u.Output += u.Reasoning
	d.Usage = &u
	t.addUsage([]agent.Usage{u})
}

func estimate(text string) int64 { return int64(len(text)+3) / 4 }

func (r *remains) done() []agent.ToolDone {
	out := slices.Clone(r.finished)
	for _, c := range r.calls {
		out = append(out, agent.ToolDone{CallID: c.CallID, Name: c.Name, Outcome: agent.ToolUnconfirmed})
	}
	return out
}

// toolsDone is the account of the tools that a turn has called.
func (s *memSession) toolsDone(turn string) []agent.ToolDone {
	left := &remains{}
	events, _ := s.events(func(r memRow) bool { return r.Turn == turn && r.Kind == agent.KindToolFinished })
	for _, e := range events {
		left.read(e.Body)
	}
	return left.finished
}
