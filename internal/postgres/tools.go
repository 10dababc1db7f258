package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

func scanTool(row pgx.CollectableRow) (t agent.SharedTool, err error) {
	var project, key string // beside t, which reading the config replaces whole
	var has bool
	var made, changed time.Time
	err = row.Scan(&project, &key, &t, &has, &made, &changed)
	t.Project, t.Key, t.HasSecret, t.CreatedAt, t.UpdatedAt = project, key, has, made, changed
	return t, err
}

const toolColumns = `project_id, key, config, secret IS NOT NULL, created_at, updated_at`

const listTools = `
SELECT ` + toolColumns + ` FROM tools WHERE project_id = @project::text ORDER BY key`

// Tools returns a project's shared tools by key, without their secrets.
func (s *Store) Tools(ctx context.Context, project string) ([]agent.SharedTool, error) {
	list, err := all(ctx, s.pool, listTools, pgx.StrictNamedArgs{"project": project}, scanTool)
	return list, wrap("list tools", err)
}

const toolByKey = `
SELECT ` + toolColumns + ` FROM tools WHERE project_id = @project::text AND key = @key::text`

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
	args, err := s.toolRow(t)
	if err != nil {
		return err
	}
	_, err = q.Exec(ctx, putTool, args)
	return refused(err)
}

// toolRow is what is stored of a tool.
func (s *Store) toolRow(t agent.SharedTool) (pgx.StrictNamedArgs, error) {
	var sealed []byte
	if t.Secret != "" {
		b, err := s.seal(t.Secret, toolContext(t.Project, t.Key))
		if err != nil {
			return nil, err
		}
		sealed = b
	}
	config, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode tool: %w", err)
	}
	return pgx.StrictNamedArgs{"project": t.Project, "key": t.Key, "config": string(config), "secret": sealed}, nil
}

const createTool = `
INSERT INTO tools (project_id, key, config, secret)
VALUES (@project::text, @key::text, @config::json, @secret::bytea)
RETURNING ` + toolColumns

// CreateTool makes a shared tool and returns it without its secret.
// agent.ErrExists where the key is taken; else as PutTool.
func (s *Store) CreateTool(ctx context.Context, t agent.SharedTool) (agent.SharedTool, error) {
	args, err := s.toolRow(t)
	if err == nil {
		t, err = one(ctx, s.pool, createTool, args, scanTool)
	}
	return t, wrap("create tool", refused(err))
}

const replaceTool = `
UPDATE tools SET config = @config::json, updated_at = clock_timestamp(),
    secret = CASE WHEN @keep::boolean THEN secret ELSE @secret::bytea END
WHERE project_id = @project::text AND key = @key::text AND updated_at = @seen::timestamptz
RETURNING ` + toolColumns

// ReplaceTool replaces a shared tool that was read before, and returns it
// without its secret. An empty Secret keeps the stored one where HasSecret says
// so, else deletes it. agent.ErrChanged where the tool is gone, or no longer
// what it was at t.UpdatedAt; ErrNoSecretKey as PutTool.
func (s *Store) ReplaceTool(ctx context.Context, t agent.SharedTool) (agent.SharedTool, error) {
	args, err := s.toolRow(t)
	if err == nil {
		args["keep"], args["seen"] = t.Secret == "" && t.HasSecret, t.UpdatedAt
		t, err = one(ctx, s.pool, replaceTool, args, scanTool)
	}
	if errors.Is(err, agent.ErrNotFound) {
		err = agent.ErrChanged
	}
	return t, wrap("replace tool", err)
}

const lockTool = toolByKey + `
FOR UPDATE`

// The configurations are read whole: JSON that has U+0000 in it, as a caller's
// text may, is nothing that SQL can look into.
const selectToolUsers = `
SELECT 'agent ' || a.key, c.config
FROM agents a
LEFT JOIN agent_versions v ON v.project_id = a.project_id AND v.agent_key = a.key AND v.version = a.published
CROSS JOIN LATERAL (VALUES (a.draft), (v.config)) c(config)
WHERE a.project_id = @project::text AND a.deleted_at IS NULL AND c.config IS NOT NULL`

const deleteTool = `
DELETE FROM tools WHERE project_id = @project::text AND key = @key::text`

// DeleteTool deletes a shared tool with its secret; one that is not there is no
// error. *agent.InUseError where an agent's draft or published version, or
// another tool, needs it. An agent that comes to name it meanwhile fails to begin
// a turn.
func (s *Store) DeleteTool(ctx context.Context, project, key string) error {
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		t, err := one(ctx, tx, lockTool, agentArgs(project, key), scanTool)
		if errors.Is(err, agent.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		users, err := s.toolUsers(ctx, tx, t)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return &agent.InUseError{By: users}
		}
		_, err = tx.Exec(ctx, deleteTool, agentArgs(project, key))
		return err
	})
	return wrap("delete tool", err)
}

// toolUsers returns who needs a tool, sorted.
func (s *Store) toolUsers(ctx context.Context, tx *txn, t agent.SharedTool) ([]string, error) {
	type user struct {
		who  string
		refs []agent.ToolRef
	}
	project := pgx.StrictNamedArgs{"project": t.Project}
	list, err := all(ctx, tx, selectToolUsers, project, func(row pgx.CollectableRow) (u user, err error) {
		var c agent.Config
		err = row.Scan(&u.who, &c)
		u.refs = c.Tools
		return u, err
	})
	if err != nil {
		return nil, err
	}
	tools, err := all(ctx, tx, listTools, project, scanTool)
	if err != nil {
		return nil, err
	}
	for _, other := range tools {
		if other.Key != t.Key {
			list = append(list, user{"tool " + other.Key, []agent.ToolRef{other.Ref()}})
		}
	}
	var users []string
	for _, u := range list {
		if slices.ContainsFunc(u.refs, func(r agent.ToolRef) bool { return r.Needs(t) }) {
			users = append(users, u.who)
		}
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}
