package responses

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
	"github.com/belayrun/belay/internal/turn"
)

// Run is a background run with its result, as the API shows it.
type Run struct {
	apigen.RunSummary
	Result          *apigen.Response        `json:"result"`
	RequiredActions []apigen.RequiredAction `json:"required_actions,omitempty"`
	Done            *bool                   `json:"done,omitempty"`
	StopStatus      *turn.StopStatus        `json:"stop_status,omitempty"`
}

// summary is a run without its result.
func summary(t agent.Turn) apigen.RunSummary {
	out := apigen.RunSummary{
		Id: "run_" + t.ID, Object: "agent.run", Status: t.RunStatus(), Agent: t.Agent, Version: t.Version, ConversationId: t.Session,
		CreatedAt: t.CreatedAt.Unix(), StartedAt: unix(t.StartedAt), CompletedAt: unix(t.EndedAt),
		MaxDurationMs: t.Spec.Execution.MaxDuration().Milliseconds(), Callback: httpapi.RunCallback(t),
	}
	if f := t.RunError(); f != nil {
		out.Error = &apigen.RunError{Type: f.Code, Message: f.Message}
	}
	if t.StopReason != "" {
		out.StopReason = &t.StopReason
	}
	if t.Stop != nil {
		out.CancelRequestedAt = unix(t.Stop.At)
	}
	return out
}

func unix(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.Unix())
}

// runOf returns a run as the journal has it now.
func (d *door) runOf(ctx context.Context, t agent.Turn) (Run, error) {
	return RunAt(ctx, d.store, t, math.MaxInt64)
}

// RunAt returns a run as it was when the journal's event of number last was its
// newest. t is the turn as it was then.
func RunAt(ctx context.Context, journal Journal, t agent.Turn, last int64) (Run, error) {
	out := Run{RunSummary: summary(t)}
	if !t.Status.Final() && t.Status != agent.StatusWaiting {
		return out, nil
	}
	whole, err := response(ctx, journal, newRenderer(t), last)
	if err != nil {
		return out, err
	}
	if t.Status == agent.StatusWaiting {
		out.RequiredActions = whole.RequiredActions
		return out, nil
	}
	whole.Id, whole.Run = "resp_"+t.ID, nil
	out.Result = &whole
	return out, nil
}

// accepted answers a request for a background run: with the run on the agents'
// route, on OpenAI's with the response that it is going to be. What the same
// request began before is 200, as it is now.
func (d *door) accepted(w http.ResponseWriter, r *http.Request, through agent.Door, out *renderer, again bool) error {
	status := http.StatusAccepted
	if again {
		status = http.StatusOK
	}
	if through == agent.DoorResponses {
		whole, err := d.response(r.Context(), out)
		if err != nil {
			return err
		}
		return httpapi.WriteJSON(w, status, whole)
	}
	v, err := d.runOf(r.Context(), out.turn)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, status, v)
}

// foundRun returns the background run of the path, if the caller may do with its
// session what may says. A turn that somebody waited for is no run.
func (d *door) foundRun(r *http.Request, may func(agent.Principal, agent.Session) error) (agent.Turn, error) {
	t, s, err := d.store.Turn(r.Context(), httpapi.RunID(chi.URLParam(r, "id")))
	if err == nil {
		err = may(httpapi.Caller(r.Context()), s)
	}
	if err == nil && !t.Background {
		err = agent.ErrNotFound
	}
	if err != nil {
		return agent.Turn{}, runNotFound(err)
	}
	httpapi.Note(r.Context(), t.Session, t.ID)
	return t, nil
}

func runNotFound(err error) error {
	return httpapi.NotFound(err, "agent_run_not_found", "There is no such background run.")
}

func (d *door) getRun(w http.ResponseWriter, r *http.Request) error {
	t, err := d.foundRun(r, agent.Principal.MayView)
	if err != nil {
		return err
	}
	v, err := d.runOf(r.Context(), t)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, v)
}

