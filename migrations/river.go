package migrations

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	riverStep     = 6     // its number among the steps
	riverLockWait = "10s" // for a lock that running nodes hold
)

// RiverSchema is the version of River's own tables that the step makes. A
// release of River with newer ones gets a step of its own.
const RiverSchema = 8

// River returns the step that makes the tables of River, the job queue, and
// belongs between the files of FS. It runs River's own migrations: tables and
// code come from one release. db must be one of pgx. What it had applied when it
// failed is not applied again.
func River() *goose.Migration {
	return goose.NewGoMigration(riverStep, &goose.GoFunc{RunDB: migrateRiver}, nil)
}

func migrateRiver(ctx context.Context, db *sql.DB) error {
	url, err := urlOf(ctx, db)
	if err != nil {
		return err
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	cfg.MaxConns = 1
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = riverLockWait
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: RiverSchema})
	return err
}

// urlOf returns where db connects to.
func urlOf(ctx context.Context, db *sql.DB) (url string, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	err = conn.Raw(func(c any) error {
		own, ok := c.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("a connection of pgx is needed, not %T", c)
		}
		url = own.Conn().Config().ConnString()
		return nil
	})
	return url, err
}
