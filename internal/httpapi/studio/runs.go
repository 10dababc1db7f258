package studio

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

// runStates are the words of agent.TurnView.State.
var runStates = []string{"queued", "running", "stopping", "requires_action", "completed", "cancelled", "limited", "failed"}

func (d *door) listRuns(w http.ResponseWriter, r *http.Request) error {
	p, q := httpapi.Caller(r.Context()), r.URL.Query()
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	f := agent.TurnQuery{Project: p.Project, Agent: agentOf(r), State: q.Get("state"), Page: page}
	if !seesOthers(p) {
		f.Owner = p.ID
	}
	if f.State != "" && !slices.Contains(runStates, f.State) {
		return httpapi.Invalid("state", "must be queued, running, stopping, requires_action, completed, cancelled, limited or failed")
	}
	switch q.Get("background") {
	case "", "true":
		f.Background = new(true)
	case "false":
		f.Background = new(false)
	case "any":
	default:
		return httpapi.Invalid("background", "must be true, false or any")
	}
	return d.writeRuns(w, r, f)
}

func (d *door) listSessionRuns(w http.ResponseWriter, r *http.Request) error {
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	v, err := d.session(r, agent.Principal.MayView)
	if err != nil {
		return err
	}
	return d.writeRuns(w, r, agent.TurnQuery{Project: v.Project, Session: v.ID, Page: page})
}