func (d *door) listRuns(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	limit, err := httpapi.QueryInt(r, "limit", 20, 1, 100)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := agent.RunFilter{
		Project: p.Project, Owner: p.ID, Agent: q.Get("agent"), Session: q.Get("conversation_id"), Status: agent.RunStatus(q.Get("status")),
		Page: agent.Page{Cursor: q.Get("cursor"), Limit: int(limit)},
	}
	if f.Status != "" && !slices.Contains(agent.RunStatuses, f.Status) {
		return httpapi.Invalid("status", "must be queued, running, requires_action, succeeded, failed or canceled")
	}
	if p.Can(agent.PermSessionViewOthers) || p.Can(agent.PermSessionManageOthers) {
		f.Owner = ""
	}
	list, next, err := d.store.Runs(r.Context(), f)
	if err != nil {
		return err
	}
	out := apigen.RunList{Data: make([]apigen.RunSummary, 0, len(list))}
	for _, t := range list {
		out.Data = append(out.Data, summary(t))
	}
	if next != "" {
		out.NextCursor = &next
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// lookLimit is how long a stop waits for the database to say what it is for.
const lookLimit = time.Second

// cancelRun stops a background run. Where the database is away, or says nothing,
// the run is looked for by the engine alone: what runs here is told all the same.
func (d *door) cancelRun(w http.ResponseWriter, r *http.Request) error {
	in, err := httpapi.ReadStop(r)
	if err != nil {
		return err
	}
	id := httpapi.RunID(chi.URLParam(r, "id"))
	if in.Run != "" && in.Run != id {
		return httpapi.Invalid("run_id", "is not the run of the path: leave it out")
	}
	look, cancel := context.WithTimeout(r.Context(), lookLimit)
	defer cancel()
	t, err := d.foundRun(r.WithContext(look), agent.Principal.MayAct)
	switch {
	case errors.Is(err, agent.ErrUnavailable):
	case err != nil:
		return err
	case t.Status.Final():
		return alreadyTerminal(t)
	}
	ctx, done := httpapi.Detach(r.Context(), in.Wait)
	defer done()
	t, a, err := d.stopRun(ctx, turn.StopRequest{Principal: httpapi.Caller(ctx), Door: agent.DoorClient, Turn: id, Wait: in.Wait})
	switch {
	case err != nil:
		return runNotFound(err)
	case !a.Cancelled:
		return notCanceled(t)
	}
	v, err := d.runOf(ctx, t)
	if err != nil {
		return err
	}
	if in.Asked {
		v.Done, v.StopStatus = new(a.Done()), &a.Status
	}
	return httpapi.WriteJSON(w, http.StatusOK, v)
}

// stopRun stops a run and returns it as it is then. One that was left alone
// because it waited, and goes on by now, is stopped again.
func (d *door) stopRun(ctx context.Context, q turn.StopRequest) (t agent.Turn, a turn.StopAnswer, err error) {
	for range 3 {
		if a, err = d.engine.Stop(ctx, q); err != nil {
			return t, a, err
		}
		t, _, err = d.store.Turn(ctx, q.Turn)
		if err != nil || a.Cancelled || t.Status.Final() || t.Status == agent.StatusWaiting {
			return t, a, err
		}
	}
	return t, a, err
}

// notCanceled says why a run was not.
func notCanceled(t agent.Turn) error {
	if t.Status.Final() {
		return alreadyTerminal(t)
	}
	return &httpapi.Error{
		Status: http.StatusForbidden, Code: "action_forbidden",
		Message: "The run waits for an approval, and canceling it would be answering that: it needs the permission " + string(agent.PermAgentApprove) + ".",
		Fields:  httpapi.Fields{Conversation: t.Session, Run: t.ID, Permission: string(agent.PermAgentApprove)},
	}
}

func alreadyTerminal(t agent.Turn) error {
	return &httpapi.Error{
		Status: http.StatusConflict, Code: "agent_run_already_terminal", Message: "The run has ended already: it is " + string(t.RunStatus()) + ".",
		Fields: httpapi.Fields{Conversation: t.Session, Run: t.ID},
	}
}
