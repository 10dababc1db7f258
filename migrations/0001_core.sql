-- +goose Up

-- Who owns what.
CREATE TABLE projects (
    id         text PRIMARY KEY,
    key        text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO projects (id, key) VALUES ('000000000000000000000000', 'default');

CREATE TABLE api_tokens (
    id           text PRIMARY KEY,
    project_id   text NOT NULL REFERENCES projects,
    name         text NOT NULL,
    hash         bytea NOT NULL UNIQUE,          -- SHA-256 of the whole token
    prefix       text NOT NULL,                  -- its first 12 characters, to be shown
    permissions  text[] NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz
);
CREATE INDEX ON api_tokens (project_id, created_at);

CREATE TABLE models (
    project_id text NOT NULL REFERENCES projects,
    key        text NOT NULL,
    config     json NOT NULL,
    api_key    bytea,                            -- sealed with BELAY_SECRET_KEY
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (project_id, key)
);

CREATE TABLE agents (
    project_id text NOT NULL REFERENCES projects,
    key        text NOT NULL,
    name       text NOT NULL DEFAULT '',
    active     boolean NOT NULL DEFAULT true,
    draft      json NOT NULL,
    published  integer NOT NULL DEFAULT 0,       -- 0: never published
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    PRIMARY KEY (project_id, key)
);

CREATE TABLE agent_versions (
    project_id text NOT NULL,
    agent_key  text NOT NULL,
    version    integer NOT NULL,
    config     json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text NOT NULL DEFAULT '',
    PRIMARY KEY (project_id, agent_key, version),
    FOREIGN KEY (project_id, agent_key) REFERENCES agents (project_id, key)
);

-- Conversations.
CREATE TABLE sessions (
    id         text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects,
    agent_key  text NOT NULL,
    owner      text NOT NULL,
    door       text NOT NULL,
    title      text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX sessions_by_project ON sessions (project_id, created_at DESC, id DESC);
CREATE INDEX sessions_by_owner ON sessions (project_id, owner, created_at DESC, id DESC);

-- Processes. A row is written once when a process starts (or goes on under a
-- new id) and stays until no slot names it; dead_at is final.
CREATE TABLE nodes (
    id            text PRIMARY KEY,
    label         text NOT NULL,
    renewed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    contact_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    dead_at       timestamptz
) WITH (fillfactor = 50);                        -- renewals stay in place: no index on what they change

-- One row for each session, made with it: who runs its turn.
-- Hot rows are updated in place (no indexed column changes while a turn runs).
CREATE TABLE run_slots (
    session_id  text PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    state       text NOT NULL DEFAULT 'idle' CHECK (state IN ('idle', 'queued', 'running', 'waiting')),
    turn_id     text,
    node_id     text,
    fence       bigint NOT NULL DEFAULT 0,
    depth       integer NOT NULL DEFAULT 0,
    seq         bigint NOT NULL DEFAULT 0,       -- last journal number while nobody owns the slot
    messages    integer NOT NULL DEFAULT 0,      -- messages in the transcript, likewise
    taken_at    timestamptz,
    queued_at   timestamptz,
    continues   boolean NOT NULL DEFAULT false,  -- queued: the turn has run before, and goes first
    stop_at     timestamptz,
    stop_by     text,
    stop_door   text,
    stop_node   text,
    stop_detail text,
    CHECK ((state = 'idle') = (turn_id IS NULL)),
    CHECK ((state = 'running') = (node_id IS NOT NULL))
) WITH (fillfactor = 70);
CREATE INDEX run_slots_running ON run_slots (node_id) WHERE state = 'running';
CREATE INDEX run_slots_queued ON run_slots ((NOT continues), queued_at) WHERE state = 'queued';

CREATE TABLE turns (
    id                text PRIMARY KEY,
    session_id        text NOT NULL REFERENCES sessions ON DELETE CASCADE,
    agent_key         text NOT NULL,
    version           integer NOT NULL,
    config            json NOT NULL,            -- what it runs, fixed when it began
    door              text NOT NULL,
    started_by        text NOT NULL,
    background        boolean NOT NULL DEFAULT false,
    metadata          json,
    depth             integer NOT NULL DEFAULT 0,
    parent_session_id text,
    parent_turn_id    text,
    parent_fence      bigint,
    first_seq         bigint NOT NULL,
    message_index     integer NOT NULL,
    status            text NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'completed', 'incomplete', 'failed')),
    stop_reason       text,
    stop_detail       text,
    stop              json,
    error             json,
    closed_fence      bigint NOT NULL DEFAULT 0, -- of the last leg that its owner closed
    input_tokens      bigint NOT NULL DEFAULT 0,
    cached_tokens     bigint NOT NULL DEFAULT 0,
    output_tokens     bigint NOT NULL DEFAULT 0,
    reasoning_tokens  bigint NOT NULL DEFAULT 0,
    estimated         boolean NOT NULL DEFAULT false,
    cost_usd          double precision NOT NULL DEFAULT 0,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at        timestamptz,
    ended_at          timestamptz,
    CHECK ((status IN ('completed', 'incomplete', 'failed')) = (ended_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX turns_by_session ON turns (session_id, first_seq DESC);
CREATE INDEX turns_children ON turns (parent_turn_id) WHERE parent_turn_id IS NOT NULL;

CREATE TABLE actions (
    id         text PRIMARY KEY,
    session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
    turn_id    text NOT NULL,
    call_id    text NOT NULL,
    type       text NOT NULL CHECK (type IN ('approval', 'question')),
    name       text NOT NULL,
    arguments  json NOT NULL,
    state      text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'approved', 'denied', 'withdrawn', 'expired')),
    answer     text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    decided_by text,
    decided_at timestamptz,
    told       boolean NOT NULL DEFAULT false,   -- its action.decided is in the journal
    n          bigint GENERATED ALWAYS AS IDENTITY, -- order of asking
    UNIQUE (turn_id, call_id)
);
CREATE INDEX actions_open ON actions (session_id) WHERE state = 'open';

-- The journal. A row may hold several consecutive deltas: seq to last_seq.
-- No foreign key: a check of the session for every batch would cost a lock, and
-- a conversation is deleted under its slot's lock.
CREATE TABLE events (
    session_id text NOT NULL,
    seq        bigint NOT NULL,
    last_seq   bigint NOT NULL,
    turn_id    text NOT NULL,
    fence      bigint NOT NULL,
    kind       text NOT NULL,
    body       json NOT NULL,                    -- json, not jsonb: a model may say \u0000, and nothing looks inside
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (session_id, seq)
);
CREATE INDEX events_transcript ON events (session_id, seq)
    WHERE kind NOT IN ('text.delta', 'reasoning.delta', 'tool.output');
CREATE UNIQUE INDEX events_one_end ON events (turn_id) WHERE kind = 'turn.ended';
CREATE UNIQUE INDEX events_one_pause ON events (turn_id, fence) WHERE kind = 'turn.paused';

-- One row for each request to a model.
CREATE TABLE usage (
    turn_id          text NOT NULL,
    call             integer NOT NULL,
    session_id       text NOT NULL,
    project_id       text NOT NULL,
    agent_key        text NOT NULL,
    model            text NOT NULL,
    status           text NOT NULL CHECK (status IN ('ok', 'error', 'cancelled')),
    input_tokens     bigint NOT NULL,
    cached_tokens    bigint NOT NULL,
    output_tokens    bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    estimated        boolean NOT NULL,
    cost_usd         double precision NOT NULL,
    latency_ms       bigint NOT NULL,
    first_token_ms   bigint,
    at               timestamptz NOT NULL,
    PRIMARY KEY (turn_id, call)
);
CREATE INDEX usage_by_day ON usage (project_id, at);
