-- +goose Up

-- Messages under the ids that A2A clients gave them: who sends one again gets the
-- turn that it began, and a task's history has its client's own ids.
CREATE TABLE receipts (
    project_id text NOT NULL REFERENCES projects,
    agent_key  text NOT NULL,
    sender     text NOT NULL,                    -- principal
    message_id text NOT NULL,
    turn_id    text NOT NULL,                    -- that it begins or answers; there may be none yet
    session_id text REFERENCES sessions ON DELETE CASCADE, -- null: a session that is not made yet
    action_id  text NOT NULL DEFAULT '',         -- that it answers
    text       text NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (project_id, agent_key, sender, message_id)
);
CREATE INDEX receipts_by_turn ON receipts (turn_id, at);
CREATE INDEX receipts_by_session ON receipts (session_id);

-- What those cost lately whom portals let in by A2A.
CREATE INDEX turns_of_a2a ON turns (created_at) WHERE door = 'a2a';
