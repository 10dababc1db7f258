package turntest

import (
	"encoding/json"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
)

// CheckHistory returns why a strict provider would refuse a request, nil if it
// would not: every call has exactly one result, right after the message that made
// it; no assistant message is empty; arguments are whole JSON objects; the system
// message comes first and alone, the last message is not the assistant's.
func CheckHistory(req agent.Request) error {
	h := history{open: map[string]bool{}}
	for i, p := range req.Prompts {
		if err := h.next(i, p); err != nil {
			return fmt.Errorf("message %d of %d (%s): %w", i, len(req.Prompts), p.Role, err)
		}
	}
	switch {
	case len(req.Prompts) == 0:
		return fmt.Errorf("no messages")
	case len(h.open) > 0:
		return fmt.Errorf("%d calls have no result at the end", len(h.open))
	case h.last == agent.RoleAssistant || h.last == agent.RoleSystem:
		return fmt.Errorf("the last message is of role %s", h.last)
	}
	return nil
}

type history struct {
	open map[string]bool // calls without a result
	last agent.Role
}

func (h *history) next(i int, p agent.Prompt) error {
	h.last = p.Role
	if p.Role != agent.RoleTool && len(h.open) > 0 {
		return fmt.Errorf("%d calls before it have no result", len(h.open))
	}
	if p.Role != agent.RoleAssistant && len(p.Calls) > 0 {
		return fmt.Errorf("only an assistant makes calls")
	}
	switch p.Role {
	case agent.RoleSystem:
		if i > 0 {
			return fmt.Errorf("a system message that is not the first")
		}
	case agent.RoleUser:
	case agent.RoleTool:
		if !h.open[p.CallID] {
			return fmt.Errorf("result of call %q, which is not open here", p.CallID)
		}
		delete(h.open, p.CallID)
	case agent.RoleAssistant:
		return h.assistant(p)
	default:
		return fmt.Errorf("unknown role")
	}
	return nil
}

func (h *history) assistant(p agent.Prompt) error {
	if p.Text == "" && len(p.Calls) == 0 {
		return fmt.Errorf("empty assistant message")
	}
	for _, c := range p.Calls {
		var object map[string]any
		if err := json.Unmarshal(c.Arguments, &object); err != nil || object == nil {
			return fmt.Errorf("arguments of call %q are no JSON object: %q", c.ID, c.Arguments)
		}
		if c.ID == "" || c.Name == "" || h.open[c.ID] {
			return fmt.Errorf("call %q of tool %q: no id, no name, or an id twice", c.ID, c.Name)
		}
		h.open[c.ID] = true
	}
	return nil
}
