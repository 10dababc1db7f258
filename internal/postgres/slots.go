package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// slotColumns are read by slot.into. Whether a slot is ownerless is a positive
// test on purpose: this statement may have waited for the row's lock and see an
// old picture of nodes, in which a living node is missing or looks silent; dead
// it can look only if it is.
const slotColumns = `
    s.session_id, s.state, coalesce(s.turn_id, ''), coalesce(s.node_id, ''), s.fence, s.depth, s.seq, s.messages,
    s.stop_at, coalesce(s.stop_by, ''), coalesce(s.stop_door, ''), coalesce(s.stop_node, ''), coalesce(s.stop_detail, ''),
    EXISTS (SELECT FROM nodes n WHERE n.id = s.node_id AND n.dead_at IS NOT NULL), clock_timestamp()`

// slot is a row of run_slots, as it was when it was read or locked.
type slot struct {
	session   string
	state     agent.SlotState
	turn      string
	node      string
	fence     int64
	depth     int
	seq       int64
	messages  int
	stopAt    *time.Time
	stop      agent.Stop
	ownerless bool // it runs on a node that was declared dead
	now       time.Time
}

func (s *slot) into() []any {
	return []any{
		&s.session, &s.state, &s.turn, &s.node, &s.fence, &s.depth, &s.seq, &s.messages,
		&s.stopAt, &s.stop.By, &s.stop.Door, &s.stop.Node, &s.stop.Detail, &s.ownerless, &s.now,
	}
}

func (s *slot) lease() agent.Lease {
	return agent.Lease{Session: s.session, Turn: s.turn, Node: s.node, Fence: s.fence}
}

// asked returns the stop that the row holds, nil for none.
func (s *slot) asked() *agent.Stop {
	if s.stopAt == nil {
		return nil
	}
	stop := s.stop
	stop.At = *s.stopAt
	return &stop
}

func (s *slot) busy() error {
	return &agent.BusyError{
		Session: s.session, Turn: s.turn, Stopping: s.stopAt != nil, Waiting: s.state == agent.SlotWaiting,
	}
}

// into lets a row be scanned by the queued statement of a batch.
func into(dst []any, found *bool) func(pgx.Row) error {
	return func(row pgx.Row) error {
		err := row.Scan(dst...)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		*found = err == nil
		return err
	}
}

// Take begins a turn in its session's slot: the turn, its user message and
// turn.started in one transaction. What waits in the slot is ended, superseded;
// what a dead node left there is settled first. agent.BusyError names any other
// turn in the way; agent.ErrNotFound (session), agent.ErrParentStopped,
// agent.ErrNodeDead. The same turn again gets the leg that the first call took.
func (s *Store) Take(ctx context.Context, b agent.Begin) (agent.Leg, error) {
	what := "take slot of session " + b.Session.ID
	if b.New && b.Turn.Parent == nil && len(b.Callbacks) == 0 && b.Once == nil && b.MostRuns == 0 {
		if leg, ok, err := s.takeNew(ctx, b); ok || err != nil {
			return leg, wrap(what, err)
		}
	}
	var t taking
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		t = taking{tx: tx, b: b, store: s}
		return t.run(ctx)
	})
	if err == nil && !t.taken {
		err = agent.ErrNodeDead
	}
	if err != nil {
		return agent.Leg{}, wrap(what, err)
	}
	return t.leg(), nil
}

