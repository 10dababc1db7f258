package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const tokenColumns = `id, project_id, name, prefix, permissions, created_at, expires_at, last_used_at, revoked_at`

func scanToken(row pgx.CollectableRow) (t agent.Token, err error) {
	var expires, used, revoked *time.Time
	err = row.Scan(&t.ID, &t.Project, &t.Name, &t.Prefix, &t.Permissions, &t.CreatedAt, &expires, &used, &revoked)
	t.ExpiresAt, t.LastUsedAt, t.RevokedAt = deref(expires), deref(used), deref(revoked)
	return t, err
}

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

const createToken = `
INSERT INTO api_tokens (id, project_id, name, hash, prefix, permissions, expires_at)
VALUES (@id::text, @project::text, @name::text, @hash::bytea, @prefix::text, @permissions::text[], @expires::timestamptz)`

// CreateToken stores a token under the hash of its secret, and who made it. The
// caller gives its ID. agent.ErrExists, and agent.ErrNotFound where there is no
// such project.
func (s *Store) CreateToken(ctx context.Context, t agent.Token, hash []byte, by agent.Actor) error {
	permissions := make([]string, len(t.Permissions))
	for i, p := range t.Permissions {
		permissions[i] = string(p)
	}
	args := pgx.StrictNamedArgs{
		"id": t.ID, "project": t.Project, "name": clean(t.Name), "hash": hash, "prefix": t.Prefix,
		"permissions": permissions, "expires": nullTime(t.ExpiresAt),
	}
	return wrap("create token", s.inTx(ctx, s.pool, func(tx *txn) error {
		if _, err := tx.Exec(ctx, createToken, args); err != nil {
			return refused(err)
		}
		return s.audit(ctx, tx, agent.AuditTokenCreated, by, t.Project, t.ID, t.Name)
	}))
}

// The note of its use is made by one of the callers that find it a minute old;
// the others skip it and nobody waits.
const tokenByHash = `
WITH found AS (
    SELECT ` + tokenColumns + ` FROM api_tokens
    WHERE hash = @hash::bytea AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())
), stale AS (
    SELECT id FROM api_tokens
    WHERE id = (SELECT id FROM found WHERE last_used_at IS NULL OR last_used_at < clock_timestamp() - interval '1 minute')
    FOR UPDATE SKIP LOCKED
), noted AS (
    UPDATE api_tokens t SET last_used_at = clock_timestamp() FROM stale
    WHERE t.id = stale.id AND (t.last_used_at IS NULL OR t.last_used_at < clock_timestamp() - interval '1 minute')
)
SELECT ` + tokenColumns + ` FROM found`

// TokenByHash returns the token of a hash and notes its use, once a minute at
// most. agent.ErrNotFound where there is none, or it is revoked or has expired
// by the database's clock.
func (s *Store) TokenByHash(ctx context.Context, hash []byte) (agent.Token, error) {
	t, err := one(ctx, s.pool, tokenByHash, pgx.StrictNamedArgs{"hash": hash}, scanToken)
	return t, wrap("find token", err)
}

const listTokens = `
SELECT ` + tokenColumns + ` FROM api_tokens WHERE project_id = @project::text ORDER BY created_at DESC, id DESC`

// Tokens returns a project's tokens, newest first, revoked ones too.
func (s *Store) Tokens(ctx context.Context, project string) ([]agent.Token, error) {
	list, err := all(ctx, s.pool, listTokens, pgx.StrictNamedArgs{"project": project}, scanToken)
	return list, wrap("list tokens", err)
}

const revokeToken = `
UPDATE api_tokens SET revoked_at = clock_timestamp()
WHERE project_id = @project::text AND id = @id::text AND revoked_at IS NULL
RETURNING name`

// RevokeToken ends a token for good and keeps who did it; one that is not there
// or revoked already is no error.
func (s *Store) RevokeToken(ctx context.Context, project, id string, by agent.Actor) error {
	return wrap("revoke token", s.inTx(ctx, s.pool, func(tx *txn) error {
		name, err := one(ctx, tx, revokeToken, pgx.StrictNamedArgs{"project": project, "id": clean(id)}, pgx.RowTo[string])
		if errors.Is(err, agent.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, agent.AuditTokenRevoked, by, project, id, name)
	}))
}
