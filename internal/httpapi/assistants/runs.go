package assistants

import (
	"encoding/json"
	"math"
	"net/http"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
	"github.com/belayrun/belay/internal/turn"
)

// runRequest is what a run is begun with, in a new thread or one that is there.
type runRequest struct {
	AssistantID         string            `json:"assistant_id"`
	Stream              bool              `json:"stream"`
	Instructions        *string           `json:"instructions"`
	Temperature         *float64          `json:"temperature"`
	TopP                *float64          `json:"top_p"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	Metadata            map[string]string `json:"metadata"`

	Model              json.RawMessage   `json:"model"`
	MaxPromptTokens    json.RawMessage   `json:"max_prompt_tokens"`
	Tools              []json.RawMessage `json:"tools"`
	ToolResources      map[string]any    `json:"tool_resources"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	ResponseFormat     json.RawMessage   `json:"response_format"`
	TruncationStrategy struct {
		Type         string          `json:"type"`
		LastMessages json.RawMessage `json:"last_messages"`
	} `json:"truncation_strategy"`

	ParallelToolCalls json.RawMessage `json:"parallel_tool_calls"`
	ReasoningEffort   json.RawMessage `json:"reasoning_effort"`
}

// threadRunRequest begins a run in a thread that is there.
type threadRunRequest struct {
	runRequest
	AdditionalInstructions string           `json:"additional_instructions"`
	AdditionalMessages     []messageRequest `json:"additional_messages"`
}

// newThreadRunRequest begins a run in a new thread.
type newThreadRunRequest struct {
	runRequest
	Thread threadRequest `json:"thread"`
}

func (q *runRequest) check() error {
	choice := string(q.ToolChoice)
	format := q.TruncationStrategy
	if err := (refusals{
		{q.AssistantID == "", "assistant_id", "is required: asst_ and the key of an agent"},
		{!httpapi.Absent(q.Model), "model", "must be empty: an assistant has its own model"},
		{!httpapi.Absent(q.MaxPromptTokens), "max_prompt_tokens", "must be empty: a thread is given to the model as it is"},
		{q.MaxCompletionTokens != nil && *q.MaxCompletionTokens < 1, "max_completion_tokens", "must be 1 or more"},
		{outside(q.Temperature, 2), "temperature", "must be between 0 and 2"},
		{outside(q.TopP, 1), "top_p", "must be between 0 and 1"},
		{len(q.Tools) > 0, "tools", "must be empty: an agent has its own tools"},
		{len(q.ToolResources) > 0, "tool_resources", "must be empty: an agent has its own tools"},
		{!httpapi.Absent(q.ToolChoice) && choice != `"auto"` && choice != `"none"`, "tool_choice", "must be auto or none"},
		{!plainFormat(q.ResponseFormat), "response_format", `must be auto or {"type": "text"}`},
		{format.Type != "" && format.Type != "auto" || !httpapi.Absent(format.LastMessages), "truncation_strategy", `must be {"type": "auto"}`},
	}).first(); err != nil {
		return err
	}
	return httpapi.CheckMetadata(q.Metadata)
}

func outside(f *float64, most float64) bool { return f != nil && (*f < 0 || *f > most) }

// submit is the turn that the request asks for.
func (q *runRequest) submit(p agent.Principal, session string) turn.Submit {
	return turn.Submit{
		Principal: p, Door: agent.DoorAssistants, Session: session, Agent: bare(prefixAssistant, q.AssistantID), NoInput: true, Metadata: q.Metadata,
		Overrides: agent.Overrides{
			Instructions: q.Instructions, Temperature: q.Temperature, TopP: q.TopP, MaxTotalTokens: q.MaxCompletionTokens,
		},
	}
}

