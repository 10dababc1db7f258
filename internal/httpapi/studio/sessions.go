package studio

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
	"github.com/belayrun/belay/internal/turn"
)

// doors are those that a session can have been begun through.
var doors = []agent.Door{
	agent.DoorClient, agent.DoorResponses, agent.DoorAssistants, agent.DoorChat, agent.DoorA2A, agent.DoorStudio, agent.DoorPortal,
}

func (d *door) listSessions(w http.ResponseWriter, r *http.Request) error {
	q, err := sessionQuery(r)
	if err != nil {
		return err
	}
	list, next, err := d.store.SessionViews(r.Context(), q)
	if err != nil {
		return err
	}
	known, err := d.named(r.Context(), sessionNames(list...))
	if err != nil {
		return err
	}
	out := wire.SessionList{Data: make([]wire.Session, 0, len(list)), NextCursor: ptr(next)}
	for _, v := range list {
		out.Data = append(out.Data, sessionOut(httpapi.Caller(r.Context()), v, known))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func sessionQuery(r *http.Request) (agent.SessionQuery, error) {
	p, q := httpapi.Caller(r.Context()), r.URL.Query()
	page, err := pageOf(r)
	out := agent.SessionQuery{
		Project: p.Project, Owner: q.Get("owner"), Agent: agentOf(r), State: q.Get("state"), Door: agent.Door(q.Get("door")),
		StopReason: q.Get("stopReason"), Page: page,
	}
	switch {
	case err != nil:
	case out.State != "" && !wire.SessionState(out.State).Valid():
		err = httpapi.Invalid("state", "must be idle, queued, running, stopping or requires_action")
	case out.Door != "" && !slices.Contains(doors, out.Door):
		err = httpapi.Invalid("door", "must be client, responses, assistants, chat, a2a, studio or portal")
	case out.StopReason != "" && !wire.StopReason(out.StopReason).Valid():
		err = httpapi.Invalid("stopReason", "must be cancelled or limit")
	}
	if out.Owner == "me" || !seesOthers(p) {
		out.Owner = p.ID
	}
	return out, err
}

// agentOf is the agent that a list is asked for, empty for all.
func agentOf(r *http.Request) string {
	if key := chi.URLParam(r, "agentId"); key != "" {
		return key
	}
	return r.URL.Query().Get("agentId")
}

func pageOf(r *http.Request) (agent.Page, error) {
	limit, err := httpapi.QueryInt(r, "limit", 50, 1, 100)
	return agent.Page{Cursor: r.URL.Query().Get("cursor"), Limit: int(limit)}, err
}

// seesOthers reports whether a principal may read sessions of others.
func seesOthers(p agent.Principal) bool {
	return p.Can(agent.PermSessionViewOthers) || p.Can(agent.PermSessionManageOthers)
}

func (d *door) createSession(w http.ResponseWriter, r *http.Request) error {
	var in wire.CreateSessionJSONBody
	if err := httpapi.ReadOptionalJSON(r, &in); err != nil {
		return err
	}
	p := httpapi.Caller(r.Context())
	a, err := d.store.Agent(r.Context(), p.Project, chi.URLParam(r, "agentId"))
	if err != nil {
		return noAgent(err)
	}
	c := agent.Session{ID: agent.NewID(), Project: p.Project, Agent: a.Key, Owner: p.ID, Door: agent.DoorStudio}
	if in.Title != nil {
		c.Title = *in.Title
	}
	if err := agent.CheckName("title", c.Title); err != nil {
		return err
	}
	if _, err := d.store.CreateSession(r.Context(), c, nil); err != nil {
		return err
	}
	v, err := d.store.SessionView(r.Context(), c.ID)
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.StudioPrefix+"/agents/"+a.Key+"/sessions/"+c.ID)
	return d.writeSession(w, r, http.StatusCreated, v)
}

// session returns the session of the path, if the caller may do with it what may
// says.
func (d *door) session(r *http.Request, may func(agent.Principal, agent.Session) error) (agent.SessionView, error) {
	v, err := d.store.SessionView(r.Context(), chi.URLParam(r, "sessionId"))
	if err == nil {
		err = may(httpapi.Caller(r.Context()), v.Session)
	}
	if err == nil && v.Agent != chi.URLParam(r, "agentId") {
		err = agent.ErrNotFound
	}
	if err != nil {
		return v, noSession(err)
	}
	httpapi.Note(r.Context(), v.ID, v.Turn)
	return v, nil
}

func noSession(err error) error {
	return httpapi.NotFound(err, "agent_session_not_found", "There is no such session.")
}

func (d *door) getSession(w http.ResponseWriter, r *http.Request) error {
	v, err := d.session(r, agent.Principal.MayView)
	if err != nil {
		return err
	}
	return d.writeSession(w, r, http.StatusOK, v)
}

func (d *door) writeSession(w http.ResponseWriter, r *http.Request, status int, v agent.SessionView) error {
	known, err := d.named(r.Context(), sessionNames(v))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, status, sessionOut(httpapi.Caller(r.Context()), v, known))
}

