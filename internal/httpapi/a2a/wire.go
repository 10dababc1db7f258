package a2a

import (
	"fmt"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// The types below are those of both versions: 1.0 leaves kind and final out.
// Generated types would not do: those of a2a-go are a module for each version,
// write times with as many digits as they happen to have, and read no names in
// snake case.

type wireTask struct {
	Kind      string         `json:"kind,omitempty"`
	ID        string         `json:"id"`
	ContextID string         `json:"contextId"`
	Status    wireStatus     `json:"status"`
	Artifacts []wireArtifact `json:"artifacts,omitempty"`
	History   []wireMessage  `json:"history,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

type wireStatus struct {
	State     string       `json:"state"`
	Message   *wireMessage `json:"message,omitempty"`
	Timestamp string       `json:"timestamp"`
}

type wireMessage struct {
	Kind      string         `json:"kind,omitempty"`
	MessageID string         `json:"messageId"`
	Role      string         `json:"role"`
	Parts     []wirePart     `json:"parts"`
	TaskID    string         `json:"taskId"`
	ContextID string         `json:"contextId"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

type wirePart struct {
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

type wireArtifact struct {
	ArtifactID string     `json:"artifactId"`
	Parts      []wirePart `json:"parts"`
}

type statusUpdate struct {
	Kind      string         `json:"kind,omitempty"`
	TaskID    string         `json:"taskId"`
	ContextID string         `json:"contextId"`
	Status    wireStatus     `json:"status"`
	Final     *bool          `json:"final,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

type artifactUpdate struct {
	Kind      string       `json:"kind,omitempty"`
	TaskID    string       `json:"taskId"`
	ContextID string       `json:"contextId"`
	Artifact  wireArtifact `json:"artifact"`
	Append    bool         `json:"append"`
	LastChunk bool         `json:"lastChunk"`
}

// kind is the discriminator that 0.3 has.
func (b binding) kind(s string) string {
	if b == v03 {
		return s
	}
	return ""
}

func (b binding) part(text string) []wirePart { return []wirePart{{b.kind("text"), text}} }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (b binding) message(t *agent.Turn, s said) wireMessage {
	role := b.agentRole()
	if s.user {
		role = b.userRole()
	}
	out := wireMessage{
		Kind: b.kind("message"), MessageID: s.id, Role: role, Parts: b.part(s.text), TaskID: taskID(t), ContextID: t.Session,
	}
	var pending []map[string]any
	for _, q := range s.asks {
		pending = append(pending, b.pending(q))
	}
	if pending != nil {
		out.Metadata = map[string]any{b.name("pending_actions"): pending}
	}
	return out
}

// pending is a request for programs.
func (b binding) pending(q request) map[string]any {
	arguments := q.Arguments
	if len(arguments) == 0 {
		arguments = null
	}
	return map[string]any{b.name("decision_id"): q.ActionID, "type": q.Type, "name": q.Name, "arguments": arguments}
}

// name is a name of ours in the style of the version: 1.0 writes all in camel case.
func (b binding) name(snake string) string {
	if b == v03 {
		return snake
	}
	words := strings.Split(snake, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// metadata is what the protocol has no words for.
func (b binding) metadata(v *view) map[string]any {
	out := map[string]any{b.name("run_id"): v.turn.ID}
	if v.state == inputRequired {
		ids := []string{}
		for _, q := range v.open() {
			ids = append(ids, q.ActionID)
		}
		out[b.name("pending_action_ids")] = ids
	}
	reason, detail := v.turn.StopReason, v.turn.StopDetail
	if v.end != nil {
		reason, detail = v.end.StopReason, v.end.StopDetail
		if v.end.Error != nil {
			out[b.name("error_code")] = v.end.Error.Code
		}
	}
	if v.state == canceled {
		reason = agent.ReasonCancelled
	}
	if reason != "" {
		out[b.name("stop_reason")] = reason
	}
	if detail != "" {
		out[b.name("stop_detail")] = detail
	}
	return out
}

func (b binding) status(v *view) wireStatus {
	out := wireStatus{State: states[b][v.state], Timestamp: stamp(v.since)}
	if s := v.status(); s != nil {
		m := b.message(&v.turn, *s)
		out.Message = &m
	}
	return out
}

func (b binding) artifact(t *agent.Turn, index int, text string) wireArtifact {
	return wireArtifact{ArtifactID: fmt.Sprintf("artifact_%s_%d", t.Session, index), Parts: b.part(text)}
}

// parts says how much of a task is wanted.
type parts struct {
	history   *int // the newest so many messages; nil: all
	artifacts bool
}

var whole = parts{artifacts: true}

// task returns a task, with as much of it as is wanted.
func (b binding) task(v *view, p parts) wireTask {
	out := b.bare(v)
	out.Metadata = b.metadata(v)
	for _, a := range v.artifacts {
		if p.artifacts {
			out.Artifacts = append(out.Artifacts, b.artifact(&v.turn, a.index, string(a.text)))
		}
	}
	history := v.history()
	if p.history != nil {
		history = history[max(0, len(history)-*p.history):]
	}
	for _, s := range history {
		out.History = append(out.History, b.message(&v.turn, s))
	}
	return out
}

// bare returns a task with its state and no more.
func (b binding) bare(v *view) wireTask {
	return wireTask{Kind: b.kind("task"), ID: taskID(&v.turn), ContextID: v.turn.Session, Status: b.status(v)}
}

// sent is the answer to a message.
func (b binding) sent(v *view, p parts) any {
	t := b.task(v, p)
	if b == v10 {
		return map[string]any{"task": t}
	}
	return t
}

// event returns what a stream says of a change. final is of the last word in 0.3.
func (b binding) event(v *view, c change, final bool) any {
	if c.chunk == nil {
		u := statusUpdate{
			Kind: b.kind("status-update"), TaskID: taskID(&v.turn), ContextID: v.turn.Session, Status: b.status(v), Metadata: b.metadata(v),
		}
		if b == v10 {
			return map[string]any{"statusUpdate": u}
		}
		u.Final = &final
		return u
	}
	u := artifactUpdate{
		Kind: b.kind("artifact-update"), TaskID: taskID(&v.turn), ContextID: v.turn.Session,
		Artifact: b.artifact(&v.turn, c.chunk.artifact, c.chunk.text), Append: c.chunk.append, LastChunk: c.chunk.last,
	}
	if b == v10 {
		return map[string]any{"artifactUpdate": u}
	}
	return u
}
