package postgres

import (
	"context"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const liveNodes = `
SELECT n.id, n.label, extract(epoch FROM clock_timestamp() - n.renewed_at)::float8, n.dead_at IS NOT NULL,
    (SELECT count(*) FROM run_slots r JOIN sessions c ON c.id = r.session_id
     WHERE r.state = 'running' AND r.node_id = n.id AND c.project_id = @project::text)
FROM nodes n ORDER BY n.label, n.id`

// Why a slot needs a look, the worst first.
const slotStuck = `CASE
    WHEN n.dead_at IS NOT NULL THEN 'node_dead'
    WHEN n.renewed_at < clock_timestamp() - make_interval(secs => @lease::float8) THEN 'node_late'
    WHEN r.stop_at < clock_timestamp() - interval '5 seconds' THEN 'stopping'
    WHEN r.state = 'queued' AND r.queued_at < clock_timestamp() - interval '30 seconds' THEN 'queued'
    ELSE '' END`

const liveSlots = `
WITH live AS (
    SELECT s.id, s.project_id, s.agent_key, s.owner, s.door, t.id AS turn, ` + sessionState + ` AS state, t.started_by, t.door AS through, t.background,
        coalesce(r.node_id, '') AS node, coalesce(n.label, '') AS label,
        extract(epoch FROM clock_timestamp() - t.created_at)::float8 AS age, extract(epoch FROM clock_timestamp() - r.stop_at)::float8 AS asked,
        ` + slotStuck + ` AS stuck
    FROM run_slots r
    JOIN sessions s ON s.id = r.session_id
    JOIN turns t ON t.id = r.turn_id
    LEFT JOIN nodes n ON n.id = r.node_id
    WHERE r.state <> 'idle' AND s.project_id = @project::text
)
SELECT *, clock_timestamp(), count(*) OVER (),
    count(*) FILTER (WHERE state = 'running') OVER (), count(*) FILTER (WHERE state = 'stopping') OVER (),
    count(*) FILTER (WHERE state = 'queued') OVER (), count(*) FILTER (WHERE state = 'requires_action') OVER (),
    count(*) FILTER (WHERE stuck <> '') OVER ()
FROM live ORDER BY stuck = '', age DESC, id LIMIT @limit::integer`

const databaseTime = `
SELECT clock_timestamp()`

// Operations returns all nodes and a project's turns that have not ended: up to
// limit of them, those that need a look first, then the oldest.
func (s *Store) Operations(ctx context.Context, project string, limit int) (agent.Operations, error) {
	var o agent.Operations
	var err error
	args := pgx.StrictNamedArgs{"project": project, "lease": s.times.Lease.Seconds(), "limit": limit}
	if o.At, err = one(ctx, s.pool, databaseTime, nil, pgx.RowTo[time.Time]); err != nil {
		return o, wrap("read operations", err)
	}
	o.Nodes, err = all(ctx, s.pool, liveNodes, pgx.StrictNamedArgs{"project": project}, func(row pgx.CollectableRow) (n agent.NodeView, err error) {
		var silence float64
		err = row.Scan(&n.ID, &n.Label, &silence, &n.Dead, &n.Slots)
		n.Silence = seconds(silence)
		n.Late = !n.Dead && n.Silence > s.times.Lease
		return n, err
	})
	if err != nil {
		return o, wrap("read nodes", err)
	}
	live, err := all(ctx, s.pool, liveSlots, args, func(row pgx.CollectableRow) (v agent.SlotView, err error) {
		return v, scanSlotView(row, &v, &o)
	})
	o.Live = live
	o.Left = max(0, o.Left-len(live))
	return o, wrap("read slots", err)
}

func scanSlotView(row pgx.CollectableRow, v *agent.SlotView, o *agent.Operations) error {
	var age float64
	var asked *float64
	n := &o.Total
	err := row.Scan(&v.Of.ID, &v.Of.Project, &v.Of.Agent, &v.Of.Owner, &v.Of.Door, &v.Turn, &v.State, &v.By, &v.Door, &v.Background,
		&v.NodeID, &v.Node, &age, &asked, &v.Stuck, &o.At, &o.Left, &n.Running, &n.Stopping, &n.Queued, &n.Waiting, &n.Stuck)
	v.Age = seconds(age)
	if asked != nil {
		v.StopAge = new(seconds(*asked))
	}
	return err
}
