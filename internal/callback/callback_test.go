package callback_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/callback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outbox keeps one delivery.
type outbox struct {
	mu   sync.Mutex
	d    agent.Delivery
	down error
}

func (o *outbox) Due(_ context.Context, id string, round int) (agent.Delivery, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if id != o.d.ID || round != o.d.Round || o.d.Status != agent.CallbackPending {
		return agent.Delivery{}, agent.ErrNotFound
	}
	return o.d, o.down
}

func (o *outbox) KeepBody(_ context.Context, _ string, body []byte) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.d.Body == nil {
		o.d.Body = body
	}
	return o.d.Body, o.down
}

func (o *outbox) Tried(ctx context.Context, _ string, _ int, status agent.CallbackStatus, why string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down != nil || ctx.Err() != nil {
		return errors.Join(o.down, ctx.Err())
	}
	o.d.Attempts++
	o.d.Status, o.d.Error = status, why
	return nil
}

// got is a request that a receiver had.
type got struct {
	header http.Header
	body   []byte
}

// bed is a worker with one delivery for a receiver.
type bed struct {
	*outbox
	t        *testing.T
	worker   *callback.Worker
	attempts int
	seen     []callback.Attempt
	rendered int

	mu  sync.Mutex
	got []got
}

func newBed(t *testing.T, serve http.HandlerFunc, change ...func(*callback.Config)) *bed {
	t.Helper()
	b := &bed{t: t, outbox: &outbox{d: agent.Delivery{
		ID: "d1", Round: 1, Session: "s1", Turn: "t1", Event: agent.EventCanceled, Status: agent.CallbackPending,
		CreatedAt: time.Now(), Callback: agent.Callback{Kind: agent.CallbackRun},
	}}}
	tr := &http.Transport{}
	cfg := callback.Config{
		Outbox: b.outbox, Transport: tr, Timeout: 2 * time.Second, Delays: []time.Duration{time.Second, time.Minute},
		Render: map[agent.CallbackKind]callback.Render{agent.CallbackRun: func(_ context.Context, d agent.Delivery) ([]byte, error) {
			b.rendered++
			return callback.Event(d, map[string]int{"render": b.rendered})
		}},
		Observe: func(a callback.Attempt) { b.seen = append(b.seen, a) },
	}
	for _, c := range change {
		c(&cfg)
	}
	b.worker = callback.New(cfg)
	if serve != nil {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			b.mu.Lock()
			b.got = append(b.got, got{r.Header, body})
			b.mu.Unlock()
			serve(w, r)
		}))
		t.Cleanup(srv.Close)
		b.d.Callback.URL = srv.URL + "/hook?key=k"
	}
	t.Cleanup(tr.CloseIdleConnections)
	return b
}

// work makes an attempt.
func (b *bed) work(ctx context.Context) error {
	b.attempts++
	return b.worker.Work(ctx, &river.Job[callback.Args]{
		JobRow: &rivertype.JobRow{Attempt: b.attempts}, Args: callback.Args{Delivery: "d1", Round: 1},
	})
}

