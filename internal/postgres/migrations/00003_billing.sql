-- +goose Up

-- What an account owns, one row an account, and the lock that every movement of its money takes first
-- (FOR NO KEY UPDATE). The monthly credit is spent before the wallet and expires with the month.
CREATE TABLE credit_accounts (
    account_id           text PRIMARY KEY REFERENCES accounts (id),
    wallet_pence         bigint NOT NULL DEFAULT 0,
    wallet_held_pence    bigint NOT NULL DEFAULT 0,
    monthly_pence        bigint NOT NULL DEFAULT 0,
    monthly_held_pence   bigint NOT NULL DEFAULT 0,
    total_credited_pence bigint NOT NULL DEFAULT 0,   -- sum of top_up, bonus and monthly_grant
    monthly_reset_at     timestamptz NOT NULL,        -- when what is unspent of monthly_pence expires
    CHECK (wallet_held_pence BETWEEN 0 AND wallet_pence),
    CHECK (monthly_held_pence BETWEEN 0 AND monthly_pence),
    CHECK (total_credited_pence >= 0)
);

-- What a job has set aside. The job's charge is taken from it once, and never exceeds it. There is no reference to jobs:
-- billing knows a job by its id alone.
CREATE TABLE holds (
    job_id             text PRIMARY KEY,
    account_id         text NOT NULL REFERENCES credit_accounts (account_id),
    wallet_pence       bigint NOT NULL CHECK (wallet_pence >= 0),
    monthly_pence      bigint NOT NULL CHECK (monthly_pence >= 0),
    monthly_expires_at timestamptz NOT NULL,          -- end of the month that the monthly part belongs to
    status             text NOT NULL CHECK (status IN ('open', 'settled', 'released')),
    captured_pence     bigint NOT NULL DEFAULT 0 CHECK (captured_pence BETWEEN 0 AND wallet_pence + monthly_pence),
    created_at         timestamptz NOT NULL,
    settled_at         timestamptz,
    CHECK ((status = 'open') = (settled_at IS NULL)),
    CHECK ((status = 'settled') = (captured_pence > 0))
);
CREATE INDEX holds_by_account ON holds (account_id) WHERE status = 'open';

-- The journal: what happened to a bucket of an account, in the order of seq. Rows of one account are written under the
-- account's lock, so within an account seq is also the order of commits.
CREATE TABLE ledger_entries (
    seq                  bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    id                   text PRIMARY KEY,
    account_id           text NOT NULL REFERENCES credit_accounts (account_id),
    type                 text NOT NULL CHECK (type IN ('top_up', 'bonus', 'monthly_grant', 'monthly_expiry', 'hold',
                                                       'hold_release', 'charge', 'refund', 'adjustment')),
    bucket               text NOT NULL CHECK (bucket IN ('wallet', 'monthly')),
    amount_pence         bigint NOT NULL CHECK (amount_pence <> 0),
    balance_before_pence bigint NOT NULL CHECK (balance_before_pence >= 0),
    balance_after_pence  bigint NOT NULL CHECK (balance_after_pence >= 0),
    job_id               text,
    unique_key           text UNIQUE,                 -- of the event outside that caused the entry, such as a payment
    description          text NOT NULL,
    created_at           timestamptz NOT NULL,
    CHECK (CASE WHEN type IN ('hold', 'monthly_expiry', 'charge') THEN amount_pence < 0
                WHEN type = 'adjustment' THEN true
                ELSE amount_pence > 0 END),
    -- A hold and its release are memos: they change what is available, not the balance.
    CHECK (balance_after_pence = balance_before_pence +
           CASE WHEN type IN ('hold', 'hold_release') THEN 0 ELSE amount_pence END),
    CHECK (type NOT IN ('hold', 'hold_release', 'charge') OR job_id IS NOT NULL)
);
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id, seq DESC);
CREATE INDEX ledger_entries_by_job ON ledger_entries (job_id) WHERE job_id IS NOT NULL;
-- A job is held, charged and released once a bucket, whatever the program above believes.
CREATE UNIQUE INDEX ledger_entries_once_a_job ON ledger_entries (job_id, type, bucket)
    WHERE type IN ('hold', 'hold_release', 'charge');

-- The double entry behind the journal: every entry moves its amount between two ledger accounts. An account's are
-- wallet:<id> and monthly:<id> (available) and wallet_held:<id> and monthly_held:<id>; the platform's are cash, promotion,
-- revenue and adjustment, which exist only here, so that no job ever waits for a row of the platform.
CREATE TABLE ledger_postings (
    entry_id     text NOT NULL REFERENCES ledger_entries (id),
    account      text NOT NULL,
    amount_pence bigint NOT NULL CHECK (amount_pence <> 0),
    PRIMARY KEY (entry_id, account)
);
CREATE INDEX ledger_postings_by_account ON ledger_postings (account);

-- +goose StatementBegin
CREATE FUNCTION ledger_refuse_unbalanced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM added GROUP BY entry_id HAVING sum(amount_pence) <> 0) THEN
        RAISE EXCEPTION 'the postings of a ledger entry must sum to zero' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION ledger_refuse_bare() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM ledger_postings WHERE entry_id = NEW.id) THEN
        RAISE EXCEPTION 'ledger entry % has no postings', NEW.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: write a correcting entry', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd

