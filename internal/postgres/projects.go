package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

const projectByKey = `
SELECT id FROM projects WHERE key = @key::text`

// Project returns the id of a project; agent.ErrNotFound. The project default
// is there once the database is migrated.
func (s *Store) Project(ctx context.Context, key string) (string, error) {
	id, err := one(ctx, s.pool, projectByKey, pgx.StrictNamedArgs{"key": clean(key)}, pgx.RowTo[string])
	return id, wrap("find project", err)
}