// takeNew takes a slot that is made with it, in one statement: nobody else can
// know the session yet, so there is nothing to lock. The check of the node is in
// it too. No row: the node is dead, or the session is there, by an earlier try.
const takeNew = `
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
    WHERE @node::text = '' OR EXISTS (SELECT FROM nodes WHERE id = @node::text AND dead_at IS NULL)
), session AS (
    INSERT INTO sessions (id, project_id, agent_key, owner, door, title, metadata, created_at, updated_at)
    SELECT @session::text, @project::text, coalesce(nullif(@of::text, ''), @agent::text), @owner::text, @door::text, @title::text, @noted::json,
        coalesce(@created::timestamptz, now), now
    FROM clock ON CONFLICT DO NOTHING
    RETURNING id, created_at, updated_at
), slot AS (
    INSERT INTO run_slots (session_id, state, turn_id, node_id, fence, depth, seq, messages, taken_at, queued_at,
        project_id, background, patience_ms, expires_at)
    SELECT id, CASE WHEN @node::text = '' THEN 'queued' ELSE 'running' END, @turn::text, nullif(@node::text, ''), 1, @depth::integer,
        @last::bigint, @index::integer,
        CASE WHEN @node::text <> '' THEN now END, CASE WHEN @node::text = '' THEN now END,
        @project::text, @background::boolean, @patience::bigint,
        CASE WHEN @node::text = '' THEN now + make_interval(secs => @patience::bigint / 1000.0) END
    FROM session, clock
    RETURNING session_id, state, taken_at
), turn AS (
    INSERT INTO turns (id, session_id, project_id, owner, agent_key, version, config, door, started_by, background, metadata, depth,
        first_seq, first_words, message_index, status, created_at, started_at)
    SELECT @turn::text, session_id, @project::text, @owner::text, @agent::text, @version::integer, @config::json, @door::text, @by::text,
        @background::boolean, @metadata::json, @depth::integer, @first::bigint, @own::integer, @index::integer, state, now, taken_at
    FROM slot, clock
), words AS (
    INSERT INTO events (session_id, seq, last_seq, turn_id, fence, kind, body, at)
    SELECT s.session_id, e.seq, e.seq, e.turn_id, 1, e.kind, e.body::json, now
    FROM slot s, clock, unnest(@seqs::bigint[], @turns::text[], @kinds::text[], @bodies::text[]) AS e (seq, turn_id, kind, body)
)
SELECT clock.now, session.created_at, session.updated_at, slot.taken_at FROM clock, session, slot`

func (s *Store) takeNew(ctx context.Context, b agent.Begin) (agent.Leg, bool, error) {
	t := taking{b: b, session: b.Session, slot: slot{session: b.Session.ID, state: agent.SlotIdle}}
	t.words()
	all, err := t.args()
	if err != nil {
		return agent.Leg{}, false, err
	}
	noted, err := jsonOrNull(b.Session.Metadata, b.Session.Metadata == nil)
	if err != nil {
		return agent.Leg{}, false, err
	}
	args := pgx.StrictNamedArgs{"of": b.Session.Agent, "noted": noted, "created": nil}
	for _, k := range []string{"session", "project", "owner", "turn", "node", "agent", "version", "config", "door", "by", "background", "patience", "metadata", "depth",
		"first", "own", "last", "index", "seqs", "turns", "kinds", "bodies", "title"} {
		args[k] = all[k]
	}
	if !b.Session.CreatedAt.IsZero() {
		args["created"] = b.Session.CreatedAt
	}
	if b.Session.Title != "" {
		args["title"] = clean(b.Session.Title)
	}
	x := &t.session
	err = s.pool.QueryRow(ctx, takeNew, args).Scan(&t.slot.now, &x.CreatedAt, &x.UpdatedAt, &t.at)
	if errors.Is(err, pgx.ErrNoRows) {
		return agent.Leg{}, false, nil
	}
	if err != nil {
		return agent.Leg{}, false, err
	}
	x.Title, _ = args["title"].(string)
	t.turn.CreatedAt = t.slot.now
	for i := range t.events {
		t.events[i].At = t.slot.now
	}
	return t.leg(), true, nil
}

// taking is one take in its transaction.
type taking struct {
	store   *Store
	tx      *txn
	b       agent.Begin
	slot    slot
	session agent.Session
	label   string // of b.Node
	known   int64  // fence of the first take of this turn, 0: none before
	open    int    // requests of the session, whichever turn's
	runs    int    // background runs that the project has, if that is asked for

	hasSlot, hasParent, hasKnown bool

	turn    agent.Turn // what is written
	history []agent.Event
	events  []agent.Event
	at      *time.Time // when it was taken running
	taken   bool
	first   *agent.Leg // the leg of an earlier take of the same turn
}

func (t *taking) run(ctx context.Context) error {
	if err := t.reserve(ctx); err != nil {
		return err
	}
	if err := t.lock(ctx); err != nil {
		return err
	}
	if t.hasKnown {
		return t.again(ctx)
	}
	if err := t.refused(); err != nil {
		return err
	}
	if m := t.b.MostRuns; m > 0 && t.runs >= m {
		return agent.ErrRunLimit
	}
	if err := t.vacate(ctx); err != nil {
		return err
	}
	return t.write(ctx)
}

// leg is what was taken, once that is committed.
func (t *taking) leg() agent.Leg {
	if t.first != nil {
		return *t.first
	}
	t.turn.StartedAt = deref(t.at)
	return agent.Leg{
		Lease:   agent.Lease{Session: t.slot.session, Turn: t.turn.ID, Node: t.b.Node, Fence: t.slot.fence + 1},
		Session: t.session, Turn: t.turn, Seq: t.turn.FirstSeq - 1, Events: t.events,
	}
}

