package openai_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/openai/openaitest"
)

var errStop = &agent.Stop{By: "user:1", Door: agent.DoorClient}

// aborted wants the nth request's connection closed within a second of since.
func (r *room) aborted(t *testing.T, n int, since time.Time) openaitest.Request {
	t.Helper()
	seen := ok[openaitest.Request](t)(r.WaitAborted(within(t), n))
	if d := seen.AbortedAt.Sub(since); d > promptly {
		t.Errorf("the provider saw the connection close %v after the stop", d)
	}
	return seen
}

// Field reports 1, 4 and 8: the provider's connection is closed, seen at its
// socket, and few chunks more are sent.
func TestStopClosesTheConnection(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.Text(100*time.Millisecond, strings.SplitAfter(strings.Repeat("x ", 600), " ")...))
	ctx, cancel := context.WithCancelCause(within(t))
	var at time.Time
	got := read(ctx, t, r.client, hello(), func(agent.Delta) {
		if at.IsZero() && r.Requests()[0].Chunks >= 5 {
			at = time.Now()
			cancel(errStop)
		}
	})
	if got.err != error(errStop) {
		t.Errorf("error %v, want the cause", got.err)
	}
	if seen := r.aborted(t, 1, at); seen.Chunks > 15+5 || seen.Finished {
		t.Errorf("%d chunks were sent, finished %t", seen.Chunks, seen.Finished)
	}
}

// The connection closes although nobody asks the iterator for more: the one who
// consumes it may be busy when the stop comes.
func TestStopClosesTheConnectionWhileTheConsumerIsBusy(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.Text(time.Millisecond, "a"), openaitest.SilentForever())
	ctx, cancel := context.WithCancelCause(within(t))
	defer cancel(nil)
	for _, err := range r.client.Stream(ctx, hello()) {
		if err != nil {
			if err != error(errStop) {
				t.Errorf("error %v", err)
			}
			break
		}
		at := time.Now()
		cancel(errStop)
		r.aborted(t, 1, at)
	}
}

// Field report 2 and 8: leaving the loop is a stop too.
func TestLeavingTheLoopClosesTheConnection(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.Text(0, "a"), openaitest.SilentForever())
	for d, err := range r.client.Stream(within(t), hello()) {
		if err != nil || d.Text != "a" {
			t.Fatalf("%+v, %v", d, err)
		}
		break
	}
	r.aborted(t, 1, time.Now())
}

