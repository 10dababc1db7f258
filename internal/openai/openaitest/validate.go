package openaitest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rejection is the error document of a request that is refused with 400.
type rejection struct {
	Message string
	Param   string
}

func (e *rejection) Error() string { return e.Message }

func reject(message int, field, what string) error {
	param := fmt.Sprintf("messages.[%d]", message)
	if field != "" {
		param += "." + field
	}
	return &rejection{Message: fmt.Sprintf("Invalid value for '%s': %s.", param, what), Param: param}
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// validate holds a request to what OpenAI and Anthropic ask for together.
func validate(w *wireRequest, messages []Message) error {
	switch {
	case w.Model == "":
		return &rejection{"You must provide a model parameter.", "model"}
	case len(messages) == 0:
		return &rejection{"Invalid 'messages': empty array. Expected an array with minimum length 1.", "messages"}
	}
	for i, t := range w.Tools {
		if t.Type != "function" || !toolName.MatchString(t.Function.Name) {
			param := fmt.Sprintf("tools[%d].function.name", i)
			return &rejection{"Invalid '" + param + "': expected a function with a well-formed name.", param}
		}
	}
	return validateHistory(messages)
}

func validateHistory(messages []Message) error {
	var open pairing
	for i, m := range messages {
		if err := validateContent(i, m); err != nil {
			return err
		}
		if m.Role == "tool" {
			if err := open.result(i, m); err != nil {
				return err
			}
			continue
		}
		if err := open.closed(); err != nil {
			return err
		}
		if err := open.begin(i, m); err != nil {
			return err
		}
	}
	return open.closed()
}

// validateContent wants text that is more than white space, as Anthropic does;
// a tool's result may be empty but not absent, an assistant message that calls
// tools may be without any.
func validateContent(i int, m Message) error {
	blank := strings.TrimSpace(m.Content) == ""
	switch m.Role {
	case "system", "developer":
		return nil
	case "user":
		if blank {
			return reject(i, "content", "user messages must have non-empty content")
		}
	case "assistant":
		if blank && len(m.ToolCalls) == 0 {
			return reject(i, "content", "assistant messages must have non-empty content or tool_calls")
		}
	case "tool":
		if m.missing {
			return reject(i, "content", "expected a string, but got null instead")
		}
	default:
		return reject(i, "role", fmt.Sprintf("%q is not one of system, developer, user, assistant and tool", m.Role))
	}
	if m.Role != "assistant" && len(m.ToolCalls) > 0 {
		return reject(i, "tool_calls", "only assistant messages may have tool_calls")
	}
	return nil
}

// pairing holds the calls of one assistant message against the results that
// must follow it.
type pairing struct {
	at      int             // the assistant message
	waiting map[string]bool // by id; false: has its result
}

func (p *pairing) begin(i int, m Message) error {
	*p = pairing{at: i}
	if len(m.ToolCalls) == 0 {
		return nil
	}
	p.waiting = make(map[string]bool, len(m.ToolCalls))
	for j, c := range m.ToolCalls {
		field := fmt.Sprintf("tool_calls.[%d]", j)
		if _, again := p.waiting[c.ID]; again || c.ID == "" {
			return reject(i, field+".id", "tool call ids must be unique and not empty")
		}
		if !toolName.MatchString(c.Name) {
			return reject(i, field+".function.name", "expected a well-formed name")
		}
		if !json.Valid([]byte(c.Arguments)) {
			return reject(i, field+".function.arguments", "not valid JSON")
		}
		p.waiting[c.ID] = true
	}
	return nil
}

func (p *pairing) result(i int, m Message) error {
	waiting, called := p.waiting[m.ToolCallID]
	switch {
	case !called:
		return reject(i, "role", "messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
	case !waiting:
		return reject(i, "tool_call_id", fmt.Sprintf("call %q has more than one result", m.ToolCallID))
	}
	p.waiting[m.ToolCallID] = false
	return nil
}

func (p *pairing) closed() error {
	var missing []string
	for id, waiting := range p.waiting {
		if waiting {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return reject(p.at, "", "an assistant message with 'tool_calls' must be followed by tool messages responding to each "+
		"'tool_call_id'. The following tool_call_ids did not have response messages: "+strings.Join(missing, ", "))
}
