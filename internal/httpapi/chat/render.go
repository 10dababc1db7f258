package chat

import (
	"strconv"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// renderer turns the journal's events of one turn into the chunks of a
// completion, and into the completion itself: what was streamed and what is
// answered whole are the same text.
type renderer struct {
	turn  agent.Turn
	usage bool // a last chunk says what was used

	began   bool
	content []byte // all of the answer so far
	from    int    // where the message under way begins in it
	paused  bool
	end     *agent.TurnEnded
	actions httpapi.OpenActions
	used    agent.Tokens // by the messages so far
}

func newRenderer(t agent.Turn, usage bool) *renderer { return &renderer{turn: t, usage: usage} }

// over reports whether the completion is whole.
func (r *renderer) over() bool { return r.end != nil || r.paused }

// Step appends to dst the frames that an event of the journal adds to the stream.
// Events of other turns add none.
func (r *renderer) Step(dst []byte, e agent.Event) ([]byte, error) {
	if e.Turn != r.turn.ID || r.over() {
		return dst, nil
	}
	switch b := e.Body.(type) {
	case agent.TurnStarted:
		return r.start(dst)
	case agent.TextDelta:
		return r.text(dst, b.Text), nil
	case agent.Message:
		return r.message(dst, b), nil
	case agent.ActionRequested, agent.ActionDecided:
		r.actions.See(b)
	case agent.TurnPaused:
		r.paused = true
		return r.finish(dst)
	case agent.TurnEnded:
		r.end = &b
		return r.finish(dst)
	}
	return dst, nil
}

func (r *renderer) start(dst []byte) ([]byte, error) {
	if r.began {
		return dst, nil
	}
	r.began = true
	c := r.chunk()
	c.Choices = append(c.Choices, apigen.ChatChunkChoice{Delta: apigen.ChatDelta{Role: "assistant", Content: new("")}})
	return frame(dst, c)
}

// separator is between the texts of a turn that ran tools in between.
const separator = "\n\n"

// text adds to the answer. It is most of all events, so nothing here reflects.
func (r *renderer) text(dst []byte, s string) []byte {
	if s == "" {
		return dst
	}
	if r.from > 0 && len(r.content) == r.from {
		s = separator + s
		r.from += len(separator)
	}
	r.content = append(r.content, s...)
	dst = append(r.head(append(dst, "data: "...)), `,"choices":[{"index":0,"delta":{"content":`...)
	dst = append(httpapi.AppendString(dst, s), `},"finish_reason":null}]}`...)
	return append(dst, httpapi.FrameEnd...)
}

// head appends the beginning of a chunk, as apigen.ChatChunk has it.
func (r *renderer) head(dst []byte) []byte {
	dst = append(dst, `{"id":"chatcmpl-`...)
	dst = append(dst, r.turn.ID...)
	dst = append(dst, `","object":"chat.completion.chunk","created":`...)
	dst = strconv.AppendInt(dst, r.turn.CreatedAt.Unix(), 10)
	dst = append(dst, `,"model":`...)
	dst = httpapi.AppendString(dst, r.turn.Agent)
	dst = append(dst, `,"conversation_id":"`...)
	dst = append(dst, r.turn.Session...)
	return append(dst, '"')
}

// message takes a whole message for what it is: text that was not streamed, or
// is no longer there, is made up for.
func (r *renderer) message(dst []byte, m agent.Message) []byte {
	if m.Role != agent.RoleAssistant {
		return dst
	}
	if m.Usage != nil {
		r.used = r.used.Add(m.Usage.Tokens)
	}
	if n := len(r.content) - r.from; n <= len(m.Text) && m.Text[:n] == string(r.content[r.from:]) {
		dst = r.text(dst, m.Text[n:])
	}
	r.from = len(r.content)
	return dst
}

// finish ends the stream. A turn that failed is an error, after which a stream
// has no [DONE].
func (r *renderer) finish(dst []byte) ([]byte, error) {
	if err := httpapi.Failure(&r.turn, r.end); err != nil {
		return frame(dst, httpapi.Explain(err).Document())
	}
	c := r.chunk()
	c.StopReason, c.StopDetail, c.RequiredActions = r.stopped()
	c.Choices = append(c.Choices, apigen.ChatChunkChoice{FinishReason: new(r.reason())})
	dst, err := frame(dst, c)
	if err == nil && r.usage {
		c.Choices, c.Usage = []apigen.ChatChunkChoice{}, new(r.tokens())
		dst, err = frame(dst, c)
	}
	return append(dst, "data: [DONE]"+httpapi.FrameEnd...), err
}

func (r *renderer) chunk() apigen.ChatChunk {
	return apigen.ChatChunk{
		Id: "chatcmpl-" + r.turn.ID, Object: "chat.completion.chunk", Created: r.turn.CreatedAt.Unix(), Model: r.turn.Agent,
		ConversationId: r.turn.Session,
	}
}

// frame appends a chunk that nobody resumes at, so it has no id.
func frame(dst []byte, v any) ([]byte, error) {
	dst, err := httpapi.AppendJSON(append(dst, "data: "...), v)
	return append(dst, httpapi.FrameEnd...), err
}

// reason is why the answer is at its end, as far as chat completions have words
// for that.
func (r *renderer) reason() string {
	if r.end != nil && r.end.StopReason == agent.ReasonLimit {
		return "length"
	}
	return "stop"
}

// stopped returns why the turn ended early, if it did, and what it waits for.
func (r *renderer) stopped() (reason, detail string, actions []apigen.RequiredAction) {
	if r.end == nil {
		return agent.ReasonPaused, "", r.actions
	}
	return r.end.StopReason, r.end.StopDetail, nil
}

func (r *renderer) tokens() apigen.ChatUsage {
	t := r.used
	if r.end != nil {
		t = r.end.Usage
	}
	return apigen.ChatUsage{
		PromptTokens: t.Input, PromptTokensDetails: apigen.InputTokensDetailsOfChat{CachedTokens: t.CachedInput},
		CompletionTokens: t.Output, CompletionTokensDetails: apigen.OutputTokensDetails{ReasoningTokens: t.Reasoning},
		TotalTokens: t.Input + t.Output, Estimated: t.Estimated,
	}
}

// completion is the whole answer, once it is over.
func (r *renderer) completion() apigen.ChatCompletion {
	out := apigen.ChatCompletion{
		Id: "chatcmpl-" + r.turn.ID, Object: "chat.completion", Created: r.turn.CreatedAt.Unix(), Model: r.turn.Agent,
		ConversationId: r.turn.Session, Usage: r.tokens(),
		Choices: []apigen.ChatChoice{{Message: apigen.ChatAnswer{Role: "assistant", Content: string(r.content)}, FinishReason: r.reason()}},
	}
	out.StopReason, out.StopDetail, out.RequiredActions = r.stopped()
	return out
}
