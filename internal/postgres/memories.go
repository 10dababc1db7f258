package postgres

import (
	"context"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// remember makes room for one more, and forgets the same words said before. Two
// at once may leave a few too many; the next one sees to it.
const remember = `
WITH forgotten AS (
    DELETE FROM memories
    WHERE project_id = @project::text AND agent_key = @agent::text AND owner = @owner::text
      AND (text = @text::text OR n IN (
        SELECT n FROM memories
        WHERE project_id = @project::text AND agent_key = @agent::text AND owner = @owner::text AND text <> @text::text
        ORDER BY n DESC OFFSET @most::integer - 1)))
INSERT INTO memories (project_id, agent_key, owner, text)
VALUES (@project::text, @agent::text, @owner::text, @text::text)`

// Remember adds a memory to a mind: at most agent.MaxMemoryText characters, and
// the oldest beyond agent.MaxMemories are forgotten. The same text again is the
// same memory, newer.
func (s *Store) Remember(ctx context.Context, m agent.Mind, text string) error {
	args := mindArgs(m)
	args["text"], args["most"] = clean(text), agent.MaxMemories
	_, err := s.pool.Exec(ctx, remember, args)
	return wrap("remember", err)
}

// recall looks for any of the words; a query that has no word to look for, such
// as an empty one, finds the newest memories.
const recall = `
WITH q AS (SELECT replace(plainto_tsquery('english', @query::text)::text, ' & ', ' | ')::tsquery AS words)
SELECT m.text, m.created_at FROM memories m, q
WHERE m.project_id = @project::text AND m.agent_key = @agent::text AND m.owner = @owner::text
  AND (numnode(q.words) = 0 OR m.search @@ q.words)
ORDER BY ts_rank(m.search, q.words) DESC, m.n DESC
LIMIT @limit::integer`

// Recall returns a mind's memories that have words of the query, those that have
// more of them first, of equal ones the newest; at most limit.
func (s *Store) Recall(ctx context.Context, m agent.Mind, query string, limit int) ([]agent.Memory, error) {
	args := mindArgs(m)
	args["query"], args["limit"] = clean(query), limit
	out, err := all(ctx, s.pool, recall, args, pgx.RowToStructByPos[agent.Memory])
	return out, wrap("recall", err)
}

func mindArgs(m agent.Mind) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"project": m.Project, "agent": m.Agent, "owner": m.Owner}
}
