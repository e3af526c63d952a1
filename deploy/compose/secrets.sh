#!/bin/sh
# Prints a new deploy/.env for compose.yaml: passwords that nobody has seen, and what is to be filled in. It overwrites nothing;
# keep what it prints with your backups, since the key secret and the database's passwords go with the data.
set -eu
new() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
cat <<TEXT
DATABASE_OWNER_PASSWORD=$(new)
DATABASE_SERVER_PASSWORD=$(new)
REDIS_CONTROL_PASSWORD=$(new)
REDIS_WORKER_PASSWORD=$(new)
STORE_SECRET_KEY=$(new)
MOLFABRIC_KEY_SECRET=$(new)

# Images by digest, of your registry; molfabric-images list --for compose prints these lines. The fleets that run are those of COMPOSE_PROFILES.
MOLFABRIC_CONTROL_IMAGE=
MOLFABRIC_SEQUENCES_IMAGE=
COMPOSE_PROFILES=sequences

# How browsers reach the service. With TLS in front: https://…, MOLFABRIC_SECURE_COOKIES=true and the proxy's network in
# MOLFABRIC_TRUSTED_PROXIES.
MOLFABRIC_PUBLIC_URL=http://127.0.0.1:8080
# Only engines of fleets that run should be listed.
MOLFABRIC_SIMULATORS=blastp,blastn

# Cores and memory of one worker.
WORKER_CPUS=2
WORKER_MEMORY=8g
TEXT
