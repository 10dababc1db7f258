package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { Main(m) }

func TestDBsOfTwoTestsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	a, b := connect(t, DB(t)), connect(t, DB(t))
	exec(t, a, "CREATE TABLE only_here ()")
	if n := count(t, b, "SELECT count(*) FROM pg_class WHERE relname = 'only_here'"); n != 0 {
		t.Error("a table made in one database is in the other")
	}
	exec(t, b, "CREATE TABLE only_here ()")
}

func TestDBHasAllMigrations(t *testing.T) {
	t.Parallel()
	c := connect(t, DB(t))
	if n := count(t, c, "SELECT count(*) FROM goose_db_version WHERE version_id > 0"); n == 0 {
		t.Error("no migration was applied")
	}
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
	return c
}

func exec(t testing.TB, c *pgx.Conn, q string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), q); err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, c *pgx.Conn, q string) (n int) {
	t.Helper()
	if err := c.QueryRow(t.Context(), q).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
