package httpapitest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
)

// ErrBadToken is what the World's Authenticate wraps where a header names nobody.
var ErrBadToken = errors.New("bad token")

// Epoch is the World's clock: it goes on by a millisecond with each event.
var Epoch = time.Date(2024, 3, 3, 21, 6, 40, 0, time.UTC)

// World stands in for the engine, the store and access. It keeps sessions, turns
// and their journal in memory; what a turn does is what the test appends. Ids
// are counted, so transcripts are the same each time.
type World struct {
	// Began is called for each turn that begins, with the World unlocked; nil:
	// nothing happens by itself.
	Began func(t agent.Turn)
	// Opened is called for each tool that OpenTool opens; nil: nothing happens.
	Opened func(t agent.SharedTool)
	// Decided is called for each action that is decided, likewise.
	Decided func(a agent.Action)

	mu       sync.Mutex
	down     error
	ids      int
	callers  map[string]agent.Principal // by Authorization header
	agents   map[string]*agent.Agent    // by project/key
	tools    map[string]agent.SharedTool
	sessions map[string]*session
	turns    map[string]*agent.Turn
	actions  []agent.Action
	portals  map[string]agent.Portal
	meter    map[string]int // messages, by portal
	receipts []agent.Receipt
	pushes   map[string][]agent.Callback // by turn
	changed  chan struct{}
	began    []turn.Submit
	stops    []turn.StopRequest
	timeouts int
	sent     []agent.Delivery              // newest first
	audit    []agent.AuditEntry            // likewise
	keys     map[string]agent.UsedKeyError // by principal and key
	requests map[string][32]byte           // that began a turn with a key
	full     bool
}

type session struct {
	agent.Session
	turn   string
	state  agent.SlotState
	events []agent.Event
	index  int
}

// NewWorld returns a World with an agent "support" of project "p1" and these
// tokens: owner, other (both of p1, all but the permissions on others'
// sessions), admin (all of them), runner (may run, and approve nothing), weak (none)
// and foreign (project p2, all).
func NewWorld() *World {
	w := &World{
		callers: map[string]agent.Principal{}, agents: map[string]*agent.Agent{}, tools: map[string]agent.SharedTool{},
		portals: map[string]agent.Portal{}, meter: map[string]int{}, pushes: map[string][]agent.Callback{},
		sessions: map[string]*session{}, turns: map[string]*agent.Turn{}, changed: make(chan struct{}),
		keys: map[string]agent.UsedKeyError{}, requests: map[string][32]byte{},
	}
	own := slices.DeleteFunc(slices.Clone(agent.Permissions), func(p agent.Permission) bool {
		return p == agent.PermSessionViewOthers || p == agent.PermSessionManageOthers
	})
	for name, c := range map[string]struct {
		project string
		perms   []agent.Permission
	}{
		"owner": {"p1", own}, "other": {"p1", own}, "admin": {"p1", agent.Permissions},
		"runner": {"p1", []agent.Permission{agent.PermAgentView, agent.PermAgentRun}}, "weak": {"p1", nil}, "foreign": {"p2", agent.Permissions},
	} {
		w.callers["Bearer "+name] = agent.Principal{ID: "token:" + name, Project: c.project, Name: name, Permissions: c.perms}
	}
	w.agents["p1/support"] = &agent.Agent{
		Project: "p1", Key: "support", Name: "Support", Active: true, Published: 4,
		Draft: agent.Config{Model: "demo", Instructions: "Help."}, CreatedAt: Epoch, UpdatedAt: Epoch,
	}
	return w
}

// Break makes every call that needs the database fail with an error; nil: it is back.
func (w *World) Break(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = err
}

// Fill makes the projects have as many background runs as they may.
func (w *World) Fill(full bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full = full
}

// SetSpec changes what an agent's turns run.
func (w *World) SetSpec(key string, c agent.Config) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.agents["p1/"+key].Draft = c
}

// Submits returns what Begin was asked for so far.
func (w *World) Submits() []turn.Submit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.began)
}

// Stops returns what Stop was asked for so far.
func (w *World) Stops() []turn.StopRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.stops)
}

// Timeouts returns how often Timeout was called.
func (w *World) Timeouts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.timeouts
}

func (w *World) id(kind string) string {
	w.ids++
	return fmt.Sprintf("%s%0*d", kind, 24-len(kind), w.ids)
}

// Append writes events of a turn to its session's journal, as its owner would.
func (w *World) Append(id string, bodies ...agent.Body) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.append(w.turns[id], bodies...)
}

