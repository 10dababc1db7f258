package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belayrun/belay/internal/postgres/pgtest"
	"github.com/belayrun/belay/migrations"
)

// steps makes a set of migrations, numbered from 1.
func steps(statements ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i, s := range statements {
		m[fmt.Sprintf("%04d_step.sql", i+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + s + ";\n")}
	}
	return m
}

func TestMigrateMakesTheSchemaThenFindsNothingToDo(t *testing.T) {
	t.Parallel()
	u := emptyDB(t)
	need, err := lastStep(migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, need} {
		gotFrom, gotTo, err := Migrate(t.Context(), u)
		if err != nil || gotFrom != from || gotTo != need {
			t.Errorf("Migrate = %d, %d, %v; want %d, %d", gotFrom, gotTo, err, from, need)
		}
	}
	if err := CheckMigrated(t.Context(), connect(t, u)); err != nil {
		t.Error(err)
	}
}

func TestMigrateByEightAtOnceAppliesEachStepOnce(t *testing.T) {
	t.Parallel()
	u := emptyDB(t)
	fs := steps("CREATE TABLE a (n int)", "INSERT INTO a VALUES (1)", "SELECT pg_sleep(0.05)", "INSERT INTO a VALUES (2)")
	var mu sync.Mutex
	moved := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			from, to, err := migrate(t.Context(), u, fs)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || to != 4 {
				t.Errorf("migrate = %d, %d, %v; want to reach 4", from, to, err)
			}
			if from == 0 {
				moved++
			} else if from != 4 {
				t.Errorf("began at %d, in the midst of another's migration", from)
			}
		})
	}
	wg.Wait()
	if moved != 1 {
		t.Errorf("%d of 8 migrated, want 1", moved)
	}
	var n int
	if err := connect(t, u).QueryRow(t.Context(), "SELECT count(*) FROM a").Scan(&n); err != nil || n != 2 {
		t.Errorf("rows %d, %v; want 2", n, err)
	}
}

func TestMigrateThatFailsKeepsWhatItReachedAndGoesOnFromThere(t *testing.T) {
	t.Parallel()
	u := emptyDB(t)
	from, to, err := migrate(t.Context(), u, steps("CREATE TABLE a ()", "CREATE TABLE b (); CREATE TABLE a ()", "CREATE TABLE c ()"))
	if err == nil || from != 0 || to != 1 {
		t.Fatalf("migrate = %d, %d, %v; want to stop after 1", from, to, err)
	}
	from, to, err = migrate(t.Context(), u, steps("CREATE TABLE a ()", "CREATE TABLE b ()", "CREATE TABLE c ()"))
	if err != nil || from != 1 || to != 3 {
		t.Errorf("migrate = %d, %d, %v; want 1, 3", from, to, err)
	}
}

func TestMigrateLeavesANewerDatabaseAsItIs(t *testing.T) {
	t.Parallel()
	u := emptyDB(t)
	if _, _, err := migrate(t.Context(), u, steps("SELECT 1", "SELECT 2", "SELECT 3")); err != nil {
		t.Fatal(err)
	}
	from, to, err := migrate(t.Context(), u, steps("SELECT 1", "SELECT 2"))
	if err != nil || from != 3 || to != 3 {
		t.Errorf("migrate = %d, %d, %v; want 3, 3", from, to, err)
	}
}

func TestMigrateStopsWaitingForAnotherWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	u := emptyDB(t)
	if _, err := connect(t, u).Exec(t.Context(), "SELECT pg_advisory_lock($1)", migrateKey); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, _, err := migrate(ctx, u, steps("SELECT 1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want the end of the context", err)
	}
}

func TestMigrateBoundsTheWaitsOfItsSteps(t *testing.T) {
	t.Parallel()
	bounded := "SELECT 1 / (current_setting('lock_timeout') = '" + migrateLockWait + "')::int"
	if _, _, err := migrate(t.Context(), emptyDB(t), steps(bounded)); err != nil {
		t.Error(err)
	}
}

func TestCheckMigratedNamesBothVersionsOfAnOldDatabase(t *testing.T) {
	t.Parallel()
	u := emptyDB(t)
	c := connect(t, u)
	err := CheckMigrated(t.Context(), c)
	se, ok := errors.AsType[*SchemaError](err)
	if !ok || se.Have != 0 || se.Need < 1 || !strings.Contains(se.Error(), "belay migrate") {
		t.Errorf("err = %v, want one that says what is needed and what to run", err)
	}
}

func TestCheckMigratedAcceptsANewerDatabase(t *testing.T) {
	t.Parallel()
	c := connect(t, pgtest.DB(t))
	if _, err := c.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)"); err != nil {
		t.Fatal(err)
	}
	if err := CheckMigrated(t.Context(), c); err != nil {
		t.Error(err)
	}
}

func TestCheckMigratedSaysWhyItCannotTell(t *testing.T) {
	t.Parallel()
	c := connect(t, pgtest.DB(t))
	c.Close(t.Context())
	err := CheckMigrated(t.Context(), c)
	if _, ok := errors.AsType[*SchemaError](err); err == nil || ok {
		t.Errorf("err = %v, want one about the connection", err)
	}
}

// emptyDB is a database without a schema, on the server of the tests.
func emptyDB(t *testing.T) string {
	t.Helper()
	base := pgtest.DB(t)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/") + "_empty"
	c := connect(t, base)
	if _, err := c.Exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	u.Path = "/" + name
	return u.String()
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
	return c
}
