package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// modelRow is a model as it is stored.
type modelRow struct {
	model  agent.Model
	sealed []byte
}

func scanModel(row pgx.CollectableRow) (m modelRow, err error) {
	var project, key string
	err = row.Scan(&project, &key, &m.model, &m.sealed)
	m.model.Project, m.model.Key = project, key
	return m, err
}

const listModels = `
SELECT project_id, key, config, NULL::bytea FROM models WHERE project_id = @project::text ORDER BY key`

// Models returns a project's models by key, without their API keys.
func (s *Store) Models(ctx context.Context, project string) ([]agent.Model, error) {
	rows, err := all(ctx, s.pool, listModels, pgx.StrictNamedArgs{"project": project}, scanModel)
	var out []agent.Model
	for _, r := range rows {
		out = append(out, r.model)
	}
	return out, wrap("list models", err)
}

const modelByKey = `
SELECT project_id, key, config, api_key FROM models WHERE project_id = @project::text AND key = @key::text`

// Model returns a model, its stored API key opened; agent.ErrNotFound,
// ErrNoSecretKey where there is a stored API key and nothing to open it with.
func (s *Store) Model(ctx context.Context, project, key string) (agent.Model, error) {
	r, err := one(ctx, s.pool, modelByKey, agentArgs(project, key), scanModel)
	if err == nil && r.sealed != nil {
		r.model.APIKey, err = s.unseal(r.sealed, modelContext(project, key))
	}
	if err != nil {
		return agent.Model{}, wrap("read model "+key, err)
	}
	return r.model, nil
}

const putModel = `
INSERT INTO models (project_id, key, config, api_key)
VALUES (@project::text, @key::text, @config::json, @api_key::bytea)
ON CONFLICT (project_id, key) DO UPDATE SET
    config = excluded.config, updated_at = clock_timestamp(),
    api_key = CASE WHEN @keep::boolean THEN models.api_key ELSE excluded.api_key END`

// PutModel makes a model or replaces the one of that key. An empty APIKey keeps
// the stored one, unless APIKeyEnv says where to take it from instead.
// ErrNoSecretKey where there is an APIKey and nothing to seal it with;
// agent.ErrNotFound where there is no such project.
func (s *Store) PutModel(ctx context.Context, m agent.Model) error {
	return wrap("store model "+m.Key, s.putModel(ctx, s.pool, m))
}

func (s *Store) putModel(ctx context.Context, q runner, m agent.Model) error {
	var sealed []byte
	if m.APIKey != "" {
		b, err := s.seal(m.APIKey, modelContext(m.Project, m.Key))
		if err != nil {
			return err
		}
		sealed = b
	}
	config, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode model: %w", err)
	}
	_, err = q.Exec(ctx, putModel, pgx.StrictNamedArgs{
		"project": m.Project, "key": m.Key, "config": string(config),
		"api_key": sealed, "keep": m.APIKey == "" && m.APIKeyEnv == "",
	})
	return refused(err)
}

const deleteModel = `
DELETE FROM models WHERE project_id = @project::text AND key = @key::text`

// DeleteModel deletes a model; one that is not there is no error. Agents that
// name it fail to begin a turn from then on.
func (s *Store) DeleteModel(ctx context.Context, project, key string) error {
	_, err := s.pool.Exec(ctx, deleteModel, agentArgs(project, key))
	return wrap("delete model", err)
}

const modelRows = `
SELECT key, api_key IS NOT NULL, created_at, updated_at FROM models WHERE project_id = @project::text`

// StoredModels returns what is kept of a project's models beside themselves, by
// key.
func (s *Store) StoredModels(ctx context.Context, project string) (map[string]agent.Stored, error) {
	out := map[string]agent.Stored{}
	_, err := all(ctx, s.pool, modelRows, pgx.StrictNamedArgs{"project": project}, func(row pgx.CollectableRow) (key string, err error) {
		var x agent.Stored
		err = row.Scan(&key, &x.HasSecret, &x.CreatedAt, &x.UpdatedAt)
		out[key] = x
		return key, err
	})
	if err == nil {
		err = uses(ctx, s.pool, project, func(key string, c agent.Config) {
			for _, m := range append([]string{c.Model}, c.FallbackModels...) {
				note(out, m, key)
			}
		})
	}
	return out, wrap("list models", err)
}

const dropModelKey = `
UPDATE models SET api_key = NULL, updated_at = clock_timestamp() WHERE project_id = @project::text AND key = @key::text`

const lockModel = `
SELECT key FROM models WHERE project_id = @project::text AND key = @key::text FOR UPDATE`

// CreateModel is PutModel of a key that is free; agent.ErrExists.
func (s *Store) CreateModel(ctx context.Context, m agent.Model) error {
	return wrap("create model "+m.Key, s.put(ctx, m, true, func(tx *txn) error {
		return s.putModel(ctx, tx, m)
	}))
}

// ReplaceModel is PutModel of a model that is there; agent.ErrNotFound. With
// forget its stored API key goes, where it gets no other.
func (s *Store) ReplaceModel(ctx context.Context, m agent.Model, forget bool) error {
	return wrap("replace model "+m.Key, s.put(ctx, m, false, func(tx *txn) error {
		if forget {
			if _, err := tx.Exec(ctx, dropModelKey, agentArgs(m.Project, m.Key)); err != nil {
				return err
			}
		}
		return s.putModel(ctx, tx, m)
	}))
}

// put writes a model where its key is free, or is not.
func (s *Store) put(ctx context.Context, m agent.Model, free bool, write func(*txn) error) error {
	return s.inTx(ctx, s.pool, func(tx *txn) error {
		_, err := one(ctx, tx, lockModel, agentArgs(m.Project, m.Key), pgx.RowTo[string])
		switch {
		case errors.Is(err, agent.ErrNotFound) && free:
			return write(tx)
		case err == nil && free:
			return agent.ErrExists
		case err != nil:
			return err
		}
		return write(tx)
	})
}
