-- +goose Up

-- Entries of the Protein Data Bank that were looked up, as mmCIF in the object store under a key that names their content. They
-- are public and belong to no account; an older content of an entry stays in the store for the jobs that used it.
CREATE TABLE structures (
    pdb_id      text PRIMARY KEY CHECK (pdb_id ~ '^[0-9][A-Z0-9]{3}$'),
    sha256      text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    storage_key text NOT NULL,
    byte_size   bigint NOT NULL CHECK (byte_size > 0),
    source      text NOT NULL,                       -- address, or "file:" and the name in the mirror's directory
    fetched_at  timestamptz NOT NULL,
    check_after timestamptz NOT NULL                 -- when the source is asked again
);

-- Chemical components that were looked up one by one, because the deployment's own dictionary does not have them.
CREATE TABLE components (
    component_id text PRIMARY KEY CHECK (component_id ~ '^[A-Z0-9]{1,8}$'),
    definition   jsonb NOT NULL,                     -- {id, name, synonyms, formula, type, smiles, inchiKey}
    source       text NOT NULL,
    fetched_at   timestamptz NOT NULL,
    check_after  timestamptz NOT NULL
);

-- +goose Down
DROP TABLE components, structures;
