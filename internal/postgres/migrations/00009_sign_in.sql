-- +goose Up

-- How the owner of a key came to the service; null when nobody said. Only the operator reads it.
ALTER TABLE api_keys ADD COLUMN discovery_source text CHECK (discovery_source <> '');

-- An account that was opened through an identity provider has no password.
ALTER TABLE accounts ALTER COLUMN password_hash DROP NOT NULL;

-- Who an account is at an identity provider (OpenID Connect). The pair is permanent; an address at the provider is not.
CREATE TABLE account_identities (
    issuer     text NOT NULL CHECK (issuer <> ''),
    subject    text NOT NULL CHECK (subject <> ''),
    account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX account_identities_by_account ON account_identities (account_id);

-- +goose Down
DROP TABLE account_identities;
UPDATE accounts SET password_hash = '' WHERE password_hash IS NULL; -- matches no password
ALTER TABLE accounts ALTER COLUMN password_hash SET NOT NULL;
ALTER TABLE api_keys DROP COLUMN discovery_source;
