package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/belayrun/belay/internal/agent"
)

// history is what the model of this leg is given, and what the journal says of
// the turn so far.
type history struct {
	prompts []agent.Prompt
	// open are the calls of the turn's last message that have no result, set
	// where a leg goes on with a turn that waited.
	open    []agent.Call
	started map[string]bool // calls whose start is stored
	calls   int             // tool calls the turn has made
	system  []string        // instructions that the session has of its own
	ids     map[string]bool // of all calls in the prompts
}

// name gives a call another id where the model's own is empty or taken: within a
// session an id names one call, in the journal and to every provider.
func (h *history) name(calls []agent.Call) {
	for i := range calls {
		if calls[i].ID == "" || h.ids[calls[i].ID] {
			calls[i].ID = "call_" + agent.NewID()
		}
		h.ids[calls[i].ID] = true
	}
}

// recall reads the session's history from the journal.
func (r *run) recall(ctx context.Context) (*history, error) {
	if err := r.journal.record(ctx, r.e.times.Write, nil); err != nil {
		return nil, err
	}
	events, err := r.transcript(ctx)
	if err != nil {
		return nil, cmp.Or(ctxErr(ctx), err)
	}
	r.countTurn(events)
	h := repair(events, r.lease.Turn)
	if text := agent.JoinInstructions(append([]string{r.turn.Spec.Instructions}, h.system...)...); text != "" {
		h.prompts = append([]agent.Prompt{{Role: agent.RoleSystem, Text: text}}, h.prompts...)
	}
	return h, nil
}

// transcript reads what the session has. Of a session that began with this leg
// that is what its taking wrote.
func (r *run) transcript(ctx context.Context) ([]agent.Event, error) {
	if r.turn.FirstSeq == 1 && len(r.first) > 0 {
		return r.first, nil
	}
	return retry(ctx, func() ([]agent.Event, error) { return r.e.store.Transcript(ctx, r.lease.Session) })
}

// countTurn takes the turn's figures from the journal: legs before this one
// have spent tokens and made messages.
func (r *run) countTurn(events []agent.Event) {
	r.index, r.calls, r.spent, r.tools = r.turn.Index, 0, agent.Tokens{}, nil
	asks := 0
	for _, e := range events {
		if e.Turn != r.lease.Turn {
			continue
		}
		switch b := e.Body.(type) {
		case agent.Message:
			if b.Role != agent.RoleAssistant {
				continue
			}
			r.index = b.Index + 1
			if b.Usage != nil {
				r.calls = max(r.calls, b.Usage.Call)
				r.spent = r.spent.Add(b.Usage.Tokens)
			}
		case agent.ToolStarted:
			if b.Child != nil {
				asks++
			}
		case agent.ToolFinished:
			r.finished(b)
		}
	}
	r.mu.Lock()
	r.asks = asks
	r.mu.Unlock()
	r.calls = max(r.calls, r.turn.Calls)
}

// repair makes a history that a strict provider accepts from whatever the
// journal holds: every call has exactly one result right after its message, no
// assistant message is empty, arguments are whole. Calls of the turn's own last
// message that have no result are left open instead: the leg is about to run them.
func repair(events []agent.Event, turn string) *history {
	h := &history{started: make(map[string]bool), ids: make(map[string]bool)}
	results := make(map[string]agent.ToolFinished)
	last := -1 // the turn's last message, if it is an assistant's
	for i, e := range events {
		switch b := e.Body.(type) {
		case agent.ToolStarted:
			h.started[b.CallID] = true
		case agent.ToolFinished:
			if _, twice := results[b.CallID]; !twice {
				results[b.CallID] = b
			}
		case agent.Message:
			last = -1
			if e.Turn == turn && b.Role == agent.RoleAssistant {
				last = i
			}
		}
	}
	for i, e := range events {
		m, ok := e.Body.(agent.Message)
		if !ok {
			continue
		}
		if m.Role == agent.RoleSystem {
			h.system = append(h.system, m.Text)
			continue
		}
		calls := wholeCalls(m.Calls, h.ids)
		if m.Role == agent.RoleAssistant && strings.TrimSpace(m.Text) == "" {
			m.Text = "" // providers refuse blank text like none
			if len(calls) == 0 {
				continue
			}
		}
		h.prompts = append(h.prompts, agent.Prompt{Role: m.Role, Text: m.Text, Calls: calls})
		if e.Turn == turn {
			h.calls += len(calls)
		}
		for _, c := range calls {
			res, done := results[c.ID]
			if !done && i == last {
				h.open = append(h.open, c)
				continue
			}
			h.prompts = append(h.prompts, agent.Prompt{Role: agent.RoleTool, CallID: c.ID, Text: resultText(res, done, h.started[c.ID])})
		}
	}
	return h
}

// wholeCalls drops what no provider would accept: a repeated id, arguments that
// are not JSON.
func wholeCalls(calls []agent.Call, seen map[string]bool) []agent.Call {
	var out []agent.Call
	for _, c := range calls {
		if !seen[c.ID] && json.Valid(c.Arguments) {
			seen[c.ID] = true
			out = append(out, c)
		}
	}
	return out
}

// What the model reads where there is no result of a tool's own.
const (
	textNotRun  = "The turn was stopped before this tool was run."
	textAborted = "The turn was stopped and this tool was aborted."
	textDropped = "The turn was stopped while this tool ran; its result was dropped."
	textEmpty   = "(no output)"
)

func resultText(f agent.ToolFinished, done, started bool) string {
	switch {
	case done && f.Output != "":
		return f.Output
	case done:
		return textEmpty
	case started:
		return agent.OutputUnconfirmed
	}
	return textNotRun
}