const makeSession = `
INSERT INTO sessions (id, project_id, agent_key, owner, door, title, metadata, created_at)
VALUES (@id::text, @project::text, @agent::text, @owner::text, @door::text, @title::text, @noted::json,
    coalesce(@created::timestamptz, clock_timestamp()))
ON CONFLICT DO NOTHING`

const makeSlot = `
INSERT INTO run_slots (session_id) VALUES (@id::text) ON CONFLICT DO NOTHING`

// A child is taken only while its parent's very leg runs and nobody asked to
// stop it; the share lock holds until the child is committed, so whoever stops
// or closes the parent sees the child.
const lockParent = `
SELECT true FROM run_slots
WHERE session_id = @session::text AND turn_id = @turn::text AND fence = @fence::bigint AND state = 'running' AND stop_at IS NULL
FOR SHARE`

const lockForTake = `
SELECT ` + slotColumns + `,
    c.project_id, c.agent_key, c.owner, c.door, c.title, c.created_at, coalesce((SELECT label FROM nodes WHERE id = @node::text), '')
FROM run_slots s JOIN sessions c ON c.id = s.session_id
WHERE s.session_id = @session::text
FOR UPDATE OF s`

const takenBefore = `
SELECT e.fence FROM turns t JOIN events e ON e.session_id = t.session_id AND e.seq = t.first_seq
WHERE t.id = @turn::text AND t.session_id = @session::text`

const countOpen = `
SELECT count(*) FROM actions WHERE session_id = @session::text AND state = 'open'`

// queueSession makes a session and its slot, unless they are there.
func queueSession(batch *pgx.Batch, c agent.Session) error {
	noted, err := jsonOrNull(c.Metadata, c.Metadata == nil)
	if err != nil {
		return err
	}
	var created *time.Time
	if !c.CreatedAt.IsZero() {
		created = &c.CreatedAt
	}
	batch.Queue(makeSession, pgx.StrictNamedArgs{
		"id": c.ID, "project": c.Project, "agent": clean(c.Agent), "owner": c.Owner, "door": c.Door, "title": clean(c.Title), "noted": noted,
		"created": created,
	})
	batch.Queue(makeSlot, pgx.StrictNamedArgs{"id": c.ID})
	return nil
}

// lock makes the session where it is new, and locks parent and slot.
func (t *taking) lock(ctx context.Context) error {
	var batch pgx.Batch
	c := t.b.Session
	if t.b.New {
		if err := queueSession(&batch, c); err != nil {
			return err
		}
	}
	t.hasParent = t.b.Turn.Parent == nil
	if p := t.b.Turn.Parent; p != nil {
		var yes bool
		batch.Queue(lockParent, pgx.StrictNamedArgs{"session": p.Session, "turn": p.Turn, "fence": p.Fence}).
			QueryRow(into([]any{&yes}, &t.hasParent))
	}
	x := &t.session
	dst := append(t.slot.into(), &x.Project, &x.Agent, &x.Owner, &x.Door, &x.Title, &x.CreatedAt, &t.label)
	batch.Queue(lockForTake, pgx.StrictNamedArgs{"session": c.ID, "node": t.b.Node}).QueryRow(into(dst, &t.hasSlot))
	batch.Queue(takenBefore, pgx.StrictNamedArgs{"turn": t.b.Turn.ID, "session": c.ID}).QueryRow(into([]any{&t.known}, &t.hasKnown))
	batch.Queue(countOpen, pgx.StrictNamedArgs{"session": c.ID}).QueryRow(into([]any{&t.open}, new(bool)))
	err := t.tx.send(ctx, &batch)
	x.ID = c.ID
	return err
}

func (t *taking) refused() error {
	switch {
	case !t.hasParent:
		return fmt.Errorf("parent %s: %w", t.b.Turn.Parent, agent.ErrParentStopped)
	case !t.hasSlot, t.session.Agent != "" && t.b.Turn.Agent != "" && t.session.Agent != t.b.Turn.Agent:
		return agent.ErrNotFound
	case t.slot.state == agent.SlotIdle, t.slot.ownerless:
		return nil
	case t.slot.state == agent.SlotWaiting && !t.b.NoSupersede:
		return nil
	}
	return t.slot.busy()
}