func (w *World) append(t *agent.Turn, bodies ...agent.Body) {
	s := w.sessions[t.Session]
	for _, b := range bodies {
		seq := int64(len(s.events) + 1)
		s.events = append(s.events, agent.Event{Session: s.ID, Seq: seq, Turn: t.ID, Body: b, At: Epoch.Add(time.Duration(seq) * time.Millisecond)})
		switch b := b.(type) {
		case agent.Message:
			s.index = b.Index + 1
		case agent.ActionRequested:
			w.actions = append(w.actions, agent.Action{
				ID: b.ActionID, Session: s.ID, Turn: t.ID, CallID: b.CallID, Type: b.Type, Name: b.Name,
				Arguments: b.Arguments, State: agent.ActionOpen, CreatedAt: Epoch,
			})
		case agent.TurnPaused:
			t.Status, s.state = agent.StatusWaiting, agent.SlotWaiting
		case agent.TurnEnded:
			t.Status, t.StopReason, t.StopDetail, t.EndedAt = b.Status, b.StopReason, b.StopDetail, Epoch
			t.Error, t.Usage = b.Error, b.Usage
			s.state, s.turn = agent.SlotIdle, ""
		case agent.TextDelta, agent.ToolStarted:
			t.Status, s.state = agent.StatusRunning, agent.SlotRunning
			if t.StartedAt.IsZero() {
				t.StartedAt = Epoch
			}
		}
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// Events returns up to limit events numbered above after.
func (w *World) Events(_ context.Context, id string, after int64, limit int) ([]agent.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[id]
	if s == nil || w.down != nil {
		return nil, w.down
	}
	rest := s.events[min(int(after), len(s.events)):]
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

// DropDeltas deletes the deltas of a session, as retention does.
func (w *World) DropDeltas(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[id]
	for i := range s.events {
		switch s.events[i].Body.(type) {
		case agent.TextDelta, agent.ReasoningDelta:
			s.events[i].Turn = "deleted"
		}
	}
}

// Authenticate knows the tokens of NewWorld.
func (w *World) Authenticate(_ context.Context, header string) (agent.Principal, error) {
	p, ok := w.callers[header]
	if !ok {
		return p, fmt.Errorf("%w: unknown", ErrBadToken)
	}
	return p, nil
}

// Begin takes the session's slot and writes the user's message.
func (w *World) Begin(_ context.Context, s turn.Submit) (agent.Turn, error) {
	w.mu.Lock()
	t, err := w.begin(s)
	w.mu.Unlock()
	if err == nil && w.Began != nil {
		w.Began(t)
	}
	return t, err
}

func (w *World) begin(s turn.Submit) (agent.Turn, error) {
	w.began = append(w.began, s)
	a := w.agents[s.Principal.Project+"/"+s.Agent]
	if err := w.usedKey(s); err != nil {
		return agent.Turn{}, err
	}
	switch {
	case w.down != nil:
		return agent.Turn{}, w.down
	case a == nil:
		return agent.Turn{}, agent.ErrNotFound
	case !s.Background && s.CallbackURL != "":
		return agent.Turn{}, &agent.CallbackError{Field: "callback_url", Message: "goes with background: true only"}
	case !a.Active:
		return agent.Turn{}, &agent.FieldError{Field: "model", Message: "agent " + a.Key + " is not active"}
	case s.Version != nil && *s.Version > a.Published:
		return agent.Turn{}, &agent.FieldError{Field: "version", Message: "agent " + a.Key + " has no version " + strconv.Itoa(*s.Version)}
	}
	background, err := w.background(s, a.Draft.Execution)
	if err != nil {
		return agent.Turn{}, err
	}
	sess := w.sessions[s.Session]
	if s.Session == "" {
		sess = &session{state: agent.SlotIdle, Session: agent.Session{
			ID: w.id("5e"), Project: s.Principal.Project, Agent: s.Agent, Owner: s.Principal.ID, Door: s.Door, Metadata: s.Noted, CreatedAt: Epoch, UpdatedAt: Epoch,
		}}
		w.sessions[sess.ID] = sess
	}
	if sess.turn != "" {
		return agent.Turn{}, &agent.BusyError{Session: sess.ID, Turn: sess.turn}
	}
	sess.Agent = s.Agent
	w.post(sess, s.History)
	version := a.Published
	if s.Version != nil {
		version = *s.Version
	}
	index := sess.index + 1
	if s.NoInput {
		index--
	}
	t := agent.Turn{
		ID: w.id("7a"), Session: sess.ID, Agent: s.Agent, Version: version, Door: s.Door, By: s.Principal.ID,
		Status: agent.StatusRunning, FirstSeq: int64(len(sess.events) + 1), Index: index,
		Metadata: s.Metadata, Spec: s.Overrides.Apply(a.Draft), CreatedAt: Epoch, StartedAt: Epoch, Background: background,
	}
	for i := range w.receipts { // their turn's id is counted here too
		if w.receipts[i].Turn == s.ID && s.ID != "" {
			w.receipts[i].Turn = t.ID
		}
	}
	w.pushes[t.ID] = s.Callbacks
	sess.turn, sess.state = t.ID, agent.SlotRunning
	if background {
		t.Status, t.StartedAt, sess.state = agent.StatusQueued, time.Time{}, agent.SlotQueued
	}
	if s.Key != "" {
		w.keys[s.Principal.ID+" "+s.Key], w.requests[t.ID] = agent.UsedKeyError{Turn: t.ID}, s.Request
	}
	w.turns[t.ID] = &t
	if !s.NoInput {
		w.append(&t, agent.Message{Index: sess.index, Role: agent.RoleUser, Text: s.Input, Status: agent.StatusCompleted})
	}
	w.append(&t, agent.TurnStarted{Agent: s.Agent, Version: version, Model: a.Draft.Model, Door: s.Door, By: s.Principal.ID, Index: t.Index, Background: background})
	return t, nil
}

// Post writes messages into a session that nothing runs in.
func (w *World) Post(_ context.Context, p turn.Post) ([]agent.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[p.Session]
	switch {
	case w.down != nil:
		return nil, w.down
	case s == nil:
		return nil, agent.ErrNotFound
	}
	if err := p.Principal.MayAct(s.Session); err != nil {
		return nil, err
	}
	if s.turn != "" && s.state != agent.SlotWaiting {
		return nil, &agent.BusyError{Session: s.ID, Turn: s.turn}
	}
	return w.post(s, p.Messages), nil
}

// post writes messages that no turn writes.
func (w *World) post(s *session, messages []agent.Prompt) []agent.Event {
	from := len(s.events)
	for _, m := range messages {
		w.append(&agent.Turn{ID: agent.HistoryID(s.ID), Session: s.ID},
			agent.Message{Index: s.index, Role: m.Role, Text: m.Text, Status: agent.StatusCompleted})
	}
	return slices.Clone(s.events[from:])
}

// usedKey tells of a request that was sent before.
func (w *World) usedKey(s turn.Submit) error {
	used, ok := w.keys[s.Principal.ID+" "+s.Key]
	if s.Key == "" || !ok {
		return nil
	}
	used.Same = w.requests[used.Turn] == s.Request
	return &used
}

// background says whether a turn is a background run.
func (w *World) background(s turn.Submit, x agent.Execution) (bool, error) {
	is := s.Background || s.AsAgentSays && x.DefaultMode == agent.ModeBackground
	switch {
	case is && !x.Background():
		return is, agent.ErrNoBackground
	case is && w.full:
		return is, agent.ErrRunLimit
	case !is && s.Key != "":
		return is, agent.ErrKeyInline
	}
	return is, nil
}

// Follow yields a session's events above after, and waits for more.
func (w *World) Follow(ctx context.Context, id string, after int64) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		for events, err := range w.Watch(ctx, id, after, 0) {
			if err != nil {
				yield(agent.Event{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Watch yields them in batches, and an empty one after each idle that nothing
// came for; 0: never.
func (w *World) Watch(ctx context.Context, id string, after int64, idle time.Duration) iter.Seq2[[]agent.Event, error] {
	return func(yield func([]agent.Event, error) bool) {
		for {
			events, changed := w.above(id, after)
			if n := len(events); n > 0 {
				if after = events[n-1].Seq; !yield(events, nil) {
					return
				}
				continue
			}
			var silence <-chan time.Time
			if idle > 0 {
				silence = time.After(idle)
			}
			select {
			case <-changed:
			case <-silence:
				if !yield(nil, nil) {
					return
				}
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

// above returns a session's events above after, and what is closed when any
// session has more.
func (w *World) above(id string, after int64) ([]agent.Event, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[id]
	if s == nil {
		return nil, w.changed
	}
	return slices.Clone(s.events[min(int(after), len(s.events)):]), w.changed
}

// Stop ends the session's running turn as cancelled, unless wait is 0: then the
// turn is told only, and the test ends it.
func (w *World) Stop(_ context.Context, q turn.StopRequest) (turn.StopAnswer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stops = append(w.stops, q)
	if w.down != nil {
		return turn.StopAnswer{}, &turn.NotRecordedError{Told: q.Session != "", Err: w.down}
	}
	id := q.Session
	if q.Turn != "" {
		t := w.turns[q.Turn]
		if t == nil || id != "" && id != t.Session {
			return turn.StopAnswer{}, agent.ErrNotFound
		}
		id = t.Session
	}
	s := w.sessions[id]
	if s == nil {
		return turn.StopAnswer{}, agent.ErrNotFound
	}
	if err := q.Principal.MayAct(s.Session); err != nil {
		return turn.StopAnswer{}, err
	}
	if s.turn == "" || q.Turn != "" && q.Turn != s.turn {
		return turn.StopAnswer{Session: id, Status: turn.StopNone}, nil
	}
	return w.stop(s, q), nil
}

func (w *World) stop(s *session, q turn.StopRequest) turn.StopAnswer {
	a := turn.StopAnswer{Session: s.ID, Cancelled: true, Turns: []string{s.turn}, Status: turn.StopStopping}
	t := w.turns[s.turn]
	stop := &agent.Stop{By: q.Principal.ID, Door: q.Door, Node: "n1", At: Epoch}
	switch s.state {
	case agent.SlotWaiting:
		if !w.withdraw(t.ID, q.Principal) {
			return turn.StopAnswer{Session: s.ID, Status: turn.StopNone}
		}
		fallthrough
	case agent.SlotQueued:
		a.Status, t.Stop = turn.StopStopped, stop
		w.append(t, agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonCancelled, Stop: stop})
		return a
	}
	w.append(t, agent.TurnStopping{By: q.Principal.ID, Door: q.Door, Node: "n1"})
	t.Stop = stop
	if q.Wait > 0 {
		a.Status = turn.StopStopped
		w.append(t, agent.Message{Index: t.Index, Role: agent.RoleAssistant, Text: partial(s), Status: agent.StatusIncomplete, StopReason: agent.ReasonCancelled})
		w.append(t, agent.TurnEnded{Status: agent.StatusIncomplete, StopReason: agent.ReasonCancelled, Stop: stop})
	}
	return a
}

// withdraw answers a turn's open actions "no", if the principal may: whoever may
// stop withdraws a question.
func (w *World) withdraw(id string, p agent.Principal) bool {
	open := func(a agent.Action) bool { return a.Turn == id && a.State == agent.ActionOpen }
	if !p.Can(agent.PermAgentApprove) && slices.ContainsFunc(w.actions, func(a agent.Action) bool { return open(a) && a.Type == agent.ActionApproval }) {
		return false
	}
	for i := range w.actions {
		if a := &w.actions[i]; open(*a) {
			a.State, a.DecidedBy, a.DecidedAt = agent.ActionWithdrawn, p.ID, Epoch
			w.append(w.turns[id], agent.ActionDecided{ActionID: a.ID, State: a.State, By: p.ID})
		}
	}
	return true
}

// partial returns the text that no message has yet.
func partial(s *session) string {
	var text string
	for _, e := range s.events {
		switch b := e.Body.(type) {
		case agent.TextDelta:
			text += b.Text
		case agent.Message:
			text = ""
		}
	}
	return text
}

// Timeout ends a turn for the ceiling.
func (w *World) Timeout(_, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timeouts++
	w.append(w.turns[id], agent.TurnEnded{Status: agent.StatusFailed, Error: &agent.Failure{Code: agent.CodeTimeout, Message: "The answer took too long."}})
}

// Decide decides an action.
func (w *World) Decide(_ context.Context, p agent.Principal, d agent.Decision) (agent.Action, error) {
	a, made, err := w.decide(p, d)
	if made && w.Decided != nil {
		w.Decided(a)
	}
	return a, err
}

func (w *World) decide(p agent.Principal, d agent.Decision) (decided agent.Action, made bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.actions, func(a agent.Action) bool { return a.ID == d.Action })
	if i < 0 || w.sessions[w.actions[i].Session].Project != p.Project {
		return agent.Action{}, false, agent.ErrNotFound
	}
	a := &w.actions[i]
	switch {
	case a.Type == agent.ActionApproval && !p.Can(agent.PermAgentApprove):
		return agent.Action{}, false, agent.ErrForbidden
	case a.State == d.State && a.Answer == d.Answer:
		return *a, false, nil
	case a.State != agent.ActionOpen:
		return *a, false, &agent.DecidedError{Action: *a}
	}
	a.State, a.Answer, a.DecidedBy, a.DecidedAt = d.State, d.Answer, d.By, Epoch
	if d.Arguments != nil {
		a.Arguments = d.Arguments
	}
	w.append(w.turns[a.Turn], agent.ActionDecided{ActionID: a.ID, State: d.State, By: d.By})
	w.turns[a.Turn].Status = agent.StatusQueued
	return *a, true, nil
}
