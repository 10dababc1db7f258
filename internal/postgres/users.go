package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/jackc/pgx/v5"
)

const userColumns = `u.id, u.email, u.name, u.created_at, u.last_sign_in_at`

func scanUser(row pgx.CollectableRow, more ...any) (u agent.User, err error) {
	var signedIn *time.Time
	err = row.Scan(append([]any{&u.ID, &u.Email, &u.Name, &u.CreatedAt, &signedIn}, more...)...)
	u.LastSignInAt = deref(signedIn)
	return u, err
}

const createUser = `
INSERT INTO users (id, email, name, password) VALUES (@id::text, @email::text, @name::text, @password::text)`

// A member who was removed is one again, since now.
const addMember = `
INSERT INTO memberships (project_id, user_id, role) VALUES (@project::text, @user::text, @role::text)
ON CONFLICT (project_id, user_id) DO UPDATE SET role = excluded.role, created_at = clock_timestamp(), removed_at = NULL
WHERE memberships.removed_at IS NOT NULL
RETURNING created_at`

const userByEmail = `
SELECT ` + userColumns + `, u.password FROM users u WHERE u.email = @email::text`

// AddMember makes a user a member of a project: the one of m's e-mail or, where
// there is none, a new one of m's id and name with a password's hash. It returns
// the member, and whether the user is new. agent.ErrExists for who is a member
// already, agent.ErrNotFound where there is no such project.
func (s *Store) AddMember(ctx context.Context, m agent.Member, passwordHash string) (out agent.Member, made bool, err error) {
	err = s.inTx(ctx, s.pool, func(tx *txn) error {
		out, made = m, false
		u, err := one(ctx, tx, userByEmail, pgx.StrictNamedArgs{"email": m.Email}, func(row pgx.CollectableRow) (agent.User, error) {
			return scanUser(row, new(string))
		})
		switch {
		case errors.Is(err, agent.ErrNotFound):
			made = true
			_, err = tx.Exec(ctx, createUser, pgx.StrictNamedArgs{"id": m.ID, "email": clean(m.Email), "name": clean(m.Name), "password": passwordHash})
			if err != nil {
				return err
			}
			out.CreatedAt = time.Now()
		case err != nil:
			return err
		default:
			out.User = u
		}
		out.Since, err = one(ctx, tx, addMember, memberArgs(m.Project, out.ID, m.Role), pgx.RowTo[time.Time])
		if errors.Is(err, agent.ErrNotFound) {
			err = agent.ErrExists
		}
		return err
	})
	return out, made, wrap("add member", refused(err))
}

func memberArgs(project, user string, role agent.MemberRole) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"project": project, "user": clean(user), "role": string(role)}
}

const listMembers = `
SELECT ` + userColumns + `, m.project_id, m.role, m.created_at
FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.project_id = @project::text AND m.removed_at IS NULL AND (@user::text = '' OR m.user_id = @user::text)
ORDER BY u.email`

func scanMember(row pgx.CollectableRow) (m agent.Member, err error) {
	m.User, err = scanUser(row, &m.Project, &m.Role, &m.Since)
	return m, err
}

// Members returns a project's members by e-mail.
func (s *Store) Members(ctx context.Context, project string) ([]agent.Member, error) {
	list, err := all(ctx, s.pool, listMembers, pgx.StrictNamedArgs{"project": project, "user": ""}, scanMember)
	return list, wrap("list members", err)
}

// The rows of all members are locked: two owners can't demote each other at once.
const lockMembers = `
SELECT user_id, role FROM memberships WHERE project_id = @project::text AND removed_at IS NULL ORDER BY user_id FOR UPDATE`

const setRole = `
UPDATE memberships SET role = @role::text WHERE project_id = @project::text AND user_id = @user::text`

const removeMember = `
UPDATE memberships SET removed_at = clock_timestamp() WHERE project_id = @project::text AND user_id = @user::text`

// SetRole gives a member another role; agent.ErrNotFound, agent.ErrLastOwner.
func (s *Store) SetRole(ctx context.Context, project, user string, role agent.MemberRole) (agent.Member, error) {
	var m agent.Member
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		if err := othersOwn(ctx, tx, project, user, role); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, setRole, memberArgs(project, user, role)); err != nil {
			return err
		}
		var err error
		m, err = one(ctx, tx, listMembers, pgx.StrictNamedArgs{"project": project, "user": clean(user)}, scanMember)
		return err
	})
	return m, wrap("set role", err)
}

