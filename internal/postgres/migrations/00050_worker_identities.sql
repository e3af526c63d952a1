-- +goose Up

-- Tokens with which workers come to identities of their own. They are random, so that their SHA-256 alone is kept. The name of one
-- that was revoked may be given again.
CREATE TABLE IF NOT EXISTS worker_enrolments (
    id          text PRIMARY KEY,
    name        text NOT NULL,
    token_hash  bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    max_workers int NOT NULL CHECK (max_workers > 0), -- that may live at once
    created_at  timestamptz NOT NULL,
    created_by  text NOT NULL,
    expires_at  timestamptz NOT NULL,                 -- no worker begins with it after that
    revoked_at  timestamptz,
    revoked_by  text NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX IF NOT EXISTS worker_enrolments_by_name ON worker_enrolments (name) WHERE revoked_at IS NULL;

-- Workers that have, or had, a user of Redis of their own. The user's name has the serial number of the request that it was made
-- for; the one before is good until its own end, so that a worker can go over to the newer one. ended_at is when Redis had none of
-- them any more: a worker that was not revoked may come back.
CREATE TABLE IF NOT EXISTS worker_identities (
    worker_id           text PRIMARY KEY,
    enrolment_id        text NOT NULL REFERENCES worker_enrolments (id),
    public_key          bytea NOT NULL CHECK (octet_length(public_key) = 32),
    host                text NOT NULL,
    name                text NOT NULL,
    address             text NOT NULL, -- of the network, at the last request
    created_at          timestamptz NOT NULL,
    renewed_at          timestamptz NOT NULL,
    serial              bigint NOT NULL,
    expires_at          timestamptz NOT NULL,
    previous_serial     bigint NOT NULL DEFAULT 0,
    previous_expires_at timestamptz,
    revoked_at          timestamptz,
    revoked_by          text NOT NULL DEFAULT '',
    ended_at            timestamptz
);
CREATE INDEX IF NOT EXISTS worker_identities_living ON worker_identities (expires_at) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS worker_identities_by_enrolment ON worker_identities (enrolment_id) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS worker_identities_ended ON worker_identities (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS worker_identities_revoked ON worker_identities (worker_id)
    WHERE revoked_at IS NOT NULL AND ended_at IS NULL;

-- Neither is an account's: requests of accounts cannot see them.
GRANT SELECT, INSERT, UPDATE, DELETE ON worker_enrolments, worker_identities TO molfabric_everyone;

-- +goose Down
DROP TABLE worker_identities;
DROP TABLE worker_enrolments;
