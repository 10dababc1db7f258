package postgres

import (
	"context"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const joinNode = `
INSERT INTO nodes (id, label) VALUES (@id::text, @label::text)`

// Join makes a row for this process under a new random id. Its contact with the
// database begins now, so it declares nobody dead for a lease.
func (s *Store) Join(ctx context.Context, label string) (string, error) {
	id := agent.NewID()
	_, err := s.pool.Exec(ctx, joinNode, pgx.StrictNamedArgs{"id": id, "label": clean(label)})
	return id, wrap("join", err)
}

const renewNode = `
UPDATE nodes SET
    contact_since = CASE WHEN renewed_at > clock_timestamp() - make_interval(secs => @gap::float8) THEN contact_since ELSE clock_timestamp() END,
    renewed_at = clock_timestamp()
WHERE id = @id::text AND dead_at IS NULL`

// Renew renews the node's row; agent.ErrNodeDead when it was declared dead.
// Contact stays unbroken if the last renewal is not older than the gap.
func (s *Store) Renew(ctx context.Context, node string) error {
	return wrap("renew", s.renew.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, renewNode, pgx.StrictNamedArgs{"id": node, "gap": s.times.Gap.Seconds()})
		if err == nil && tag.RowsAffected() == 0 {
			return agent.ErrNodeDead
		}
		return err
	}))
}

const leaveNode = `
UPDATE nodes SET dead_at = clock_timestamp() WHERE id = @id::text AND dead_at IS NULL`

// Leave declares the node dead itself; what it may still have in a slot is then
// swept at once. Leaving twice is no error.
func (s *Store) Leave(ctx context.Context, node string) error {
	_, err := s.pool.Exec(ctx, leaveNode, pgx.StrictNamedArgs{"id": node})
	return wrap("leave", err)
}
