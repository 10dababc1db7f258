package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

const upsertAgent = `
INSERT INTO agents AS a (project_id, key, name, active, draft)
VALUES (@project::text, @key::text, @name::text, @active::boolean, @draft::json)
ON CONFLICT (project_id, key) DO UPDATE SET
    name = excluded.name, active = excluded.active, draft = excluded.draft, updated_at = clock_timestamp(),
    published = CASE WHEN a.deleted_at IS NULL THEN a.published ELSE 0 END,
    created_at = CASE WHEN a.deleted_at IS NULL THEN a.created_at ELSE clock_timestamp() END,
    deleted_at = NULL`

// Apply makes or replaces what is declared of a project and publishes the agents,
// all in one transaction: an error means that nothing was written. It returns the
// agents' versions by key. Errors as of PutModel, PutTool, CreateAgent and
// PutPortal.
func (s *Store) Apply(ctx context.Context, project string, d agent.Declared, by string) (map[string]int, error) {
	var versions map[string]int
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		versions = make(map[string]int, len(d.Agents))
		for _, m := range byKey(d.Models, func(m agent.Model) string { return m.Key }) {
			m.Project = project
			if err := s.putModel(ctx, tx, m); err != nil {
				return wrap("model "+m.Key, err)
			}
		}
		for _, t := range byKey(d.Tools, func(t agent.SharedTool) string { return t.Key }) {
			t.Project = project
			if err := s.putTool(ctx, tx, t); err != nil {
				return wrap("tool "+t.Key, err)
			}
		}
		for _, a := range byKey(d.Agents, func(a agent.Agent) string { return a.Key }) {
			a.Project = project
			v, err := s.putAgent(ctx, tx, a, by)
			if err != nil {
				return wrap("agent "+a.Key, err)
			}
			versions[a.Key] = v
		}
		for _, p := range byKey(d.Portals, func(p agent.Portal) string { return p.Slug }) {
			p.Project = project
			if err := s.putPortal(ctx, tx, p); err != nil {
				return wrap("portal "+p.Slug, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrap("apply", err)
	}
	return versions, nil
}

// byKey sorts, so that two at once lock in the same order.
func byKey[T any](list []T, key func(T) string) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}

func (s *Store) putAgent(ctx context.Context, tx *txn, a agent.Agent, by string) (int, error) {
	args, err := s.agentRow(a)
	if err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, upsertAgent, args); err != nil {
		return 0, refused(err)
	}
	return s.publish(ctx, tx, a.Project, a.Key, agent.Actor{By: by, Door: agent.DoorCLI})
}