func (d *door) deleteSession(w http.ResponseWriter, r *http.Request) error {
	v, err := d.session(r, agent.Principal.MayAct)
	if err == nil {
		err = d.store.DeleteSession(r.Context(), v.ID)
	}
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return err
	}
	return noContent(w)
}

// sendMessage begins a turn. What becomes of it is in the session's events.
func (d *door) sendMessage(w http.ResponseWriter, r *http.Request) error {
	var in wire.MessageSend
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	p := httpapi.Caller(r.Context())
	s := turn.Submit{Principal: p, Door: agent.DoorStudio, Version: in.Version, Input: in.Content}
	s.Background = in.Background != nil && *in.Background
	switch {
	case in.Content == "":
		return httpapi.Invalid("content", "is required: what to say")
	case in.Version != nil && *in.Version < 1:
		return httpapi.Invalid("version", "must be 1 or more; draft says to run the draft")
	case in.Draft != nil && *in.Draft && in.Version != nil:
		return httpapi.Invalid("draft", "goes without version")
	case in.Draft != nil && *in.Draft:
		if err := httpapi.Need(p, agent.PermAgentManage); err != nil {
			return err
		}
		s.Version = new(0)
	}
	v, err := d.session(r, agent.Principal.MayAct)
	if err != nil {
		return err
	}
	s.Session, s.Agent = v.ID, v.Agent
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	t, err := d.Engine.Begin(ctx, s)
	if err != nil {
		return noAgent(err)
	}
	httpapi.Note(r.Context(), t.Session, t.ID)
	return httpapi.WriteJSON(w, http.StatusAccepted, wire.Begun{SessionId: t.Session, RunId: t.ID, Seq: t.FirstSeq, MessageIndex: t.Index})
}

// sessionNames are the principals that are shown with sessions.
func sessionNames(list ...agent.SessionView) []string {
	var ids []string
	for _, v := range list {
		ids = append(ids, v.Owner)
		if v.Live != nil {
			ids = append(ids, v.Live.By)
			if v.Live.Stop != nil {
				ids = append(ids, v.Live.Stop.By)
			}
		}
	}
	return ids
}

func sessionOut(p agent.Principal, v agent.SessionView, known names) wire.Session {
	out := wire.Session{
		Id: v.ID, AgentId: v.Agent, Owner: known.actor(v.Owner), Door: v.Door, Title: v.Title, Preview: v.Preview,
		State: wire.SessionState(v.StateWord()), LastStatus: ptr(string(v.Last)), LastStopReason: ptr(v.Reason),
		MayAct: p.MayAct(v.Session) == nil, CreatedAt: v.CreatedAt.UTC(), UpdatedAt: v.UpdatedAt.UTC(),
	}
	if l := v.Live; l != nil {
		out.Run = &wire.LiveRun{
			Id: l.ID, Door: l.Door, StartedBy: known.actor(l.By), Background: l.Background, StartedAt: l.Since.UTC(),
			AgeMs: l.Age.Milliseconds(), Node: ptr(l.Node), Stop: stopOut(l.Stop, time.Time{}, nil, known),
		}
	}
	return out
}

