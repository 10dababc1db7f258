// Package pgtest gives each test a Postgres database of its own, and ways to
// take a database away.
//
// A test package that uses it says so once:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// The databases are on the server that BELAY_TEST_DATABASE_URL names, as a
// superuser; without it, on a private server that the test binary starts when
// the first test asks and that Main stops. A server takes 0.7 s to start and a
// database 10 ms, so packages that are tested at the same time share nothing.
package pgtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/postgres/pgserver"
	"github.com/belayrun/belay/migrations"
)

// Environment variables that tests obey.
const (
	ServerEnv   = "BELAY_TEST_DATABASE_URL" // the server to use instead of a private one
	ProgramsEnv = "BELAY_PG_BIN"            // where the Postgres programs of private ones are
)

// timeout bounds each thing that is done for a test; the first of them starts a
// server and migrates.
const timeout = 60 * time.Second

// Main runs a package's tests, stops the private server, and fails if a
// goroutine is left that leaks does not excuse. It does not return.
func Main(m *testing.M, leaks ...goleak.Option) {
	shared.begin()
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest: stop the server:", err)
		code = cmp.Or(code, 1)
	}
	if err := goleak.Find(leaks...); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "pgtest: goroutines are left:", err)
		code = 1
	}
	os.Exit(code)
}

// DB returns the URL of a fresh database with all migrations applied, which is
// dropped when the test ends, with whatever is still connected to it. It may be
// called from any goroutine of the test, and more than once for more databases.
func DB(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	src, err := shared.source(ctx)
	if err != nil {
		t.Fatal("pgtest: ", err)
	}
	name := "belay_test_" + strings.ToLower(rand.Text()[:16])
	if err := src.exec(ctx, src.clone(name)); err != nil {
		t.Fatal("pgtest: make a database: ", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
		defer cancel()
		if err := src.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Error("pgtest: drop the database: ", err)
		}
	})
	return src.url(name)
}

// Server returns a server of this test's own, with all migrations applied to
// the database of its URLs, to be suspended, killed and restarted. It is
// stopped, whatever its state, when the test ends. It takes about a second.
func Server(t testing.TB) *pgserver.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	s, err := pgserver.Start(ctx, pgserver.Config{Fast: true, BinDir: os.Getenv(ProgramsEnv)})
	if err != nil {
		t.Fatal("pgtest: ", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error("pgtest: ", err)
		}
	})
	if err := migrate(ctx, s.URL()); err != nil {
		t.Fatal("pgtest: migrate: ", err)
	}
	return s
}

// shared is the one server of this process: TestMain has no other way to hand
// it to the tests.
var shared lazy

// lazy opens its source when it is first asked for.
type lazy struct {
	mu      sync.Mutex
	begun   bool
	opened  bool
	src     *source
	err     error
	private *pgserver.Server // nil: none was started
}

func (l *lazy) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
}

// source returns the same source, or the same error, each time.
func (l *lazy) source(ctx context.Context) (*source, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		return nil, errors.New("this package needs `func TestMain(m *testing.M) { pgtest.Main(m) }`")
	}
	if !l.opened {
		l.opened = true
		l.src, l.err = l.open(ctx)
	}
	return l.src, l.err
}

func (l *lazy) open(ctx context.Context) (*source, error) {
	raw := os.Getenv(ServerEnv)
	if raw == "" {
		s, err := pgserver.Start(ctx, pgserver.Config{Fast: true, BinDir: os.Getenv(ProgramsEnv)})
		if err != nil {
			return nil, err
		}
		l.private = s
		raw = s.URL()
	}
	return openSource(ctx, raw, migrations.FS, migrations.River())
}

func (l *lazy) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.private == nil {
		return nil
	}
	return l.private.Stop()
}

// source makes databases on a server out of a migrated template.
type source struct {
	admin    *url.URL // a database that is never cloned
	template string
	strategy string // how to clone; empty where the server has no choice
}

// openSource connects to the server at raw and makes its template if that is
// missing. Processes that do so at once wait for each other.
func openSource(ctx context.Context, raw string, steps fs.FS, more ...*goose.Migration) (*source, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return nil, fmt.Errorf("%s must be a postgres:// URL", ServerEnv)
	}
	hash, err := hashOf(steps)
	if err != nil {
		return nil, err
	}
	src := &source{admin: u, template: "belay_template_" + hash}
	conn, err := pgx.Connect(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("connect to the test server: %w", err)
	}
	defer conn.Close(ctx)
	var version int
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return nil, err
	}
	if version >= 150000 {
		src.strategy = " STRATEGY file_copy" // 10 ms each and 8 ms with 40 at once; wal_log 13 and 25
	}
	if err := src.makeTemplate(ctx, conn, steps, more...); err != nil {
		return nil, fmt.Errorf("make the template database: %w", err)
	}
	return src, nil
}

// makeTemplate builds the template under another name, so that one that was cut
// short is never cloned. The lock goes with the connection.
func (s *source) makeTemplate(ctx context.Context, conn *pgx.Conn, steps fs.FS, more ...*goose.Migration) error {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended('belay pgtest', 0))`); err != nil {
		return err
	}
	var there bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, s.template).Scan(&there)
	if err != nil || there {
		return err
	}
	building := s.template + "_building"
	for _, q := range []string{"DROP DATABASE IF EXISTS " + building + " WITH (FORCE)", "CREATE DATABASE " + building} {
		if _, err := conn.Exec(ctx, q); err != nil {
			return err
		}
	}
	if err := migrateFrom(ctx, s.url(building), steps, more...); err != nil {
		return err
	}
	for _, q := range []string{
		"ALTER DATABASE " + building + " WITH ALLOW_CONNECTIONS false",
		"ALTER DATABASE " + building + " RENAME TO " + s.template,
	} {
		if _, err := conn.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) clone(name string) string {
	return "CREATE DATABASE " + name + " TEMPLATE " + s.template + s.strategy
}

// url is that of a database on the source's server.
func (s *source) url(name string) string {
	u := *s.admin
	u.Path = "/" + name
	return u.String()
}

func (s *source) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

func migrate(ctx context.Context, url string) error {
	return migrateFrom(ctx, url, migrations.FS, migrations.River())
}

// migrateFrom does what postgres.Migrate does, without its locks: that package
// cannot be imported here, since its own tests import this one.
func migrateFrom(ctx context.Context, url string, steps fs.FS, more ...*goose.Migration) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	p, err := goose.NewProvider(goose.DialectPostgres, db, steps, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(more...))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// hashOf names a set of migrations: other files or other contents, another name.
func hashOf(steps fs.FS) (string, error) {
	names, err := fs.Glob(steps, "*.sql") // sorted
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "river %d\n", migrations.RiverSchema)
	for _, name := range names {
		b, err := fs.ReadFile(steps, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(b), b)
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}
