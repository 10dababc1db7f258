package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

func scanTool(row pgx.CollectableRow) (t agent.SharedTool, err error) {
	var project, key string
	err = row.Scan(&project, &key, &t)
	t.Project, t.Key = project, key
	return t, err
}

const listTools = `
SELECT project_id, key, config FROM tools WHERE project_id = @project::text ORDER BY key`

// Tools returns a project's shared tools by key, without their secrets.
func (s *Store) Tools(ctx context.Context, project string) ([]agent.SharedTool, error) {
	list, err := all(ctx, s.pool, listTools, pgx.StrictNamedArgs{"project": project}, scanTool)
	return list, wrap("list tools", err)
}

const toolByKey = `
SELECT project_id, key, config FROM tools WHERE project_id = @project::text AND key = @key::text`

// Tool returns a shared tool without its secret; agent.ErrNotFound.
func (s *Store) Tool(ctx context.Context, project, key string) (agent.SharedTool, error) {
	t, err := one(ctx, s.pool, toolByKey, agentArgs(project, key), scanTool)
	return t, wrap("read tool "+key, err)
}

const toolSecret = `
SELECT secret FROM tools WHERE project_id = @project::text AND key = @key::text AND secret IS NOT NULL`

// Secret returns the secret of a shared tool; agent.ErrNotFound where there is
// no such tool or it keeps none, ErrNoSecretKey where there is nothing to open
// it with.
func (s *Store) Secret(ctx context.Context, project, key string) (string, error) {
	sealed, err := one(ctx, s.pool, toolSecret, agentArgs(project, key), pgx.RowTo[[]byte])
	var secret string
	if err == nil {
		secret, err = s.unseal(sealed, toolContext(project, key))
	}
	return secret, wrap("read the secret of tool "+key, err)
}

const putTool = `
INSERT INTO tools (project_id, key, config, secret)
VALUES (@project::text, @key::text, @config::json, @secret::bytea)
ON CONFLICT (project_id, key) DO UPDATE SET
    config = excluded.config, updated_at = clock_timestamp(), secret = coalesce(excluded.secret, tools.secret)`

// PutTool makes a shared tool or replaces the one of that key. An empty Secret
// keeps the stored one. ErrNoSecretKey where there is a Secret and nothing to
// seal it with; agent.ErrNotFound where there is no such project.
func (s *Store) PutTool(ctx context.Context, t agent.SharedTool) error {
	return wrap("store tool "+t.Key, s.putTool(ctx, s.pool, t))
}

func (s *Store) putTool(ctx context.Context, q runner, t agent.SharedTool) error {
	var sealed []byte
	if t.Secret != "" {
		b, err := s.seal(t.Secret, toolContext(t.Project, t.Key))
		if err != nil {
			return err
		}
		sealed = b
	}
	config, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode tool: %w", err)
	}
	_, err = q.Exec(ctx, putTool, pgx.StrictNamedArgs{
		"project": t.Project, "key": t.Key, "config": string(config), "secret": sealed,
	})
	return refused(err)
}

const deleteTool = `
DELETE FROM tools WHERE project_id = @project::text AND key = @key::text`

// DeleteTool deletes a shared tool with its secret; one that is not there is no
// error. Agents that name it fail to begin a turn from then on.
func (s *Store) DeleteTool(ctx context.Context, project, key string) error {
	_, err := s.pool.Exec(ctx, deleteTool, agentArgs(project, key))
	return wrap("delete tool", err)
}
