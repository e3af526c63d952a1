-- +goose Up

-- Servers of accounts' own that are told of events. credit_low_at is when credit.low was told, until there was more again.
CREATE TABLE IF NOT EXISTS webhooks (
    id               text PRIMARY KEY,
    account_id       text NOT NULL REFERENCES accounts (id),
    url              text NOT NULL,
    description      text NOT NULL,
    events           text[] NOT NULL,
    low_credit_pence bigint NOT NULL,
    enabled          boolean NOT NULL,
    disabled_reason  text NOT NULL DEFAULT '',
    secret_sealed    bytea NOT NULL,
    secret_id        text NOT NULL,
    credit_low_at    timestamptz,
    since            timestamptz NOT NULL, -- what happened before is not told
    created_at       timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS webhooks_by_account ON webhooks (account_id, created_at DESC, id DESC);

-- Messages to them. Those of one subject are sent in the order of place.
CREATE TABLE IF NOT EXISTS webhook_deliveries (
    webhook_id   text NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    id           text NOT NULL,
    account_id   text NOT NULL,
    event        text NOT NULL,
    subject      text NOT NULL,
    place        bigint GENERATED ALWAYS AS IDENTITY,
    body         bytea NOT NULL,
    state        text NOT NULL CHECK (state IN ('PENDING', 'DELIVERED', 'FAILED')),
    attempts     int NOT NULL DEFAULT 0,
    next_at      timestamptz NOT NULL,
    last_status  int NOT NULL DEFAULT 0,
    last_error   text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL,
    delivered_at timestamptz,
    PRIMARY KEY (webhook_id, id)
);
CREATE INDEX IF NOT EXISTS webhook_deliveries_due ON webhook_deliveries (next_at) WHERE state = 'PENDING';
CREATE INDEX IF NOT EXISTS webhook_deliveries_waiting ON webhook_deliveries (webhook_id, subject, place) WHERE state = 'PENDING';
CREATE INDEX IF NOT EXISTS webhook_deliveries_newest ON webhook_deliveries (webhook_id, place DESC);
CREATE INDEX IF NOT EXISTS jobs_by_account_finished ON jobs (account_id, finished_at) WHERE finished_at IS NOT NULL;

-- +goose StatementBegin
DO $$
DECLARE
    tenanted text;
BEGIN
    FOREACH tenanted IN ARRAY ARRAY['webhooks', 'webhook_deliveries'] LOOP
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
DROP INDEX jobs_by_account_finished;
DROP TABLE webhook_deliveries;
DROP TABLE webhooks;
