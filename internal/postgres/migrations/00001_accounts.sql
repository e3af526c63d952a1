-- +goose Up

-- A customer. Everything else belongs to one.
CREATE TABLE accounts (
    id            text PRIMARY KEY,
    email         text NOT NULL CHECK (email <> ''),
    name          text NOT NULL,
    password_hash text NOT NULL,                     -- argon2id in its own text form, salt and cost included
    plan          text NOT NULL DEFAULT 'free',
    created_at    timestamptz NOT NULL
);
-- One account an address, however it is capitalised.
CREATE UNIQUE INDEX accounts_email ON accounts (lower(email));

-- A signed-in browser. The token itself is only in the browser's cookie.
CREATE TABLE sessions (
    token_sha256 bytea PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
    account_id   text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    CHECK (expires_at > created_at)
);
CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- An API key. The key itself is shown once, at its creation, and never stored.
CREATE TABLE api_keys (
    id           text PRIMARY KEY,
    account_id   text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    environment  text NOT NULL CHECK (environment IN ('live', 'test')),
    scopes       text[] NOT NULL CHECK (cardinality(scopes) > 0),
    prefix       text NOT NULL,                      -- the start of the key, for people to recognise it
    last4        text NOT NULL CHECK (char_length(last4) = 4),
    secret_hmac  bytea NOT NULL UNIQUE CHECK (octet_length(secret_hmac) = 32),
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    CHECK (expires_at > created_at)
);
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at DESC, id DESC);

-- A file that an upload URL was given out for. Whether it has arrived is the object store's knowledge.
CREATE TABLE uploads (
    storage_key  text PRIMARY KEY,                   -- begins with the account's namespace
    account_id   text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    filename     text NOT NULL,
    content_type text NOT NULL,
    byte_size    bigint NOT NULL CHECK (byte_size > 0),
    sha256       text CHECK (sha256 ~ '^[0-9a-f]{64}$'), -- as announced; null when it was not
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL                -- of the URL
);
CREATE INDEX uploads_by_account ON uploads (account_id, created_at DESC, storage_key DESC);

-- +goose Down
DROP TABLE uploads;
DROP TABLE api_keys;
DROP TABLE sessions;
DROP TABLE accounts;
