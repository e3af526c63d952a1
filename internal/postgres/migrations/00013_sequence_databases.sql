-- +goose Up

-- The BLAST databases of the deployment. Their files lie in the object store below databases/blast/<checksum>/ and are never
-- changed; a database that was retired is found no more, and its files stay for the jobs that used it.
CREATE TABLE sequence_databases (
    name          text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$'),
    version       text NOT NULL CHECK (version ~ '^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$'),
    released_on   date NOT NULL,
    type          text NOT NULL CHECK (type IN ('prot', 'nucl')),
    checksum      text NOT NULL CHECK (checksum ~ '^[0-9a-f]{64}$'), -- SHA-256 of the lines "<sha256>  <name>" of files, by name
    title         text NOT NULL,
    sequences     bigint NOT NULL CHECK (sequences > 0),
    residues      bigint NOT NULL CHECK (residues > 0),              -- bases of a nucleotide database
    bytes         bigint NOT NULL CHECK (bytes > 0),                 -- of all files
    files         jsonb NOT NULL,                                    -- [{name, sha256, byteSize}], by name
    source_sha256 text NOT NULL CHECK (source_sha256 ~ '^[0-9a-f]{64}$'), -- of the FASTA that it was built from, uncompressed
    program       text NOT NULL,                                     -- what built it, e.g. "makeblastdb 2.12.0+"
    created_at    timestamptz NOT NULL,
    retired_at    timestamptz,
    PRIMARY KEY (name, version)
);

-- +goose Down
DROP TABLE sequence_databases;
