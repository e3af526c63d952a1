-- +goose Up

-- When the owner of an account's address proved it; null for an address that somebody has only stated. An identity
-- is bound to an account with a password only where its provider vouched for the address, which counts as proof; accounts that were opened
-- at a provider are proved when their owners come the next time.
ALTER TABLE accounts ADD COLUMN IF NOT EXISTS email_verified_at timestamptz;
UPDATE accounts SET email_verified_at = i.at FROM (SELECT account_id, min(created_at) AS at FROM account_identities GROUP BY account_id) i
    WHERE i.account_id = accounts.id AND accounts.password_hash IS NOT NULL AND accounts.email_verified_at IS NULL;

-- The free allowance waits until the address is proved. Accounts from before, and those that the previous release opens, keep theirs.
ALTER TABLE credit_accounts ADD COLUMN IF NOT EXISTS allowance_withheld boolean NOT NULL DEFAULT false;

-- Links that have been sent to addresses. The token itself is in the mail alone. A link with a password is of a sign-up whose account is
-- opened when the link is followed, so that account_id may name one that is not there yet.
CREATE TABLE IF NOT EXISTS email_proofs (
    token_sha256  bytea PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
    account_id    text NOT NULL,
    email         text NOT NULL CHECK (email <> ''),
    name          text,
    password_hash text,
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    CHECK (expires_at > created_at),
    CHECK ((name IS NULL) = (password_hash IS NULL))
);
CREATE INDEX IF NOT EXISTS email_proofs_by_expiry ON email_proofs (expires_at);
CREATE INDEX IF NOT EXISTS email_proofs_by_account ON email_proofs (account_id);
ALTER TABLE email_proofs ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own ON email_proofs;
DROP POLICY IF EXISTS everyone ON email_proofs;
CREATE POLICY own ON email_proofs TO molfabric_app USING (account_id = (SELECT current_setting('molfabric.account', true)));
CREATE POLICY everyone ON email_proofs TO molfabric_everyone USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON email_proofs TO molfabric_app, molfabric_everyone;

-- +goose Down
DROP TABLE email_proofs;
ALTER TABLE credit_accounts DROP COLUMN allowance_withheld;
ALTER TABLE accounts DROP COLUMN email_verified_at;
