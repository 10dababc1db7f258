package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const agentColumns = `project_id, key, name, active, draft, published, created_at, updated_at`

// scanAgent reads agentColumns. The draft's secret is still sealed.
func scanAgent(row pgx.CollectableRow) (a agent.Agent, err error) {
	err = row.Scan(&a.Project, &a.Key, &a.Name, &a.Active, &a.Draft, &a.Published, &a.CreatedAt, &a.UpdatedAt)
	return a, err
}

const listAgents = `
SELECT ` + agentColumns + ` FROM agents
WHERE project_id = @project::text AND deleted_at IS NULL AND (@status::text = '' OR active = (@status::text = 'active'))
ORDER BY key`

// Agents returns a project's agents by key: all of them, or those that are
// active or disabled. Their drafts come without secrets. Another status is a
// *agent.FieldError.
func (s *Store) Agents(ctx context.Context, project, status string) ([]agent.Agent, error) {
	if status != "" && status != "active" && status != "disabled" {
		return nil, &agent.FieldError{Field: "status", Message: "must be active or disabled"}
	}
	list, err := all(ctx, s.pool, listAgents, pgx.StrictNamedArgs{"project": project, "status": status}, scanAgent)
	for i := range list {
		list[i].Draft.Execution.CallbackSecret = ""
	}
	return list, wrap("list agents", err)
}

const agentByKey = `
SELECT ` + agentColumns + ` FROM agents
WHERE project_id = @project::text AND key = @key::text AND deleted_at IS NULL`

// Agent returns an agent; agent.ErrNotFound.
func (s *Store) Agent(ctx context.Context, project, key string) (agent.Agent, error) {
	a, err := one(ctx, s.pool, agentByKey, agentArgs(project, key), scanAgent)
	if err == nil {
		err = s.reveal(&a.Draft, project, key)
	}
	return a, wrap("read agent", err)
}

func agentArgs(project, key string) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"project": project, "key": clean(key)}
}

// A key that was deleted is a new agent: versions made before its created_at
// are those of the old one, and only keep their numbers from being used again.
const createAgent = `
INSERT INTO agents (project_id, key, name, active, draft)
VALUES (@project::text, @key::text, @name::text, @active::boolean, @draft::json)
ON CONFLICT (project_id, key) DO UPDATE SET
    name = excluded.name, active = excluded.active, draft = excluded.draft, published = 0,
    created_at = clock_timestamp(), updated_at = clock_timestamp(), deleted_at = NULL
WHERE agents.deleted_at IS NOT NULL
RETURNING ` + agentColumns

// CreateAgent makes an agent, unpublished, and returns it with its times.
// agent.ErrExists where the key is taken; one that was deleted is free again.
// agent.ErrNotFound where there is no such project.
func (s *Store) CreateAgent(ctx context.Context, a agent.Agent) (agent.Agent, error) {
	args, err := s.agentRow(a)
	if err != nil {
		return agent.Agent{}, wrap("create agent", err)
	}
	made, err := one(ctx, s.pool, createAgent, args, scanAgent)
	if errors.Is(err, agent.ErrNotFound) {
		err = agent.ErrExists
	}
	made.Draft = a.Draft
	return made, wrap("create agent", refused(err))
}

// agentRow is what is stored of an agent.
func (s *Store) agentRow(a agent.Agent) (pgx.StrictNamedArgs, error) {
	draft, err := s.hide(a.Draft, a.Project, a.Key)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(draft)
	if err != nil {
		return nil, fmt.Errorf("encode draft: %w", err)
	}
	return pgx.StrictNamedArgs{
		"project": a.Project, "key": a.Key, "name": clean(a.Name), "active": a.Active, "draft": string(b),
	}, nil
}

const lockAgent = agentByKey + `
FOR UPDATE`

const updateAgent = `
UPDATE agents SET name = @name::text, active = @active::boolean, draft = @draft::json, updated_at = clock_timestamp()
WHERE project_id = @project::text AND key = @key::text
RETURNING ` + agentColumns

// UpdateAgent changes name, activity and draft of an agent as fn says and
// returns the agent; agent.ErrNotFound. Nobody else changes it between fn's
// reading and its writing; an error of fn is returned and nothing is written.
// fn may be called more than once, each time with the agent as it then is.
func (s *Store) UpdateAgent(ctx context.Context, project, key string, fn func(*agent.Agent) error) (agent.Agent, error) {
	var out agent.Agent
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		a, err := s.lockAgent(ctx, tx, project, key)
		if err != nil {
			return err
		}
		if err := fn(&a); err != nil {
			return err
		}
		a.Project, a.Key = project, key
		args, err := s.agentRow(a)
		if err != nil {
			return err
		}
		out, err = one(ctx, tx, updateAgent, args, scanAgent)
		out.Draft = a.Draft
		return err
	})
	if err != nil {
		return agent.Agent{}, wrap("update agent", err)
	}
	return out, nil
}

func (s *Store) lockAgent(ctx context.Context, tx *txn, project, key string) (agent.Agent, error) {
	a, err := one(ctx, tx, lockAgent, agentArgs(project, key), scanAgent)
	if err == nil {
		err = s.reveal(&a.Draft, project, key)
	}
	return a, err
}

