package postgres

import (
	"context"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// turnState is what agent.TurnView.State says.
const turnState = `CASE
    WHEN t.status = 'running' AND s.turn_id = t.id AND s.stop_at IS NOT NULL THEN 'stopping'
    WHEN t.status = 'waiting' THEN 'requires_action'
    WHEN t.status = 'incomplete' AND t.stop_reason = 'cancelled' THEN 'cancelled'
    WHEN t.status = 'incomplete' THEN 'limited'
    ELSE t.status END`

const fromTurns = `
FROM turns t
JOIN sessions c ON c.id = t.session_id
LEFT JOIN run_slots s ON s.session_id = t.session_id
LEFT JOIN nodes n ON n.id = s.node_id AND s.turn_id = t.id`

const selectTurnViews = `
SELECT ` + turnColumns + `, coalesce(n.label, ''), coalesce(t.stop_path, '')` + fromTurns

func scanTurnView(row pgx.CollectableRow) (v agent.TurnView, err error) {
	var r turnRow
	if err := row.Scan(append(r.into(), &v.Node, &v.Path)...); err != nil {
		return v, err
	}
	leg, err := r.leg()
	v.Turn, v.Of = leg.Turn, leg.Session
	return v, err
}

const turnFilter = `
    c.project_id = @project::text AND (@owner::text = '' OR c.owner = @owner::text)
    AND (@agent::text = '' OR t.agent_key = @agent::text) AND (@session::text = '' OR t.session_id = @session::text)
    AND (@background::boolean IS NULL OR t.background = @background::boolean)`

const listTurnViews = selectTurnViews + `
WHERE ` + turnFilter + ` AND (@state::text = '' OR ` + turnState + ` = @state::text)
    AND (t.created_at, t.id) < (@before::timestamptz, @id::text)
ORDER BY t.created_at DESC, t.id DESC LIMIT @limit::integer`

// TurnViews returns a page of turns, newest first, and the cursor of the next.
func (s *Store) TurnViews(ctx context.Context, q agent.TurnQuery) (list []agent.TurnView, next string, err error) {
	limit, err := pageLimit(q.Page.Limit)
	if err != nil {
		return nil, "", err
	}
	from, err := parseCursor(q.Page.Cursor)
	if err != nil {
		return nil, "", err
	}
	args := turnArgs(q)
	args["state"], args["before"], args["id"], args["limit"] = clean(q.State), from.before, from.id, limit+1
	list, err = all(ctx, s.pool, listTurnViews, args, scanTurnView)
	if err != nil {
		return nil, "", wrap("list turns", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = cursor{list[limit-1].CreatedAt, list[limit-1].ID}.String()
	}
	return list, next, nil
}

func turnArgs(q agent.TurnQuery) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{
		"project": q.Project, "owner": clean(q.Owner), "agent": clean(q.Agent), "session": clean(q.Session), "background": q.Background,
	}
}

// Only the newest are counted: more than anybody pages through.
const countTurns = `
SELECT state, count(*) FROM (
    SELECT ` + turnState + ` AS state` + fromTurns + `
    WHERE ` + turnFilter + `
    ORDER BY t.created_at DESC, t.id DESC LIMIT 10000
) AS newest GROUP BY state`

// TurnCounts returns how many turns there are in each state, of the newest
// 10,000 that the query selects but for its State and Page.
func (s *Store) TurnCounts(ctx context.Context, q agent.TurnQuery) (map[string]int, error) {
	out := map[string]int{}
	_, err := all(ctx, s.pool, countTurns, turnArgs(q), func(row pgx.CollectableRow) (n int, err error) {
		var state string
		err = row.Scan(&state, &n)
		out[state] = n
		return n, err
	})
	return out, wrap("count turns", err)
}

const turnViewByID = selectTurnViews + `
WHERE t.id = @turn::text`

// TurnView returns a turn, whatever its project; agent.ErrNotFound.
func (s *Store) TurnView(ctx context.Context, id string) (agent.TurnView, error) {
	v, err := one(ctx, s.pool, turnViewByID, pgx.StrictNamedArgs{"turn": clean(id)}, scanTurnView)
	return v, wrap("read turn", err)
}

const toolEventsOf = `
SELECT e.session_id, e.seq, e.last_seq, e.turn_id, e.kind, e.body, e.at, false, 0::bigint
FROM turns t JOIN events e ON e.session_id = t.session_id AND e.seq >= t.first_seq
WHERE t.id = @turn::text AND e.turn_id = t.id AND e.kind NOT IN ('text.delta', 'reasoning.delta', 'tool.output')
    AND e.kind IN ('tool.started', 'tool.finished')
ORDER BY e.seq`

// ToolEvents returns the starts and ends of a turn's tools.
func (s *Store) ToolEvents(ctx context.Context, turn string) ([]agent.Event, error) {
	out, err := readEvents(ctx, s.pool, toolEventsOf, pgx.StrictNamedArgs{"turn": clean(turn)})
	return out, wrap("tools of turn", err)
}

const listActionViews = `
SELECT ` + actionColumns + `, a.n, c.id, c.project_id, c.agent_key, c.owner, c.door, c.title, c.created_at, c.updated_at
FROM actions a JOIN sessions c ON c.id = a.session_id
WHERE c.project_id = @project::text AND (@owner::text = '' OR c.owner = @owner::text) AND (@agent::text = '' OR c.agent_key = @agent::text)
    AND (@type::text = '' OR a.type = @type::text) AND a.n < @before::bigint`

const listOpenActions = listActionViews + ` AND a.state = 'open'
ORDER BY a.n DESC LIMIT @limit::integer`

const listClosedActions = listActionViews + ` AND a.state <> 'open'
ORDER BY a.n DESC LIMIT @limit::integer`

// ActionViews returns a page of actions, newest first, and the cursor of the next.
func (s *Store) ActionViews(ctx context.Context, q agent.ActionQuery) (list []agent.ActionView, next string, err error) {
	limit, err := pageLimit(q.Page.Limit)
	if err != nil {
		return nil, "", err
	}
	before, err := parseNumberCursor(q.Page.Cursor)
	if err != nil {
		return nil, "", err
	}
	statement := listOpenActions
	if q.Closed {
		statement = listClosedActions
	}
	var numbers []int64
	list, err = all(ctx, s.pool, statement, pgx.StrictNamedArgs{
		"project": q.Project, "owner": clean(q.Owner), "agent": clean(q.Agent), "type": string(q.Type), "before": before, "limit": limit + 1,
	}, func(row pgx.CollectableRow) (v agent.ActionView, err error) {
		var n int64
		c := &v.Of
		v.Action, err = scanAction(row, &n, &c.ID, &c.Project, &c.Agent, &c.Owner, &c.Door, &c.Title, &c.CreatedAt, &c.UpdatedAt)
		numbers = append(numbers, n)
		return v, err
	})
	if err != nil {
		return nil, "", wrap("list actions", err)
	}
	if len(list) > limit {
		list, next = list[:limit], numberCursor(numbers[limit-1])
	}
	return list, next, nil
}

const inboxOf = `
SELECT count(*), count(*)::text || '.' || coalesce(sum(a.n), 0)::text
FROM actions a JOIN sessions c ON c.id = a.session_id
WHERE a.state = 'open' AND c.project_id = @project::text AND (@owner::text = '' OR c.owner = @owner::text)`

// Inbox says how many actions wait in a project, or in the sessions of one of
// its owners.
func (s *Store) Inbox(ctx context.Context, project, owner string) (agent.Inbox, error) {
	in, err := one(ctx, s.pool, inboxOf, pgx.StrictNamedArgs{"project": project, "owner": clean(owner)}, pgx.RowToStructByPos[agent.Inbox])
	return in, wrap("count open actions", err)
}
