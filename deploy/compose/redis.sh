#!/bin/sh
# Starts Redis with the two users of doc/operating.md. Their passwords go into a file, since every user can read a command line.
set -eu
umask 077
acl=${TMPDIR:-/tmp}/users.acl
cat >"$acl" <<USERS
user default off
user control on >$CONTROL_PASSWORD resetchannels ~asynq:* ~molfabric:* ~rate:limit:* &asynq:* &molfabric:* +@all -@admin -@dangerous +info +keys
user worker on >$WORKER_PASSWORD resetchannels ~asynq:* ~molfabric:events ~molfabric:acks:* ~molfabric:workers %W~molfabric:worker:* %R~molfabric:cancel:* ~molfabric:{preview}:desk:* %W~molfabric:{preview}:picture:* &asynq:* +@all -@admin -@dangerous -scan -randomkey (~molfabric:claim:* ~molfabric:{preview}:scene:* +getdel)
USERS
exec redis-server --aclfile "$acl" --dir "${REDIS_DATA:-/data}" --appendonly yes --maxmemory-policy noeviction "$@"
