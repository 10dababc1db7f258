package postgres

import (
	"context"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const usageOfTurn = `
SELECT call, model, status, input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, cost_usd,
    latency_ms, first_token_ms, at
FROM usage WHERE turn_id = @turn::text ORDER BY call`

// Usage returns the account of a turn's model calls in their order; none where
// there is no such turn. It outlives the turn's session.
func (s *Store) Usage(ctx context.Context, turn string) ([]agent.Usage, error) {
	list, err := all(ctx, s.pool, usageOfTurn, pgx.StrictNamedArgs{"turn": clean(turn)}, scanUsage)
	return list, wrap("read usage", err)
}

func scanUsage(row pgx.CollectableRow) (u agent.Usage, err error) {
	err = row.Scan(&u.Call, &u.Model, &u.Status, &u.Input, &u.CachedInput, &u.Output, &u.Reasoning, &u.Estimated, &u.CostUSD,
		&u.LatencyMS, &u.FirstTokenMS, &u.At)
	return u, err
}
