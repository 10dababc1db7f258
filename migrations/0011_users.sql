-- +goose Up

-- People who sign in to Studio.
CREATE TABLE users (
    id              text PRIMARY KEY,
    email           text NOT NULL UNIQUE CHECK (email = lower(email)),
    name            text NOT NULL DEFAULT '',
    password        text NOT NULL,               -- argon2id, with its salt and parameters
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_sign_in_at timestamptz
);

-- Who is what in which project. The row of a member who was removed stays: what
-- he did keeps his name.
CREATE TABLE memberships (
    project_id text NOT NULL REFERENCES projects,
    user_id    text NOT NULL REFERENCES users,
    role       text NOT NULL CHECK (role IN ('owner', 'builder', 'operator', 'viewer')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    removed_at timestamptz,
    PRIMARY KEY (project_id, user_id)
);
CREATE INDEX memberships_by_user ON memberships (user_id);

-- Browsers that are signed in.
CREATE TABLE sign_ins (
    hash       bytea PRIMARY KEY,                -- SHA-256 of the cookie
    user_id    text NOT NULL REFERENCES users ON DELETE CASCADE,
    project_id text,                             -- the one that it looks at; null, or one that he left: his first
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL              -- moves on while it is used
);
CREATE INDEX sign_ins_by_user ON sign_ins (user_id);
CREATE INDEX sign_ins_by_expiry ON sign_ins (expires_at);

-- Attempts to sign in that did not succeed, by what they are counted for.
CREATE TABLE sign_in_failures (
    key      bytea PRIMARY KEY,                  -- SHA-256 of a name, an address or both
    failures integer NOT NULL,
    since    timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (since);
