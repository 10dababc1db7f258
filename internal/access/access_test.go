package access_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
)

// fakeTokens is a table of tokens that can be away.
type fakeTokens struct {
	mu     sync.Mutex
	tokens map[string]agent.Token
	err    error
	hang   bool
	asked  int
}

func (f *fakeTokens) TokenByHash(ctx context.Context, hash []byte) (agent.Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.hang {
		<-ctx.Done()
		return agent.Token{}, ctx.Err()
	}
	if f.err != nil {
		return agent.Token{}, f.err
	}
	t, ok := f.tokens[string(hash)]
	if !ok {
		return agent.Token{}, agent.ErrNotFound
	}
	return t, nil
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// desk is an Authenticator, its token, its table and its clock.
type desk struct {
	*access.Authenticator
	table  *fakeTokens
	clock  *clock
	secret string
}

func newDesk(t *testing.T, change func(*agent.Token), cfg access.Config) desk {
	t.Helper()
	secret, hash, prefix := access.NewToken()
	token := agent.Token{
		ID: "65f1", Project: "p1", Name: "ci", Prefix: prefix,
		Permissions: []agent.Permission{agent.PermAgentRun},
	}
	d := desk{clock: &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, secret: secret}
	if change != nil {
		change(&token)
	}
	d.table = &fakeTokens{tokens: map[string]agent.Token{string(hash): token}}
	cfg.Lookup, cfg.Now = d.table, d.clock.Now
	d.Authenticator = access.New(cfg)
	return d
}

func (d desk) call(t *testing.T) (agent.Principal, error) {
	t.Helper()
	return d.Authenticate(t.Context(), "Bearer "+d.secret)
}

func TestNewTokenIsRandomHashedAndShownByItsPrefix(t *testing.T) {
	t.Parallel()
	secret, hash, prefix := access.NewToken()
	if !regexp.MustCompile(`^belay_[0-9a-f]{64}$`).MatchString(secret) {
		t.Errorf("secret has the wrong form")
	}
	if want := sha256.Sum256([]byte(secret)); !bytes.Equal(hash, want[:]) {
		t.Errorf("hash is not the SHA-256 of the whole token")
	}
	if prefix != secret[:12] {
		t.Errorf("prefix = %q, want the first 12 characters", prefix)
	}
	if again, _, _ := access.NewToken(); again == secret {
		t.Error("two tokens are equal")
	}
}

func TestAuthenticateNamesThePrincipal(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, access.Config{})
	for _, scheme := range []string{"Bearer", "bearer", "BEARER"} {
		p, err := d.Authenticate(t.Context(), scheme+" "+d.secret)
		if err != nil {
			t.Fatalf("%s: %v", scheme, err)
		}
		if p.ID != "token:65f1" || p.Project != "p1" || p.Name != "ci" || !p.Can(agent.PermAgentRun) || p.Can(agent.PermTokenManage) {
			t.Errorf("%s: principal = %+v", scheme, p)
		}
	}
}

func TestMalformedHeadersAreRefusedWithoutAskingAndWithoutEcho(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, access.Config{})
	digits := strings.TrimPrefix(d.secret, "belay_")
	for name, header := range map[string]string{
		"missing":           "",
		"token alone":       d.secret,
		"other scheme":      "Basic " + d.secret,
		"no space":          "Bearer" + d.secret,
		"two spaces":        "Bearer  " + d.secret,
		"tab":               "Bearer\t" + d.secret,
		"space after":       "Bearer " + d.secret + " ",
		"line break":        "Bearer " + d.secret + "\n",
		"scheme only":       "Bearer ",
		"no prefix":         "Bearer " + digits,
		"wrong prefix":      "Bearer delay_" + digits,
		"upper-case prefix": "Bearer BELAY_" + digits,
		"upper-case hex":    "Bearer belay_" + strings.Repeat("A", 64),
		"too short":         "Bearer " + d.secret[:69],
		"too long":          "Bearer " + d.secret + "0",
		"not hex":           "Bearer belay_" + strings.Repeat("g", 64),
		"two tokens":        "Bearer " + d.secret + ",Bearer " + d.secret,
		"not ASCII":         "Bearer belay_" + strings.Repeat("é", 32),
	} {
		p, err := d.Authenticate(t.Context(), header)
		if !errors.Is(err, access.ErrInvalidToken) || p.ID != "" {
			t.Errorf("%s: %v, %+v", name, err, p)
		}
		noCanary(t, err, d.secret)
	}
	if d.table.asked != 0 {
		t.Errorf("the database was asked %d times", d.table.asked)
	}
}

// noCanary fails when an error, or a log line with it, shows any piece of the
// token or its hash.
func noCanary(t *testing.T, err error, secret string) {
	t.Helper()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Error("refused", "err", err)
	said := fmt.Sprintf("%v %+v %#v %q ", err, err, err, err) + log.String()
	hash := hex.EncodeToString(access.Hash(secret))
	digits := strings.TrimPrefix(secret, "belay_")
	for i := 0; i+8 <= len(digits); i++ {
		if strings.Contains(said, digits[i:i+8]) || strings.Contains(said, hash[i:i+8]) {
			t.Fatalf("the token is in the error or the log")
		}
	}
}

func TestUnknownTokenIsRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, access.Config{})
	other, _, _ := access.NewToken()
	_, err := d.Authenticate(t.Context(), "Bearer "+other)
	if !errors.Is(err, access.ErrInvalidToken) {
		t.Errorf("err = %v", err)
	}
	noCanary(t, err, other)
}

func TestRevocationIsSeenAtOnceWhileTheDatabaseIsThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, access.Config{})
	if _, err := d.call(t); err != nil {
		t.Fatal(err)
	}
	clear(d.table.tokens)
	if _, err := d.call(t); !errors.Is(err, access.ErrInvalidToken) {
		t.Errorf("err = %v, want a refusal", err)
	}
	// What was refused once is not let in from memory either.
	d.table.err = agent.ErrUnavailable
	if _, err := d.call(t); !errors.Is(err, agent.ErrUnavailable) || errors.Is(err, access.ErrInvalidToken) {
		t.Errorf("err = %v, want unavailable", err)
	}
}

func TestKnownCallerIsLetInWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("dial: %w", agent.ErrUnavailable)
	for name, tc := range map[string]struct {
		prepare func(desk)
		wait    time.Duration
		in      bool
	}{
		"refused connection":          {func(d desk) { d.table.err = away }, 0, true},
		"no answer in time":           {func(d desk) { d.table.hang = true }, 0, true},
		"just inside five minutes":    {func(d desk) { d.table.err = away }, 5*time.Minute - time.Second, true},
		"five minutes later":          {func(d desk) { d.table.err = away }, 5 * time.Minute, false},
		"the token has expired since": {func(d desk) { d.table.err = away }, 4 * time.Minute, false},
		"another fault":               {func(d desk) { d.table.err = errors.New("syntax error") }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, func(tok *agent.Token) {
				if strings.Contains(name, "expired") {
					tok.ExpiresAt = time.Date(2026, 1, 1, 0, 3, 0, 0, time.UTC)
				}
			}, access.Config{Recall: access.Recall{Timeout: 20 * time.Millisecond}})
			if _, err := d.call(t); err != nil {
				t.Fatal(err)
			}
			tc.prepare(d)
			d.clock.now = d.clock.now.Add(tc.wait)
			p, err := d.call(t)
			if tc.in && (err != nil || p.ID != "token:65f1") {
				t.Errorf("kept out: %v", err)
			}
			if !tc.in && (err == nil || p.ID != "") {
				t.Errorf("let in as %+v", p)
			}
			noCanary(t, err, d.secret)
		})
	}
}

func TestAnOutageDoesNotStretchTheTimeOfACaller(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, access.Config{})
	if _, err := d.call(t); err != nil {
		t.Fatal(err)
	}
	d.table.err = agent.ErrUnavailable
	var last error
	for range 6 {
		d.clock.now = d.clock.now.Add(time.Minute)
		_, last = d.call(t)
	}
	if !errors.Is(last, agent.ErrUnavailable) {
		t.Errorf("still let in after 6 minutes: %v", last)
	}
}

func TestUnknownCallerIsNotLetInWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, access.Config{})
	d.table.err = agent.ErrUnavailable
	_, err := d.call(t)
	if !errors.Is(err, agent.ErrUnavailable) || errors.Is(err, access.ErrInvalidToken) {
		t.Errorf("err = %v, want unavailable: nobody knows whether the token is good", err)
	}
	noCanary(t, err, d.secret)
}

func TestNegativeTTLRemembersNobody(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, access.Config{Recall: access.Recall{TTL: -1}})
	if _, err := d.call(t); err != nil {
		t.Fatal(err)
	}
	d.table.err = agent.ErrUnavailable
	if _, err := d.call(t); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("err = %v", err)
	}
}

func TestEndedRequestSaysWhyItEnded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, access.Config{})
	gone := errors.New("client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	d.table.hang = true
	cancel(gone)
	if _, err := d.Authenticate(ctx, "Bearer "+d.secret); !errors.Is(err, gone) {
		t.Errorf("err = %v", err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	table := &fakeTokens{tokens: map[string]agent.Token{}}
	a := access.New(access.Config{Lookup: table, Recall: access.Recall{Remember: 4}})
	var secrets []string
	for i := range 20 {
		secret, hash, _ := access.NewToken()
		table.tokens[string(hash)] = agent.Token{ID: fmt.Sprint(i)}
		secrets = append(secrets, secret)
	}
	in := func() (n int) {
		for _, s := range secrets {
			if _, err := a.Authenticate(t.Context(), "Bearer "+s); err == nil {
				n++
			}
		}
		return n
	}
	if n := in(); n != 20 {
		t.Fatalf("%d of 20 let in", n)
	}
	table.err = agent.ErrUnavailable
	if n := in(); n != 4 {
		t.Errorf("%d are remembered, want 4", n)
	}
}

func TestAuthenticateIsSafeForManyGoroutines(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, access.Config{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, err := d.Authenticate(t.Context(), "Bearer "+d.secret); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
