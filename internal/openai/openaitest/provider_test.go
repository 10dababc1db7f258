package openaitest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/openai/openaitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room is a served provider and a plain HTTP client for it.
type room struct {
	*openaitest.Provider
	url    string
	client *http.Client
}

func open(t *testing.T, opts ...openaitest.Option) *room {
	t.Helper()
	p := openaitest.New(append([]openaitest.Option{openaitest.WithRate(0)}, opts...)...)
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &room{p, srv.URL, &http.Client{Transport: tr}}
}

// say returns a request's body with one user message.
func say(text string, stream bool) string {
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`{"model":"m","stream":%t,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%s}]}`, stream, b)
}

func (r *room) post(t *testing.T, ctx context.Context, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/p/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r.client.Do(req)
}

// all returns the status and the whole body of an answer.
func (r *room) all(t *testing.T, body string) (int, string) {
	t.Helper()
	resp, err := r.post(t, within(t), body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		b = append(b, "\nERROR: "+err.Error()...)
	}
	return resp.StatusCode, string(b)
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// streamed is what the events of a body say together.
type streamed struct {
	text, reasoning, finish string
	calls                   map[int]*openaitest.ToolCall
	usage                   json.RawMessage
	done                    bool
}

func parse(t *testing.T, body string) streamed {
	t.Helper()
	s := streamed{calls: map[int]*openaitest.ToolCall{}}
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			s.done = true
			continue
		}
		s.add(t, data)
	}
	return s
}