// RemoveMember ends a membership; what the member did keeps his name. One that
// is not there is no error; agent.ErrLastOwner.
func (s *Store) RemoveMember(ctx context.Context, project, user string) error {
	err := s.inTx(ctx, s.pool, func(tx *txn) error {
		if err := othersOwn(ctx, tx, project, user, ""); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, removeMember, pgx.StrictNamedArgs{"project": project, "user": clean(user)})
		return err
	})
	if errors.Is(err, agent.ErrNotFound) {
		err = nil
	}
	return wrap("remove member", err)
}

// othersOwn locks a project's members and says whether one of them may get
// another role: the project must have an owner still.
func othersOwn(ctx context.Context, tx *txn, project, user string, role agent.MemberRole) error {
	type member struct {
		User string
		Role agent.MemberRole
	}
	list, err := all(ctx, tx, lockMembers, pgx.StrictNamedArgs{"project": project}, pgx.RowToStructByPos[member])
	if err != nil {
		return err
	}
	found, owners := false, 0
	for _, m := range list {
		if m.User == user {
			found, m.Role = true, role
		}
		if m.Role == agent.RoleOwner {
			owners++
		}
	}
	switch {
	case !found:
		return agent.ErrNotFound
	case owners == 0:
		return agent.ErrLastOwner
	}
	return nil
}

const setPassword = `
UPDATE users SET password = @password::text WHERE id = @user::text`

const endSignIns = `
DELETE FROM sign_ins WHERE user_id = @user::text AND hash <> @but::bytea`

// SetPassword changes a user's password and ends all his sign-ins but the one of
// a hash; nil: all.
func (s *Store) SetPassword(ctx context.Context, user, passwordHash string, but []byte) error {
	return wrap("set password", s.inTx(ctx, s.pool, func(tx *txn) error {
		tag, err := tx.Exec(ctx, setPassword, pgx.StrictNamedArgs{"user": clean(user), "password": passwordHash})
		if err == nil && tag.RowsAffected() == 0 {
			err = agent.ErrNotFound
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, endSignIns, pgx.StrictNamedArgs{"user": clean(user), "but": append([]byte{}, but...)})
		return err
	}))
}

const membershipsOf = `
SELECT m.project_id, p.key, m.role FROM memberships m JOIN projects p ON p.id = m.project_id
WHERE m.user_id = @user::text AND m.removed_at IS NULL ORDER BY p.key`

// Memberships returns a user's projects by key.
func (s *Store) Memberships(ctx context.Context, user string) ([]agent.Membership, error) {
	list, err := all(ctx, s.pool, membershipsOf, pgx.StrictNamedArgs{"user": clean(user)}, pgx.RowToStructByPos[agent.Membership])
	return list, wrap("list memberships", err)
}

const namesOfPrincipals = `
SELECT 'user:' || u.id, CASE WHEN u.name = '' THEN u.email ELSE u.name END
FROM users u JOIN memberships m ON m.user_id = u.id AND m.project_id = @project::text
WHERE 'user:' || u.id = ANY (@ids::text[]) AND u.id = ANY (@bare::text[])
UNION ALL
SELECT 'token:' || t.id, t.name FROM api_tokens t
WHERE t.project_id = @project::text AND 'token:' || t.id = ANY (@ids::text[]) AND t.id = ANY (@bare::text[])`

// Names returns who a project's principals are, by id: its members, those who
// were members and its tokens. Others are left out.
func (s *Store) Names(ctx context.Context, project string, ids []string) (map[string]agent.Named, error) {
	bare := make([]string, len(ids))
	for i, id := range ids {
		bare[i] = bareID(clean(id))
	}
	type named struct{ ID, Name string }
	list, err := all(ctx, s.pool, namesOfPrincipals, pgx.StrictNamedArgs{"project": project, "ids": cleanAll(ids), "bare": bare}, pgx.RowToStructByPos[named])
	out := make(map[string]agent.Named, len(list))
	for _, n := range list {
		a := agent.Unnamed(n.ID)
		a.Name = n.Name
		out[n.ID] = a
	}
	return out, wrap("name principals", err)
}
