#!/usr/bin/env bash
# Stops the molfabric that runs from a home directory and removes its accounts, jobs and files. What set-up installed stays.
set -euo pipefail
home=${1:?usage: deploy/reset.sh HOME}
patience_s=60 # a drain and the stop of the stores fit into it

# The locks of the stores tell whether molfabric still runs: the kernel drops them whatever its end.
free() {
  local store
  for store in postgres redis objects; do
    [ ! -e "$home/$store/lock" ] || flock --nonblock "$home/$store/lock" true || return
  done
}

if ! free; then
  pid=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$home/running.json" 2>/dev/null || true)
  [ -n "$pid" ] || { echo "another process works in $home; stop it first" >&2; exit 1; }
  echo "stopping molfabric (process $pid)"
  kill -TERM "$pid"
  for ((waited = 0; waited < patience_s; waited++)); do
    free && break
    sleep 1
  done
  free || { echo "process $pid has not stopped after $patience_s s; nothing was removed" >&2; exit 1; }
fi

for store in postgres redis objects; do
  # Data that the store's own user could not have reached in the home lies where this note says, in its last line.
  note=$home/$store/MOVED.txt
  if [ -e "$note" ]; then
    data=$(tail -n 1 "$note")
    case $data in
      /var/lib/molfabric/*/server) rm -rf "${data%/server}" ;;
    esac
  fi
  rm -rf "${home:?}/$store"
done
rm -rf "${home:?}"/{scratch,demo,demo.json,running.json,key-secret}
echo "removed the data in $home"
