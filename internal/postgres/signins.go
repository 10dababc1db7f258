package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

// UserByEmail returns a user and the hash of his password; agent.ErrNotFound.
func (s *Store) UserByEmail(ctx context.Context, email string) (u agent.User, passwordHash string, err error) {
	u, err = one(ctx, s.pool, userByEmail, pgx.StrictNamedArgs{"email": clean(email)}, func(row pgx.CollectableRow) (agent.User, error) {
		return scanUser(row, &passwordHash)
	})
	return u, passwordHash, wrap("find user", err)
}

const createSignIn = `
WITH noted AS (UPDATE users SET last_sign_in_at = clock_timestamp() WHERE id = @user::text),
old AS (DELETE FROM sign_ins WHERE hash IN (
    SELECT hash FROM sign_ins WHERE expires_at < clock_timestamp() LIMIT 100 FOR UPDATE SKIP LOCKED))
INSERT INTO sign_ins (hash, user_id, expires_at, project_id)
SELECT @hash::bytea, @user::text, clock_timestamp() + make_interval(secs => @idle::float8), (
    SELECT m.project_id FROM memberships m
    WHERE m.user_id = @user::text AND m.removed_at IS NULL
    ORDER BY m.project_id = (SELECT s.project_id FROM sign_ins s WHERE s.user_id = @user::text ORDER BY s.created_at DESC LIMIT 1) DESC NULLS LAST,
        m.created_at
    LIMIT 1)`

// CreateSignIn signs a user in, for idle or as long as it is used, in the project
// that his last sign-in looked at or he was in first; and forgets some sign-ins
// that are over.
func (s *Store) CreateSignIn(ctx context.Context, user string, hash []byte, idle time.Duration) error {
	_, err := s.pool.Exec(ctx, createSignIn, pgx.StrictNamedArgs{"user": user, "hash": hash, "idle": idle.Seconds()})
	return wrap("sign in", refused(err))
}

// Its life is moved on by one of the callers that find a tenth of it gone; the
// others skip it and nobody waits.
const signInByHash = `
WITH found AS (
    SELECT hash, user_id, project_id,
        least(clock_timestamp() + make_interval(secs => @idle::float8), created_at + make_interval(secs => @most::float8)) AS renewed, expires_at
    FROM sign_ins WHERE hash = @hash::bytea AND expires_at > clock_timestamp()
), stale AS (
    SELECT s.hash, f.renewed FROM sign_ins s JOIN found f ON f.hash = s.hash
    WHERE f.renewed > f.expires_at + make_interval(secs => @idle::float8 / 10)
    FOR UPDATE OF s SKIP LOCKED
), moved AS (
    UPDATE sign_ins s SET expires_at = stale.renewed FROM stale WHERE s.hash = stale.hash
)
SELECT ` + userColumns + `, p.id, p.key, m.role, f.project_id IS NOT DISTINCT FROM p.id, greatest(f.renewed, f.expires_at)
FROM found f
JOIN users u ON u.id = f.user_id
JOIN memberships m ON m.user_id = u.id AND m.removed_at IS NULL
JOIN projects p ON p.id = m.project_id
ORDER BY p.key`

// SignInByHash returns the sign-in of a hash, in the project that it looks at or
// the user's first, and keeps it alive: idle from now, but not beyond most from
// its beginning. agent.ErrNotFound where there is none, it is over, or the user
// is a member of nothing.
func (s *Store) SignInByHash(ctx context.Context, hash []byte, idle, most time.Duration) (agent.SignIn, error) {
	var in agent.SignIn
	args := pgx.StrictNamedArgs{"hash": hash, "idle": idle.Seconds(), "most": most.Seconds()}
	_, err := all(ctx, s.pool, signInByHash, args, func(row pgx.CollectableRow) (m agent.Membership, err error) {
		var current bool
		in.User, err = scanUser(row, &m.Project, &m.Key, &m.Role, &current, &in.ExpiresAt)
		if in.Projects = append(in.Projects, m); current || len(in.Projects) == 1 {
			in.Current = m
		}
		return m, err
	})
	if err == nil && len(in.Projects) == 0 {
		err = agent.ErrNotFound
	}
	return in, wrap("find sign-in", err)
}

