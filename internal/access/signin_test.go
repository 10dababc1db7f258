package access_test

import (
	"context"
	"encoding/base64"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
)

func TestAPasswordIsCheckedByItsHash(t *testing.T) {
	t.Parallel()
	p := access.NewPasswords()
	hash, err := p.Hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Hash(t.Context(), "correct horse")
	if err != nil || again == hash {
		t.Errorf("the salt is the same: %v", err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(hash, "horse") {
		t.Errorf("hash %s", hash)
	}
	for password, want := range map[string]bool{"correct horse": true, "correct horse ": false, "": false} {
		if ok, err := p.Check(t.Context(), password, hash); ok != want || err != nil {
			t.Errorf("%q: %v, %v", password, ok, err)
		}
	}
	if ok, err := p.Check(t.Context(), "", ""); ok || err != nil {
		t.Errorf("an empty hash is somebody's: %v, %v", ok, err)
	}
	for _, bad := range []string{"x", "$argon2i$v=19$m=1,t=1,p=1$AA$AA", "$argon2id$v=18$m=1,t=1,p=1$AA$AA", "$argon2id$v=19$m=1,t=1,p=1$!$AA"} {
		if ok, err := p.Check(t.Context(), "x", bad); ok || err == nil {
			t.Errorf("%s: %v, %v", bad, ok, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 1000 { // a slot may be free
		if _, err := p.Hash(gone, "x"); err == nil {
			break
		}
	}
}

// Stored hashes of other parameters are checked with their own.
func TestAnOlderHashIsStillGood(t *testing.T) {
	t.Parallel()
	b64 := base64.RawStdEncoding
	salt := []byte("some salt of old")
	old := "$argon2id$v=19$m=64,t=1,p=2$" + b64.EncodeToString(salt) + "$" + b64.EncodeToString(argon2.IDKey([]byte("password"), salt, 1, 64, 2, 32))
	for password, want := range map[string]bool{"password": true, "passwort": false} {
		if ok, err := access.NewPasswords().Check(t.Context(), password, old); ok != want || err != nil {
			t.Errorf("%s: %v, %v", password, ok, err)
		}
	}
}

func TestPasswordsThatAreMadeUpMayBeChosen(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		p := access.NewPassword()
		if seen[p] || agent.CheckPassword("p", p) != nil || strings.ContainsAny(p, "ilo01") {
			t.Fatalf("%q", p)
		}
		seen[p] = true
	}
}

// fakePeople is a store with one user that can be away.
type fakePeople struct {
	hash    string
	counts  map[string]int
	over    time.Duration
	cleared int
	signIns map[string]bool
	away    error
	looked  int         // at users
	before  map[int]int // failures to be added, by the place of their key
}

func (f *fakePeople) CountAttempt(_ context.Context, keys [][]byte, _ time.Duration) (map[string]int, time.Duration, error) {
	out := map[string]int{}
	for i, k := range keys {
		f.counts[string(k)]++
		out[string(k)] = f.counts[string(k)] + f.before[i]
	}
	return out, f.over, f.away
}

func (f *fakePeople) ForgiveAttempt(_ context.Context, keys, clear [][]byte) error {
	for _, k := range keys {
		f.counts[string(k)]--
	}
	for _, k := range clear {
		delete(f.counts, string(k))
	}
	f.cleared++
	return nil
}

func (f *fakePeople) UserByEmail(_ context.Context, email string) (agent.User, string, error) {
	f.looked++
	if email != "ann@x.test" {
		return agent.User{}, "", agent.ErrNotFound
	}
	return agent.User{ID: "1", Email: email}, f.hash, nil
}

func (f *fakePeople) SetPassword(context.Context, string, string, []byte) error { return nil }
func (f *fakePeople) SelectProject(context.Context, []byte, string) error       { return nil }
func (f *fakePeople) EndSignIn(_ context.Context, hash []byte) error {
	delete(f.signIns, string(hash))
	return nil
}
func (f *fakePeople) CreateSignIn(_ context.Context, _ string, hash []byte, _ time.Duration) error {
	f.signIns[string(hash)] = true
	return f.away
}

func (f *fakePeople) SignInByHash(_ context.Context, hash []byte, _, _ time.Duration) (agent.SignIn, error) {
	if f.away != nil {
		return agent.SignIn{}, f.away
	}
	if !f.signIns[string(hash)] {
		return agent.SignIn{}, agent.ErrNotFound
	}
	return agent.SignIn{User: agent.User{ID: "1"}, ExpiresAt: time.Now().Add(time.Hour), Current: agent.Membership{Project: "p", Role: agent.RoleViewer}}, nil
}

func newPeople(t *testing.T) (*fakePeople, *access.SignIns) {
	t.Helper()
	p := access.NewPasswords()
	hash, err := p.Hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakePeople{hash: hash, counts: map[string]int{}, signIns: map[string]bool{}, over: time.Minute}
	return f, access.NewSignIns(f, p, access.Recall{})
}

// A name that guesses come for from many addresses is throttled more slowly than
// one address is, so that its owner is not locked out by one stranger.
func TestAttemptsAreCountedByNameAndAddress(t *testing.T) {
	t.Parallel()
	f, s := newPeople(t)
	try := func(email, password, from string) error {
		_, _, err := s.SignIn(t.Context(), email, password, from)
		return err
	}
	for range 10 {
		if err := try("ann@x.test", "wrong", "192.0.2.1"); !errors.Is(err, agent.ErrBadCredentials) {
			t.Fatal(err)
		}
	}
	looked := f.looked
	throttled, ok := errors.AsType[*agent.ThrottledError](try("ann@x.test", "correct horse", "192.0.2.1"))
	if !ok || throttled.Over != time.Minute || f.looked != looked {
		t.Errorf("the eleventh was looked at: %v", throttled)
	}
	if err := try(" Ann@X.test ", "correct horse", "192.0.2.2"); err != nil {
		t.Errorf("from elsewhere: %v", err)
	}
	for key, many := range map[int]int{1: 100, 2: 200} { // of the name, of the address
		f.before = map[int]int{key: many}
		if _, ok := errors.AsType[*agent.ThrottledError](try("ann@x.test", "correct horse", "192.0.2.3")); !ok {
			t.Errorf("%d failures of key %d go on", many, key)
		}
	}
	f.before = nil
	if err := try("bob@x.test", "x", "192.0.2.3"); !errors.Is(err, agent.ErrBadCredentials) {
		t.Errorf("another name: %v", err)
	}
	for range 10 { // one subscriber has a whole /64
		_ = try("eve@x.test", "x", "2001:db8::1")
	}
	if _, ok := errors.AsType[*agent.ThrottledError](try("eve@x.test", "x", "2001:db8::2")); !ok {
		t.Error("another address of the same /64 is let in")
	}
}

// An unknown name costs what a wrong password does: both are hashed, which fills
// 19 MiB of memory. Clocks are not asked: machines are noisy.
func TestAnUnknownNameCostsWhatAWrongPasswordDoes(t *testing.T) { // alone: it counts all that is allocated
	_, s := newPeople(t)
	for _, email := range []string{"ann@x.test", "bob@x.test"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := s.SignIn(t.Context(), email, "wrong password", "198.51.100.1")
		runtime.ReadMemStats(&after)
		if !errors.Is(err, agent.ErrBadCredentials) {
			t.Fatal(err)
		}
		if filled := after.TotalAlloc - before.TotalAlloc; filled < 19<<20 {
			t.Errorf("%s: %d bytes", email, filled)
		}
	}
}

// While the database is away who was seen a moment ago is let in, so that a stop
// reaches this node's turns; who signed out here is not.
func TestASignInIsRememberedWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	f, s := newPeople(t)
	_, secret, err := s.SignIn(t.Context(), "ann@x.test", "correct horse", "192.0.2.1")
	if err != nil || len(secret) < 43 {
		t.Fatalf("%q, %v", secret, err)
	}
	if _, err := s.SignedIn(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	f.away = agent.ErrUnavailable
	in, err := s.SignedIn(t.Context(), secret)
	if err != nil || in.Principal().ID != "user:1" || !in.Principal().Can(agent.PermAgentView) || in.Principal().Can(agent.PermAgentRun) {
		t.Errorf("%+v, %v", in, err)
	}
	if _, err := s.SignedIn(t.Context(), "another"); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("a stranger: %v", err)
	}
	f.away = nil
	if err := s.SignOut(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	f.away = agent.ErrUnavailable
	if _, err := s.SignedIn(t.Context(), secret); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("who signed out is let in: %v", err)
	}
	f.away = nil
	for _, secret := range []string{secret, "", "x"} {
		if _, err := s.SignedIn(t.Context(), secret); !errors.Is(err, agent.ErrNotSignedIn) {
			t.Errorf("%q: %v", secret, err)
		}
	}
}
