package studio

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

const (
	maxFollowed = 50
	maxStates   = 100

	beat      = time.Second     // how often a stream looks at what is not a journal
	lookMost  = 5 * time.Second // for one such look
	operateAt = 2               // beats between two looks at the operations
	whoAt     = 5               // beats between two looks at who is signed in
)

// following is what a stream was asked for.
type following struct {
	cursors    map[string]int64 // of the sessions whose journals are followed
	states     []string         // sessions whose states are told
	operations bool
}

func readFollowing(r *http.Request) (following, error) {
	f := following{cursors: map[string]int64{}}
	for i, s := range list(r.URL.Query().Get("follow")) {
		id, seq, ok := strings.Cut(s, ":")
		n, err := strconv.ParseInt(seq, 10, 64)
		if id == "" || !ok || err != nil || n < 0 {
			return f, httpapi.Invalid("follow["+itoa(i)+"]", "must be a session's id, a colon and the number of the last event seen, 0 for none")
		}
		f.cursors[id] = n
	}
	if len(f.cursors) > maxFollowed {
		return f, httpapi.Invalid("follow", "must be %d sessions or fewer", maxFollowed)
	}
	f.states = list(r.URL.Query().Get("states"))
	if len(f.states) > maxStates {
		return f, httpapi.Invalid("states", "must be %d sessions or fewer", maxStates)
	}
	var err error
	f.operations, err = httpapi.QueryBool(r, "operations")
	return f, err
}

// list splits at commas; nothing is none.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// stream serves all that a browser follows.
func (d *door) stream(w http.ResponseWriter, r *http.Request) error {
	f, err := readFollowing(r)
	if err != nil {
		return err
	}
	s := &browser{d: d, following: f, secret: httpapi.SignInSecret(r), caller: httpapi.Caller(r.Context()), told: map[string]wire.LiveState{}}
	first, err := s.ready(r.Context())
	if err != nil {
		return err
	}
	return d.Streams.ServeFrames(w, r, s.frames(r.Context(), first))
}

// browser is one open stream. A goroutine follows each session and one looks at
// all else; the handler's own sends what they give it, so that a database that
// hangs holds up nothing of what runs here.
type browser struct {
	d *door
	following
	secret string

	// What follows is the looker's once it runs.
	caller agent.Principal
	beats  int
	inbox  agent.Inbox
	told   map[string]wire.LiveState     // states told so far
	stops  map[string]context.CancelFunc // of the followers of sessions

	pieces  chan piece
	waiting sync.WaitGroup
}

// piece is some whole frames, or how the stream ends.
type piece struct {
	frames []byte
	last   bool
	err    error
}

// ready looks which sessions can be followed and says so.
func (s *browser) ready(ctx context.Context) ([]byte, error) {
	there, err := s.sessions(ctx)
	if err != nil {
		return nil, err
	}
	out := wire.ReadyFrame{Type: "ready", Node: s.d.Node, Followed: []string{}, Refused: emptyRefused()}
	for _, id := range sorted(s.cursors) {
		code := "agent_session_not_found"
		if v, ok := there[id]; ok {
			switch err := s.caller.MayView(v.Session); {
			case err == nil:
				out.Followed = append(out.Followed, id)
				continue
			case errors.Is(err, agent.ErrForbidden):
				code = "agent_session_forbidden"
			}
		}
		out.Refused = append(out.Refused, refusal{id, code})
		delete(s.cursors, id)
	}
	return appendFrame(nil, "ready", out)
}

type refusal = struct {
	SessionId string `json:"sessionId"`
	Code      string `json:"code"`
}

func emptyRefused() []refusal { return []refusal{} }

