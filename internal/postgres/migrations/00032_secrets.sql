-- +goose Up

-- Which of the deployment's secrets a row rests on, by the secret's id; NULL for rows from before, and where nobody knows.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS secret_id text;
ALTER TABLE license_servers ADD COLUMN IF NOT EXISTS secret_id text;
ALTER TABLE project_shares ADD COLUMN IF NOT EXISTS secret_id text;

-- +goose Down
ALTER TABLE project_shares DROP COLUMN secret_id;
ALTER TABLE license_servers DROP COLUMN secret_id;
ALTER TABLE api_keys DROP COLUMN secret_id;
