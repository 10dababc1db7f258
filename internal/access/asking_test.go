package access_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/agent"
)

// slow answers each look-up after a while, or never.
type slow struct {
	mu    sync.Mutex
	asked int
	takes time.Duration
}

func (s *slow) TokenByHash(ctx context.Context, _ []byte) (agent.Token, error) {
	s.mu.Lock()
	s.asked++
	takes := s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
		return agent.Token{ID: "t", Project: "p"}, nil
	case <-ctx.Done():
		return agent.Token{}, ctx.Err()
	}
}

func (s *slow) set(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes = d
}

func TestManyAtOnceWithOneTokenAreOneLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &slow{takes: 10 * time.Millisecond}
		a := access.New(access.Config{Lookup: table})
		secret, _, _ := access.NewToken()
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if p, err := a.Authenticate(t.Context(), "Bearer "+secret); err != nil || p.ID != "token:t" {
					t.Error(p, err)
				}
			})
		}
		wg.Wait()
		if table.asked != 1 {
			t.Errorf("%d look-ups", table.asked)
		}
		if _, err := a.Authenticate(t.Context(), "Bearer "+secret); err != nil || table.asked != 2 {
			t.Errorf("a later one: %v, %d look-ups", err, table.asked)
		}
	})
}

// 43: a stop must reach the turns of this node within its second while the
// database hangs, so who is known does not wait for it as long as a stranger.
func TestKnownCallerDoesNotWaitForADatabaseThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &slow{}
		a := access.New(access.Config{Lookup: table})
		known, _, _ := access.NewToken()
		if _, err := a.Authenticate(t.Context(), "Bearer "+known); err != nil {
			t.Fatal(err)
		}
		table.set(time.Hour)
		stranger, _, _ := access.NewToken()
		for _, c := range []struct {
			secret string
			in     bool
			within time.Duration
		}{{known, true, 300 * time.Millisecond}, {stranger, false, 1100 * time.Millisecond}} {
			began := time.Now()
			_, err := a.Authenticate(t.Context(), "Bearer "+c.secret)
			if (err == nil) != c.in || time.Since(began) > c.within {
				t.Errorf("let in %v after %v (%v)", err == nil, time.Since(began), err)
			}
		}
		time.Sleep(2 * time.Second) // the look-ups end
	})
}