// stopOut is a stop, with the end of its turn and the path it came by where
// those are known.
func stopOut(s *agent.Stop, ended time.Time, path *string, known names) *wire.Stop {
	if s == nil {
		return nil
	}
	out := &wire.Stop{By: known.actor(s.By), Door: string(s.Door), Node: s.Node, Detail: ptr(s.Detail), At: s.At.UTC(), Path: path}
	if !ended.IsZero() {
		out.TookMs = new(max(0, ended.Sub(s.At).Milliseconds()))
	}
	return out
}

// cancelSession stops what runs in a session.
func (d *door) cancelSession(w http.ResponseWriter, r *http.Request) error {
	in, err := readStop(r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "sessionId")
	if !d.belongs(r.Context(), id, chi.URLParam(r, "agentId")) {
		return noRun(agent.ErrNotFound)
	}
	return d.stop(w, r, turn.StopRequest{Session: id, Turn: in.Run}, in)
}

// lookLimit bounds the look at what a stop is for: it must not wait for a
// database that is away.
const lookLimit = 250 * time.Millisecond

// belongs says whether a session may be one with an agent: only one that is known
// to be with another, or not to be there, is not.
func (d *door) belongs(ctx context.Context, session, key string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	list, err := d.store.SessionsOf(ctx, []string{session})
	return err != nil || len(list) == 1 && list[0].Agent == key
}

func (d *door) cancelRun(w http.ResponseWriter, r *http.Request) error {
	in, err := readStop(r)
	if err != nil {
		return err
	}
	id := httpapi.RunID(chi.URLParam(r, "runId"))
	if in.Run != "" && in.Run != id {
		return httpapi.Invalid("runId", "is not the run of the path: leave it out")
	}
	return d.stop(w, r, turn.StopRequest{Turn: id}, in)
}

// stop asks the engine, which looks at the rights: it can tell a turn that runs
// here even while the database is away.
func (d *door) stop(w http.ResponseWriter, r *http.Request, q turn.StopRequest, in httpapi.StopInput) error {
	httpapi.Note(r.Context(), q.Session, q.Turn)
	ctx, done := httpapi.Detach(r.Context(), in.Wait)
	defer done()
	q.Principal, q.Door, q.Wait = httpapi.Caller(r.Context()), agent.DoorStudio, in.Wait
	a, err := d.Engine.Stop(ctx, q)
	if err != nil {
		return noRun(err)
	}
	out := wire.StopAnswer{Cancelled: a.Cancelled, RunIds: orEmpty(a.Turns), CancelledActions: a.Actions > 0}
	if in.Asked {
		out.Done, out.StopStatus = new(a.Done()), &a.Status
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func noRun(err error) error {
	return httpapi.NotFound(err, "agent_run_not_found", "There is no such session or run.")
}

// maxWaitMs is the most that waitMs may be.
const maxWaitMs = 20_000

// readStop is httpapi.ReadStop with the names of this API, which takes both.
func readStop(r *http.Request) (httpapi.StopInput, error) {
	var body wire.StopRequest
	if err := httpapi.ReadOptionalJSON(r, &body); err != nil {
		return httpapi.StopInput{}, err
	}
	run, wait := body.RunId, body.WaitMs
	if wait != nil && (*wait < 0 || *wait > maxWaitMs) {
		return httpapi.StopInput{}, httpapi.Invalid("waitMs", "must be a whole number from 0 to %d", maxWaitMs)
	}
	if run == nil {
		run = body.SnakeRunId
	}
	if wait == nil {
		wait = body.SnakeWaitMs
	}
	return httpapi.StopOf(r, run, wait)
}
