package postgres

import (
	"context"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const receiptColumns = `
    project_id, agent_key, sender, message_id, turn_id, coalesce(session_id, ''), action_id, text, at`

func scanReceipt(row pgx.CollectableRow) (r agent.Receipt, err error) {
	err = row.Scan(&r.Project, &r.Agent, &r.Sender, &r.ID, &r.Turn, &r.Session, &r.Action, &r.Text, &r.At)
	return r, err
}

// A receipt whose turn has not begun is somebody's who is about to begin it, for
// a minute; no beginning takes so long, so after that it is free.
const keepReceipt = `
INSERT INTO receipts (project_id, agent_key, sender, message_id, turn_id, session_id, action_id, text)
VALUES (@project::text, @agent::text, @sender::text, @id::text, @turn::text, nullif(@session::text, ''), @action::text, @text::text)
ON CONFLICT (project_id, agent_key, sender, message_id) DO UPDATE SET
    turn_id = excluded.turn_id, session_id = excluded.session_id, action_id = excluded.action_id, text = excluded.text, at = clock_timestamp()
WHERE receipts.action_id = '' AND receipts.at < clock_timestamp() - interval '1 minute'
  AND NOT EXISTS (SELECT FROM turns t WHERE t.id = receipts.turn_id)
RETURNING ` + receiptColumns

const receiptByID = `
SELECT ` + receiptColumns + ` FROM receipts
WHERE project_id = @project::text AND agent_key = @agent::text AND sender = @sender::text AND message_id = @id::text`

// Receive keeps a receipt, and returns the one that is kept: another than r
// where its sender used the id before.
func (s *Store) Receive(ctx context.Context, r agent.Receipt) (agent.Receipt, error) {
	args := receiptArgs(r)
	args["turn"], args["session"], args["action"], args["text"] = r.Turn, r.Session, r.Action, clean(r.Text)
	rows, err := all(ctx, s.pool, keepReceipt, args, scanReceipt)
	if err == nil && len(rows) == 1 {
		return rows[0], nil
	}
	if err != nil {
		return agent.Receipt{}, wrap("keep receipt", err)
	}
	kept, err := one(ctx, s.pool, receiptByID, receiptArgs(r), scanReceipt)
	return kept, wrap("read receipt", err)
}

func receiptArgs(r agent.Receipt) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"project": r.Project, "agent": r.Agent, "sender": r.Sender, "id": clean(r.ID)}
}

const bindReceipt = `
UPDATE receipts SET session_id = (SELECT id FROM sessions WHERE id = @session::text)
WHERE project_id = @project::text AND agent_key = @agent::text AND sender = @sender::text AND message_id = @id::text
  AND turn_id = @turn::text`

// BindReceipt tells the session of a receipt that was kept without one, so that
// it is deleted with it.
func (s *Store) BindReceipt(ctx context.Context, r agent.Receipt) error {
	args := receiptArgs(r)
	args["session"], args["turn"] = r.Session, r.Turn
	_, err := s.pool.Exec(ctx, bindReceipt, args)
	return wrap("bind receipt", err)
}

const dropReceipt = `
DELETE FROM receipts
WHERE project_id = @project::text AND agent_key = @agent::text AND sender = @sender::text AND message_id = @id::text
  AND turn_id = @turn::text AND action_id = @action::text`

// DropReceipt forgets a receipt whose message was refused: it may be sent again.
func (s *Store) DropReceipt(ctx context.Context, r agent.Receipt) error {
	args := receiptArgs(r)
	args["turn"], args["action"] = r.Turn, r.Action
	_, err := s.pool.Exec(ctx, dropReceipt, args)
	return wrap("drop receipt", err)
}

const receiptsOfTurn = `
SELECT ` + receiptColumns + ` FROM receipts WHERE turn_id = @turn::text ORDER BY at`

// Receipts returns the receipts of a turn's messages, in the order they came.
func (s *Store) Receipts(ctx context.Context, turn string) ([]agent.Receipt, error) {
	list, err := all(ctx, s.pool, receiptsOfTurn, pgx.StrictNamedArgs{"turn": turn}, scanReceipt)
	return list, wrap("receipts of turn "+turn, err)
}
