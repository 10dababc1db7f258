-- +goose Up

-- Sources of tools that a project declares once; agents name them by key.
CREATE TABLE tools (
    project_id text NOT NULL REFERENCES projects,
    key        text NOT NULL,
    config     json NOT NULL,
    secret     bytea,                            -- sealed with BELAY_SECRET_KEY
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (project_id, key)
);
