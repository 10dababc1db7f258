-- +goose Up

-- Background runs: queued turns of many projects, claimed by any node.
ALTER TABLE run_slots
    ADD COLUMN project_id  text NOT NULL DEFAULT '',      -- of its session; written by each take
    ADD COLUMN background  boolean NOT NULL DEFAULT false, -- what is in it is a background run
    ADD COLUMN patience_ms bigint,                         -- how long it may be queued at a time; null: for ever
    ADD COLUMN expires_at  timestamptz;                    -- queued: when it has been for too long
UPDATE run_slots s SET project_id = c.project_id FROM sessions c WHERE c.id = s.session_id AND s.state <> 'idle';

-- One project's oldest is found without a look at what others have queued.
DROP INDEX run_slots_queued;
CREATE INDEX run_slots_queued ON run_slots (project_id, continues DESC, queued_at) WHERE state = 'queued';
CREATE INDEX run_slots_live ON run_slots (project_id, state) WHERE background AND state <> 'idle';
CREATE INDEX run_slots_expiring ON run_slots (expires_at) WHERE expires_at IS NOT NULL;

ALTER TABLE turns
    ADD COLUMN project_id text NOT NULL DEFAULT '',
    ADD COLUMN owner      text NOT NULL DEFAULT '';        -- of its session
CREATE INDEX turns_runs ON turns (project_id, created_at DESC, id DESC) WHERE background;
CREATE INDEX turns_own_runs ON turns (project_id, owner, created_at DESC, id DESC) WHERE background;

-- Which run a request with an Idempotency-Key made. No foreign key to the turn:
-- a key outlives a run that was deleted, and does not make it again.
CREATE TABLE idempotency_keys (
    project_id text NOT NULL REFERENCES projects,
    principal  text NOT NULL,
    key        text NOT NULL,
    request    bytea NOT NULL,                             -- SHA-256 of what was asked for
    turn_id    text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (project_id, principal, key)
);
CREATE INDEX idempotency_keys_expiring ON idempotency_keys (expires_at);
