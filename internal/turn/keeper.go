package turn

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// keeper keeps this process's lease: its node id and how old the last good
// renewal is, counted on the monotonic clock from before it was sent.
type keeper struct {
	nodes Nodes
	label string
	times Times
	log   *slog.Logger

	mu    sync.Mutex
	id    string        // empty until joined
	good  time.Time     // when the last good renewal was sent
	moved chan struct{} // closed and replaced whenever id or good changes
}

func newKeeper(n Nodes, label string, t Times, log *slog.Logger) *keeper {
	return &keeper{nodes: n, label: label, times: t, log: log, moved: make(chan struct{})}
}

// node returns the present id, empty while there is none.
func (k *keeper) node() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.id
}

// age is the time since the last good renewal was sent.
func (k *keeper) age() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.good)
}

// fresh reports whether a lease taken under id is surely still ours.
func (k *keeper) fresh(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.freshLocked(id)
}

func (k *keeper) freshLocked(id string) bool {
	return id != "" && id == k.id && time.Since(k.good) < k.times.Lease-k.times.Margin
}

// await blocks until the lease taken under id is fresh. It fails with the
// context's cause, or with agent.ErrLeaseLost once the node has another id.
func (k *keeper) await(ctx context.Context, id string) error {
	for {
		k.mu.Lock()
		ok, other, moved := k.freshLocked(id), id != k.id, k.moved
		k.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case ok:
			return nil
		case other:
			return agent.ErrLeaseLost
		}
		select {
		case <-moved:
		case <-ctx.Done():
		}
	}
}

// awaitAny blocks until this node may take turns and returns its id.
func (k *keeper) awaitAny(ctx context.Context) (string, error) {
	for {
		k.mu.Lock()
		id, ok, moved := k.id, k.freshLocked(k.id), k.moved
		k.mu.Unlock()
		if ok {
			return id, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return "", agent.ErrUnavailable
		}
	}
}

func (k *keeper) set(id string, good time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.id, k.good = id, good
	close(k.moved)
	k.moved = make(chan struct{})
}

// run keeps the lease until ctx ends. lost is called with an id that was
// declared dead, before the node goes on under a new one; outage is called,
// once for each outage, when the lease is older than MaxOutage.
func (k *keeper) run(ctx context.Context, lost func(id string), outage func()) {
	told := false
	for ctx.Err() == nil {
		sent := time.Now()
		err := k.renew(ctx, sent, lost)
		pause := k.times.Renew - time.Since(sent)
		switch {
		case err == nil:
			told = false
		case ctx.Err() != nil:
			return
		default:
			k.log.Warn("lease not renewed", "age", k.age().Round(time.Millisecond), "err", err)
			pause = k.times.Redial
		}
		if k.node() != "" && k.age() > k.times.MaxOutage && !told {
			told = true
			outage()
		}
		sleep(ctx, pause)
	}
}

// renew joins or renews, once.
func (k *keeper) renew(ctx context.Context, sent time.Time, lost func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, k.times.Limit)
	defer cancel()
	id := k.node()
	if id != "" {
		err := k.nodes.Renew(ctx, id)
		if err == nil {
			k.set(id, sent)
			return nil
		}
		if !errors.Is(err, agent.ErrNodeDead) {
			return err
		}
		k.log.Error("this node was declared dead; it goes on under a new id", "node_id", id)
		k.set("", time.Time{})
		lost(id)
	}
	id, err := k.nodes.Join(ctx, k.label)
	if err == nil {
		k.set(id, sent)
	}
	return err
}

// sleep waits for d or until ctx ends, and reports whether ctx lives.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
