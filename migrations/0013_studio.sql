-- +goose Up

-- How the node that ran a stopped turn heard of the stop: local, push or poll.
-- Null: nobody ran it then, or its node was lost.
ALTER TABLE turns ADD COLUMN stop_path text;

-- What they are of is written once: no index costs a running turn an update.
CREATE INDEX turns_by_age ON turns (created_at);
CREATE INDEX turns_stopped ON turns (ended_at) WHERE stop_reason = 'cancelled';
CREATE INDEX actions_by_age ON actions (n DESC);
