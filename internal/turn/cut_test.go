package turn_test

import (
	"context"
	"sync/atomic"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
)

// cutStore is a node's own way to the store, which can be cut while the other
// nodes' ways stand.
type cutStore struct {
	turn.Store
	cut atomic.Bool
}

func via[T any](s *cutStore, f func() (T, error)) (T, error) {
	var zero T
	if s.cut.Load() {
		return zero, errAway
	}
	return f()
}

func via0(s *cutStore, f func() error) error {
	_, err := via(s, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (s *cutStore) Join(ctx context.Context, label string) (string, error) {
	return via(s, func() (string, error) { return s.Store.Join(ctx, label) })
}

func (s *cutStore) Renew(ctx context.Context, node string) error {
	return via0(s, func() error { return s.Store.Renew(ctx, node) })
}

func (s *cutStore) Leave(ctx context.Context, node string) error {
	return via0(s, func() error { return s.Store.Leave(ctx, node) })
}

func (s *cutStore) Take(ctx context.Context, b agent.Begin) (agent.Leg, error) {
	return via(s, func() (agent.Leg, error) { return s.Store.Take(ctx, b) })
}

func (s *cutStore) Settle(ctx context.Context, l agent.Lease, c agent.Closing) (agent.Closed, error) {
	return via(s, func() (agent.Closed, error) { return s.Store.Settle(ctx, l, c) })
}

func (s *cutStore) Find(ctx context.Context, session string) (agent.Found, error) {
	return via(s, func() (agent.Found, error) { return s.Store.Find(ctx, session) })
}

func (s *cutStore) Stop(ctx context.Context, session, turn string, stop agent.Stop, withdraw bool) (agent.StopResult, error) {
	return via(s, func() (agent.StopResult, error) { return s.Store.Stop(ctx, session, turn, stop, withdraw) })
}

func (s *cutStore) Asked(ctx context.Context, node string) ([]agent.Asked, error) {
	return via(s, func() ([]agent.Asked, error) { return s.Store.Asked(ctx, node) })
}

func (s *cutStore) Append(ctx context.Context, b []agent.Batch) ([]bool, error) {
	return via(s, func() ([]bool, error) { return s.Store.Append(ctx, b) })
}

func (s *cutStore) Record(ctx context.Context, l agent.Lease, rows []agent.Row, open []agent.Action) error {
	return via0(s, func() error { return s.Store.Record(ctx, l, rows, open) })
}

func (s *cutStore) Look(ctx context.Context, l agent.Lease) (*agent.Stop, error) {
	return via(s, func() (*agent.Stop, error) { return s.Store.Look(ctx, l) })
}

func (s *cutStore) Events(ctx context.Context, session string, after int64, limit int) ([]agent.Event, error) {
	return via(s, func() ([]agent.Event, error) { return s.Store.Events(ctx, session, after, limit) })
}

func (s *cutStore) News(ctx context.Context, cursors map[string]int64) ([]agent.Event, error) {
	return via(s, func() ([]agent.Event, error) { return s.Store.News(ctx, cursors) })
}

// cuttable adds a node with a way of its own to the store.
func (c *cluster) cuttable() (node int, s *cutStore) {
	conf := c.conf
	s = &cutStore{Store: c.mem}
	c.conf.Store = s
	c.add()
	c.conf = conf
	return len(c.nodes) - 1, s
}
