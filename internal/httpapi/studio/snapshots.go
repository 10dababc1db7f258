package studio

import (
	"context"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// snapshots are what streams tell of a project as a whole. However many streams
// ask, the database is asked once in a fresh time for each project.
type snapshots struct {
	store Operations

	mu    sync.Mutex
	inbox map[inboxKey]*shot[agent.Inbox]
	ops   map[string]*shot[agent.Operations]
}

type inboxKey struct{ project, owner string }

// shot is one snapshot; who holds its lock is taking it.
type shot[T any] struct {
	mu sync.Mutex
	v  T
	at time.Time // zero: never taken
}

const (
	fresh   = 900 * time.Millisecond
	maxShot = 10_000 // snapshots that are kept, of each kind
)

func newSnapshots(store Operations) *snapshots {
	return &snapshots{store: store, inbox: map[inboxKey]*shot[agent.Inbox]{}, ops: map[string]*shot[agent.Operations]{}}
}

// Inbox is the store's, a moment old at most.
func (s *snapshots) Inbox(ctx context.Context, project, owner string) (agent.Inbox, error) {
	return take(&s.mu, s.inbox, inboxKey{project, owner}, func() (agent.Inbox, error) { return s.store.Inbox(ctx, project, owner) })
}

// Operations is the store's, a moment old at most. It is shared: not to be changed.
func (s *snapshots) Operations(ctx context.Context, project string) (agent.Operations, error) {
	return take(&s.mu, s.ops, project, func() (agent.Operations, error) { return s.store.Operations(ctx, project, maxSlots) })
}

func take[K comparable, T any](mu *sync.Mutex, of map[K]*shot[T], key K, now func() (T, error)) (T, error) {
	mu.Lock()
	x := of[key]
	if x == nil {
		if len(of) >= maxShot {
			clear(of)
		}
		x = &shot[T]{}
		of[key] = x
	}
	mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.at.IsZero() && time.Since(x.at) < fresh {
		return x.v, nil
	}
	v, err := now()
	if err == nil {
		x.v, x.at = v, time.Now()
	}
	return v, err
}
