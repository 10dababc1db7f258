package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// posted makes the events of messages that no turn writes, with the numbers and
// indexes after the slot's.
func posted(sl slot, id string, messages []agent.Prompt) []agent.Event {
	bodies := make([]agent.Body, len(messages))
	for i, m := range messages {
		bodies[i] = agent.Message{Index: sl.messages + i, Role: m.Role, Text: m.Text, Status: agent.StatusCompleted}
	}
	return number(sl, id, sl.seq, bodies)
}

const postedBefore = `
SELECT session_id, seq, last_seq, turn_id, kind, body, at, false, 0::bigint FROM events
WHERE session_id = @session::text AND turn_id = @post::text AND kind NOT IN ('text.delta', 'reasoning.delta', 'tool.output')
ORDER BY seq`

const countPosted = `
WITH slot AS (
    UPDATE run_slots SET seq = @seq::bigint, messages = @messages::integer WHERE session_id = @session::text
)
UPDATE sessions SET updated_at = clock_timestamp(), title = CASE WHEN title = '' THEN @title::text ELSE title END
WHERE id = @session::text`

// Post writes messages into a session whose slot nothing runs in: who holds the
// slot's lock while nobody owns it gives the numbers. What waits in the slot is
// ended, superseded; what a dead node left there is settled first.
// agent.BusyError, agent.ErrNotFound. The same posting again returns the events
// of the first.
func (s *Store) Post(ctx context.Context, p agent.Posting) ([]agent.Event, error) {
	var events []agent.Event
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		t := taking{tx: tx, b: agent.Begin{Session: agent.Session{ID: p.Session}, Turn: agent.Turn{By: p.By, Door: p.Door}}}
		if err := t.lock(ctx); err != nil {
			return err
		}
		if !t.hasSlot {
			return agent.ErrNotFound
		}
		var err error
		events, err = readEvents(ctx, tx, postedBefore, pgx.StrictNamedArgs{"session": p.Session, "post": p.ID})
		if err != nil || len(events) > 0 {
			return err
		}
		events, err = t.post(ctx, p)
		return err
	})
	if err != nil {
		return nil, wrap("post to session "+p.Session, err)
	}
	return events, nil
}

// post writes into the slot, which is locked.
func (t *taking) post(ctx context.Context, p agent.Posting) ([]agent.Event, error) {
	if err := t.refused(); err != nil {
		return nil, err
	}
	if err := t.vacate(ctx); err != nil {
		return nil, err
	}
	events := posted(t.slot, p.ID, p.Messages)
	var batch pgx.Batch
	if err := queueEvents(&batch, insertEvents, t.slot.session, t.slot.fence, events); err != nil {
		return nil, err
	}
	batch.Queue(countPosted, pgx.StrictNamedArgs{
		"session": t.slot.session, "seq": t.slot.seq + int64(len(events)), "messages": t.slot.messages + len(events),
		"title": title(p.Messages, ""),
	})
	t.tx.later(&batch)
	return events, nil
}

// CreateSession makes a session with messages in it and no turn yet, under a new
// id where it has none, and returns it. One that is there already is left as it is.
func (s *Store) CreateSession(ctx context.Context, x agent.Session, messages []agent.Prompt) (agent.SessionInfo, error) {
	x.ID = cmp.Or(x.ID, agent.NewID())
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		t := taking{tx: tx, b: agent.Begin{Session: x, New: true}}
		if err := t.lock(ctx); err != nil || t.slot.seq > 0 || len(messages) == 0 {
			return refused(err)
		}
		_, err := t.post(ctx, agent.Posting{ID: agent.HistoryID(x.ID), Session: x.ID, Messages: messages})
		return err
	})
	if err != nil {
		return agent.SessionInfo{}, wrap("create session", err)
	}
	return s.Session(ctx, x.ID)
}

const setMetadata = `
UPDATE sessions SET metadata = @metadata::json, updated_at = clock_timestamp() WHERE id = @session::text`

// SetMetadata replaces what a session's owner has noted about it;
// agent.ErrNotFound.
func (s *Store) SetMetadata(ctx context.Context, session string, metadata map[string]string) error {
	b, err := json.Marshal(metadata)
	if err != nil {
		return fmt.Errorf("encode metadata: %w", err)
	}
	args := sessionArgs(session)
	args["metadata"] = string(b)
	tag, err := s.pool.Exec(ctx, setMetadata, args)
	if err == nil && tag.RowsAffected() == 0 {
		err = agent.ErrNotFound
	}
	return wrap("set metadata", err)
}
