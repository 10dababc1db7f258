package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const portalColumns = `project_id, slug, config, secret IS NOT NULL, created_at, updated_at`

func scanPortal(row pgx.CollectableRow) (p agent.Portal, err error) {
	var project, slug string
	var secret bool
	var created, updated time.Time
	err = row.Scan(&project, &slug, &p, &secret, &created, &updated)
	p.Project, p.Slug, p.HasSecret, p.CreatedAt, p.UpdatedAt = project, slug, secret, created, updated
	return p, err
}

const listPortals = `
SELECT ` + portalColumns + ` FROM portals WHERE project_id = @project::text ORDER BY slug`

// Portals returns a project's portals by slug, without their secrets.
func (s *Store) Portals(ctx context.Context, project string) ([]agent.Portal, error) {
	list, err := all(ctx, s.pool, listPortals, pgx.StrictNamedArgs{"project": project}, scanPortal)
	return list, wrap("list portals", err)
}

const portalBySlug = `
SELECT ` + portalColumns + ` FROM portals WHERE slug = @slug::text`

// Portal returns a portal of any project without its secret; agent.ErrNotFound.
func (s *Store) Portal(ctx context.Context, slug string) (agent.Portal, error) {
	p, err := one(ctx, s.pool, portalBySlug, pgx.StrictNamedArgs{"slug": clean(slug)}, scanPortal)
	return p, wrap("read portal", err)
}

const portalSecret = `
SELECT secret FROM portals WHERE slug = @slug::text AND secret IS NOT NULL`

// PortalSecret returns the secret of a portal; agent.ErrNotFound where it keeps
// none, ErrNoSecretKey where there is nothing to open it with.
func (s *Store) PortalSecret(ctx context.Context, slug string) (string, error) {
	sealed, err := one(ctx, s.pool, portalSecret, pgx.StrictNamedArgs{"slug": clean(slug)}, pgx.RowTo[[]byte])
	var secret string
	if err == nil {
		secret, err = s.unseal(sealed, portalContext(slug))
	}
	return secret, wrap("read the secret of portal "+slug, err)
}

// A slug that another project has is taken.
const putPortal = `
INSERT INTO portals AS p (slug, project_id, config, secret)
VALUES (@slug::text, @project::text, @config::json, @secret::bytea)
ON CONFLICT (slug) DO UPDATE SET
    config = excluded.config, updated_at = clock_timestamp(), secret = coalesce(excluded.secret, p.secret)
WHERE p.project_id = excluded.project_id`

// PutPortal makes a portal or replaces the one of that slug. An empty Secret
// keeps the stored one. agent.ErrExists where another project has the slug,
// ErrNoSecretKey where there is a Secret and nothing to seal it with.
func (s *Store) PutPortal(ctx context.Context, p agent.Portal) error {
	return wrap("store portal "+p.Slug, s.putPortal(ctx, s.pool, p))
}

func (s *Store) putPortal(ctx context.Context, q runner, p agent.Portal) error {
	args, err := s.portalRow(p)
	if err != nil {
		return err
	}
	tag, err := q.Exec(ctx, putPortal, args)
	if err == nil && tag.RowsAffected() == 0 {
		return agent.ErrExists
	}
	return refused(err)
}

func (s *Store) portalRow(p agent.Portal) (pgx.StrictNamedArgs, error) {
	var sealed []byte
	if p.Secret != "" {
		b, err := s.seal(p.Secret, portalContext(p.Slug))
		if err != nil {
			return nil, err
		}
		sealed = b
	}
	config, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode portal: %w", err)
	}
	return pgx.StrictNamedArgs{"slug": p.Slug, "project": p.Project, "config": string(config), "secret": sealed}, nil
}

const createPortal = `
INSERT INTO portals (slug, project_id, config, secret)
VALUES (@slug::text, @project::text, @config::json, @secret::bytea)`

// CreatePortal makes a portal; agent.ErrExists where the slug is taken, by
// whichever project. ErrNoSecretKey as with PutPortal.
func (s *Store) CreatePortal(ctx context.Context, p agent.Portal) error {
	args, err := s.portalRow(p)
	if err == nil {
		_, err = s.pool.Exec(ctx, createPortal, args)
	}
	return wrap("make portal "+p.Slug, refused(err))
}

