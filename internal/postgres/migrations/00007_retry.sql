-- +goose Up

-- A retry runs a job that has ended again, whole or in part: jobs.attempts is the number of its current run. The amounts of a
-- job are over all of its runs: what the ended ones were charged, which is settled_pence until the job ends again, and the
-- estimate, the hold or the use of the current one.
ALTER TABLE jobs ADD COLUMN settled_pence bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN jobs.charged_pence IS 'of all runs; set when the job ends, and null again while a retry runs';
COMMENT ON COLUMN jobs.request_id IS 'X-Request-Id of the submission or of the last retry, for the logs';
-- The last run that a task took part in: one that a retry keeps stays behind.
ALTER TABLE tasks ADD COLUMN run int NOT NULL DEFAULT 1;
ALTER TABLE task_attempts ADD COLUMN run int NOT NULL DEFAULT 1;

-- Each run of a job has a hold of its own, which is open while the run is.
ALTER TABLE holds ADD COLUMN run int NOT NULL DEFAULT 1 CHECK (run >= 1);
ALTER TABLE holds DROP CONSTRAINT holds_pkey;
ALTER TABLE holds ADD PRIMARY KEY (job_id, run);
CREATE UNIQUE INDEX holds_one_open_a_job ON holds (job_id) WHERE status = 'open';

-- The run of the job that an entry is about; 1 where it is about none. A run is held, charged and released once a bucket.
ALTER TABLE ledger_entries ADD COLUMN run int NOT NULL DEFAULT 1 CHECK (run >= 1);
CREATE UNIQUE INDEX ledger_entries_once_a_run ON ledger_entries (job_id, run, type, bucket)
    WHERE type IN ('hold', 'hold_release', 'charge');
DROP INDEX ledger_entries_once_a_job;

CREATE OR REPLACE VIEW ledger_violations AS
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
    SELECT 'hold_not_settled_by_entries', h.job_id, format('run %s %s, captured %s of %s; entries hold %s and charge %s', h.run, h.status,
           h.captured_pence, h.wallet_pence + h.monthly_pence, coalesce(s.held, 0), coalesce(s.charged, 0))
    FROM holds h
    LEFT JOIN (SELECT job_id, run,
                      -sum(amount_pence) FILTER (WHERE type IN ('hold', 'hold_release')) +
                      coalesce(sum(amount_pence) FILTER (WHERE type = 'charge'), 0) AS held,
                      coalesce(-sum(amount_pence) FILTER (WHERE type = 'charge'), 0) AS charged
               FROM ledger_entries WHERE job_id IS NOT NULL GROUP BY job_id, run) s USING (job_id, run)
    WHERE coalesce(s.charged, 0) <> h.captured_pence
       OR coalesce(s.held, 0) <> CASE WHEN h.status = 'open' THEN h.wallet_pence + h.monthly_pence ELSE 0 END
UNION ALL
    SELECT 'entry_without_hold', e.id, format('%s for run %s of job %s', e.type, e.run, e.job_id)
    FROM ledger_entries e LEFT JOIN holds h ON h.job_id = e.job_id AND h.run = e.run AND h.account_id = e.account_id
    WHERE e.type IN ('hold', 'hold_release', 'charge') AND h.job_id IS NULL
UNION ALL
    SELECT 'balance_jumps', id, format('starts at %s, the entry before ended at %s', balance_before_pence, previous)
    FROM (SELECT id, balance_before_pence,
                 lag(balance_after_pence, 1, 0::bigint) OVER (PARTITION BY account_id, bucket ORDER BY seq) AS previous
          FROM ledger_entries) chain
    WHERE balance_before_pence <> previous;

-- +goose Down
-- Works as long as no job has been retried: before that there was no room for a second hold.
CREATE OR REPLACE VIEW ledger_violations AS
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

CREATE UNIQUE INDEX ledger_entries_once_a_job ON ledger_entries (job_id, type, bucket)
    WHERE type IN ('hold', 'hold_release', 'charge');
DROP INDEX ledger_entries_once_a_run;
ALTER TABLE ledger_entries DROP COLUMN run;
DROP INDEX holds_one_open_a_job;
ALTER TABLE holds DROP CONSTRAINT holds_pkey;
ALTER TABLE holds ADD PRIMARY KEY (job_id);
ALTER TABLE holds DROP COLUMN run;
ALTER TABLE task_attempts DROP COLUMN run;
ALTER TABLE tasks DROP COLUMN run;
COMMENT ON COLUMN jobs.request_id IS NULL;
COMMENT ON COLUMN jobs.charged_pence IS NULL;
ALTER TABLE jobs DROP COLUMN settled_pence;
