package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// SignInStore keeps who is signed in.
type SignInStore interface {
	// CreateSignIn signs a user in.
	CreateSignIn(ctx context.Context, user string, hash []byte, idle time.Duration) error
	// SignInByHash returns a sign-in and keeps it alive, idle from now and most
	// from its beginning. agent.ErrNotFound; agent.ErrUnavailable.
	SignInByHash(ctx context.Context, hash []byte, idle, most time.Duration) (agent.SignIn, error)
	// EndSignIn ends one; it is no error that it is not there.
	EndSignIn(ctx context.Context, hash []byte) error
}

// UserStore keeps who may sign in.
type UserStore interface {
	// UserByEmail returns a user and the hash of his password; agent.ErrNotFound.
	UserByEmail(ctx context.Context, email string) (u agent.User, passwordHash string, err error)
	// SetPassword changes a password and ends all sign-ins of the user but one.
	SetPassword(ctx context.Context, user, passwordHash string, but []byte) error
	// SelectProject makes a sign-in look at another project; agent.ErrNotFound.
	SelectProject(ctx context.Context, hash []byte, project string) error
}

// AttemptStore counts attempts to sign in, for all nodes.
type AttemptStore interface {
	// CountAttempt notes an attempt and returns how many failed ones each key has
	// within the window, this one counted, and when that of the most is over.
	CountAttempt(ctx context.Context, keys [][]byte, window time.Duration) (failures map[string]int, over time.Duration, err error)
	// ForgiveAttempt takes an attempt back, and all of the keys to clear.
	ForgiveAttempt(ctx context.Context, keys, clear [][]byte) error
}

// Store is all that SignIns keeps; postgres.Store is one.
type Store interface {
	SignInStore
	UserStore
	AttemptStore
}

// How long a sign-in lives, and how many attempts may fail within a window: of
// one name from one address, of one name, from one address. The first keeps
// guessing slow, the second many addresses that guess one name; neither lets
// somebody who guesses lock the name's owner out from where he is, short of the
// second.
const (
	signInIdle = 7 * 24 * time.Hour
	signInMost = 30 * 24 * time.Hour

	attemptWindow = 15 * time.Minute
	failuresPair  = 10
	failuresName  = 100
	failuresFrom  = 200
)

// SignInLife is how long a sign-in lives at most.
const SignInLife = signInMost

// SignIns signs people in and tells who is. The secret of a sign-in is 256
// random bits, of which the hash is stored. It may be used from many goroutines.
//
// As with tokens, each call asks the database, and a caller whom it confirmed a
// moment ago is let in while it is away.
type SignIns struct {
	store     Store
	passwords *Passwords
	callers   *callers
}

// NewSignIns returns a SignIns.
func NewSignIns(store Store, passwords *Passwords, recall Recall) *SignIns {
	return &SignIns{store: store, passwords: passwords, callers: newCallers(recall)}
}

// SignIn checks a name and password that came from an address, and returns the
// sign-in and its secret. Errors: agent.ErrBadCredentials, agent.ThrottledError,
// agent.ErrNoProject, agent.ErrUnavailable. An unknown name is refused as a wrong
// password is, and takes as long.
func (s *SignIns) SignIn(ctx context.Context, email, password, address string) (agent.SignIn, string, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	keys, limits := attemptKeys(email, address)
	failed, over, err := s.store.CountAttempt(ctx, keys, attemptWindow)
	if err != nil {
		return agent.SignIn{}, "", err
	}
	for i, k := range keys {
		if failed[string(k)] > limits[i] {
			return agent.SignIn{}, "", &agent.ThrottledError{Over: over}
		}
	}
	user, hash, err := s.store.UserByEmail(ctx, email)
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return agent.SignIn{}, "", err
	}
	if len(password) > agent.MaxPassword {
		password, hash = "", "" // nobody's
	}
	ok, err := s.passwords.Check(ctx, password, hash)
	if err != nil {
		return agent.SignIn{}, "", err
	}
	if !ok {
		return agent.SignIn{}, "", agent.ErrBadCredentials
	}
	if err := s.store.ForgiveAttempt(ctx, keys, keys[:1]); err != nil {
		return agent.SignIn{}, "", err
	}
	return s.begin(ctx, user)
}

func (s *SignIns) begin(ctx context.Context, u agent.User) (agent.SignIn, string, error) {
	var b [32]byte
	rand.Read(b[:])
	secret := base64.RawURLEncoding.EncodeToString(b[:])
	if err := s.store.CreateSignIn(ctx, u.ID, Hash(secret), signInIdle); err != nil {
		return agent.SignIn{}, "", err
	}
	in, err := s.store.SignInByHash(ctx, Hash(secret), signInIdle, signInMost)
	if errors.Is(err, agent.ErrNotFound) {
		return in, "", errors.Join(agent.ErrNoProject, s.store.EndSignIn(ctx, Hash(secret)))
	}
	return in, secret, err
}