func (b *bed) requests() []got {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

// 110, 111: an outside library verifies every attempt: the signature is over the
// very bytes, the id stays, the time is the attempt's.
func TestEveryAttemptIsVerifiedByAnOutsideLibrary(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	raw, err := standardwebhooks.NewWebhookRaw([]byte("a raw secret"))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := standardwebhooks.NewWebhook("whsec_" + base64.StdEncoding.EncodeToString(key))
	if err != nil {
		t.Fatal(err)
	}
	for secret, wh := range map[string]*standardwebhooks.Webhook{
		"a raw secret": raw, "whsec_" + base64.StdEncoding.EncodeToString(key): encoded,
	} {
		b := newBed(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		b.d.Callback.Secret = secret
		for range 3 {
			_ = b.work(t.Context())
			time.Sleep(1100 * time.Millisecond) // the time is in seconds
		}
		reqs := b.requests()
		if len(reqs) != 3 {
			t.Fatalf("%d attempts", len(reqs))
		}
		times := map[string]bool{}
		for i, r := range reqs {
			if err := wh.Verify(r.body, r.header); err != nil {
				t.Errorf("attempt %d: %v", i+1, err)
			}
			if err := wh.Verify(append(slices.Clone(r.body), ' '), r.header); err == nil {
				t.Errorf("attempt %d: another body verifies too", i+1)
			}
			if id := r.header.Get("webhook-id"); id != "evt_d1" || string(r.body) != string(reqs[0].body) {
				t.Errorf("attempt %d: id %q, body %s", i+1, id, r.body)
			}
			times[r.header.Get("webhook-timestamp")] = true
		}
		if len(times) != 3 {
			t.Errorf("timestamps %v", times)
		}
	}
}

func TestTheBodyIsTheEventAsTheContractHasIt(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(http.ResponseWriter, *http.Request) {})
	b.d.CreatedAt = time.Unix(1709500000, 0)
	if err := b.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := b.requests()[0]
	const want = `{"id":"evt_d1","event":"agent_run.canceled","created_at":1709500000,"run_id":"run_t1","conversation_id":"s1","data":{"render":1}}`
	if string(r.body) != want {
		t.Errorf("body %s\nwant %s", r.body, want)
	}
	if r.header.Get("Content-Type") != "application/json" || r.header.Get("webhook-signature") != "" {
		t.Errorf("headers %v: unsigned, without a secret", r.header)
	}
	var doc map[string]any
	if err := json.Unmarshal(r.body, &doc); err != nil {
		t.Error(err)
	}
}

func TestOtherHeadersAreSentAndCannotReplaceOurs(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(http.ResponseWriter, *http.Request) {})
	b.d.Callback.Headers = map[string]string{"Authorization": "Bearer x", "X-A2A-Notification-Token": "tok", "webhook-id": "mine"}
	if err := b.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := b.requests()[0].header
	if h.Get("Authorization") != "Bearer x" || h.Get("X-A2A-Notification-Token") != "tok" || h.Get("webhook-id") != "evt_d1" {
		t.Errorf("headers %v", h)
	}
}

// 108: whatever a receiver does, it is tried again, then given up, and the
// reason is one that a caller may read.
func TestReceiversThatDoNotTakeItAreTriedAgainThenGivenUp(t *testing.T) {
	t.Parallel()
	errRefused := errors.New("refused")
	var followed sync.Once
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Do(func() { reached = true }) }))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		change func(*callback.Config)
		want   string
	}{
		"it fails": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, nil, "answered 500"},
		"it redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, nil, "answered 307: redirects are not followed"},
		"it is slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			func(c *callback.Config) { c.Timeout = 100 * time.Millisecond }, "no answer within the time limit"},
		"it is down": {nil, nil, "the connection failed"},
		"its address is private": {nil, func(c *callback.Config) {
			c.Refused = errRefused
			c.Transport = refuse{fmt.Errorf("dial 10.0.0.1: %w", errRefused)}
		}, "the address is not public, so nothing was sent"},
		"its name is gone": {nil, func(c *callback.Config) { c.Transport = refuse{&net.DNSError{Name: "x", IsNotFound: true}} },
			"the host's name does not resolve"},
		"it hangs up": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			conn.Close()
		}, nil, "the connection failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var change []func(*callback.Config)
			if c.change != nil {
				change = append(change, c.change)
			}
			b := newBed(t, c.serve, change...)
			if c.serve == nil {
				b.d.Callback.URL = "http://127.0.0.1:1/hook" // nobody is there
			}
			for attempt := 1; attempt <= 3; attempt++ {
				err := b.work(t.Context())
				if last := attempt == 3; (err == nil) != last {
					t.Errorf("attempt %d: %v", attempt, err)
				}
				if b.d.Error != c.want || b.d.Attempts != attempt {
					t.Errorf("attempt %d: error %q after %d, want %q", attempt, b.d.Error, b.d.Attempts, c.want)
				}
			}
			if b.d.Status != agent.CallbackDead {
				t.Errorf("it is %s", b.d.Status)
			}
			var outcomes []string
			for _, a := range b.seen {
				outcomes = append(outcomes, a.Outcome)
			}
			if !slices.Equal(outcomes, []string{"retry", "retry", "dead"}) {
				t.Errorf("observed %q", outcomes)
			}
			if err := b.work(t.Context()); err != nil || len(b.seen) != 3 {
				t.Errorf("a dead one was tried again: %v", err)
			}
		})
	}
	if reached {
		t.Error("the redirect was followed")
	}
}

