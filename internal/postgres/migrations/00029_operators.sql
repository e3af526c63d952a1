-- +goose Up

-- An account that an operator has locked lets nobody in; it keeps everything.
ALTER TABLE accounts ADD COLUMN IF NOT EXISTS locked_at timestamptz;
ALTER TABLE accounts ADD COLUMN IF NOT EXISTS locked_because text;

-- What happened to doors and money, and who did it. It outlives the accounts that it names, and nobody who serves requests changes or
-- removes a line.
CREATE TABLE IF NOT EXISTS audit_log (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    account_id text NOT NULL,
    actor      text NOT NULL CHECK (actor <> ''),
    event      text NOT NULL CHECK (event <> ''),
    detail     text NOT NULL DEFAULT '',
    address    text NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS audit_log_by_account ON audit_log (account_id, id DESC);
ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own ON audit_log;
DROP POLICY IF EXISTS everyone ON audit_log;
CREATE POLICY own ON audit_log TO molfabric_app USING (account_id = (SELECT current_setting('molfabric.account', true)));
CREATE POLICY everyone ON audit_log TO molfabric_everyone USING (true);
GRANT SELECT, INSERT ON audit_log TO molfabric_app, molfabric_everyone;

-- +goose Down
DROP TABLE audit_log;
ALTER TABLE accounts DROP COLUMN locked_because;
ALTER TABLE accounts DROP COLUMN locked_at;