const deleteAgent = `
UPDATE agents SET deleted_at = clock_timestamp()
WHERE project_id = @project::text AND key = @key::text AND deleted_at IS NULL`

// DeleteAgent deletes an agent; one that is not there is no error. Its sessions
// stay readable, and a turn under way ends as it would have.
func (s *Store) DeleteAgent(ctx context.Context, project, key string) error {
	_, err := s.pool.Exec(ctx, deleteAgent, agentArgs(project, key))
	return wrap("delete agent", err)
}

// Publish makes the draft the version that is run by default and returns its
// number; agent.ErrNotFound. A draft that is as the newest version already is
// gives that version's number and makes none. by is who did it.
func (s *Store) Publish(ctx context.Context, project, key string, by agent.Actor) (int, error) {
	var version int
	err := s.inTx(ctx, s.pool, func(tx *txn) (err error) {
		version, err = s.publish(ctx, tx, project, key, by)
		return err
	})
	return version, wrap("publish agent", err)
}

// The agent's row is locked already, and this is a statement after it: it sees
// all versions made before.
const insertVersion = `
WITH made AS (
    INSERT INTO agent_versions (project_id, agent_key, version, config, created_by)
    SELECT project_id, key,
        1 + coalesce((SELECT max(version) FROM agent_versions v WHERE v.project_id = a.project_id AND v.agent_key = a.key), 0),
        draft, @by::text
    FROM agents a WHERE project_id = @project::text AND key = @key::text
    RETURNING version
)
UPDATE agents SET published = made.version, updated_at = clock_timestamp() FROM made
WHERE project_id = @project::text AND key = @key::text
RETURNING published`

func (s *Store) publish(ctx context.Context, tx *txn, project, key string, by agent.Actor) (int, error) {
	a, err := s.lockAgent(ctx, tx, project, key)
	if err != nil {
		return 0, err
	}
	if a.Published > 0 {
		newest, err := s.version(ctx, tx, project, key, a.Published)
		if err != nil {
			return 0, err
		}
		if same, err := equalJSON(newest, a.Draft); same || err != nil {
			return a.Published, err
		}
	}
	args := agentArgs(project, key)
	args["by"] = clean(by.By)
	version, err := one(ctx, tx, insertVersion, args, pgx.RowTo[int])
	if err != nil {
		return 0, err
	}
	return version, s.audit(ctx, tx, agent.AuditPublish, by, project, key, strconv.Itoa(version))
}

// equalJSON compares what is stored of two values: nil and empty are one.
func equalJSON(a, b any) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}

const agentVersion = `
SELECT v.config FROM agents a
JOIN agent_versions v ON v.project_id = a.project_id AND v.agent_key = a.key AND v.created_at >= a.created_at
WHERE a.project_id = @project::text AND a.key = @key::text AND a.deleted_at IS NULL AND v.version = @version::integer`

// Version returns a published version of an agent; agent.ErrNotFound.
func (s *Store) Version(ctx context.Context, project, key string, version int) (agent.Config, error) {
	c, err := s.version(ctx, s.pool, project, key, version)
	return c, wrap("read agent version", err)
}

func (s *Store) version(ctx context.Context, q runner, project, key string, version int) (agent.Config, error) {
	args := agentArgs(project, key)
	args["version"] = version
	c, err := one(ctx, q, agentVersion, args, pgx.RowTo[agent.Config])
	if err == nil {
		err = s.reveal(&c, project, key)
	}
	return c, err
}

const resolveAgent = `
SELECT a.active, a.published, w.version, CASE WHEN w.version = 0 THEN a.draft ELSE v.config END
FROM agents a
CROSS JOIN LATERAL (SELECT coalesce(@version::integer, a.published) AS version) w
LEFT JOIN agent_versions v ON v.project_id = a.project_id AND v.agent_key = a.key AND v.version = w.version AND v.created_at >= a.created_at
WHERE a.project_id = @project::text AND a.key = @key::text AND a.deleted_at IS NULL`

// Resolve returns the configuration of an agent and its version: nil the newest
// published one, 0 the draft. agent.ErrNotFound where the project has no such
// agent; *agent.FieldError where the version isn't there (version) or the agent
// is not active (model).
func (s *Store) Resolve(ctx context.Context, project, key string, version *int) (agent.Config, int, error) {
	args := agentArgs(project, key)
	args["version"] = version
	r, err := one(ctx, s.pool, resolveAgent, args, scanResolved)
	switch {
	case err != nil:
	case !r.active:
		err = &agent.FieldError{Field: "model", Message: "agent " + key + " is not active"}
	case version == nil && r.published == 0:
		err = &agent.FieldError{Field: "version", Message: "agent " + key + " has no published version: publish it, or ask for version 0, its draft"}
	case r.config == nil:
		err = &agent.FieldError{Field: "version", Message: fmt.Sprintf("agent %s has no version %d", key, r.version)}
	default:
		err = s.reveal(r.config, project, key)
	}
	if err != nil {
		return agent.Config{}, 0, wrap("resolve agent", err)
	}
	return *r.config, r.version, nil
}

type resolved struct {
	active             bool
	published, version int
	config             *agent.Config
}

func scanResolved(row pgx.CollectableRow) (r resolved, err error) {
	err = row.Scan(&r.active, &r.published, &r.version, &r.config)
	return r, err
}
