package pgtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

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

func TestDBIsDroppedWithWhatIsStillConnected(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("a test that leaves a connection", func(t *testing.T) {
		u := DB(t)
		c, err := pgx.Connect(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		name = c.Config().Database
	})
	c := connect(t, DB(t))
	if n := count(t, c, "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'"); n != 0 || name == "" {
		t.Errorf("database %q is still there", name)
	}
}

func TestDBsAreMadeByManyTestsAtOnce(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() { DB(t) })
	}
	wg.Wait()
	t.Logf("%s each", time.Since(begun)/40)
}

func TestTemplateIsNamedAfterTheMigrations(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for what, steps := range map[string]fstest.MapFS{
		"one":           {"0001_a.sql": {Data: []byte("a")}},
		"other text":    {"0001_a.sql": {Data: []byte("b")}},
		"other name":    {"0001_b.sql": {Data: []byte("a")}},
		"one more":      {"0001_a.sql": {Data: []byte("a")}, "0002_b.sql": {}},
		"split another": {"0001_a.sql": {}, "0002_b.sql": {Data: []byte("a")}},
	} {
		hash, err := hashOf(steps)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have the same name", what, other)
		}
		seen[hash] = what
	}
}

func TestTemplateOfChangedMigrationsIsMadeOnceByManyProcesses(t *testing.T) {
	t.Parallel()
	admin := connect(t, DB(t)).Config().ConnString()
	steps := fstest.MapFS{"0001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE other ();\nSELECT pg_sleep(0.1);\n")}}
	sources := make([]*source, 4)
	var wg sync.WaitGroup
	for i := range sources { // each has its own connection, as a process has
		wg.Go(func() {
			var err error
			if sources[i], err = openSource(t.Context(), admin, steps); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	src := sources[0]
	t.Cleanup(func() {
		if err := src.exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+src.template); err != nil {
			t.Error(err)
		}
	})
	for i, s := range sources {
		name := fmt.Sprintf("belay_test_of_process_%d", i)
		if err := s.exec(t.Context(), s.clone(name)); err != nil {
			t.Fatal(err)
		}
		c := connect(t, s.url(name))
		exec(t, c, "SELECT FROM other")
		c.Close(t.Context())
		if err := s.exec(t.Context(), "DROP DATABASE "+name); err != nil {
			t.Error(err)
		}
	}
}

func TestDBWithoutMainSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	var l lazy
	if _, err := l.source(t.Context()); err == nil || !strings.Contains(err.Error(), "func TestMain(m *testing.M) { pgtest.Main(m) }") {
		t.Errorf("err = %v", err)
	}
}

func TestServerComesBackMigratedAfterItWasKilled(t *testing.T) {
	t.Parallel()
	s := Server(t)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.Connect(t.Context(), s.URL()); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, connect(t, s.TCPURL()), "SELECT FROM goose_db_version")
}
