-- +goose Up

-- tasks is written all the time: rather than hold up every writer behind a transaction that does not end, this gives up.
SET LOCAL lock_timeout = '10s';

-- What the reports of an attempt are held against (internal/queue, Claim), and of which attempt. The release before writes neither, and
-- counts attempt on: an attempt that it has handed out has no witness, and its reports need no proof.
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS claim_witness bytea CHECK (length(claim_witness) = 32);
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS claim_attempt int;

-- +goose Down
SET LOCAL lock_timeout = '10s';
ALTER TABLE tasks DROP COLUMN claim_attempt;
ALTER TABLE tasks DROP COLUMN claim_witness;