func sorted(m map[string]int64) []string {
	ids := make([]string, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// sessions reads the sessions that the stream is about.
func (s *browser) sessions(ctx context.Context) (map[string]agent.SessionInfo, error) {
	ids := append(sorted(s.cursors), s.states...)
	out := map[string]agent.SessionInfo{}
	if len(ids) == 0 {
		return out, nil
	}
	found, err := s.d.store.SessionsOf(ctx, ids)
	for _, v := range found {
		out[v.ID] = v
	}
	return out, err
}

// frames are what the stream sends. All that it started has ended when it returns.
func (s *browser) frames(ctx context.Context, first []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer s.waiting.Wait()
		defer cancel()
		s.pieces, s.stops = make(chan piece), map[string]context.CancelFunc{}
		for id, after := range s.cursors {
			s.follow(ctx, id, after)
		}
		s.waiting.Go(func() { s.lookOn(ctx) })
		silence := s.d.Streams.Silence()
		quiet := time.NewTimer(silence)
		defer quiet.Stop()
		for next := (piece{frames: first}); yield(next.frames, next.err) && next.err == nil && !next.last; {
			quiet.Reset(silence)
			select {
			case next = <-s.pieces:
			case <-quiet.C:
				next = piece{}
			case <-ctx.Done():
				return
			}
		}
	}
}

// give hands a piece to the handler; false: the stream is over.
func (s *browser) give(ctx context.Context, p piece) bool {
	select {
	case s.pieces <- p:
		return p.err == nil && !p.last
	case <-ctx.Done():
		return false
	}
}

// lookOn looks at all but journals, at once and then at every beat.
func (s *browser) lookOn(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		p := s.look(ctx)
		if (len(p.frames) > 0 || p.last || p.err != nil) && !s.give(ctx, p) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// follow sends a session's journal until its follower is stopped. Who takes
// slowly is not waited for: what is not sent stays in the journal.
func (s *browser) follow(ctx context.Context, session string, after int64) {
	ctx, s.stops[session] = context.WithCancel(ctx)
	s.waiting.Go(func() {
		for events, err := range s.d.Engine.Watch(ctx, session, after, 0) {
			if ctx.Err() != nil {
				return
			}
			var p piece
			if p.err = err; err == nil {
				p.frames, p.err = appendJournal(nil, events)
			}
			if !s.give(ctx, p) {
				return
			}
		}
	})
}

func appendJournal(dst []byte, events []agent.Event) ([]byte, error) {
	for _, e := range events {
		dst = append(dst, "id: "...)
		dst = append(dst, e.Session...)
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, e.Seq, 10)
		dst = append(dst, "\nevent: journal\ndata: {\"type\":\"journal\",\"sessionId\":"...)
		dst = httpapi.AppendString(dst, e.Session)
		dst = append(dst, `,"event":`...)
		var err error
		if dst, err = httpapi.AppendEvent(dst, e); err != nil {
			return dst, err
		}
		dst = append(append(dst, '}'), httpapi.FrameEnd...)
	}
	return dst, nil
}

// appendFrame appends a frame that is not of a journal.
func appendFrame(dst []byte, kind string, v any) ([]byte, error) {
	dst = append(dst, "event: "...)
	dst = append(dst, kind...)
	dst = append(dst, "\ndata: "...)
	dst, err := httpapi.AppendJSON(dst, v)
	return append(dst, httpapi.FrameEnd...), err
}

// look tells what has changed beside the journals. While the database is away
// nothing has.
func (s *browser) look(ctx context.Context) (p piece) {
	defer func() { s.beats++ }()
	if len(s.cursors) == 0 && errors.Is(s.d.Engine.Ready(), agent.ErrDraining) {
		return piece{last: true} // journals are followed to the end of the node's turns
	}
	if s.beats > 0 && s.beats%whoAt == 0 {
		if p = s.who(ctx); p.last || p.err != nil {
			return p
		}
	}
	one, cancel := context.WithTimeout(ctx, lookMost)
	defer cancel()
	for _, part := range []func(context.Context, []byte) ([]byte, error){s.lookAtSessions, s.lookAtInbox, s.lookAtOperations} {
		more, err := part(one, p.frames)
		switch {
		case err == nil:
			p.frames = more
		case ctx.Err() != nil || !errors.Is(err, agent.ErrUnavailable):
			p.err = err
			return p
		}
	}
	return p
}

// who looks whether the sign-in still is, and what it may do now.
func (s *browser) who(ctx context.Context) piece {
	in, err := s.d.Access.SignedIn(ctx, s.secret)
	switch {
	case errors.Is(err, agent.ErrUnavailable):
		return piece{}
	case err == nil && in.Current.Project != s.caller.Project:
		return piece{last: true} // another stream is wanted
	case errors.Is(err, agent.ErrNotSignedIn):
		out, err := appendFrame(nil, "signed_out", wire.SignedOutFrame{Type: "signed_out"})
		return piece{frames: out, last: true, err: err}
	case err != nil:
		return piece{err: err}
	}
	s.caller = in.Principal()
	return piece{}
}

// lookAtSessions tells the states that have changed, and the followed sessions
// that are gone.
func (s *browser) lookAtSessions(ctx context.Context, out []byte) ([]byte, error) {
	there, err := s.sessions(ctx)
	if err != nil {
		return out, err
	}
	for _, id := range sorted(s.cursors) {
		if v, ok := there[id]; ok && s.caller.MayView(v.Session) == nil {
			continue
		}
		s.stops[id]()
		delete(s.cursors, id)
		if out, err = appendFrame(out, "gone", wire.GoneFrame{Type: "gone", SessionId: id}); err != nil {
			return out, err
		}
	}
	for _, id := range s.states {
		v, ok := there[id]
		if !ok || s.caller.MayView(v.Session) != nil {
			continue
		}
		now := stateOut(v)
		if old, ok := s.told[id]; ok && sameState(old, now) {
			continue
		}
		s.told[id] = now
		if out, err = appendFrame(out, "state", wire.StateFrame{Type: "state", Session: now}); err != nil {
			return out, err
		}
	}
	return out, nil
}

func stateOut(v agent.SessionInfo) wire.LiveState {
	return wire.LiveState{
		SessionId: v.ID, State: wire.SessionState(v.StateWord()), RunId: ptr(v.Turn), LastStatus: ptr(string(v.Last)),
		LastStopReason: ptr(v.Reason), UpdatedAt: v.UpdatedAt.UTC(),
	}
}

func sameState(a, b wire.LiveState) bool {
	same := func(x, y *string) bool { return x == nil && y == nil || x != nil && y != nil && *x == *y }
	return a.State == b.State && same(a.RunId, b.RunId) && same(a.LastStatus, b.LastStatus) && same(a.LastStopReason, b.LastStopReason)
}

func (s *browser) lookAtInbox(ctx context.Context, out []byte) ([]byte, error) {
	now, err := s.d.now.Inbox(ctx, s.caller.Project, inboxOwner(s.caller))
	if err != nil || now == s.inbox && s.beats > 0 {
		return out, err
	}
	s.inbox = now
	return appendFrame(out, "inbox", wire.InboxFrame{Type: "inbox", Open: now.Open, Version: now.Version})
}

func (s *browser) lookAtOperations(ctx context.Context, out []byte) ([]byte, error) {
	if !s.operations || s.beats%operateAt != 0 || !s.caller.Can(agent.PermOperationsView) {
		return out, nil
	}
	o, err := s.d.now.Operations(ctx, s.caller.Project)
	if err != nil {
		return out, err
	}
	known, err := s.d.named(ctx, slotNames(o))
	if err != nil {
		return out, err
	}
	return appendFrame(out, "operations", wire.OperationsFrame{Type: "operations", Operations: operationsOut(s.caller, o, known)})
}
