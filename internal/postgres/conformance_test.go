package postgres_test

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

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
	turntest.RunStore(t, harness(""))
}

// As a pooler needs it: no statement is prepared in a session, no parameter's
// type is asked for.
func TestStoreWithoutPreparedStatements(t *testing.T) {
	t.Parallel()
	turntest.RunStore(t, harness("default_query_exec_mode=exec"))
}

// harness opens stores on databases of their own, with a parameter in the URL.
func harness(param string) func(*testing.T, turntest.Times) turntest.Harness {
	return func(t *testing.T, times turntest.Times) turntest.Harness {
		raw := pgtest.DB(t)
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery += "&" + param
		s, err := postgres.Open(t.Context(), postgres.Config{
			URL: u.String(), MaxConns: 8, SettleConns: 2,
			Times: postgres.Times{Lease: times.Lease, Gap: times.Gap, Stray: times.Stray},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		const other = "111111111111111111111111"
		insert(t, raw, other)
		return turntest.Harness{Store: s, Hints: s, Other: other, Check: func() error { return checkInvariants(raw) }}
	}
}

// insert makes a project.
func insert(t *testing.T, url, project string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "INSERT INTO projects (id, key) VALUES ($1, 'other')", project); err != nil {
		t.Fatal(err)
	}
}
