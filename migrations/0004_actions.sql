-- +goose Up

-- How long a turn's closed legs have worked: the wall clock limit is the turn's,
-- and stands still while it waits for a person.
ALTER TABLE turns ADD COLUMN worked_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE actions ADD COLUMN expires_at timestamptz; -- null: never
CREATE INDEX actions_overdue ON actions (expires_at) WHERE state = 'open' AND expires_at IS NOT NULL;

-- Open requests of a project, newest first: few at any time, so the order is all
-- that an index has to give.
CREATE INDEX actions_inbox ON actions (n DESC) WHERE state = 'open';

-- Decided while a turn ran, and not in the journal yet.
CREATE INDEX actions_untold ON actions (session_id) WHERE state <> 'open' AND NOT told;
