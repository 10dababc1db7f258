package studio_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/studio"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// lockedBuffer is a log that handlers still write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// frame is one frame of a stream.
type frame struct {
	id, kind string
	data     map[string]any
}

// stream is one open stream.
type stream struct {
	t      *testing.T
	frames chan frame
	close  func()
}

func (b *bed) stream(who, query string) *stream {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	res := b.request(ctx, who, "GET", "/stream?"+query, "")
	if res.StatusCode != 200 {
		b.t.Fatalf("stream: %s", res.Status)
	}
	s := &stream{t: b.t, frames: make(chan frame, 10_000)}
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(s.frames)
		defer res.Body.Close()
		in := bufio.NewScanner(res.Body)
		in.Buffer(nil, 8<<20)
		var f frame
		for in.Scan() {
			name, value, _ := strings.Cut(in.Text(), ": ")
			switch name {
			case "id":
				f.id = value
			case "event":
				f.kind = value
			case "data":
				_ = json.Unmarshal([]byte(value), &f.data)
			case "":
				if f.kind != "" {
					s.frames <- f
				}
				f = frame{}
			}
		}
	})
	s.close = func() {
		cancel()
		reader.Wait()
	}
	b.t.Cleanup(s.close)
	return s
}

// until returns the next frame of which ok is true.
func (s *stream) until(what string, ok func(frame) bool) frame {
	s.t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case f, more := <-s.frames:
			if !more {
				s.t.Fatalf("the stream ended before %s", what)
			}
			if ok(f) {
				return f
			}
		case <-timeout:
			s.t.Fatalf("no %s", what)
		}
	}
}

func kind(k string) func(frame) bool { return func(f frame) bool { return f.kind == k } }

// event is a journal's event of a session.
func event(session, kind string) func(frame) bool {
	return func(f frame) bool {
		e, _ := f.data["event"].(map[string]any)
		return f.kind == "journal" && strings.HasSuffix(session, fmt.Sprint(f.data["sessionId"])) && e["type"] == kind
	}
}

func idOf(session string) string { return session[strings.LastIndexByte(session, '/')+1:] }

// 80, 82: one stream carries several sessions, each with its own cursor, and what
// else a browser shows; a stop is told to all that follow, once.
func TestOneStreamCarriesAllThatABrowserFollows(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.model.Always(turntest.Text("one "), turntest.Text("two "), turntest.Block())
	one, two := b.session("owner", "helper"), b.session("operator", "helper")
	query := "follow=" + idOf(one) + ":0," + idOf(two) + ":0&states=" + idOf(one) + "&operations=true"
	first, second := b.stream("owner", query), b.stream("operator", query)
	if f := first.until("ready", kind("ready")); len(f.data["followed"].([]any)) != 2 || f.data["node"] != "node-1" {
		t.Errorf("ready: %v", f.data)
	}
	first.until("inbox", kind("inbox"))
	run := b.say("owner", one, "hello")
	b.say("operator", two, "hello")
	for _, s := range []*stream{first, second} {
		s.until("text of one", event(one, "text.delta"))
	}
	first.until("text of two", event(two, "text.delta"))
	first.until("the state", func(f frame) bool {
		v, _ := f.data["session"].(map[string]any)
		return f.kind == "state" && v["state"] == "running" && v["runId"] == run
	})
	first.until("operations", func(f frame) bool {
		o, _ := f.data["operations"].(map[string]any)
		return f.kind == "operations" && len(o["slots"].([]any)) == 2
	})
	b.must("operator", "POST", one+"/cancel", "")
	for _, s := range []*stream{first, second} {
		f := s.until("the end of one", event(one, "turn.ended"))
		stop := f.data["event"].(map[string]any)["data"].(map[string]any)["stop"].(map[string]any)
		if stop["door"] != "studio" || !strings.HasPrefix(stop["by"].(string), "user:") {
			t.Errorf("stop: %v", stop)
		}
	}
	b.must("owner", "POST", two+"/cancel", "")
	first.until("the end of two", event(two, "turn.ended"))
}

