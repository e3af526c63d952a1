-- +goose Up

-- Links that sign a browser in, once. The token itself is in the link alone. A link ends with the session that made it: with a sign-out, a
-- changed password, a lock, and the end of the account.
CREATE TABLE IF NOT EXISTS sign_in_links (
    token_sha256   bytea PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
    session_sha256 bytea NOT NULL REFERENCES sessions (token_sha256) ON DELETE CASCADE,
    account_id     text NOT NULL,
    expires_at     timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS sign_in_links_by_session ON sign_in_links (session_sha256);
ALTER TABLE sign_in_links ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own ON sign_in_links;
DROP POLICY IF EXISTS everyone ON sign_in_links;
CREATE POLICY own ON sign_in_links TO molfabric_app USING (account_id = (SELECT current_setting('molfabric.account', true)));
CREATE POLICY everyone ON sign_in_links TO molfabric_everyone USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_links TO molfabric_app, molfabric_everyone;

-- +goose Down
DROP TABLE sign_in_links;
