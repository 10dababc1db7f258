package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
)

// lockedWriter lets a test read a log that handlers still write.
type lockedWriter struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *lockedWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

func TestAPanicIsA500WithTheIDThatIsInTheLog(t *testing.T) {
	t.Parallel()
	log := &lockedWriter{}
	s := newSite(t, func(c *httpapi.Config) {
		c.Log = newLog(log)
		c.Client = []httpapi.Route{
			{Method: "GET", Pattern: "/agents", Serve: func(http.ResponseWriter, *http.Request) error { panic("the secret cause") }},
			{Method: "GET", Pattern: "/models", Serve: func(http.ResponseWriter, *http.Request) error { return errors.New("the secret error") }},
		}
	})
	for _, path := range []string{"/agents", "/models"} {
		a := s.do("owner", "GET", path, "")
		if a.status != 500 || !strings.Contains(a.body, "req-1") || strings.Contains(a.body, "secret") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if got := log.String(); !strings.Contains(got, "the secret cause") || !strings.Contains(got, "the secret error") || strings.Count(got, `"request_id":"req-1"`) != 2 {
		t.Errorf("log: %s", got)
	}
}

func TestAPanicInAStartedAnswerCutsIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *httpapi.Config) {
		c.Client = []httpapi.Route{{Method: "GET", Pattern: "/half", Serve: func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic("late")
		}}}
	})
	s.http.Transport = http.DefaultTransport
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	res := s.send("owner", "GET", "/half", "")
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("%q looks whole", b)
	}
}

func TestTheBodyHasALimit(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *httpapi.Config) { c.MaxBody = 1000 })
	a := s.do("owner", "POST", "/responses", `{"model":"support","input":"`+strings.Repeat("x", 2000)+`"}`)
	if a.status != http.StatusRequestEntityTooLarge || a.field(t, "error.code") != "request_too_large" || a.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if len(s.Submits()) != 0 {
		t.Error("a turn was begun")
	}
}

func TestASlowBodyIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *httpapi.Config) { c.ReadTimeout = 50 * time.Millisecond })
	s.http.Transport = &http.Transport{}
	t.Cleanup(s.http.CloseIdleConnections)
	r, w := io.Pipe()
	defer w.Close()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+httpapitest.Prefix+"/responses", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer owner")
	go func() { _, _ = io.WriteString(w, `{"model":`) }()
	res, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%s", res.Status)
	}
}

// TestALongAnswerOutlivesTheReadTimeout: the deadline for the body must not end
// a request whose body has come.
func TestALongAnswerOutlivesTheReadTimeout(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *httpapi.Config) {
		c.ReadTimeout = 100 * time.Millisecond
		c.WriteTimeout = 100 * time.Millisecond
	})
	s.Began = func(tn agent.Turn) {
		time.AfterFunc(400*time.Millisecond, func() { s.Append(tn.ID, agent.TurnEnded{Status: agent.StatusCompleted}) })
	}
	for range 2 { // on one connection
		if a := s.do("owner", "POST", "/responses", `{"model":"support","input":"Hello"}`); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

func TestTheLogSaysWhatHappenedAndNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "belay_c0ffee"
	log := &lockedWriter{}
	type seen struct {
		route, method string
		status        int
	}
	observed := make(chan seen, 10)
	s := newSite(t, func(c *httpapi.Config) {
		c.Log = newLog(log)
		c.Observe = func(route, method string, status int, d time.Duration) { observed <- seen{route, method, status} }
	})
	s.answered()
	s.do("owner", "POST", "/responses", `{"model":"support","input":"`+secret+`"}`)
	s.do(secret, "GET", "/agents?token="+secret, "")
	s.do("owner", "GET", "//"+secret, "")
	want := map[seen]bool{
		{"/api/client/v1/responses", "POST", 200}: true, {"/api/client/v1/agents", "GET", 401}: true, {"unmatched", "GET", 404}: true,
	}
	for range 3 {
		got := <-observed
		if !want[got] {
			t.Errorf("observed %v", got)
		}
		delete(want, got)
	}
	for strings.Count(log.String(), "\n") < 3 {
		time.Sleep(time.Millisecond)
	}
	got := log.String()
	if strings.Contains(got, secret) {
		t.Errorf("the log has the secret: %s", got)
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(strings.SplitN(got, "\n", 2)[0]), &line); err != nil {
		t.Fatal(err)
	}
	if line["session_id"] != session1 || line["turn_id"] != turn1 || line["principal"] != "token:owner" || line["request_id"] != "req-1" || line["status"] != 200.0 {
		t.Errorf("%v", line)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for given, kept := range map[string]bool{"abc-1_2.3": true, "": false, "a b": false, "<script>": false, strings.Repeat("x", 65): false} {
		got := s.do("owner", "GET", "/models", "", "X-Request-Id", given).header.Get("X-Request-Id")
		if kept != (got == given) || !kept && !strings.HasPrefix(got, "req_") {
			t.Errorf("given %q, answered %q", given, got)
		}
	}
}

func TestEveryAnswerForbidsSniffing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{"/agents", "/nowhere", "//", "/responses/x"} {
		a := s.do("owner", "GET", path, "")
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Content-Type") != "application/json" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, a.header)
		}
	}
}

// TestEveryKindOfErrorHasItsAnswer is the table of errors and retries.
func TestEveryKindOfErrorHasItsAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{fmt.Errorf("x: %w", agent.ErrNotFound), 404, "not_found"},
		{fmt.Errorf("x: %w", agent.ErrForbidden), 403, "agent_session_forbidden"},
		{agent.ErrExists, 409, "already_exists"},
		{agent.ErrDraining, 503, "draining"},
		{agent.ErrUnavailable, 503, "unavailable"},
		{&agent.FieldError{Field: "f", Message: "m"}, 400, "invalid_request"},
		{&agent.BusyError{Session: "s", Turn: "t"}, 409, "agent_run_conflict"},
		{&agent.BusyError{Session: "s", Turn: "t", Waiting: true}, 409, "action_pending"},
		{&agent.DecidedError{}, 409, "action_already_decided"},
		{&http.MaxBytesError{Limit: 1}, 413, "request_too_large"},
		{errors.New("x"), 500, "internal_error"},
	} {
		s := newSite(t, func(cfg *httpapi.Config) {
			cfg.Client = []httpapi.Route{{Method: "GET", Pattern: "/agents", Serve: func(http.ResponseWriter, *http.Request) error { return c.err }}}
		})
		a := s.do("owner", "GET", "/agents", "")
		if a.status != c.status || a.field(t, "error.code") != c.code || a.field(t, "error.type") != c.code {
			t.Errorf("%v: %d %s", c.err, a.status, a.body)
		}
		want := map[bool]string{true: "false"}[c.status < 500]
		if c.status == 503 {
			want = "true"
		}
		if got := a.header.Get("X-Should-Retry"); got != want || (c.status == 503) != (a.header.Get("Retry-After") != "") {
			t.Errorf("%v: X-Should-Retry %q, Retry-After %q", c.err, got, a.header.Get("Retry-After"))
		}
	}
}

func TestStringsAreAsJSONHasThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		var got, want string
		b := httpapi.AppendString(nil, s)
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		ref, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(ref, &want); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		if strings.ContainsAny(string(b), "\n\r\u2028\u2029\u0085") {
			t.Fatalf("%q has the end of a line", b)
		}
	})
}
