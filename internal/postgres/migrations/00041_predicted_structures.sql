-- +goose Up

-- Predicted structures are kept beside the entries: AF-P04637-F1 is the model of UniProt's P04637 in the AlphaFold database.
ALTER TABLE structures DROP CONSTRAINT structures_pdb_id_check;
ALTER TABLE structures ADD CONSTRAINT structures_pdb_id_check
    CHECK (pdb_id ~ '^[0-9][A-Z0-9]{3}$' OR pdb_id ~ '^AF-[A-Z0-9]{6,10}-F1$');

-- +goose Down
DELETE FROM structures WHERE pdb_id LIKE 'AF-%';
ALTER TABLE structures DROP CONSTRAINT structures_pdb_id_check;
ALTER TABLE structures ADD CONSTRAINT structures_pdb_id_check CHECK (pdb_id ~ '^[0-9][A-Z0-9]{3}$');