// 78: a stream that is opened anew with the cursors reached goes on with no gap
// and nothing twice, and so does the page of a transcript.
func TestAStreamGoesOnWhereTheOneBeforeWas(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var steps []turntest.Step
	for i := range 40 {
		steps = append(steps, turntest.Text(fmt.Sprintf("w%d ", i)), turntest.Pause(5*time.Millisecond))
	}
	b.model.Always(steps...)
	session := b.session("owner", "helper")
	b.say("owner", session, "hello")
	transcript := b.must("owner", "GET", session+"/transcript", "")
	after := int64(transcript.field(t, "followAfter").(float64))
	var text strings.Builder
	ended := false
	for opened := 0; !ended; opened++ {
		s := b.stream("owner", fmt.Sprintf("follow=%s:%d", idOf(session), after))
		for range 7 {
			f := s.until("an event", kind("journal"))
			e := f.data["event"].(map[string]any)
			seq := int64(e["seq"].(float64))
			if want := fmt.Sprintf("%s:%d", idOf(session), seq); f.id != want {
				t.Errorf("id %s, want %s", f.id, want)
			}
			if seq <= after {
				t.Fatalf("event %d comes after %d", seq, after)
			}
			after = seq
			switch e["type"] {
			case "text.delta":
				text.WriteString(e["data"].(map[string]any)["text"].(string))
			case "turn.ended":
				ended = true
			}
			if ended {
				break
			}
		}
		s.close()
	}
	last := b.must("owner", "GET", session+"/transcript", "")
	data := last.field(t, "data").([]any)
	message := data[len(data)-2].(map[string]any)["data"].(map[string]any)
	if message["content"] != text.String() || strings.Count(text.String(), "w") != 40 {
		t.Errorf("streamed %q\nkept %q", text.String(), message["content"])
	}
	if int64(last.field(t, "followAfter").(float64)) != after {
		t.Errorf("followAfter %v, the last event was %d", last.field(t, "followAfter"), after)
	}
}

func TestAStreamSaysWhatItCantFollow(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	mine := b.session("stranger", "helper")
	theirs := b.session("owner", "helper")
	s := b.stream("stranger", "follow="+idOf(mine)+":0,"+idOf(theirs)+":0,nothing:0&states="+idOf(theirs))
	f := s.until("ready", kind("ready"))
	if got := fmt.Sprint(f.data["followed"]); got != "["+idOf(mine)+"]" {
		t.Errorf("followed %s", got)
	}
	for _, r := range f.data["refused"].([]any) {
		if r.(map[string]any)["code"] != "agent_session_not_found" {
			t.Errorf("refused: %v", r)
		}
	}
	b.must("stranger", "DELETE", mine, "")
	s.until("gone", kind("gone"))
	for path, param := range map[string]string{"follow=x": "follow[0]", "follow=x:-1": "follow[0]", "operations=maybe": "operations"} {
		a := b.do("stranger", "GET", "/stream?"+path, "")
		if a.status != 400 || a.field(t, "error.param") != param {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestAStreamEndsWithItsSignIn(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	s := b.stream("viewer", "")
	s.until("ready", kind("ready"))
	b.must("viewer", "POST", "/auth/sign-out", "")
	s.until("signed_out", kind("signed_out"))
	if _, more := <-s.frames; more {
		t.Error("the stream goes on")
	}
}

// 93: what waits for a person is told to who may decide it, and when it is gone.
func TestAStreamTellsWhatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	session, _ := b.waiting("owner")
	open := func(n float64) func(frame) bool {
		return func(f frame) bool { return f.kind == "inbox" && f.data["open"] == n }
	}
	s := b.stream("operator", "")
	s.until("one waits", open(1))
	b.must("operator", "POST", session+"/cancel", "")
	s.until("nothing waits", open(0))
}

// waiting begins a turn that waits for an approval.
func (b *bed) waiting(who string) (session, action string) {
	b.t.Helper()
	b.model.Reply(turntest.Call("c1", "pay", `{"sum":7}`), turntest.Finish(agent.FinishCalls))
	session = b.session(who, "helper")
	b.say(who, session, "pay")
	b.state(session, "requires_action")
	a := b.must("operator", "GET", "/actions", "")
	return session, a.field(b.t, "data.0.id").(string)
}

// 87, 90: a stream with nothing to say shows that it lives; and a database that
// hangs holds up nothing of what runs here.
func TestAStreamShowsThatItLives(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(c *studio.Config) { c.Streams = httpapi.Streams{Ping: 200 * time.Millisecond} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res := b.request(ctx, "viewer", "GET", "/stream", "")
	defer res.Body.Close()
	in := bufio.NewScanner(res.Body)
	began, pings := time.Now(), 0
	for pings < 5 && in.Scan() {
		if in.Text() == ": ping" {
			pings++
		}
	}
	if d := time.Since(began); pings < 5 || d > 20*time.Second {
		t.Errorf("%d pings in %v", pings, d)
	}
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-cache, no-transform"} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// hanging is a store of which one question is not answered before the test ends.
type hanging struct {
	studio.Store
	over chan struct{}
}

func (h hanging) Inbox(context.Context, string, string) (agent.Inbox, error) {
	<-h.over
	return agent.Inbox{}, agent.ErrUnavailable
}

func TestAHangingDatabaseHoldsNoJournalUp(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	b := newBed(t, func(c *studio.Config) { c.Store = hanging{c.Store, over} })
	defer close(over)
	b.model.Always(turntest.Text("a"), turntest.Pause(100*time.Millisecond), turntest.Text("b"), turntest.Pause(100*time.Millisecond), turntest.Text("c"))
	session := b.session("owner", "helper")
	s := b.stream("owner", "follow="+idOf(session)+":0")
	s.until("ready", kind("ready"))
	b.say("owner", session, "hello")
	s.until("the end", event(session, "turn.ended"))
}