-- Postings that balance within each statement balance for ever, because none can be changed. One check a statement is
-- cheaper than a deferred one a row.
CREATE TRIGGER ledger_postings_balance AFTER INSERT ON ledger_postings
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_unbalanced();
CREATE CONSTRAINT TRIGGER ledger_entries_posted AFTER INSERT ON ledger_entries
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_refuse_bare();
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_postings_append_only BEFORE UPDATE OR DELETE ON ledger_postings
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- Whatever here contradicts itself; empty in health. The sums are taken anew from the journal and the postings, which
-- share no code with what keeps the balances.
CREATE VIEW ledger_violations AS
    SELECT 'unbalanced_entry' AS rule, e.id AS subject, format('postings sum to %s', coalesce(sum(p.amount_pence)::text, 'nothing')) AS detail
    FROM ledger_entries e LEFT JOIN ledger_postings p ON p.entry_id = e.id
    GROUP BY e.id HAVING sum(p.amount_pence) IS DISTINCT FROM 0
UNION ALL
    SELECT 'balance_not_sum_of_entries', b.account_id || ' ' || b.bucket, format('balance %s, entries %s', b.balance, coalesce(s.total, 0))
    FROM (SELECT account_id, 'wallet' AS bucket, wallet_pence AS balance FROM credit_accounts
          UNION ALL SELECT account_id, 'monthly', monthly_pence FROM credit_accounts) b
    LEFT JOIN (SELECT account_id, bucket, sum(amount_pence) AS total FROM ledger_entries
               WHERE type NOT IN ('hold', 'hold_release') GROUP BY account_id, bucket) s USING (account_id, bucket)
    WHERE b.balance <> coalesce(s.total, 0)
UNION ALL
    SELECT 'balance_not_sum_of_postings', b.account, format('balance %s, postings %s', b.balance, coalesce(s.total, 0))
    FROM (SELECT 'wallet:' || account_id AS account, wallet_pence - wallet_held_pence AS balance FROM credit_accounts
          UNION ALL SELECT 'wallet_held:' || account_id, wallet_held_pence FROM credit_accounts
          UNION ALL SELECT 'monthly:' || account_id, monthly_pence - monthly_held_pence FROM credit_accounts
          UNION ALL SELECT 'monthly_held:' || account_id, monthly_held_pence FROM credit_accounts) b
    LEFT JOIN (SELECT account, sum(amount_pence) AS total FROM ledger_postings GROUP BY account) s USING (account)
    WHERE b.balance <> coalesce(s.total, 0)
UNION ALL
    SELECT 'held_not_sum_of_open_holds', c.account_id,
           format('held %s + %s, open holds %s + %s', c.wallet_held_pence, c.monthly_held_pence, coalesce(h.wallet, 0), coalesce(h.monthly, 0))
    FROM credit_accounts c
    LEFT JOIN (SELECT account_id, sum(wallet_pence) AS wallet, sum(monthly_pence) AS monthly
               FROM holds WHERE status = 'open' GROUP BY account_id) h USING (account_id)
    WHERE c.wallet_held_pence <> coalesce(h.wallet, 0) OR c.monthly_held_pence <> coalesce(h.monthly, 0)
UNION ALL
    SELECT 'credited_not_sum_of_credits', c.account_id, format('credited %s, entries %s', c.total_credited_pence, coalesce(sum(e.amount_pence), 0))
    FROM credit_accounts c
    LEFT JOIN ledger_entries e ON e.account_id = c.account_id AND e.type IN ('top_up', 'bonus', 'monthly_grant')
    GROUP BY c.account_id HAVING c.total_credited_pence <> coalesce(sum(e.amount_pence), 0)
UNION ALL
    -- An open hold is entered in full; one that has ended has been charged and given back in full.
    SELECT 'hold_not_settled_by_entries', h.job_id, format('%s, captured %s of %s; entries hold %s and charge %s', h.status,
           h.captured_pence, h.wallet_pence + h.monthly_pence, coalesce(s.held, 0), coalesce(s.charged, 0))
    FROM holds h
    LEFT JOIN (SELECT job_id,
                      -sum(amount_pence) FILTER (WHERE type IN ('hold', 'hold_release')) +
                      coalesce(sum(amount_pence) FILTER (WHERE type = 'charge'), 0) AS held,
                      coalesce(-sum(amount_pence) FILTER (WHERE type = 'charge'), 0) AS charged
               FROM ledger_entries WHERE job_id IS NOT NULL GROUP BY job_id) s USING (job_id)
    WHERE coalesce(s.charged, 0) <> h.captured_pence
       OR coalesce(s.held, 0) <> CASE WHEN h.status = 'open' THEN h.wallet_pence + h.monthly_pence ELSE 0 END
UNION ALL
    SELECT 'entry_without_hold', e.id, format('%s for job %s', e.type, e.job_id)
    FROM ledger_entries e LEFT JOIN holds h ON h.job_id = e.job_id AND h.account_id = e.account_id
    WHERE e.type IN ('hold', 'hold_release', 'charge') AND h.job_id IS NULL
UNION ALL
    SELECT 'balance_jumps', id, format('starts at %s, the entry before ended at %s', balance_before_pence, previous)
    FROM (SELECT id, balance_before_pence,
                 lag(balance_after_pence, 1, 0::bigint) OVER (PARTITION BY account_id, bucket ORDER BY seq) AS previous
          FROM ledger_entries) chain
    WHERE balance_before_pence <> previous;

-- +goose Down
DROP VIEW ledger_violations;
DROP TABLE ledger_postings, ledger_entries, holds, credit_accounts;
DROP FUNCTION ledger_refuse_unbalanced, ledger_refuse_bare, ledger_refuse_change;