func (s *streamed) add(t *testing.T, data string) {
	t.Helper()
	var c struct {
		Choices []struct {
			Delta struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
				ToolCalls []struct {
					Index    int
					ID       string
					Function openaitest.ToolCall
				} `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
		Usage json.RawMessage
	}
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("event %q: %v", data, err)
	}
	if len(c.Usage) > 0 {
		s.usage = c.Usage
	}
	for _, c := range c.Choices {
		s.text += c.Delta.Content
		s.reasoning += c.Delta.Reasoning
		s.finish += c.Finish
		for _, f := range c.Delta.ToolCalls {
			if s.calls[f.Index] == nil {
				s.calls[f.Index] = &openaitest.ToolCall{ID: f.ID, Name: f.Function.Name}
			}
			s.calls[f.Index].Arguments += f.Function.Arguments
		}
	}
}

// Field reports 32, 33, 37 and 40: what a strict provider refuses for ever.
func TestHistoryIsHeldToTheRules(t *testing.T) {
	t.Parallel()
	const (
		user   = `{"role":"user","content":"hi"}`
		one    = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		two    = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"[]"}}]}`
		a      = `{"role":"tool","tool_call_id":"a","content":"x"}`
		b      = `{"role":"tool","tool_call_id":"b","content":""}`
		answer = `{"role":"assistant","content":"ok"}`
	)
	for _, c := range []struct {
		name, messages string
		accepted       bool
	}{
		{"plain", user, true},
		{"parts", `{"role":"user","content":[{"type":"text","text":"hi"}]}`, true},
		{"system first", `{"role":"system","content":"x"},` + user, true},
		{"system later", user + `,{"role":"system","content":""},` + user, true},
		{"two of a person", user + "," + user, true},
		{"paired", user + "," + one + "," + a, true},
		{"two paired, in any order", user + "," + two + "," + b + "," + a + "," + answer + "," + user, true},
		{"the same call later", user + "," + one + "," + a + "," + one + "," + a, true},
		{"none", "", false},
		{"empty user", `{"role":"user","content":""}`, false},
		{"blank user", `{"role":"user","content":" \n"}`, false},
		{"missing user", `{"role":"user"}`, false},
		{"empty assistant", user + `,{"role":"assistant","content":""}`, false},
		{"null assistant", user + `,{"role":"assistant","content":null}`, false},
		{"blank assistant", user + `,{"role":"assistant","content":"\n"}`, false},
		{"empty calls", user + `,{"role":"assistant","content":"","tool_calls":[]}`, false},
		{"unanswered call at the end", user + "," + one, false},
		{"unanswered call", user + "," + one + "," + user, false},
		{"one of two unanswered", user + "," + two + "," + a + "," + user, false},
		{"result too late", user + "," + one + "," + user + "," + a, false},
		{"result without call", user + "," + a, false},
		{"result of another call", user + "," + one + "," + b, false},
		{"result twice", user + "," + one + "," + a + "," + a, false},
		{"result of a call before", user + "," + one + "," + a + "," + answer + "," + a, false},
		{"result without content", user + "," + one + `,{"role":"tool","tool_call_id":"a"}`, false},
		{"arguments cut off", user + "," + strings.Replace(one, `"{}"`, `"{\"x\":"`, 1) + "," + a, false},
		{"arguments empty", user + "," + strings.Replace(one, `"{}"`, `""`, 1) + "," + a, false},
		{"call without id", user + "," + strings.Replace(one, `"a"`, `""`, 1), false},
		{"id twice", user + "," + strings.Replace(two, `"b"`, `"a"`, 1) + "," + a, false},
		{"call without name", user + "," + strings.Replace(one, `"f"`, `""`, 1) + "," + a, false},
		{"a person's call", `{"role":"user","content":"x","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},` + a, false},
		{"unknown role", `{"role":"function","content":"x"}`, false},
		{"content of another type", `{"role":"user","content":7}`, false},
		{"part without text", `{"role":"user","content":[{"type":"text"}]}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			status, body := r.all(t, `{"model":"m","messages":[`+c.messages+`]}`)
			var doc struct {
				Error struct{ Message, Type string }
			}
			if err := json.Unmarshal([]byte(body), &doc); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			refused := status == http.StatusBadRequest && doc.Error.Message != "" && doc.Error.Type == "invalid_request_error"
			if c.accepted && status != http.StatusOK || !c.accepted && !refused {
				t.Errorf("%d %s", status, body)
			}
			if seen := r.Requests(); len(seen) != 1 || (seen[0].Rejected == "") != c.accepted || !seen[0].Finished {
				t.Errorf("recorded %+v", seen)
			}
		})
	}
}

func TestDirectives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said string
		want func(s streamed, body string) bool
	}{
		{"/fast 30", func(s streamed, _ string) bool {
			return len(strings.Fields(s.text)) == 30 && s.finish == "stop" && s.done && len(s.usage) > 0
		}},
		{"/say words=9 delay=1ms chunk=4", func(s streamed, body string) bool {
			return len(strings.Fields(s.text)) == 9 && strings.Count(body, `"content"`) == 3
		}},
		{"please\n  /echo der Größte, \"so\" \n", func(s streamed, _ string) bool { return s.text == `der Größte, "so"` }},
		{"/code ZEBRA", func(s streamed, _ string) bool { return s.text == "The code word is ZEBRA." }},
		{"/reason\n/echo x", func(s streamed, _ string) bool { return s.reasoning != "" && s.text == "x" }},
		{"/fast 3\n/nousage", func(s streamed, _ string) bool { return s.usage == nil && s.done }},
		{"/fast 3\n/length", func(s streamed, _ string) bool { return s.finish == "length" && s.done }},
		{"/wait 1ms\n/fast 3", func(s streamed, _ string) bool { return s.done }},
		{"/cut", func(s streamed, body string) bool { return strings.Contains(body, "ERROR") }},
		{"/break", func(s streamed, body string) bool {
			return !strings.Contains(body, "ERROR") && s.finish == "" && !s.done && s.text != ""
		}},
		{"/tool look {\"at\": \"sea\"}\n/tool now", func(s streamed, _ string) bool {
			return s.finish == "tool_calls" && len(s.calls) == 2 && s.calls[0].Name == "look" && s.calls[0].Arguments == `{"at": "sea"}` &&
				s.calls[1].Arguments == "{}" && s.calls[0].ID != s.calls[1].ID
		}},
		{"/unknown thing", func(s streamed, _ string) bool { return strings.Contains(s.text, "/unknown thing") }},
		{"Ahoy", func(s streamed, _ string) bool {
			return strings.Contains(s.text, `You said: "Ahoy".`) && strings.HasSuffix(s.text, ".")
		}},
	} {
		t.Run(c.said, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			_, body := r.all(t, say(c.said, true))
			whole := strings.Split(body, "\nERROR")[0]
			if i := strings.LastIndex(whole, "\n\n"); i >= 0 {
				whole = whole[:i]
			}
			if s := parse(t, whole); !c.want(s, body) {
				t.Errorf("%+v\n%s", s, body)
			}
		})
	}
}

func TestErrorDirectiveRefuses(t *testing.T) {
	t.Parallel()
	r := open(t)
	if status, body := r.all(t, say("/error 503", true)); status != 503 || !strings.Contains(body, "server_error") {
		t.Errorf("%d %s", status, body)
	}
}

func TestMalformedDirectiveSendsNoJSON(t *testing.T) {
	t.Parallel()
	r := open(t)
	_, body := r.all(t, say("/malformed", true))
	bad := 0
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: {"); ok && !json.Valid([]byte("{"+data)) {
			bad++
		}
	}
	if bad != 1 {
		t.Errorf("%d events are not JSON: %s", bad, body)
	}
}

func TestToolIsAskedForOnceAndItsResultIsQuoted(t *testing.T) {
	t.Parallel()
	r := open(t)
	history := `{"model":"m","stream":true,"messages":[{"role":"user","content":"%s"}%s]}`
	pair := `,{"role":"assistant","content":"","tool_calls":[{"id":"%d","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"%d","content":"calm %d"}`
	first := fmt.Sprintf(pair, 1, 1, 1)
	_, body := r.all(t, fmt.Sprintf(history, "/tool look", first))
	if s := parse(t, body); s.text != "The tool answered: calm 1" || len(s.calls) != 0 {
		t.Errorf("%+v", s)
	}
	// Field report 62: a loop of steps to stop in.
	for n, results := 0, ""; n <= 3; n++ {
		_, body := r.all(t, fmt.Sprintf(history, "/loop 3 look {}", results))
		if s := parse(t, body); (len(s.calls) == 1) != (n < 3) {
			t.Errorf("step %d: %+v", n, s)
		}
		results += fmt.Sprintf(pair, n, n, n)
	}
}

// Field report 45: a person sees that a stopped answer is in the context.
func TestPlainAnswerTellsHowTheOneBeforeEnded(t *testing.T) {
	t.Parallel()
	r := open(t)
	ask := func(earlier string) string {
		_, body := r.all(t, fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":%q},{"role":"user","content":"go on"}]}`, earlier))
		return parse(t, body).text
	}
	if s := ask("one two three four five six The code"); !strings.Contains(s, `My last answer was cut after "…three four five six The code".`) {
		t.Error(s)
	}
	if s := ask("That is all."); !strings.Contains(s, `I ended my last answer with "…That is all."`) {
		t.Error(s)
	}
}

func TestEqualSeedsAnswerAlike(t *testing.T) {
	t.Parallel()
	ask := func(seed uint64) string {
		_, body := open(t, openaitest.WithSeed(seed)).all(t, say("hello", true))
		return parse(t, body).text
	}
	if a, b := ask(7), ask(7); a != b {
		t.Errorf("%q, %q", a, b)
	}
	answers := map[string]bool{}
	for seed := range uint64(5) {
		answers[ask(seed)] = true
	}
	if len(answers) == 1 {
		t.Error("all seeds answer alike")
	}
}

func TestAnswerInOnePiece(t *testing.T) {
	t.Parallel()
	r := open(t)
	status, body := r.all(t, say("/reason\n/echo in one piece", false))
	var doc struct {
		Choices []struct {
			Message struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
			}
			Finish string `json:"finish_reason"`
		}
		Usage map[string]any
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil || status != 200 || len(doc.Choices) != 1 {
		t.Fatalf("%d %s", status, body)
	}
	if c := doc.Choices[0]; c.Message.Content != "in one piece" || c.Message.Reasoning == "" || c.Finish != "stop" || doc.Usage == nil {
		t.Errorf("%s", body)
	}
	if _, body = r.all(t, say("/tool look {}", false)); !strings.Contains(body, `"arguments":"{}"`) || !strings.Contains(body, `"tool_calls"`) {
		t.Errorf("%s", body)
	}
}

func TestDoorOfTheProvider(t *testing.T) {
	t.Parallel()
	r := open(t, openaitest.WithKey("sk-1"), openaitest.WithModels("a", "b"))
	for _, c := range []struct {
		method, path, key string
		status            int
		body              string
	}{
		{"GET", "/x/v1/models", "sk-1", 200, `"id":"b"`},
		{"GET", "/v1/models", "", 401, `"invalid_api_key"`},
		{"GET", "/v1/chat/completions", "sk-1", 404, `"error"`},
		{"POST", "/v1/other", "sk-1", 404, `"error"`},
		{"POST", "/v1/chat/completions", "sk-1", 400, `"error"`},
	} {
		req, err := http.NewRequestWithContext(within(t), c.method, r.url+c.path, strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.key)
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || !bytes.Contains(b, []byte(c.body)) {
			t.Errorf("%s %s: %d %s", c.method, c.path, resp.StatusCode, b)
		}
	}
}

// Field report 8: the abort is seen on the socket, at once, with nothing being
// written, and told to those who wait and those who asked to be called.
func TestAbortIsSeenOnTheSocket(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"/hang", "/silent", "/slow 1000"} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			told := make(chan openaitest.Request, 1)
			r.OnAbort(func(req openaitest.Request) { told <- req })
			ctx, cancel := context.WithCancel(within(t))
			done := make(chan struct{})
			go func() {
				defer close(done)
				if resp, err := r.post(t, ctx, say(said, true)); err == nil {
					_, _ = bufio.NewReader(resp.Body).ReadString('\n')
					<-ctx.Done()
					resp.Body.Close()
				}
			}()
			if _, err := r.WaitRequest(within(t), 1); err != nil {
				t.Fatal(err)
			}
			at := time.Now()
			cancel()
			<-done
			seen, err := r.WaitAborted(within(t), 1)
			if err != nil || seen.AbortedAt.Sub(at) > time.Second || seen.AbortedAt.Before(at) {
				t.Errorf("aborted at %v, closed at %v, error %v", seen.AbortedAt, at, err)
			}
			if req := <-told; req.N != 1 || !req.Aborted() {
				t.Errorf("told %+v", req)
			}
			if ended, err := r.WaitEnded(within(t), 1); err != nil || ended.Finished {
				t.Errorf("finished %t, error %v", ended.Finished, err)
			}
		})
	}
}

func TestWholeAnswerIsNoAbort(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.OnAbort(func(req openaitest.Request) { t.Errorf("told of %d", req.N) })
	for range 20 {
		r.all(t, say("/fast 5", true))
		r.client.CloseIdleConnections()
	}
	for _, req := range r.Requests() {
		if seen, err := r.WaitEnded(within(t), req.N); err != nil || seen.Aborted() || !seen.Finished || seen.Chunks != 8 {
			t.Errorf("%d: aborted %t, finished %t, %d chunks, error %v", req.N, seen.Aborted(), seen.Finished, seen.Chunks, err)
		}
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	r := open(t, openaitest.WithKeep(2))
	for range 3 {
		r.all(t, say("/fast 1", true))
	}
	if n, kept := r.Count(), r.Requests(); n != 3 || len(kept) != 2 || kept[0].N != 2 {
		t.Errorf("%d arrived, kept %d", n, len(kept))
	}
	if _, err := r.WaitRequest(within(t), 1); !errors.Is(err, openaitest.ErrForgotten) {
		t.Errorf("error %v", err)
	}
	if _, err := r.WaitRequest(within(t), 0); err == nil {
		t.Error("there is no request 0")
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := r.WaitAborted(ctx, 3); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if req, err := r.WaitRequest(ctx, 3); err != nil || req.N != 3 || req.Last("user") != "/fast 1" || req.Last("tool") != "" {
		t.Errorf("request %+v, error %v", req, err)
	}
}

func TestHoldWaitsForItsRelease(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	r := open(t, openaitest.WithScript(func(openaitest.Request) openaitest.Reply {
		return openaitest.Reply{
			openaitest.Text(0, "a"), openaitest.Hold(release), openaitest.Pause(time.Millisecond),
			openaitest.Before(func() {}), openaitest.Text(0, "b"),
		}
	}))
	resp, err := r.post(t, within(t), say("x", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, `"a"`) {
		t.Fatalf("%q, %v", line, err)
	}
	close(release)
	rest, err := io.ReadAll(in)
	if s := parse(t, string(rest)); err != nil || s.text != "b" || !s.done {
		t.Errorf("%+v, %v", s, err)
	}
}