// again answers a take that was made already. Where the leg is over since, its
// lease says so at the first look.
func (t *taking) again(ctx context.Context) error {
	leg, err := readLeg(ctx, t.tx, t.b.Turn.ID)
	if err != nil {
		return err
	}
	leg.Lease = agent.Lease{Session: leg.Session.ID, Turn: leg.Turn.ID, Node: t.b.Node, Fence: t.known}
	leg.Seq = leg.Turn.FirstSeq - 1
	leg.Events, err = readEvents(ctx, t.tx, eventsBetween, pgx.StrictNamedArgs{
		"session": leg.Session.ID, "from": leg.Turn.FirstSeq, "to": leg.Turn.FirstSeq + int64(t.own()) - 1, "fence": t.known,
	})
	t.first, t.taken = &leg, true
	return err
}

// vacate ends what is left in a slot that will be taken, and what earlier turns
// left open: the conversation moves on without it.
func (t *taking) vacate(ctx context.Context) (err error) {
	e := ender{tx: t.tx}
	switch t.slot.state {
	case agent.SlotWaiting:
		stop := agent.Stop{By: t.b.Turn.By, Door: t.b.Turn.Door, Node: t.label, Address: t.b.Address, Detail: agent.DetailSuperseded, At: t.slot.now}
		auditStop(t.tx, t.slot.session, t.slot.turn, stop)
		err = e.withTree(ctx, &t.slot, func() (agent.Stop, error) { return e.endIdle(ctx, &t.slot, stop, true) })
	case agent.SlotRunning:
		err = e.withTree(ctx, &t.slot, func() (agent.Stop, error) { return e.settleForOther(ctx, &t.slot, false) })
	}
	if err != nil || t.open == 0 {
		return err
	}
	free := t.slot
	free.state = agent.SlotIdle
	err = e.withdrawLeft(ctx, &free, "", "", t.b.Turn.By)
	t.slot.seq = free.seq
	return err
}

// takeSlot is one statement, so that a node that was declared dead takes
// nothing, and writes nothing of the turn either.
const takeSlot = `
WITH taken AS (
    UPDATE run_slots SET
        state = CASE WHEN @node::text = '' THEN 'queued' ELSE 'running' END, turn_id = @turn::text, node_id = nullif(@node::text, ''),
        fence = @fence::bigint, depth = @depth::integer, seq = @last::bigint, messages = @index::integer, continues = false,
        taken_at = CASE WHEN @node::text <> '' THEN clock_timestamp() END,
        queued_at = CASE WHEN @node::text = '' THEN clock_timestamp() END,
        project_id = @project::text, background = @background::boolean, patience_ms = @patience::bigint,
        expires_at = CASE WHEN @node::text = '' THEN clock_timestamp() + make_interval(secs => @patience::bigint / 1000.0) END,
        stop_at = NULL, stop_by = NULL, stop_door = NULL, stop_node = NULL, stop_detail = NULL
    WHERE session_id = @session::text
      AND (@node::text = '' OR EXISTS (SELECT FROM nodes WHERE id = @node::text AND dead_at IS NULL))
    RETURNING session_id, state, taken_at
), turn AS (
    INSERT INTO turns (id, session_id, project_id, owner, agent_key, version, config, door, started_by, background, metadata, depth,
        parent_session_id, parent_turn_id, parent_fence, first_seq, first_words, message_index, status, created_at, started_at)
    SELECT @turn::text, session_id, @project::text, @owner::text, @agent::text, @version::integer, @config::json, @door::text, @by::text,
        @background::boolean, @metadata::json, @depth::integer, @parent_session::text, @parent_turn::text, @parent_fence::bigint, @first::bigint, @own::integer, @index::integer, state,
        @now::timestamptz, taken_at
    FROM taken
), words AS (
    INSERT INTO events (session_id, seq, last_seq, turn_id, fence, kind, body, at)
    SELECT t.session_id, e.seq, e.seq, e.turn_id, @fence::bigint, e.kind, e.body::json, @now::timestamptz
    FROM taken t, unnest(@seqs::bigint[], @turns::text[], @kinds::text[], @bodies::text[]) AS e (seq, turn_id, kind, body)
), session AS (
    UPDATE sessions c SET updated_at = clock_timestamp(), title = CASE WHEN c.title = '' THEN @title::text ELSE c.title END,
        agent_key = CASE WHEN c.agent_key = '' THEN @agent::text ELSE c.agent_key END
    FROM taken t WHERE c.id = t.session_id
    RETURNING c.title, c.updated_at
)
SELECT session.title, session.updated_at, taken.taken_at FROM taken, session`

