package postgres

import (
	"context"
	"errors"
	"strconv"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const listVersions = `
SELECT v.version, v.created_at, v.created_by FROM agents a
JOIN agent_versions v ON v.project_id = a.project_id AND v.agent_key = a.key AND v.created_at >= a.created_at
WHERE a.project_id = @project::text AND a.key = @key::text AND a.deleted_at IS NULL
ORDER BY v.version DESC`

// Versions returns an agent's published versions, newest first; none where there
// is no such agent.
func (s *Store) Versions(ctx context.Context, project, key string) ([]agent.VersionInfo, error) {
	list, err := all(ctx, s.pool, listVersions, agentArgs(project, key), pgx.RowToStructByPos[agent.VersionInfo])
	return list, wrap("list versions", err)
}

const insertVersionAgain = `
WITH made AS (
    INSERT INTO agent_versions (project_id, agent_key, version, config, created_by)
    SELECT project_id, agent_key,
        1 + (SELECT max(version) FROM agent_versions n WHERE n.project_id = v.project_id AND n.agent_key = v.agent_key),
        config, @by::text
    FROM agent_versions v WHERE project_id = @project::text AND agent_key = @key::text AND version = @version::integer
    RETURNING version
)
UPDATE agents SET published = made.version, updated_at = clock_timestamp() FROM made
WHERE project_id = @project::text AND key = @key::text
RETURNING published`

// PublishAgain makes an old version the one that is run by default, as a new
// version, and returns its number. The draft stays. The newest one again makes
// none. agent.ErrNotFound, for the version too.
func (s *Store) PublishAgain(ctx context.Context, project, key string, version int, by agent.Actor) (int, error) {
	var made int
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		a, err := s.lockAgent(ctx, tx, project, key)
		if err != nil {
			return err
		}
		old, err := s.version(ctx, tx, project, key, version)
		if err != nil {
			return err
		}
		newest, err := s.version(ctx, tx, project, key, a.Published)
		if err != nil {
			return err
		}
		made = a.Published
		if same, err := equalJSON(old, newest); same || err != nil {
			return err
		}
		args := agentArgs(project, key)
		args["version"], args["by"] = version, clean(by.By)
		if made, err = one(ctx, tx, insertVersionAgain, args, pgx.RowTo[int]); err != nil {
			return err
		}
		return s.audit(ctx, tx, agent.AuditPublish, by, project, key, strconv.Itoa(made))
	})
	return made, wrap("publish agent again", err)
}

const draftsAndVersions = `
SELECT a.key, a.draft, v.config FROM agents a
LEFT JOIN agent_versions v ON v.project_id = a.project_id AND v.agent_key = a.key AND v.version = a.published
WHERE a.project_id = @project::text AND a.deleted_at IS NULL AND (@key::text = '' OR a.key = @key::text)`

// Drafts says of the drafts of a project's agents, or of the one of a key, how
// they are, by key.
func (s *Store) Drafts(ctx context.Context, project, key string) (map[string]agent.DraftState, error) {
	out := map[string]agent.DraftState{}
	_, err := all(ctx, s.pool, draftsAndVersions, agentArgs(project, key), func(row pgx.CollectableRow) (same bool, err error) {
		var of string
		var draft agent.Config
		var published *agent.Config
		if err := row.Scan(&of, &draft, &published); err != nil {
			return false, err
		}
		secret := draft.Execution.CallbackSecret != ""
		if published != nil {
			if err := errors.Join(s.reveal(&draft, project, of), s.reveal(published, project, of)); err != nil && !errors.Is(err, ErrNoSecretKey) {
				return false, err
			}
			same, err = equalJSON(draft, *published)
		}
		out[of] = agent.DraftState{Changed: !same, HasSecret: secret}
		return same, err
	})
	return out, wrap("compare drafts", err)
}

const agentsUsing = `
SELECT a.key, a.draft, v.config FROM agents a
LEFT JOIN agent_versions v ON v.project_id = a.project_id AND v.agent_key = a.key AND v.version = a.published
WHERE a.project_id = @project::text AND a.deleted_at IS NULL ORDER BY a.key`

// uses calls with for each agent of a project with its draft, and again with its
// published version.
func uses(ctx context.Context, q runner, project string, with func(key string, c agent.Config)) error {
	_, err := all(ctx, q, agentsUsing, pgx.StrictNamedArgs{"project": project}, func(row pgx.CollectableRow) (key string, err error) {
		var draft agent.Config
		var published *agent.Config
		if err := row.Scan(&key, &draft, &published); err != nil {
			return key, err
		}
		with(key, draft)
		if published != nil {
			with(key, *published)
		}
		return key, nil
	})
	return err
}

// ToolUsers returns the agents whose draft or published version needs a shared
// tool, by the tool's key.
func (s *Store) ToolUsers(ctx context.Context, project string) (map[string][]string, error) {
	tools, err := s.Tools(ctx, project)
	if err != nil {
		return nil, err
	}
	of := map[string]agent.Stored{}
	for _, t := range tools {
		of[t.Key] = agent.Stored{}
	}
	err = uses(ctx, s.pool, project, func(key string, c agent.Config) {
		for _, ref := range c.Tools {
			for _, t := range tools {
				if ref.Needs(t) {
					note(of, t.Key, key)
				}
			}
		}
	})
	out := map[string][]string{}
	for key, x := range of {
		out[key] = x.UsedBy
	}
	return out, wrap("list users of tools", err)
}

// note adds a user to what is stored, once.
func note(of map[string]agent.Stored, key, user string) {
	x, ok := of[key]
	if n := len(x.UsedBy); ok && (n == 0 || x.UsedBy[n-1] != user) {
		x.UsedBy = append(x.UsedBy, user)
		of[key] = x
	}
}
