package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// turnColumns are read by turnRow.into: a turn t, its session c and the slot s.
// All may be null, for a claim that finds nothing.
const turnColumns = `
    coalesce(t.id, ''), coalesce(t.agent_key, ''), coalesce(t.version, 0), t.config, coalesce(t.door, ''), coalesce(t.started_by, ''),
    coalesce(t.background, false), t.metadata, coalesce(t.depth, 0),
    coalesce(t.parent_session_id, ''), coalesce(t.parent_turn_id, ''), coalesce(t.parent_fence, 0),
    coalesce(t.first_seq, 0), coalesce(t.message_index, 0), coalesce(t.status, ''), coalesce(t.stop_reason, ''), coalesce(t.stop_detail, ''),
    t.stop, t.error, CASE WHEN t.background THEN ` + callbackOfTurn + ` END,
    coalesce(t.input_tokens, 0), coalesce(t.cached_tokens, 0), coalesce(t.output_tokens, 0), coalesce(t.reasoning_tokens, 0),
    coalesce(t.estimated, false), coalesce(t.cost_usd, 0), coalesce((SELECT max(u.call) FROM usage u WHERE u.turn_id = t.id), 0),
    coalesce(t.worked_ms, 0) + CASE WHEN s.turn_id = t.id AND s.state = 'running'
        THEN (extract(epoch FROM clock_timestamp() - s.taken_at) * 1000)::bigint ELSE 0 END,
    t.created_at, t.started_at, t.ended_at,
    coalesce(c.id, ''), coalesce(c.project_id, ''), coalesce(c.agent_key, ''), coalesce(c.owner, ''), coalesce(c.door, ''),
    coalesce(c.title, ''), c.created_at, c.updated_at,
    CASE WHEN s.turn_id = t.id THEN s.stop_at END, coalesce(s.stop_by, ''), coalesce(s.stop_door, ''), coalesce(s.stop_node, ''),
    coalesce(s.stop_detail, '')`

// turnRow is a turn with its session, and the stop that its slot asks for.
type turnRow struct {
	turn                            agent.Turn
	session                         agent.Session
	parent                          agent.Lease
	config, metadata, stop, failure []byte
	callback                        []byte
	turnCreated, started, ended     *time.Time
	created, updated                *time.Time
	askedAt                         *time.Time
	asked                           agent.Stop
	worked                          int64 // ms
}

func (r *turnRow) into() []any {
	t, u, c := &r.turn, &r.turn.Usage, &r.session
	return []any{
		&t.ID, &t.Agent, &t.Version, &r.config, &t.Door, &t.By, &t.Background, &r.metadata, &t.Depth,
		&r.parent.Session, &r.parent.Turn, &r.parent.Fence,
		&t.FirstSeq, &t.Index, &t.Status, &t.StopReason, &t.StopDetail, &r.stop, &r.failure, &r.callback,
		&u.Input, &u.CachedInput, &u.Output, &u.Reasoning, &u.Estimated, &u.CostUSD, &t.Calls, &r.worked,
		&r.turnCreated, &r.started, &r.ended,
		&c.ID, &c.Project, &c.Agent, &c.Owner, &c.Door, &c.Title, &r.created, &r.updated,
		&r.askedAt, &r.asked.By, &r.asked.Door, &r.asked.Node, &r.asked.Detail,
	}
}

// leg returns the turn and its session as a leg; its lease has no node and no
// fence yet.
func (r *turnRow) leg() (agent.Leg, error) {
	t := r.turn
	for _, j := range []struct {
		from []byte
		to   any
	}{{r.config, &t.Spec}, {r.metadata, &t.Metadata}, {r.stop, &t.Stop}, {r.failure, &t.Error}, {r.callback, &t.Callback}} {
		if j.from == nil {
			continue
		}
		if err := json.Unmarshal(j.from, j.to); err != nil {
			return agent.Leg{}, fmt.Errorf("decode turn %s: %w", t.ID, err)
		}
	}
	if r.parent.Turn != "" {
		t.Parent = &r.parent
	}
	if t.Stop == nil && r.askedAt != nil {
		r.asked.At = *r.askedAt
		t.Stop = &r.asked
	}
	t.Session = r.session.ID
	t.Worked = time.Duration(r.worked) * time.Millisecond
	t.CreatedAt, t.StartedAt, t.EndedAt = deref(r.turnCreated), deref(r.started), deref(r.ended)
	r.session.CreatedAt, r.session.UpdatedAt = deref(r.created), deref(r.updated)
	return agent.Leg{Lease: agent.Lease{Session: t.Session, Turn: t.ID}, Session: r.session, Turn: t}, nil
}

func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

const readTurn = `
SELECT ` + turnColumns + `
FROM turns t JOIN sessions c ON c.id = t.session_id LEFT JOIN run_slots s ON s.session_id = t.session_id
WHERE t.id = @turn::text`

func readLeg(ctx context.Context, q runner, turn string) (agent.Leg, error) {
	row, err := one(ctx, q, readTurn, pgx.StrictNamedArgs{"turn": turn}, func(row pgx.CollectableRow) (r turnRow, err error) {
		return r, row.Scan(r.into()...)
	})
	if err != nil {
		return agent.Leg{}, err
	}
	return row.leg()
}

// Turn returns a turn and its session; agent.ErrNotFound. The Stop of a turn
// that has not ended is the one that its slot asks for.
func (s *Store) Turn(ctx context.Context, id string) (agent.Turn, agent.Session, error) {
	leg, err := readLeg(ctx, s.pool, id)
	return leg.Turn, leg.Session, wrap("turn "+id, err)
}