// Each place of a call where a stop may find it.
func TestStopEndsACallWhereverItIs(t *testing.T) {
	t.Parallel()
	cases := map[string][]openaitest.Step{
		"before headers":         {openaitest.HangBeforeHeaders()},
		"after headers":          {openaitest.SilentForever()},
		"in comments":            {openaitest.Comments(1000, 20*time.Millisecond)},
		"in the text":            {openaitest.Text(0, "a"), openaitest.SilentForever()},
		"in a line":              {openaitest.Text(0, "a"), openaitest.Raw(`data: {"choices":[{"ind`), openaitest.SilentForever()},
		"after half a character": {openaitest.Raw("data: {\"choices\":[{\"delta\":{\"content\":\"gr\xc3\"}}]}\n\n"), openaitest.SilentForever()},
		"in a call":              {openaitest.Call("c", "f", `{"a":1}`), openaitest.SilentForever()},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := replying(t, steps...)
			ctx, cancel := context.WithCancelCause(within(t))
			go func() {
				_, _ = r.WaitRequest(ctx, 1)
				time.Sleep(100 * time.Millisecond)
				cancel(errStop)
			}()
			got := read(ctx, t, r.client, hello(), nil)
			if got.err != error(errStop) {
				t.Errorf("error %v, want the cause", got.err)
			}
			r.aborted(t, 1, time.Now())
			if len(got.calls) != 0 || got.finish != "" || strings.Contains(got.text.String(), "\uFFFD") {
				t.Errorf("yielded %q, calls %v, finish %q", got.text.String(), got.calls, got.finish)
			}
			// Field report 7: nothing is sent after a stop.
			if n := r.Count(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// Field reports 6 and 7: a stopped context makes no request at all.
func TestStoppedContextSendsNothing(t *testing.T) {
	t.Parallel()
	r := open(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	got := read(ctx, t, r.client, hello(), nil)
	if got.err != error(errStop) || r.Count() != 0 {
		t.Errorf("error %v, %d requests", got.err, r.Count())
	}
}

// Field report 6: a 429 is returned at once; nobody sleeps in here.
func TestRefusalIsReturnedAtOnceAndNotRetried(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.Status(429, map[string][]string{"Retry-After": {"30"}}, ""))
	start := time.Now()
	e := read(within(t), t, r.client, hello(), nil).failed(t, agent.CodeModelError, true)
	if e.RetryAfter != 30*time.Second || e.Status != 429 {
		t.Errorf("status %d, retry after %v", e.Status, e.RetryAfter)
	}
	if d := time.Since(start); d > 5*time.Second || r.Count() != 1 {
		t.Errorf("took %v, %d requests", d, r.Count())
	}
}

// Field report 37: whatever of a call's arguments has arrived when the stop
// comes, even all of it, is no call.
func TestArgumentsCutAtAnyByteByAStopAreNoCall(t *testing.T) {
	t.Parallel()
	args := `{"path":"/srv/größe.txt","lines":[1,2,3],"mode":"read\u00e9"}`
	r := open(t, nil, openaitest.WithScript(func(req openaitest.Request) openaitest.Reply {
		var n int
		fmt.Sscan(req.Last("user"), &n)
		return openaitest.Reply{
			openaitest.Text(0, "I look."),
			openaitest.Call("c1", "read", args[:n]),
			openaitest.Text(0, "END"),
			openaitest.SilentForever(),
		}
	}))
	var wg sync.WaitGroup
	for n := range len(args) + 1 {
		wg.Go(func() {
			ctx, cancel := context.WithCancelCause(within(t))
			req := agent.Request{Prompts: []agent.Prompt{{Role: agent.RoleUser, Text: fmt.Sprint(n)}}}
			got := read(ctx, t, r.client, req, func(d agent.Delta) {
				if d.Text == "END" {
					cancel(errStop)
				}
			})
			if got.err != error(errStop) || len(got.calls) != 0 || got.text.String() != "I look.END" {
				t.Errorf("cut at %d: error %v, calls %v, text %q", n, got.err, got.calls, got.text.String())
			}
		})
	}
	wg.Wait()
	for n := 1; n <= len(args)+1; n++ {
		ok[openaitest.Request](t)(r.WaitAborted(within(t), n))
	}
}

// A stop at every chunk of an answer keeps exactly the text that came before it
// (field report 41) and leaves nothing running (goleak).
func TestStopAtAnyChunkYieldsExactlyWhatCameBefore(t *testing.T) {
	t.Parallel()
	words := []string{"Stop ", "means ", "stop", ", ", "ganz ", "größ", "te 🧗", "."}
	r := replying(t, openaitest.Text(0, words...), openaitest.SilentForever())
	for n := range len(words) {
		ctx, cancel := context.WithCancelCause(within(t))
		seen := 0
		got := read(ctx, t, r.client, hello(), func(agent.Delta) {
			if seen++; seen == n+1 {
				cancel(errStop)
			}
		})
		if want := strings.Join(words[:n+1], ""); got.text.String() != want || !errors.Is(got.err, errStop) {
			t.Errorf("text %q, want %q; error %v", got.text.String(), want, got.err)
		}
		r.aborted(t, n+1, time.Now())
	}
}

// Many at once: none may be missed and none may leave anything behind.
func TestHundredStopsAtOnceCloseHundredConnections(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.Text(20*time.Millisecond, strings.SplitAfter(strings.Repeat("x ", 1000), " ")...))
	ctx, cancel := context.WithCancelCause(within(t))
	var wg, started sync.WaitGroup
	started.Add(100)
	for range 100 {
		wg.Go(func() {
			var once sync.Once
			got := read(ctx, t, r.client, hello(), func(agent.Delta) { once.Do(started.Done) })
			if got.err != error(errStop) {
				t.Errorf("error %v", got.err)
			}
		})
	}
	started.Wait()
	at := time.Now()
	cancel(errStop)
	wg.Wait()
	for n := 1; n <= 100; n++ {
		r.aborted(t, n, at)
	}
}

func TestDeadlineOfTheCallerIsItsCause(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.HangBeforeHeaders())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := read(ctx, t, r.client, hello(), nil); got.err != context.DeadlineExceeded {
		t.Errorf("error %v", got.err)
	}
}