const deletePortal = `
DELETE FROM portals WHERE project_id = @project::text AND slug = @slug::text`

// DeletePortal deletes a portal; one that is not there is no error. The
// conversations of its visitors stay, and nobody but the project sees them.
func (s *Store) DeletePortal(ctx context.Context, project, slug string) error {
	_, err := s.pool.Exec(ctx, deletePortal, pgx.StrictNamedArgs{"project": project, "slug": clean(slug)})
	return wrap("delete portal", err)
}

func portalContext(slug string) string { return "portal/" + slug + "/secret" }

// meterMessage counts a message of a visitor within this minute, and then one of
// the portal, where the limits allow it. It also forgets a few visitors who have
// been away for a day.
const meterMessage = `
WITH now AS MATERIALIZED (
    SELECT date_trunc('minute', clock_timestamp()) AS minute, clock_timestamp() AS at
), visitor AS (
    INSERT INTO portal_meters AS m (slug, visitor, minute, messages)
    SELECT @slug::text, @visitor::text, minute, 1 FROM now
    ON CONFLICT (slug, visitor) DO UPDATE SET
        minute = excluded.minute, messages = CASE WHEN m.minute = excluded.minute THEN m.messages + 1 ELSE 1 END
    WHERE m.minute <> excluded.minute OR m.messages < @per_visitor::integer
    RETURNING slug, minute
), portal AS (
    INSERT INTO portal_meters AS m (slug, visitor, minute, messages)
    SELECT slug, '', minute, 1 FROM visitor
    ON CONFLICT (slug, visitor) DO UPDATE SET
        minute = excluded.minute, messages = CASE WHEN m.minute = excluded.minute THEN m.messages + 1 ELSE 1 END
    WHERE m.minute <> excluded.minute OR m.messages < @per_portal::integer
    RETURNING slug
), forgotten AS (
    DELETE FROM portal_meters WHERE (slug, visitor) IN (
        SELECT m.slug, m.visitor FROM portal_meters m, now
        WHERE m.slug = @slug::text AND m.minute < now.at - interval '1 day' AND m.visitor NOT IN ('', @visitor::text)
        ORDER BY m.minute LIMIT 4 FOR UPDATE OF m SKIP LOCKED)
)
SELECT EXISTS (SELECT FROM portal), extract(epoch FROM minute + interval '1 minute' - at)::float8 FROM now`

// MeterVisitor counts a message that a visitor is about to send. ok is false where
// that is one too many in this minute, of the visitor or of all together; it may
// be sent after wait.
func (s *Store) MeterVisitor(ctx context.Context, p agent.Portal, visitor string) (ok bool, wait time.Duration, err error) {
	l := p.Limits.WithDefaults()
	var seconds float64
	err = s.pool.QueryRow(ctx, meterMessage, pgx.StrictNamedArgs{
		"slug": p.Slug, "visitor": visitor, "per_visitor": l.VisitorPerMinute, "per_portal": l.PortalPerMinute,
	}).Scan(&ok, &seconds)
	return ok, time.Duration(seconds * float64(time.Second)), wrap("count a message", err)
}

const visitorSpend = `
SELECT coalesce(sum(t.cost_usd) FILTER (WHERE s.owner = @visitor::text), 0), coalesce(sum(t.cost_usd), 0)
FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE (t.door = 'portal' OR t.door = 'a2a') AND t.created_at > clock_timestamp() - interval '1 day'
  AND s.project_id = @project::text AND starts_with(s.owner, @portal::text)`

// VisitorSpend returns what a visitor, and all visitors of the portal, have cost in
// the last 24 hours, in USD. A turn counts once a leg of it is closed. prefix is
// what the owners of the portal's conversations begin with.
func (s *Store) VisitorSpend(ctx context.Context, project, prefix, visitor string) (one, all float64, err error) {
	err = s.pool.QueryRow(ctx, visitorSpend, pgx.StrictNamedArgs{
		"project": project, "portal": prefix, "visitor": visitor,
	}).Scan(&one, &all)
	return one, all, wrap("sum the spend of visitors", err)
}