func (d *door) createRun(w http.ResponseWriter, r *http.Request) error {
	p, err := mayRun(r.Context())
	if err != nil {
		return err
	}
	var q threadRunRequest
	if err := httpapi.ReadJSON(r, &q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	messages, err := readMessages(q.AdditionalMessages, "additional_messages")
	if err != nil {
		return err
	}
	info, err := d.thread(r, agent.Principal.MayAct)
	if err != nil {
		return err
	}
	s := q.submit(p, info.ID)
	s.History, s.Overrides.Additional = messages, q.AdditionalInstructions
	if err := d.mayAnswer(r, info, s); err != nil {
		return err
	}
	return d.execute(w, r, s, q.Stream)
}

// mayAnswer says whether there is something to answer, by that assistant.
func (d *door) mayAnswer(r *http.Request, info agent.SessionInfo, s turn.Submit) error {
	if info.Agent != "" && info.Agent != s.Agent {
		return httpapi.Invalid("assistant_id", "must be %s%s: a thread stays with the assistant of its first run", prefixAssistant, info.Agent)
	}
	if len(s.History) > 0 {
		return nil
	}
	said, err := d.store.Messages(r.Context(), info.ID, -1, 1)
	if err == nil && len(said) == 0 {
		err = httpapi.Invalid("additional_messages", "is required: the thread has no message to answer")
	}
	return err
}

func (d *door) createThreadAndRun(w http.ResponseWriter, r *http.Request) error {
	p, err := mayRun(r.Context())
	if err != nil {
		return err
	}
	var q newThreadRunRequest
	if err := httpapi.ReadJSON(r, &q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	messages, err := q.Thread.check("thread.")
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		return httpapi.Invalid("thread.messages", "is required: the thread has no message to answer")
	}
	s := q.submit(p, "")
	s.History, s.Noted = messages, q.Thread.Metadata
	return d.execute(w, r, s, q.Stream)
}

func notRunnable(err error) error {
	if !isNotFound(err) {
		return err
	}
	return &httpapi.Error{Status: http.StatusNotFound, Code: "agent_not_found", Param: "assistant_id", Message: "There is no such assistant.", Err: err}
}

// execute begins a run and answers with it, whole or streamed. The turn is the
// node's: the client's going ends the following only.
func (d *door) execute(w http.ResponseWriter, r *http.Request, s turn.Submit, stream bool) error {
	ctx, done := httpapi.Detach(r.Context(), 0)
	t, err := d.engine.Begin(ctx, s)
	done()
	if err != nil {
		return notRunnable(err)
	}
	httpapi.Note(r.Context(), t.Session, t.ID)
	out := &renderer{run: run{turn: t, showAll: s.Principal.Can(agent.PermAgentView)}}
	if s.Session == "" {
		out.thread = new(threadOut(agent.Session{ID: t.Session, CreatedAt: t.CreatedAt, Metadata: s.Noted}))
	}
	if stream {
		return d.stream(w, r, out)
	}
	if err := d.wait.Whole(r.Context(), &out.turn, func(e agent.Event) (bool, error) { return out.see(e), nil }); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, out.object())
}

// pollAfter is sent while a run is not over: OpenAI's clients would wait ten
// times as long by themselves.
const pollAfter = "500"

func (d *door) getRun(w http.ResponseWriter, r *http.Request) error {
	t, _, err := d.run(r)
	if err != nil {
		return err
	}
	out, err := d.object(r, t)
	if err != nil {
		return err
	}
	switch out.Status {
	case apigen.ThreadRunStatusQueued, apigen.ThreadRunStatusInProgress, apigen.ThreadRunStatusCancelling:
		w.Header().Set("Openai-Poll-After-Ms", pollAfter)
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// object renders a run as the store has it, with what it waits for.
func (d *door) object(r *http.Request, t agent.Turn) (apigen.ThreadRun, error) {
	x := run{turn: t, showAll: httpapi.Caller(r.Context()).Can(agent.PermAgentView)}
	if t.Status == agent.StatusWaiting {
		actions, err := d.store.Actions(r.Context(), t.ID)
		if err != nil {
			return apigen.ThreadRun{}, err
		}
		for _, a := range actions {
			if a.State == agent.ActionOpen {
				x.actions.See(agent.ActionRequested{ActionID: a.ID, CallID: a.CallID, Type: a.Type, Name: a.Name, Arguments: a.Arguments})
			}
		}
	}
	return x.object(), nil
}

func (d *door) listRuns(w http.ResponseWriter, r *http.Request) error {
	q, err := readPage(r)
	if err != nil {
		return err
	}
	info, err := d.thread(r, agent.Principal.MayView)
	if err != nil {
		return err
	}
	list, more, err := cut(q, d.runsOf(r, info.ID))
	if err != nil {
		return err
	}
	out := apigen.ThreadRunList{Object: "list", Data: make([]apigen.ThreadRun, 0, len(list)), HasMore: more}
	for _, t := range list {
		x, err := d.object(r, t)
		if err != nil {
			return err
		}
		out.Data = append(out.Data, x)
	}
	out.FirstId, out.LastId = ends(out.Data, func(x apigen.ThreadRun) string { return x.Id })
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// runsOf is the list of a thread's runs; positions are where they begin.
func (d *door) runsOf(r *http.Request, session string) source[agent.Turn] {
	return source[agent.Turn]{
		first: 0, last: math.MaxInt64,
		at: func(param, id string) (int64, error) {
			t, _, err := d.store.Turn(r.Context(), httpapi.RunID(id))
			if isNotFound(err) || err == nil && t.Session != session {
				err = httpapi.Invalid(param, "must be the id of a run of this thread")
			}
			return t.FirstSeq, err
		},
		read: func(from int64, below bool, n int) ([]agent.Turn, error) {
			if below {
				return d.store.TurnsBefore(r.Context(), session, from, n)
			}
			return d.store.TurnsAfter(r.Context(), session, from, n)
		},
		position: func(t agent.Turn) int64 { return t.FirstSeq },
	}
}

// listSteps answers with none: what tools did is in the conversation's events.
func (d *door) listSteps(w http.ResponseWriter, r *http.Request) error {
	if _, err := readPage(r); err != nil {
		return err
	}
	if _, _, err := d.run(r); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, apigen.RunStepList{Object: "list", Data: []apigen.Empty{}})
}
