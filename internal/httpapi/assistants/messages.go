package assistants

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
	"github.com/belayrun/belay/internal/turn"
)

// messageRequest is a message that a caller adds to a thread.
type messageRequest struct {
	Role        string            `json:"role"`
	Content     json.RawMessage   `json:"content"`
	Attachments []json.RawMessage `json:"attachments"`
	Metadata    map[string]any    `json:"metadata"`
}

func readMessages(list []messageRequest, at string) ([]agent.Prompt, error) {
	out := make([]agent.Prompt, len(list))
	for i, m := range list {
		var err error
		if out[i], err = m.read(fmt.Sprintf("%s[%d].", at, i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read returns the message; fields are named below prefix.
func (m *messageRequest) read(prefix string) (agent.Prompt, error) {
	switch {
	case m.Role != "user" && m.Role != "assistant":
		return agent.Prompt{}, httpapi.Invalid(prefix+"role", "must be user or assistant")
	case len(m.Attachments) > 0:
		return agent.Prompt{}, httpapi.Invalid(prefix+"attachments", "must be empty: a message is text")
	case len(m.Metadata) > 0:
		return agent.Prompt{}, httpapi.Invalid(prefix+"metadata", "must be empty: threads and runs keep metadata, messages do not")
	case httpapi.Absent(m.Content):
		return agent.Prompt{}, httpapi.Invalid(prefix+"content", "is required: a string or a list of text parts")
	}
	text, err := httpapi.ReadContent(m.Content, prefix+"content", "text")
	if err == nil && strings.TrimSpace(text) == "" {
		err = httpapi.Invalid(prefix+"content", "must not be empty")
	}
	return agent.Prompt{Role: agent.Role(m.Role), Text: text}, err
}

func (d *door) createMessage(w http.ResponseWriter, r *http.Request) error {
	p, err := mayRun(r.Context())
	if err != nil {
		return err
	}
	var q messageRequest
	if err := httpapi.ReadJSON(r, &q); err != nil {
		return err
	}
	m, err := q.read("")
	if err != nil {
		return err
	}
	id := bare(prefixThread, chi.URLParam(r, "thread"))
	httpapi.Note(r.Context(), id, "")
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	events, err := d.engine.Post(ctx, turn.Post{Principal: p, Door: agent.DoorAssistants, Session: id, Messages: []agent.Prompt{m}})
	if err != nil {
		return noThread(err)
	}
	return httpapi.WriteJSON(w, http.StatusOK, messageOf(events[0], ""))
}

// shown reports whether a message is one of the thread's: not what instructs the
// assistant, nor a step of it that only calls tools.
func shown(m agent.Message) bool {
	return m.Role != agent.RoleSystem && (m.Text != "" || len(m.Calls) == 0)
}

// messageOf renders a whole message of a thread with an agent.
func messageOf(e agent.Event, key string) apigen.ThreadMessage {
	m, _ := e.Body.(agent.Message)
	out := emptyMessage(e.Session, m.Index)
	out.CreatedAt, out.Status, out.Role = e.At.Unix(), "completed", string(m.Role)
	out.Content = append(out.Content, threadText(m.Text))
	if m.Role == agent.RoleAssistant && e.Run() != "" {
		out.RunId, out.AssistantId = new(prefixRun+e.Run()), new(prefixAssistant+key)
	}
	if m.Status == agent.StatusCompleted {
		out.CompletedAt = &out.CreatedAt
		return out
	}
	out.Status, out.IncompleteAt = "incomplete", &out.CreatedAt
	out.IncompleteDetails = &apigen.IncompleteMessage{Reason: "run_failed"}
	switch m.StopReason {
	case agent.ReasonCancelled:
		out.IncompleteDetails.Reason = "run_cancelled"
	case agent.ReasonLimit:
		out.IncompleteDetails.Reason = "max_tokens"
	}
	return out
}

func emptyMessage(session string, index int) apigen.ThreadMessage {
	return apigen.ThreadMessage{
		Id: httpapi.MessageID(session, index), Object: "thread.message", ThreadId: prefixThread + session,
		Content: []apigen.ThreadText{}, Attachments: []apigen.Empty{}, Metadata: apigen.KeptMetadata{},
	}
}

func threadText(s string) apigen.ThreadText {
	return apigen.ThreadText{Type: "text", Text: apigen.ThreadTextValue{Value: s, Annotations: []apigen.Empty{}}}
}

func (d *door) listMessages(w http.ResponseWriter, r *http.Request) error {
	q, err := readPage(r)
	if err != nil {
		return err
	}
	info, err := d.thread(r, agent.Principal.MayView)
	if err != nil {
		return err
	}
	list, more, err := cut(q, d.messagesOf(r, info.ID))
	if err != nil {
		return err
	}
	out := apigen.ThreadMessageList{Object: "list", Data: make([]apigen.ThreadMessage, 0, len(list)), HasMore: more}
	for _, e := range list {
		out.Data = append(out.Data, messageOf(e, info.Agent))
	}
	out.FirstId, out.LastId = ends(out.Data, func(m apigen.ThreadMessage) string { return m.Id })
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// messagesOf is the list of a thread's messages; positions are their indexes.
func (d *door) messagesOf(r *http.Request, session string) source[agent.Event] {
	return source[agent.Event]{
		first: -1, last: math.MaxInt32,
		at: func(param, id string) (int64, error) {
			i, ok := indexOf(session, id)
			if !ok {
				return 0, httpapi.Invalid(param, "must be the id of a message of this thread")
			}
			return int64(i), nil
		},
		read: func(from int64, below bool, n int) ([]agent.Event, error) {
			if below {
				return d.store.MessagesBefore(r.Context(), session, int(from), n)
			}
			return d.store.Messages(r.Context(), session, int(from), n)
		},
		position: func(e agent.Event) int64 { return int64(messageIn(e).Index) },
		keep:     func(e agent.Event) bool { return shown(messageIn(e)) },
	}
}

func messageIn(e agent.Event) agent.Message {
	m, _ := e.Body.(agent.Message)
	return m
}

// indexOf reads a message's id.
func indexOf(session, id string) (int, bool) {
	i, err := strconv.ParseInt(bare("msg_"+session+"_", id), 10, 32)
	return int(i), err == nil && i >= 0 && httpapi.MessageID(session, int(i)) == id
}

func (d *door) getMessage(w http.ResponseWriter, r *http.Request) error {
	info, err := d.thread(r, agent.Principal.MayView)
	if err != nil {
		return err
	}
	if i, ok := indexOf(info.ID, chi.URLParam(r, "message")); ok {
		events, err := d.store.Messages(r.Context(), info.ID, i-1, 1)
		if err != nil {
			return err
		}
		if len(events) == 1 && messageIn(events[0]).Index == i && shown(messageIn(events[0])) {
			return httpapi.WriteJSON(w, http.StatusOK, messageOf(events[0], info.Agent))
		}
	}
	return httpapi.NotFound(agent.ErrNotFound, "not_found", "There is no such message in this thread.")
}
