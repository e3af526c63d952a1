-- +goose Up

-- Networks that API keys were used from, the last ones of each key. news says that the key was used from another one before.
CREATE TABLE IF NOT EXISTS api_key_networks (
    key_id        text NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    network       text NOT NULL, -- 198.51.100.0/24 or 2001:db8:1::/48
    account_id    text NOT NULL,
    place         bigint GENERATED ALWAYS AS IDENTITY,
    news          boolean NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at  timestamptz NOT NULL, -- to the hour
    PRIMARY KEY (key_id, network)
);
CREATE INDEX IF NOT EXISTS api_key_networks_news ON api_key_networks (first_seen_at) WHERE news;

-- What accounts are told by mail. credit_low_at is when credit.low was told, until there was more again.
CREATE TABLE IF NOT EXISTS notice_settings (
    account_id       text PRIMARY KEY REFERENCES accounts (id),
    events           text[] NOT NULL,
    low_credit_pence bigint NOT NULL,
    credit_low_at    timestamptz,
    since            timestamptz NOT NULL -- what happened before is not told
);

-- What is told by mail. What waits of one event goes into one mail, in the order of place.
CREATE TABLE IF NOT EXISTS notices (
    account_id text NOT NULL REFERENCES notice_settings (account_id) ON DELETE CASCADE,
    id         text NOT NULL,
    event      text NOT NULL,
    subject    text NOT NULL,
    place      bigint GENERATED ALWAYS AS IDENTITY,
    body       bytea NOT NULL,
    state      text NOT NULL CHECK (state IN ('PENDING', 'SENT', 'FAILED')),
    attempts   int NOT NULL DEFAULT 0,
    next_at    timestamptz NOT NULL,
    last_error text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL,
    sent_at    timestamptz,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX IF NOT EXISTS notices_due ON notices (next_at) WHERE state = 'PENDING';
CREATE INDEX IF NOT EXISTS notices_waiting ON notices (account_id, event, place) WHERE state = 'PENDING';

-- +goose StatementBegin
DO $$
DECLARE
    tenanted text;
BEGIN
    FOREACH tenanted IN ARRAY ARRAY['api_key_networks', 'notice_settings', 'notices'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenanted);
        EXECUTE format('DROP POLICY IF EXISTS own ON %I', tenanted);
        EXECUTE format('DROP POLICY IF EXISTS everyone ON %I', tenanted);
        EXECUTE format('CREATE POLICY own ON %I TO molfabric_app USING (account_id = (SELECT current_setting(''molfabric.account'', true)))',
            tenanted);
        EXECUTE format('CREATE POLICY everyone ON %I TO molfabric_everyone USING (true)', tenanted);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO molfabric_app, molfabric_everyone', tenanted);
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE notices;
DROP TABLE notice_settings;
DROP TABLE api_key_networks;
