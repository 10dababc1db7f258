package postgres

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// An entry is written in the transaction that does what it records, so neither
// is there without the other. It names no row that could be deleted under it.

func (s *Store) auditArgs(what agent.AuditAction, by agent.Actor) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{
		"action": what, "by": clean(by.By), "door": by.Door, "node": s.node, "address": clean(by.Address),
	}
}

const auditOfSession = `
INSERT INTO audit (project_id, action, by, door, node, address, session_id, turn_id, subject, detail)
SELECT c.project_id, @action::text, @by::text, @door::text, @node::text, @address::text, c.id, @turn::text, @subject::text, @detail::text
FROM sessions c WHERE c.id = @session::text`

// auditStop records who stopped a turn, once: a second stop changes nothing.
func auditStop(tx *txn, session, turn string, st agent.Stop) {
	var batch pgx.Batch
	batch.Queue(auditOfSession, pgx.StrictNamedArgs{
		"action": agent.AuditStop, "by": clean(st.By), "door": st.Door, "node": clean(st.Node), "address": clean(st.Address),
		"session": session, "turn": turn, "subject": "", "detail": st.Detail,
	})
	tx.later(&batch)
}

func (s *Store) auditDecision(tx *txn, a agent.Action, d agent.Decision) {
	args := s.auditArgs(agent.AuditDecide, agent.Actor{By: d.By, Door: d.Door, Address: d.Address})
	args["session"], args["turn"], args["subject"], args["detail"] = a.Session, a.Turn, a.ID, string(a.State)
	var batch pgx.Batch
	batch.Queue(auditOfSession, args)
	tx.later(&batch)
}

const auditOfProject = `
INSERT INTO audit (project_id, action, by, door, node, address, subject, detail)
VALUES (@project::text, @action::text, @by::text, @door::text, @node::text, @address::text, @subject::text, @detail::text)`

// audit records what is about a project's thing and no conversation.
func (s *Store) audit(ctx context.Context, tx *txn, what agent.AuditAction, by agent.Actor, project, subject, detail string) error {
	args := s.auditArgs(what, by)
	args["project"], args["subject"], args["detail"] = project, subject, clean(detail)
	_, err := tx.Exec(ctx, auditOfProject, args)
	return err
}

const listAudit = `
SELECT n, project_id, at, action, by, door, node, address, coalesce(session_id, ''), coalesce(turn_id, ''), subject, detail
FROM audit
WHERE project_id = @project::text AND n < @before::bigint
    AND (@action::text = '' OR action = @action::text) AND (@by::text = '' OR by = @by::text)
    AND (@session::text = '' OR session_id = @session::text) AND (@turn::text = '' OR turn_id = @turn::text)
ORDER BY n DESC LIMIT @limit::integer`

// Audit returns a page of a project's audit log, newest first, and the cursor of
// the next page, empty at the end. A bad cursor or limit is a *agent.FieldError.
func (s *Store) Audit(ctx context.Context, f agent.AuditFilter) (list []agent.AuditEntry, next string, err error) {
	limit, err := pageLimit(f.Page.Limit)
	if err != nil {
		return nil, "", err
	}
	before, err := parseNumber(f.Page.Cursor)
	if err != nil {
		return nil, "", err
	}
	list, err = all(ctx, s.pool, listAudit, pgx.StrictNamedArgs{
		"project": f.Project, "before": before, "action": f.Action, "by": clean(f.By), "session": clean(f.Session), "turn": clean(f.Turn),
		"limit": limit + 1,
	}, scanAudit)
	if err != nil {
		return nil, "", wrap("list audit", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(list[limit-1].ID))
	}
	return list, next, nil
}

func scanAudit(row pgx.CollectableRow) (e agent.AuditEntry, err error) {
	var n int64
	err = row.Scan(&n, &e.Project, &e.At, &e.Action, &e.By, &e.Door, &e.Node, &e.Address, &e.Session, &e.Turn, &e.Subject, &e.Detail)
	e.ID = strconv.FormatInt(n, 10)
	return e, err
}

// parseNumber reads the cursor of a list that is ordered by a number.
func parseNumber(s string) (int64, error) {
	if s == "" {
		return 1<<63 - 1, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	n := int64(-1)
	if err == nil {
		n, err = strconv.ParseInt(string(b), 10, 64)
	}
	if err != nil || n < 0 {
		return 0, &agent.FieldError{Field: "cursor", Message: "must be a cursor from the page before"}
	}
	return n, nil
}
