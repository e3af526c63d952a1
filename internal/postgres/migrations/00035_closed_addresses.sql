-- +goose Up

-- Under which of the deployment's secrets an address is known, by the secret's id; NULL for those from before, and of the release before.
ALTER TABLE closed_addresses ADD COLUMN IF NOT EXISTS secret_id text;

-- +goose Down
ALTER TABLE closed_addresses DROP COLUMN secret_id;
