-- +goose Up

-- What agents were told to remember, each for one owner.
CREATE TABLE memories (
    n          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- order of remembering
    project_id text NOT NULL REFERENCES projects,
    agent_key  text NOT NULL,
    owner      text NOT NULL,
    text       text NOT NULL CHECK (length(text) <= 4000),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    search     tsvector NOT NULL GENERATED ALWAYS AS (to_tsvector('english', text)) STORED
);
CREATE INDEX memories_by_owner ON memories (project_id, agent_key, owner, n DESC);
CREATE INDEX memories_search ON memories USING gin (search);
