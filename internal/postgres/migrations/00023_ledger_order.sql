-- +goose Up

-- An account's ledger is listed by the time of its entries: those of one time in the order in which they were written. Entries are
-- written with the time of what they book, which may lie before that of an entry that was written earlier.
CREATE INDEX IF NOT EXISTS ledger_entries_newest ON ledger_entries (account_id, created_at DESC, seq DESC);
DROP INDEX IF EXISTS ledger_entries_by_account;

-- +goose Down
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id, seq DESC);
DROP INDEX ledger_entries_newest;
