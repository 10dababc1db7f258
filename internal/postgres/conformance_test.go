package postgres_test

import (
	"testing"

	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgtest"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

var (
	_ turn.Store = (*postgres.Store)(nil)
	_ turn.Hints = (*postgres.Store)(nil)
)

func TestStore(t *testing.T) {
	t.Parallel()
	turntest.RunStore(t, func(t *testing.T, times turntest.Times) turntest.Harness {
		url := pgtest.DB(t)
		s, err := postgres.Open(t.Context(), postgres.Config{
			URL: url, MaxConns: 8, SettleConns: 2,
			Times: postgres.Times{Lease: times.Lease, Gap: times.Gap, Stray: times.Stray},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return turntest.Harness{Store: s, Hints: s, Check: func() error { return checkInvariants(url) }}
	})
}