// attemptKeys returns what an attempt is counted for, and the limits. An IPv6
// address stands for its /64, which is what one subscriber has.
func attemptKeys(email, address string) (keys [][]byte, limits []int) {
	if a, err := netip.ParseAddr(address); err == nil {
		if a = a.Unmap(); a.Is6() {
			p, _ := a.Prefix(64)
			a = p.Addr()
		}
		address = a.WithZone("").String()
	}
	for _, k := range []struct {
		name  string
		limit int
	}{{"pair " + email + " " + address, failuresPair}, {"name " + email, failuresName}, {"from " + address, failuresFrom}} {
		sum := sha256.Sum256([]byte(k.name))
		keys, limits = append(keys, sum[:]), append(limits, k.limit)
	}
	return keys, limits
}

// SignedIn returns the sign-in of a secret. agent.ErrNotSignedIn; an error that wraps
// agent.ErrUnavailable where nobody can tell now.
func (s *SignIns) SignedIn(ctx context.Context, secret string) (agent.SignIn, error) {
	if secret == "" {
		return agent.SignIn{}, agent.ErrNotSignedIn
	}
	hash := Hash(secret)
	c, err := s.callers.find(ctx, hash, func(ctx context.Context) (caller, error) {
		in, err := s.store.SignInByHash(ctx, hash, signInIdle, signInMost)
		return caller{signIn: &in, expires: in.ExpiresAt}, err
	})
	switch {
	case errors.Is(err, agent.ErrNotFound):
		return agent.SignIn{}, fmt.Errorf("%w: it has ended or never was", agent.ErrNotSignedIn)
	case err != nil && ctx.Err() != nil:
		return agent.SignIn{}, context.Cause(ctx)
	case err != nil:
		return agent.SignIn{}, fmt.Errorf("look up sign-in: %w", err)
	}
	return *c.signIn, nil
}

// SignOut ends a sign-in; one that is not there is no error.
func (s *SignIns) SignOut(ctx context.Context, secret string) error {
	s.callers.seen.drop(key(Hash(secret)))
	return s.store.EndSignIn(ctx, Hash(secret))
}

// Select makes a sign-in look at another project of the user's; agent.ErrNotFound.
func (s *SignIns) Select(ctx context.Context, secret, project string) (agent.SignIn, error) {
	if err := s.store.SelectProject(ctx, Hash(secret), project); err != nil {
		return agent.SignIn{}, err
	}
	return s.SignedIn(ctx, secret)
}

// ChangePassword changes the password of who is signed in and ends his other
// sign-ins. Errors as of SignIn, and agent.FieldError.
func (s *SignIns) ChangePassword(ctx context.Context, secret, current, next, address string) error {
	in, err := s.SignedIn(ctx, secret)
	if err != nil {
		return err
	}
	if err := agent.CheckPassword("new", next); err != nil {
		return err
	}
	keys, limits := attemptKeys(in.User.Email, address)
	failed, over, err := s.store.CountAttempt(ctx, keys, attemptWindow)
	if err != nil {
		return err
	}
	if failed[string(keys[0])] > limits[0] {
		return &agent.ThrottledError{Over: over}
	}
	_, hash, err := s.store.UserByEmail(ctx, in.User.Email)
	if err != nil {
		return err
	}
	ok, err := s.passwords.Check(ctx, current, hash)
	if err != nil {
		return err
	}
	if !ok {
		return agent.ErrBadCredentials
	}
	if err := s.store.ForgiveAttempt(ctx, keys, keys[:1]); err != nil {
		return err
	}
	return s.setPassword(ctx, in.User.ID, next, Hash(secret))
}

func (s *SignIns) setPassword(ctx context.Context, user, password string, but []byte) error {
	hash, err := s.passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	return s.store.SetPassword(ctx, user, hash, but)
}

// ResetPassword gives a user a password that is made up, and ends all his
// sign-ins; agent.ErrNotFound.
func (s *SignIns) ResetPassword(ctx context.Context, user string) (string, error) {
	password := NewPassword()
	return password, s.setPassword(ctx, user, password, nil)
}

// Hash hashes the password of a new user.
func (s *SignIns) Hash(ctx context.Context, password string) (string, error) {
	return s.passwords.Hash(ctx, password)
}
