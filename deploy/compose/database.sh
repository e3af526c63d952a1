#!/bin/sh
# The image of Postgres runs this once, when it has made an empty database: the roles that serve requests own nothing, and
# row-level security binds them.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$MOLFABRIC_SERVER_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE molfabric_app NOLOGIN;
CREATE ROLE molfabric_everyone NOLOGIN;
CREATE ROLE molfabric_server LOGIN NOINHERIT PASSWORD :'password' IN ROLE molfabric_app, molfabric_everyone;
SQL
