package postgres

import (
	"context"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// Two sets of groups: the rows that were asked for, and the sum of all.
const usageBy = `
SELECT grouping(day, agent_key, model, status) = 15, coalesce(day, ''), coalesce(agent_key, ''), coalesce(model, ''), coalesce(status, ''),
    count(*), count(*) FILTER (WHERE state = 'cancelled'), count(*) FILTER (WHERE state = 'error'), count(*) FILTER (WHERE estimated),
    coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(cached_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint,
    coalesce(sum(reasoning_tokens), 0)::bigint, coalesce(bool_or(estimated), false), coalesce(sum(cost_usd), 0),
    coalesce(sum(cost_usd) FILTER (WHERE state = 'cancelled'), 0),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY first_token_ms), percentile_cont(0.95) WITHIN GROUP (ORDER BY first_token_ms)
FROM (
    SELECT CASE WHEN @day::boolean THEN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') ELSE '' END AS day,
        CASE WHEN @by_agent::boolean THEN agent_key ELSE '' END AS agent_key, CASE WHEN @by_model::boolean THEN model ELSE '' END AS model,
        CASE WHEN @by_status::boolean THEN status ELSE '' END AS status, status AS state,
        estimated, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_usd, first_token_ms
    FROM usage
    WHERE project_id = @project::text AND at >= @from::timestamptz AND at < @to::timestamptz
        AND (@agent::text = '' OR agent_key = @agent::text) AND (@model::text = '' OR model = @model::text)
) AS calls
GROUP BY GROUPING SETS ((), (day, agent_key, model, status))
ORDER BY 1 DESC, 2, 3, 4, 5`

// UsageBy returns what model calls used: a row for each group, in order, and
// before them the sum.
func (s *Store) UsageBy(ctx context.Context, q agent.UsageQuery) (sum agent.UsageRow, rows []agent.UsageRow, err error) {
	list, err := all(ctx, s.pool, usageBy, pgx.StrictNamedArgs{
		"project": q.Project, "from": q.From, "to": q.To, "agent": clean(q.Agent), "model": clean(q.Model),
		"day": q.ByDay, "by_agent": q.ByAgent, "by_model": q.ByModel, "by_status": q.ByStatus,
	}, func(row pgx.CollectableRow) (r agent.UsageRow, err error) {
		t := &r.Tokens
		err = row.Scan(&r.Sum, &r.Day, &r.Agent, &r.Model, &r.Status, &r.Calls, &r.Cancelled, &r.Errors, &r.EstimatedCalls,
			&t.Input, &t.CachedInput, &t.Output, &t.Reasoning, &t.Estimated, &t.CostUSD, &r.CancelledCostUSD, &r.FirstP50, &r.FirstP95)
		return r, err
	})
	for _, r := range list {
		if r.Sum {
			sum = r
		} else {
			rows = append(rows, r)
		}
	}
	return sum, rows, wrap("sum usage", err)
}

// A turn's error is read as text: it may hold what the database's JSON functions
// refuse.
const outcomesByDay = `
SELECT to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, CASE
    WHEN t.status = 'incomplete' AND t.stop_reason = 'cancelled' THEN 'cancelled'
    WHEN t.status = 'incomplete' THEN 'limited'
    WHEN t.status = 'failed' AND t.error::text LIKE '{"code":"worker_lost"%' THEN 'lost'
    ELSE t.status END AS outcome, count(*)
FROM turns t JOIN sessions c ON c.id = t.session_id
WHERE c.project_id = @project::text AND t.created_at >= @from::timestamptz AND t.created_at < @to::timestamptz AND t.ended_at IS NOT NULL
    AND (@agent::text = '' OR t.agent_key = @agent::text)
GROUP BY 1, 2 ORDER BY 1, 2`

// Outcomes returns how the turns ended that began within a time, by the day on
// which they began.
func (s *Store) Outcomes(ctx context.Context, project, agentKey string, from, to time.Time) ([]agent.OutcomeCount, error) {
	list, err := all(ctx, s.pool, outcomesByDay, pgx.StrictNamedArgs{"project": project, "agent": clean(agentKey), "from": from, "to": to},
		pgx.RowToStructByPos[agent.OutcomeCount])
	return list, wrap("count outcomes", err)
}

const stopTimes = `
SELECT coalesce(t.stop_path, ''), (extract(epoch FROM t.ended_at - (t.stop->>'at')::timestamptz) * 1000)::float8 AS ms
FROM turns t JOIN sessions c ON c.id = t.session_id
WHERE c.project_id = @project::text AND t.stop_reason = 'cancelled' AND t.ended_at >= @from::timestamptz AND t.ended_at < @to::timestamptz
    AND t.started_at IS NOT NULL AND (t.stop_path IS NOT NULL OR t.ended_at > (t.stop->>'at')::timestamptz)`

const stopFigures = `
SELECT path, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), percentile_cont(0.95) WITHIN GROUP (ORDER BY ms),
    percentile_cont(0.99) WITHIN GROUP (ORDER BY ms), max(ms), array_agg(bucket)
FROM (SELECT path, greatest(ms, 0) AS ms, width_bucket(greatest(ms, 0) - 1e-9, @bounds::float8[]) AS bucket FROM (` + stopTimes + `) AS s (path, ms)) AS stops
GROUP BY path ORDER BY path`

// StopTimes returns how long stops took, from the moment they were recorded to
// the end of their turn, of turns that ended within a time; by how the node that
// ran the turn heard of it. Turns that nobody ran when they were stopped are not
// in it. bounds are those of the buckets, in milliseconds, growing.
func (s *Store) StopTimes(ctx context.Context, project string, from, to time.Time, bounds []float64) ([]agent.StopTimes, error) {
	list, err := all(ctx, s.pool, stopFigures, pgx.StrictNamedArgs{"project": project, "from": from, "to": to, "bounds": bounds},
		func(row pgx.CollectableRow) (t agent.StopTimes, err error) {
			var in []int32
			err = row.Scan(&t.Path, &t.Count, &t.P50, &t.P95, &t.P99, &t.Max, &in)
			t.Buckets = make([]int64, len(bounds)+1)
			for _, i := range in {
				t.Buckets[i]++
			}
			return t, err
		})
	return list, wrap("time stops", err)
}