// write takes the slot, which is idle by now. Where nothing was written before,
// that goes in one round trip with the commit: a node that was declared dead has
// then written nothing.
func (t *taking) write(ctx context.Context) error {
	t.words()
	args, err := t.args()
	if err != nil {
		return err
	}
	var batch pgx.Batch
	batch.Queue(takeSlot, args).QueryRow(into([]any{&t.session.Title, &t.session.UpdatedAt, &t.at}, &t.taken))
	for _, c := range t.b.Callbacks {
		if err := t.store.queueCallback(&batch, t.turn.ID, c); err != nil {
			return err
		}
	}
	if t.slot.state == agent.SlotIdle && t.open == 0 {
		t.tx.later(&batch)
		return nil
	}
	if err := t.tx.send(ctx, &batch); err != nil {
		return err
	}
	if !t.taken {
		return agent.ErrNodeDead
	}
	return nil
}

// words makes the turn as it will be read back, and its first events.
func (t *taking) words() {
	t.turn = t.b.Turn
	turn := &t.turn
	t.history = posted(t.slot, agent.HistoryID(turn.ID), t.b.History)
	past := len(t.b.History)
	turn.Session, turn.FirstSeq, turn.Index = t.slot.session, t.slot.seq+int64(past)+1, t.slot.messages+past+t.own()-1
	turn.Status, turn.CreatedAt = agent.StatusQueued, t.slot.now
	turn.Callback = ownCallback(t.b.Callbacks)
	if t.b.Node != "" {
		turn.Status = agent.StatusRunning
	}
	if t.session.Agent == "" {
		t.session.Agent = turn.Agent
	}
	bodies := []agent.Body{
		agent.Message{Index: turn.Index - 1, Role: agent.RoleUser, Text: t.b.Input, Status: agent.StatusCompleted},
		agent.TurnStarted{
			Agent: turn.Agent, Version: turn.Version, Model: turn.Spec.Model, Door: turn.Door, By: turn.By,
			Index: turn.Index, Background: turn.Background,
		},
	}
	t.events = number(t.slot, turn.ID, turn.FirstSeq-1, bodies[len(bodies)-t.own():])
}

// own is how many events of its own the turn begins with.
func (t *taking) own() int {
	if t.b.NoInput {
		return 1
	}
	return 2
}

func (t *taking) args() (pgx.StrictNamedArgs, error) {
	turn := t.turn
	all := slices.Concat(t.history, t.events)
	rows, err := agent.Pack(all)
	if err != nil {
		return nil, err
	}
	var c columns
	c.add(0, rows)
	config, err := json.Marshal(turn.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode config: %w", err)
	}
	metadata, err := jsonOrNull(turn.Metadata, turn.Metadata == nil)
	args := pgx.StrictNamedArgs{
		"session": t.slot.session, "turn": turn.ID, "node": t.b.Node, "fence": t.slot.fence + 1,
		"agent": turn.Agent, "version": turn.Version, "config": string(config), "door": turn.Door, "by": turn.By,
		"background": turn.Background, "metadata": metadata, "depth": turn.Depth, "index": turn.Index,
		"project": t.session.Project, "owner": t.session.Owner, "patience": nil,
		"parent_session": nil, "parent_turn": nil, "parent_fence": nil,
		"first": turn.FirstSeq, "own": t.own(), "last": all[len(all)-1].Seq, "seqs": c.seq, "turns": c.turn, "kinds": c.kind, "bodies": c.body,
		"now": t.slot.now, "title": title(t.b.History, t.b.Input),
	}
	if turn.Background {
		args["patience"] = turn.Spec.Execution.MaxDuration().Milliseconds()
	}
	if p := turn.Parent; p != nil {
		args["parent_session"], args["parent_turn"], args["parent_fence"] = p.Session, p.Turn, p.Fence
	}
	return args, err
}

// jsonOrNull encodes v for a json column.
func jsonOrNull(v any, null bool) (*string, error) {
	if null {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return new(string(b)), nil
}

// title is a session's first user message in one line of at most 80 characters.
func title(history []agent.Prompt, input string) string {
	if i := slices.IndexFunc(history, func(p agent.Prompt) bool { return p.Role == agent.RoleUser }); i >= 0 {
		input = history[i].Text
	}
	line := strings.Join(strings.FieldsFunc(clean(input), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if r := []rune(line); len(r) > 80 {
		return string(r[:80])
	}
	return line
}
