package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/belayrun/belay/internal/agent"
)

// Lookup finds tokens.
type Lookup interface {
	// TokenByHash returns the token of a hash. agent.ErrNotFound where there is
	// none that is valid now; an error that wraps agent.ErrUnavailable where the
	// database is away.
	TokenByHash(ctx context.Context, hash []byte) (agent.Token, error)
}

// Config is what an Authenticator needs. Lookup is required.
type Config struct {
	Lookup Lookup
	Recall
}

// Recall says how callers are looked up and remembered. The zero value has the
// defaults.
type Recall struct {
	// Now is this machine's clock, for the age of what is remembered. Default
	// time.Now.
	Now func() time.Time
	// TTL is how long after its last look-up a caller is still let in while the
	// database is away. Default 5 minutes; negative: never.
	TTL time.Duration
	// Timeout bounds one look-up; the database is taken to be away after it.
	// Default 1 second.
	Timeout time.Duration
	// Patience bounds it for a caller that is remembered: a stop must reach the
	// turns of this node within its second while the database hangs. Default
	// 250 ms.
	Patience time.Duration
	// Remember bounds how many callers are remembered. Default 10,000.
	Remember int
}

// An Authenticator tells who calls by an API token. It may be used from many
// goroutines.
//
// Each call asks the database, so a revoked token is refused at once. While the
// database is away, or hangs, a caller whom it confirmed within the TTL is let in from
// memory: a stop must still abort the turns of this node then, and hardly
// anything else can be done without the database. The risk taken for it is that
// a token revoked just before or during an outage is good for up to the TTL more
// on the nodes that saw it, and only until the database is back.
type Authenticator struct {
	lookup  Lookup
	callers *callers
}

// New returns an Authenticator.
func New(cfg Config) *Authenticator {
	return &Authenticator{lookup: cfg.Lookup, callers: newCallers(cfg.Recall)}
}

// Authenticate returns the principal of an Authorization header. A header that
// names nobody is an error that wraps ErrInvalidToken; any other error means
// that nobody knows, and wraps agent.ErrUnavailable where the database is away.
func (a *Authenticator) Authenticate(ctx context.Context, header string) (agent.Principal, error) {
	secret, err := bearer(header)
	if err != nil {
		return agent.Principal{}, err
	}
	hash := Hash(secret)
	c, err := a.callers.find(ctx, hash, func(ctx context.Context) (caller, error) {
		t, err := a.lookup.TokenByHash(ctx, hash)
		return caller{principal: principal(t), expires: t.ExpiresAt}, err
	})
	switch {
	case errors.Is(err, agent.ErrNotFound):
		return agent.Principal{}, fmt.Errorf("%w: it is unknown, has expired or was revoked", ErrInvalidToken)
	case err != nil && ctx.Err() != nil:
		return agent.Principal{}, context.Cause(ctx)
	case err != nil:
		return agent.Principal{}, fmt.Errorf("look up token: %w", err)
	}
	return c.principal, nil
}

func principal(t agent.Token) agent.Principal {
	return agent.Principal{ID: "token:" + t.ID, Project: t.Project, Name: t.Name, Permissions: t.Permissions}
}

// callers looks callers up by the hash of their secret, and remembers them.
type callers struct {
	cfg    Recall
	seen   *memory
	asking singleflight.Group // look-ups under way, by hash
}

func newCallers(cfg Recall) *callers {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.TTL = cmp.Or(cfg.TTL, 5*time.Minute)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Second)
	cfg.Patience = min(cmp.Or(cfg.Patience, 250*time.Millisecond), cfg.Timeout)
	cfg.Remember = cmp.Or(cfg.Remember, 10_000)
	return &callers{cfg: cfg, seen: newMemory(cfg.Remember)}
}

// find returns the caller of a hash: as lookup has it or, while the database is
// away, as it is remembered. Errors are those of lookup, and ctx's own.
func (a *callers) find(ctx context.Context, hash []byte, lookup func(context.Context) (caller, error)) (caller, error) {
	known, remembered := a.seen.get(key(hash))
	remembered = remembered && a.stillGood(known)
	c, err := a.bounded(ctx, hash, remembered, lookup)
	switch {
	case err == nil:
		c.at = a.cfg.Now()
		a.seen.put(key(hash), c)
		return c, nil
	case errors.Is(err, agent.ErrNotFound):
		a.seen.drop(key(hash))
	case ctx.Err() == nil && errors.Is(err, agent.ErrUnavailable) && remembered:
		return known, nil
	}
	return caller{}, err
}

// bounded asks the database, for a bounded time.
func (a *callers) bounded(ctx context.Context, hash []byte, remembered bool, lookup func(context.Context) (caller, error)) (caller, error) {
	limit := a.cfg.Timeout
	if remembered {
		limit = a.cfg.Patience
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := a.ask(ctx, hash, lookup)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, agent.ErrUnavailable) {
		return caller{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	return c, err
}

// ask joins a look-up of the same secret that is under way: two hundred stops by
// one caller are one question. It is bounded by its own caller's time, not by
// that of whoever asked first.
func (a *callers) ask(ctx context.Context, hash []byte, lookup func(context.Context) (caller, error)) (caller, error) {
	answer := a.asking.DoChan(string(hash), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.Timeout)
		defer cancel()
		return lookup(ctx)
	})
	select {
	case r := <-answer:
		c, _ := r.Val.(caller)
		return c, r.Err
	case <-ctx.Done():
		return caller{}, ctx.Err()
	}
}

func (a *callers) stillGood(c caller) bool {
	now := a.cfg.Now()
	return now.Sub(c.at) < a.cfg.TTL && (c.expires.IsZero() || now.Before(c.expires))
}