func (d *door) writeRuns(w http.ResponseWriter, r *http.Request, q agent.TurnQuery) error {
	list, next, err := d.store.TurnViews(r.Context(), q)
	if err != nil {
		return err
	}
	counts, err := d.store.TurnCounts(r.Context(), q)
	if err != nil {
		return err
	}
	known, err := d.named(r.Context(), runNames(list...))
	if err != nil {
		return err
	}
	out := wire.RunList{Data: make([]wire.Run, 0, len(list)), Counts: counts, NextCursor: ptr(next)}
	for _, v := range list {
		out.Data = append(out.Data, runOut(httpapi.Caller(r.Context()), v, known))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// run returns the turn of the path, if the caller may read its session.
func (d *door) run(r *http.Request) (agent.TurnView, error) {
	v, err := d.store.TurnView(r.Context(), httpapi.RunID(chi.URLParam(r, "runId")))
	if err == nil {
		err = httpapi.Caller(r.Context()).MayView(v.Of)
	}
	if err != nil {
		return v, noRun(err)
	}
	httpapi.Note(r.Context(), v.Session, v.ID)
	return v, nil
}

func (d *door) getRun(w http.ResponseWriter, r *http.Request) error {
	v, err := d.run(r)
	if err != nil {
		return err
	}
	calls, err := d.store.Usage(r.Context(), v.ID)
	if err != nil {
		return err
	}
	events, err := d.store.ToolEvents(r.Context(), v.ID)
	if err != nil {
		return err
	}
	actions, err := d.store.Actions(r.Context(), v.ID)
	if err != nil {
		return err
	}
	ids := append(runNames(v), v.Of.Owner)
	for _, a := range actions {
		ids = append(ids, a.DecidedBy)
	}
	known, err := d.named(r.Context(), ids)
	if err != nil {
		return err
	}
	p := httpapi.Caller(r.Context())
	out := wire.RunDetail{Run: runOut(p, v, known), Calls: make([]wire.ModelCall, 0, len(calls)), Tools: toolsOut(events), Actions: make([]wire.Action, 0, len(actions))}
	for _, u := range calls {
		out.Calls = append(out.Calls, callOut(u))
	}
	for _, a := range actions {
		out.Actions = append(out.Actions, actionOut(p, agent.ActionView{Action: a, Of: v.Of}, known))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func callOut(u agent.Usage) wire.ModelCall {
	return wire.ModelCall{
		Call: u.Call, Model: u.Model, Status: string(u.Status), Usage: tokensOut(u.Tokens),
		LatencyMs: u.LatencyMS, FirstTokenMs: u.FirstTokenMS, At: u.At.UTC(),
	}
}

func tokensOut(t agent.Tokens) wire.Tokens {
	return wire.Tokens{
		InputTokens: t.Input, CachedInputTokens: t.CachedInput, OutputTokens: t.Output, ReasoningTokens: t.Reasoning,
		Estimated: t.Estimated, CostUsd: t.CostUSD,
	}
}

// toolsOut joins the starts and ends of tools.
func toolsOut(events []agent.Event) []wire.ToolRun {
	out := []wire.ToolRun{}
	for _, e := range events {
		switch b := e.Body.(type) {
		case agent.ToolStarted:
			t := wire.ToolRun{CallId: b.CallID, Name: b.Name, Source: b.Source, Abortable: b.Abortable, Seq: e.Seq, StartedAt: e.At.UTC()}
			if b.Child != nil {
				t.ChildSessionId, t.ChildRunId = ptr(b.Child.Session), ptr(b.Child.Turn)
			}
			out = append(out, t)
		case agent.ToolFinished:
			for i := range out {
				if out[i].CallId == b.CallID {
					out[i].Outcome, out[i].DurationMs = new(string(b.Outcome)), new(b.DurationMS)
				}
			}
		}
	}
	return out
}

func runNames(list ...agent.TurnView) []string {
	var ids []string
	for _, v := range list {
		ids = append(ids, v.By)
		if v.Stop != nil {
			ids = append(ids, v.Stop.By)
		}
	}
	return ids
}

func runOut(p agent.Principal, v agent.TurnView, known names) wire.Run {
	out := wire.Run{
		Callback: callbackOut(v.Turn),
		Id:       v.ID, SessionId: v.Session, AgentId: v.Agent, Version: v.Version, Model: v.Spec.Model, Door: v.Door,
		StartedBy: known.actor(v.By), Background: v.Background, State: v.State(), StopDetail: ptr(v.StopDetail),
		Usage: tokensOut(v.Usage), Node: ptr(v.Node), MayAct: p.MayAct(v.Of) == nil,
		CreatedAt: v.CreatedAt.UTC(), StartedAt: at(v.StartedAt), EndedAt: at(v.EndedAt),
	}
	var path *string
	if !v.EndedAt.IsZero() {
		path = new(stopPath(v.Path))
	}
	out.Stop = stopOut(v.Stop, v.EndedAt, path, known)
	if v.Error != nil {
		out.Error = &wire.RunError{Code: v.Error.Code, Message: v.Error.Message}
	}
	if v.Parent != nil {
		out.ParentRunId = ptr(v.Parent.Turn)
	}
	return out
}

// stopPath is the word of this API for how a node heard of a stop.
func stopPath(path string) string {
	switch path {
	case "local":
		return "same_node"
	case "push", "poll":
		return path
	}
	return "other"
}

func (d *door) listActions(w http.ResponseWriter, r *http.Request) error {
	p, q := httpapi.Caller(r.Context()), r.URL.Query()
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	f := agent.ActionQuery{Project: p.Project, Owner: inboxOwner(p), Agent: q.Get("agentId"), Type: agent.ActionType(q.Get("type")), Page: page}
	switch q.Get("state") {
	case "", "open":
	case "closed":
		f.Closed = true
	default:
		return httpapi.Invalid("state", "must be open or closed")
	}
	if f.Type != "" && f.Type != agent.ActionApproval && f.Type != agent.ActionQuestion {
		return httpapi.Invalid("type", "must be approval or question")
	}
	list, next, err := d.store.ActionViews(r.Context(), f)
	if err != nil {
		return err
	}
	inbox, err := d.store.Inbox(r.Context(), p.Project, f.Owner)
	if err != nil {
		return err
	}
	known, err := d.named(r.Context(), actionNames(list...))
	if err != nil {
		return err
	}
	out := wire.ActionList{Data: make([]wire.Action, 0, len(list)), Open: inbox.Open, NextCursor: ptr(next)}
	for _, a := range list {
		out.Data = append(out.Data, actionOut(p, a, known))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// inboxOwner is whose sessions' requests a principal sees, empty for all.
func inboxOwner(p agent.Principal) string {
	if seesOthers(p) || p.Can(agent.PermAgentApprove) {
		return ""
	}
	return p.ID
}

func (d *door) getAction(w http.ResponseWriter, r *http.Request) error {
	a, s, err := d.store.Action(r.Context(), chi.URLParam(r, "actionId"))
	p := httpapi.Caller(r.Context())
	if err == nil && (s.Project != p.Project || !p.Can(agent.PermAgentApprove)) {
		err = p.MayView(s)
	}
	if err != nil {
		return noAction(err)
	}
	return d.writeAction(r.Context(), w, agent.ActionView{Action: a, Of: s})
}

func noAction(err error) error {
	return httpapi.NotFound(err, "action_not_found", "There is no such action.")
}

func (d *door) writeAction(ctx context.Context, w http.ResponseWriter, a agent.ActionView) error {
	httpapi.Note(ctx, a.Session, a.Turn)
	known, err := d.named(ctx, actionNames(a))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, actionOut(httpapi.Caller(ctx), a, known))
}

func (d *door) decide(w http.ResponseWriter, r *http.Request) error {
	dec, err := httpapi.ReadDecision(r, chi.URLParam(r, "actionId"))
	if err != nil {
		return err
	}
	dec.Door = agent.DoorStudio
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	if _, err = d.Engine.Decide(ctx, httpapi.Caller(r.Context()), dec); err != nil {
		return notDecided(err)
	}
	a, s, err := d.store.Action(ctx, dec.Action)
	if err != nil {
		return noAction(err)
	}
	return d.writeAction(r.Context(), w, agent.ActionView{Action: a, Of: s})
}

func actionNames(list ...agent.ActionView) []string {
	var ids []string
	for _, a := range list {
		ids = append(ids, a.DecidedBy, a.Of.Owner)
	}
	return ids
}

func actionOut(p agent.Principal, a agent.ActionView, known names) wire.Action {
	may := p.MayAct(a.Of) == nil
	if a.Type == agent.ActionApproval {
		may = p.Can(agent.PermAgentApprove)
	}
	out := wire.Action{
		Id: a.ID, Type: a.Type, State: a.State, AgentId: a.Of.Agent, SessionId: a.Session, RunId: a.Turn, CallId: a.CallID,
		Name: a.Name, Arguments: a.Arguments, Answer: ptr(a.Answer), DecidedBy: known.orNil(a.DecidedBy), DecidedAt: at(a.DecidedAt),
		MayDecide: may && a.State == agent.ActionOpen, Owner: known.actor(a.Of.Owner), CreatedAt: a.CreatedAt.UTC(), ExpiresAt: at(a.ExpiresAt),
	}
	if len(out.Arguments) == 0 {
		out.Arguments = []byte("null")
	}
	return out
}

// notDecided says why an action was not decided.
func notDecided(err error) error {
	if errors.Is(err, agent.ErrForbidden) {
		return &httpapi.Error{Status: http.StatusForbidden, Code: "action_forbidden", Err: err,
			Message: "You may not decide this: an approval needs agent.approve, a question its session."}
	}
	return noAction(err)
}
