-- +goose Up

-- A molecular project. A deleted one leaves its id and those of its shares, so that an old link is told from a wrong one;
-- its name, its contents and its revisions are gone.
CREATE TABLE projects (
    id              uuid PRIMARY KEY,
    account_id      text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name            text NOT NULL,
    description     text NOT NULL,
    tags            text[] NOT NULL,
    current_version bigint NOT NULL CHECK (current_version >= 1),
    stored_bytes    bigint NOT NULL CHECK (stored_bytes >= 0), -- of its contents, each counted once
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    deleted_at      timestamptz
);
CREATE INDEX projects_by_account ON projects (account_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

-- What revisions hold: canonical JSON (RFC 8785), once a project however many revisions have it. It is text, because jsonb
-- would not keep it canonical.
CREATE TABLE project_contents (
    project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    sha256     text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    content    text NOT NULL,
    PRIMARY KEY (project_id, sha256)
);

CREATE TABLE project_revisions (
    project_id     uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    version        bigint NOT NULL CHECK (version >= 1),
    content_sha256 text NOT NULL,
    source_version bigint CHECK (source_version >= 1 AND source_version < version), -- of a restore
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (project_id, version),
    FOREIGN KEY (project_id, content_sha256) REFERENCES project_contents (project_id, sha256) ON DELETE CASCADE
);

-- A share is pinned to a revision, and to the name that the project had then. The token of its link is worked out from the id
-- and a secret that the database does not hold.
CREATE TABLE project_shares (
    id         uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    version    bigint NOT NULL,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE UNIQUE INDEX project_shares_active ON project_shares (project_id) WHERE revoked_at IS NULL;
CREATE INDEX project_shares_by_project ON project_shares (project_id);

-- +goose StatementBegin
CREATE FUNCTION projects_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM projects WHERE id = OLD.project_id AND deleted_at IS NULL) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is immutable while its project lives', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER project_revisions_immutable BEFORE UPDATE OR DELETE ON project_revisions
    FOR EACH ROW EXECUTE FUNCTION projects_refuse_change();
CREATE TRIGGER project_contents_immutable BEFORE UPDATE OR DELETE ON project_contents
    FOR EACH ROW EXECUTE FUNCTION projects_refuse_change();

-- +goose Down
DROP TABLE project_shares, project_revisions, project_contents, projects;
DROP FUNCTION projects_refuse_change;
