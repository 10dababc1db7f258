-- +goose Up

-- Who is told of a turn's pauses and of its end.
CREATE TABLE callbacks (
    id         text PRIMARY KEY,
    session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
    turn_id    text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('run', 'a2a')),
    name       text NOT NULL DEFAULT '',
    dialect    text NOT NULL DEFAULT '',         -- how the body is written, where a kind has several ways
    url        text NOT NULL,
    secret     bytea,                            -- sealed with BELAY_SECRET_KEY: what is sent is signed with it
    headers    bytea,                            -- likewise: a JSON object
    status     text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'dead')), -- of the newest delivery
    attempts   integer NOT NULL DEFAULT 0,       -- likewise
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (turn_id, kind, name)
);
CREATE INDEX callbacks_by_session ON callbacks (session_id);

-- What is sent, each until it has arrived or is given up. The closing of a leg
-- makes them, with a job for each that sends it.
CREATE TABLE deliveries (
    id          text PRIMARY KEY,
    callback_id text NOT NULL REFERENCES callbacks ON DELETE CASCADE,
    project_id  text NOT NULL,
    session_id  text NOT NULL,
    turn_id     text NOT NULL,
    event       text NOT NULL,
    seq         bigint NOT NULL,                 -- of the journal's event that it tells
    body        bytea,                           -- made once, so that every attempt sends the same bytes
    status      text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'dead')),
    round       integer NOT NULL DEFAULT 1,      -- a job of an earlier one does nothing
    attempts    integer NOT NULL DEFAULT 0,      -- of this round
    error       text,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    tried_at    timestamptz,
    ended_at    timestamptz,
    CHECK ((status = 'pending') = (ended_at IS NULL))
);
CREATE INDEX deliveries_by_callback ON deliveries (callback_id, seq DESC);
CREATE INDEX deliveries_by_project ON deliveries (project_id, created_at DESC, id DESC);
CREATE INDEX deliveries_by_status ON deliveries (status, created_at) WHERE status <> 'delivered';
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- Retention: turns whose deltas are still in the journal, by their end, and
-- conversations by their last turn.
ALTER TABLE turns ADD COLUMN trimmed_at timestamptz;
CREATE INDEX turns_untrimmed ON turns (ended_at) WHERE ended_at IS NOT NULL AND trimmed_at IS NULL;
CREATE INDEX sessions_by_update ON sessions (updated_at);

-- Who stopped, decided, published, made or revoked a token.
CREATE TABLE audit (
    n          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id text NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    action     text NOT NULL,
    by         text NOT NULL,
    door       text NOT NULL,
    node       text NOT NULL,
    address    text NOT NULL DEFAULT '',
    session_id text,                             -- no foreign key: the record stays when its subject is deleted
    turn_id    text,
    subject    text NOT NULL DEFAULT '',
    detail     text NOT NULL DEFAULT ''
);
CREATE INDEX audit_by_project ON audit (project_id, n DESC);
CREATE INDEX audit_by_session ON audit (session_id, n DESC) WHERE session_id IS NOT NULL;
CREATE INDEX audit_by_time ON audit (at);
