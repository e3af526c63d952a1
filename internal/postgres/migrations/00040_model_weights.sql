-- +goose Up

-- The weights of models, which an operator has put into the deployment. Their files lie in the object store below
-- weights/<digest>/ and are never changed; weights that were retired are found no more, and their files stay for the jobs that used them.
CREATE TABLE IF NOT EXISTS model_weights (
    digest         text PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'), -- SHA-256 of the lines "<sha256>  <name>" of files, by name
    model          text NOT NULL,                                      -- the engine that runs them, e.g. 'esmfold'
    title          text NOT NULL,
    licence        text NOT NULL,
    commercial_use boolean NOT NULL,
    trained        boolean NOT NULL,                                   -- false for random values, whose results mean nothing
    bytes          bigint NOT NULL CHECK (bytes > 0),                  -- of all files
    files          jsonb NOT NULL,                                     -- [{name, sha256, byteSize}], by name
    created_at     timestamptz NOT NULL,
    retired_at     timestamptz
);
GRANT SELECT ON model_weights TO molfabric_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON model_weights TO molfabric_everyone;

-- +goose Down
DROP TABLE model_weights;