const selectProject = `
UPDATE sign_ins s SET project_id = @project::text
WHERE s.hash = @hash::bytea AND EXISTS (
    SELECT FROM memberships m WHERE m.user_id = s.user_id AND m.project_id = @project::text AND m.removed_at IS NULL)`

// SelectProject makes a sign-in look at another project of its user's;
// agent.ErrNotFound.
func (s *Store) SelectProject(ctx context.Context, hash []byte, project string) error {
	tag, err := s.pool.Exec(ctx, selectProject, pgx.StrictNamedArgs{"hash": hash, "project": clean(project)})
	if err == nil && tag.RowsAffected() == 0 {
		err = agent.ErrNotFound
	}
	return wrap("select project", err)
}

const endSignIn = `
DELETE FROM sign_ins WHERE hash = @hash::bytea`

// EndSignIn ends a sign-in; one that is not there is no error.
func (s *Store) EndSignIn(ctx context.Context, hash []byte) error {
	_, err := s.pool.Exec(ctx, endSignIn, pgx.StrictNamedArgs{"hash": hash})
	return wrap("sign out", err)
}

// The count is raised before the password is looked at, so that many at once
// are not all let through. The keys are in order: two attempts never wait for
// each other in a circle.
const countAttempt = `
WITH old AS (DELETE FROM sign_in_failures WHERE key IN (
    SELECT key FROM sign_in_failures WHERE since < clock_timestamp() - make_interval(secs => @window::float8)
        AND NOT key = ANY (@keys::bytea[]) LIMIT 100 FOR UPDATE SKIP LOCKED))
INSERT INTO sign_in_failures AS f (key, failures, since)
SELECT k, 1, clock_timestamp() FROM unnest(@keys::bytea[]) AS k ORDER BY k
ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN f.since < clock_timestamp() - make_interval(secs => @window::float8) THEN 1 ELSE f.failures + 1 END,
    since = CASE WHEN f.since < clock_timestamp() - make_interval(secs => @window::float8) THEN clock_timestamp() ELSE f.since END
RETURNING key, failures, greatest(0, extract(epoch FROM since - clock_timestamp()) + @window::float8)`

// CountAttempt notes an attempt to sign in for each key, and returns how many
// failed attempts each now has within the window, this one counted, and how long
// it is until the window of the one of most attempts is over.
func (s *Store) CountAttempt(ctx context.Context, keys [][]byte, window time.Duration) (failures map[string]int, over time.Duration, err error) {
	failures = map[string]int{}
	most := 0
	_, err = all(ctx, s.pool, countAttempt, pgx.StrictNamedArgs{"keys": keys, "window": window.Seconds()}, func(row pgx.CollectableRow) (n int, err error) {
		var key []byte
		var seconds float64
		err = row.Scan(&key, &n, &seconds)
		failures[string(key)] = n
		if n > most {
			most, over = n, time.Duration(seconds*float64(time.Second))
		}
		return n, err
	})
	return failures, over, wrap("count attempt", err)
}

const forgiveAttempt = `
UPDATE sign_in_failures SET failures = CASE WHEN key = ANY (@clear::bytea[]) THEN 0 ELSE greatest(failures - 1, 0) END
WHERE key = ANY (@keys::bytea[])`

// ForgiveAttempt takes back an attempt that succeeded, and all failures of the
// keys to clear, which are among them.
func (s *Store) ForgiveAttempt(ctx context.Context, keys, clear [][]byte) error {
	_, err := s.pool.Exec(ctx, forgiveAttempt, pgx.StrictNamedArgs{"keys": keys, "clear": clear})
	return wrap("forgive attempt", err)
}

// bareID returns a principal's id without its kind.
func bareID(id string) string {
	_, bare, _ := strings.Cut(id, ":")
	return bare
}

func cleanAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = clean(s)
	}
	return out
}
