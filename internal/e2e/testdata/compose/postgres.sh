#!/bin/sh
# What compose.yaml relies on of Docker's image of Postgres: a user, a database and what /docker-entrypoint-initdb.d does, once.
set -eu
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  initdb --pgdata "$data" --username "$POSTGRES_USER" --pwfile /tmp/password --auth-local trust --auth-host scram-sha-256 \
    --encoding UTF8 --locale C.UTF-8
  rm /tmp/password
  echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
  pg_ctl --pgdata "$data" --options "-c listen_addresses=" --wait start
  createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
  for script in /docker-entrypoint-initdb.d/*.sh; do sh "$script"; done
  pg_ctl --pgdata "$data" --wait stop
fi
exec postgres -D "$data" -c 'listen_addresses=*'
