-- +goose Up

-- What a conversation's owner notes about it. A conversation that begins with
-- messages has no agent yet: its first turn names it (agent_key is empty).
ALTER TABLE sessions ADD COLUMN metadata json;

-- How many events a turn began with: its user message, if it has one of its own,
-- and turn.started.
ALTER TABLE turns ADD COLUMN first_words integer NOT NULL DEFAULT 2;
