-- +goose Up

-- Published agents that are shown to visitors.
CREATE TABLE portals (
    slug       text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects,
    config     json NOT NULL,
    secret     bytea,                            -- sealed with BELAY_SECRET_KEY
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX portals_by_project ON portals (project_id, slug);

-- What was sent in the current minute: by each visitor, and by all (visitor '').
CREATE TABLE portal_meters (
    slug     text NOT NULL REFERENCES portals ON DELETE CASCADE,
    visitor  text NOT NULL,
    minute   timestamptz NOT NULL,
    messages integer NOT NULL,
    PRIMARY KEY (slug, visitor)
);
CREATE INDEX portal_meters_by_age ON portal_meters (slug, minute);

-- What visitors cost lately.
CREATE INDEX turns_of_portals ON turns (created_at) WHERE door = 'portal';
