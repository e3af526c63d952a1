-- +goose Up

-- A purchase of credit, stored before the payment provider hears of it. The price is kept as it was offered: a later price book
-- does not change what was agreed. What was paid and given stands in the ledger, under unique keys that begin with the id.
CREATE TABLE payments (
    id              text PRIMARY KEY,                -- also the provider's idempotency key and what its events name
    account_id      text NOT NULL REFERENCES credit_accounts (account_id),
    tier_id         text NOT NULL,
    price_pence     bigint NOT NULL CHECK (price_pence > 0),
    bonus_pence     bigint NOT NULL CHECK (bonus_pence >= 0),
    status          text NOT NULL CHECK (status IN ('pending', 'paid', 'expired', 'failed')),
    checkout_id     text UNIQUE,                     -- the provider's; null until it has answered
    refunded_pence  bigint NOT NULL DEFAULT 0 CHECK (refunded_pence BETWEEN 0 AND price_pence), -- what the payer got back
    reclaimed_pence bigint NOT NULL DEFAULT 0,       -- what the wallet gave back for it, with its part of the bonus
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    CHECK (reclaimed_pence BETWEEN 0 AND refunded_pence + bonus_pence)
);
CREATE INDEX payments_by_account ON payments (account_id, created_at DESC);

-- What the provider has told of a payment. It repeats itself and keeps no order; an event counts once.
CREATE TABLE payment_events (
    id          text PRIMARY KEY,                    -- the provider's
    payment_id  text NOT NULL REFERENCES payments (id),
    kind        text NOT NULL CHECK (kind IN ('paid', 'expired', 'failed', 'refunded')),
    outcome     text NOT NULL CHECK (outcome IN ('credited', 'reclaimed', 'noted', 'refused')),
    received_at timestamptz NOT NULL
);
CREATE INDEX payment_events_by_payment ON payment_events (payment_id);

-- +goose Down
DROP TABLE payment_events;
DROP TABLE payments;
