package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

type itemKind int

const (
	messageItem itemKind = iota
	reasoningItem
	callItem
)

// item is an entry of a response's output.
type item struct {
	kind   itemKind
	id     string
	index  int // in output
	status string
	text   []byte // of a message or of reasoning, so far
	whole  string // that text, once it is closed

	label, name, arguments string // of a call
	output, err            *string
}

// said returns the item's text as it is now.
func (it *item) said() string {
	if it.text != nil {
		return string(it.text)
	}
	return it.whole
}

// seal closes the item with its whole text.
func (it *item) seal(whole string, status apigen.ItemStatus) {
	it.text, it.whole, it.status = nil, whole, string(status)
}

// beyond returns what whole has beyond the item's text. !ok: it does not begin
// with that.
func (it *item) beyond(whole string) (rest string, ok bool) {
	if it.text == nil {
		return strings.CutPrefix(whole, it.whole)
	}
	if n := len(it.text); n <= len(whole) && whole[:n] == string(it.text) {
		return whole[n:], true
	}
	return "", false
}

// wire returns the item as it is now.
func (it *item) wire() any {
	text := it.said()
	switch it.kind {
	case messageItem:
		out := apigen.MessageItem{Id: it.id, Type: "message", Role: "assistant", Status: apigen.ItemStatus(it.status), Content: []apigen.OutputText{}}
		if text != "" || it.status != string(apigen.ItemStatusInProgress) {
			out.Content = append(out.Content, outputText(text))
		}
		return out
	case reasoningItem:
		out := apigen.ReasoningItem{Id: it.id, Type: "reasoning", Status: apigen.ItemStatus(it.status), Summary: []apigen.SummaryText{}}
		if text != "" || it.status != string(apigen.ItemStatusInProgress) {
			out.Summary = append(out.Summary, summaryText(text))
		}
		return out
	}
	return apigen.McpCallItem{
		Id: it.id, Type: "mcp_call", ServerLabel: it.label, Name: it.name, Arguments: it.arguments,
		Status: it.status, Output: it.output, Error: it.err,
	}
}

func outputText(s string) apigen.OutputText {
	return apigen.OutputText{Type: "output_text", Text: s, Annotations: []struct{}{}}
}

func summaryText(s string) apigen.SummaryText {
	return apigen.SummaryText{Type: "summary_text", Text: s}
}

func (r *renderer) add(kind itemKind, id string) *item {
	it := &item{kind: kind, id: id, index: len(r.items), status: string(apigen.ItemStatusInProgress)}
	r.items = append(r.items, it)
	return it
}

// openText begins the message's item, if it has not begun. Reasoning that came
// before it is over.
func (r *renderer) openText() error {
	if r.text != nil {
		return nil
	}
	if err := r.closeThinking(apigen.ItemStatusCompleted); err != nil {
		return err
	}
	r.text = r.add(messageItem, httpapi.MessageID(r.turn.Session, r.index))
	if err := r.itemEvent("response.output_item.added", r.text); err != nil {
		return err
	}
	return r.partEvent("response.content_part.added", r.text, outputText(""))
}

func (r *renderer) textDelta(s string) error {
	if err := r.openText(); err != nil {
		return err
	}
	if err := r.closeThinking(apigen.ItemStatusCompleted); err != nil {
		return err
	}
	r.text.text = append(r.text.text, s...)
	r.delta("response.output_text.delta", r.text, `,"content_index":0,"delta":`, s, `,"logprobs":[]`)
	return nil
}

// closeText closes the message's item, which is open.
func (r *renderer) closeText(whole string, status apigen.ItemStatus) error {
	it := r.text
	r.text = nil
	it.seal(whole, status)
	r.delta("response.output_text.done", it, `,"content_index":0,"text":`, whole, `,"logprobs":[]`)
	if err := r.partEvent("response.content_part.done", it, outputText(whole)); err != nil {
		return err
	}
	return r.itemEvent("response.output_item.done", it)
}

// reasoningDelta shows reasoning as a summary: that is what clients display.
// Reasoning that comes after text of the same message is an item of its own.
func (r *renderer) reasoningDelta(s string) error {
	if r.thinking == nil {
		id := fmt.Sprintf("rs_%s_%d", r.turn.Session, r.index)
		if r.thoughts++; r.thoughts > 1 {
			id = fmt.Sprintf("%s_%d", id, r.thoughts)
		}
		r.thinking = r.add(reasoningItem, id)
		if err := r.itemEvent("response.output_item.added", r.thinking); err != nil {
			return err
		}
		if err := r.summaryEvent("response.reasoning_summary_part.added", r.thinking, summaryText("")); err != nil {
			return err
		}
	}
	r.thinking.text = append(r.thinking.text, s...)
	r.delta("response.reasoning_summary_text.delta", r.thinking, `,"summary_index":0,"delta":`, s, "")
	return nil
}

func (r *renderer) closeThinking(status apigen.ItemStatus) error {
	it := r.thinking
	if it == nil {
		return nil
	}
	r.thinking = nil
	it.seal(it.said(), status)
	r.delta("response.reasoning_summary_text.done", it, `,"summary_index":0,"text":`, it.whole, "")
	if err := r.summaryEvent("response.reasoning_summary_part.done", it, summaryText(it.whole)); err != nil {
		return err
	}
	return r.itemEvent("response.output_item.done", it)
}

// startCall begins the item of a call that runs.
func (r *renderer) startCall(c agent.Call, source string) (*item, error) {
	it := r.add(callItem, fmt.Sprintf("mcp_%s_%d", r.turn.ID, len(r.items)))
	it.label, it.name = cmp.Or(source, "function"), c.Name
	if r.calls == nil {
		r.calls = map[string]*item{}
	}
	r.calls[c.ID] = it
	if err := r.itemEvent("response.output_item.added", it); err != nil {
		return it, err
	}
	it.arguments = string(orNull(c.Arguments))
	r.callEvent("response.mcp_call.in_progress", it)
	r.delta("response.mcp_call_arguments.delta", it, `,"delta":`, it.arguments, "")
	r.delta("response.mcp_call_arguments.done", it, `,"arguments":`, it.arguments, "")
	return it, nil
}

// finishCall ends a call. One that was refused or stopped before it ran has its
// item all the same: the model was given its result.
func (r *renderer) finishCall(b agent.ToolFinished) error {
	it := r.calls[b.CallID]
	if it == nil {
		c := r.asked[b.CallID]
		c.ID, c.Name = b.CallID, b.Name
		var err error
		if it, err = r.startCall(c, ""); err != nil {
			return err
		}
	}
	delete(r.calls, b.CallID)
	delete(r.asked, b.CallID)
	closed := it.status != string(apigen.ItemStatusInProgress)
	switch b.Outcome {
	case agent.ToolSuccess:
		it.status, it.output = "completed", &b.Output
	case agent.ToolError:
		it.status, it.err = "failed", &b.Output
	default:
		it.status, it.err = "incomplete", new(string(b.Outcome))
	}
	if closed {
		return nil
	}
	if it.status != "incomplete" {
		r.callEvent("response.mcp_call."+it.status, it)
	}
	return r.itemEvent("response.output_item.done", it)
}

func orNull(j json.RawMessage) json.RawMessage {
	if len(j) == 0 {
		return json.RawMessage("null")
	}
	return j
}