type refuse struct{ err error }

func (r refuse) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// The status is the answer: whatever a receiver says of its body, or sends after
// it, a 2xx is delivered once and nobody waits for the rest.
func TestAnAnswerIsItsStatusWhateverItsBodyIs(t *testing.T) {
	t.Parallel()
	raw := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, answer)
		}
	}
	for name, serve := range map[string]http.HandlerFunc{
		"longer than it says":  raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + strings.Repeat("x", 1<<20)),
		"shorter than it says": raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx"),
		"no content":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"without end": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, serve)
			if err := b.work(t.Context()); err != nil || b.d.Status != agent.CallbackDelivered || b.d.Error != "" {
				t.Errorf("%v, %+v", err, b.d)
			}
			if err := b.work(t.Context()); err != nil || len(b.requests()) != 1 {
				t.Errorf("sent %d times, %v", len(b.requests()), err)
			}
		})
	}
}

// A node that ends says nothing of the receiver: the attempt does not count.
func TestAnAttemptThatTheNodesEndCutDoesNotCount(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := newBed(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if err := b.work(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if b.d.Attempts != 0 || b.d.Status != agent.CallbackPending || len(b.seen) != 0 {
		t.Errorf("it counts: %+v", b.d)
	}
}

// Events of one run arrive in order while their receiver is up.
func TestADeliveryThatIsBehindAnotherIsPutOff(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(http.ResponseWriter, *http.Request) {})
	b.d.Behind = true
	if _, ok := errors.AsType[*river.JobSnoozeError](b.work(t.Context())); !ok || len(b.requests()) != 0 || b.rendered != 0 {
		t.Errorf("%d requests, rendered %d times", len(b.requests()), b.rendered)
	}
	b.d.Behind = false
	if err := b.work(t.Context()); err != nil || len(b.requests()) != 1 {
		t.Errorf("%v, %d requests", err, len(b.requests()))
	}
}

func TestADatabaseThatIsAwayIsAnErrorAndNoAttempt(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(http.ResponseWriter, *http.Request) {})
	b.down = agent.ErrUnavailable
	if err := b.work(t.Context()); !errors.Is(err, agent.ErrUnavailable) || len(b.requests()) != 0 {
		t.Errorf("%v, %d requests", err, len(b.requests()))
	}
}

func TestPausesGrowToHoursWithJitter(t *testing.T) {
	t.Parallel()
	w := callback.New(callback.Config{})
	total := time.Duration(0)
	different := map[time.Duration]bool{}
	for attempt := 1; attempt <= 12; attempt++ {
		at := func() time.Duration {
			return time.Until(w.NextRetry(&river.Job[callback.Args]{JobRow: &rivertype.JobRow{Attempt: attempt}}))
		}
		d := at()
		for range 20 {
			x := at()
			different[x.Round(time.Millisecond)] = true
			if ratio := float64(x) / float64(d); ratio < 0.6 || ratio > 1.6 {
				t.Errorf("attempt %d: %v and %v", attempt, d, x)
			}
		}
		if attempt <= 9 {
			total += d
		}
	}
	if total < 8*time.Hour || total > 20*time.Hour || len(different) < 100 {
		t.Errorf("all pauses %v, %d different ones", total, len(different))
	}
}
