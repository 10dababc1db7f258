package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/belayrun/belay/migrations"
)

// Waits of a migration.
const (
	migrateWait     = 5 * time.Minute        // for another process that migrates
	migratePoll     = 100 * time.Millisecond // how often it is looked whether that is done
	migrateLockWait = "10s"                  // for a lock that running nodes hold
	unlockWait      = 5 * time.Second
)

// migrateKey is the advisory lock that migrating processes take turns by.
const migrateKey int64 = 0x62656c6179 // "belay"

// SchemaError says that a database's schema is too old for this binary.
type SchemaError struct {
	Have, Need int64 // versions; 0: the database was never migrated
}

func (e *SchemaError) Error() string {
	if e.Have == 0 {
		return fmt.Sprintf("the database has no schema and version %d is needed: run `belay migrate`", e.Need)
	}
	return fmt.Sprintf("the database has schema version %d and version %d is needed: run `belay migrate`", e.Have, e.Need)
}

// Migrate brings the schema of the database at url to the version of this
// binary and returns the versions before and after; equal ones mean that there
// was nothing to do. It only goes forward: a newer database is left as it is.
//
// Any number of processes may call it at once: one migrates, the others wait
// for it (5 minutes at most) and then find nothing to do. A step that waits for
// a lock of a running node for over 10 s fails. Each step is a transaction of
// its own, so after an error `to` is the version that was reached, and calling
// again goes on from there.
//
// url must lead to Postgres itself, or to a pooler in session mode: the lock
// belongs to a session, and pgbouncer in transaction mode would take it in one
// and run the steps in another.
func Migrate(ctx context.Context, url string) (from, to int64, err error) {
	return migrate(ctx, url, migrations.FS, migrations.River())
}

func migrate(ctx context.Context, url string, steps fs.FS, more ...*goose.Migration) (from, to int64, err error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	lock := new(migrateLock)
	p, err := goose.NewProvider(goose.DialectPostgres, db, steps,
		goose.WithSessionLocker(lock), goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(more...))
	if err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	done, err := p.Up(ctx)
	if part, ok := errors.AsType[*goose.PartialError](err); ok {
		done = part.Applied
	}
	if err == nil && !lock.taken { // nothing was to be done
		lock.found, err = p.GetDBVersion(ctx)
	}
	from, to = lock.found, lock.found
	if n := len(done); n > 0 {
		to = done[n-1].Source.Version
	}
	if err != nil {
		return from, to, fmt.Errorf("migrate from version %d: %w", from, err)
	}
	return from, to, nil
}

// migrateLock is goose's lock around the steps, on the connection that runs
// them. It polls, where waiting inside the database would hold a snapshot that
// a step could be waiting for. A database with no step to apply is not locked.
type migrateLock struct {
	taken bool
	found int64 // the version once the lock was taken
}

// SessionLock waits for the lock, then bounds the waits of the steps.
func (l *migrateLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, migrateWait,
		fmt.Errorf("another process has been migrating for %s", migrateWait))
	defer cancel()
	for {
		var ok bool
		if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, migrateKey).Scan(&ok); err != nil {
			return fmt.Errorf("take the migration lock: %w", err)
		}
		if ok {
			l.taken = true
			break
		}
		select {
		case <-time.After(migratePoll):
		case <-ctx.Done():
			return fmt.Errorf("take the migration lock: %w", context.Cause(ctx))
		}
	}
	if _, err := conn.ExecContext(ctx, `SET lock_timeout = '`+migrateLockWait+`'`); err != nil {
		return err
	}
	var err error
	l.found, err = schemaVersion(conn.QueryRowContext(ctx, selectSchemaVersion))
	return err
}

// SessionUnlock gives the lock back. It goes with the connection in any case.
func (l *migrateLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, unlockWait)
	defer cancel()
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, migrateKey)
	return err
}

// CheckMigrated returns a *SchemaError if the database is older than this
// binary needs. A newer one is accepted: while a new version is rolled out it
// has migrated, and the old nodes go on. Migrations are therefore additive: what
// the previous release reads and writes is taken away one release later.
// db is a pool, a connection or a transaction.
func CheckMigrated(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) error {
	need, err := lastStep(migrations.FS)
	if err != nil {
		return err
	}
	have, err := schemaVersion(db.QueryRow(ctx, selectSchemaVersion))
	if err != nil {
		return err
	}
	if have < need {
		return &SchemaError{Have: have, Need: need}
	}
	return nil
}

// There is no way down, so the highest version that was applied is the schema's.
const selectSchemaVersion = `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`

// schemaVersion reads the answer to selectSchemaVersion.
func schemaVersion(row interface{ Scan(...any) error }) (v int64, err error) {
	const undefinedTable = "42P01"
	err = row.Scan(&v)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == undefinedTable {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return v, nil
}

// lastStep is the highest number of a migration.
func lastStep(steps fs.FS) (last int64, err error) {
	names, err := fs.Glob(steps, "*.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("name of a migration: %w", err)
		}
		last = max(last, v)
	}
	return last, nil
}
