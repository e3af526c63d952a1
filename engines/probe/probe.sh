#!/bin/sh
# A task of the probe: probe.sh NAME SECONDS CPU_SECONDS MEMORY_BYTES OUTPUT_BYTES EXIT_STATUS
# It computes, holds memory, waits and writes as it is told, prints its progress, and proves with out/probe.txt that it came to its end.
set -eu
name=$1 seconds=$2 cpu_seconds=$3 memory_bytes=$4 output_bytes=$5 exit_status=$6

case $cpu_seconds in
0) ;;
*) (ulimit -t "$cpu_seconds" && while :; do :; done) || true ;; # the limit ends the loop
esac
if [ "$memory_bytes" -gt 0 ]; then
  head -c "$memory_bytes" /dev/zero | tail -c "$memory_bytes" >/dev/null # tail holds all of it, and its status counts
fi
case $seconds in
0) ;;
*) sleep "$seconds" ;;
esac
if [ "$exit_status" -ne 0 ]; then
  echo "told to fail" >&2
  exit "$exit_status"
fi
if [ "$output_bytes" -gt 0 ]; then
  head -c "$output_bytes" /dev/zero >out/output.bin
fi
echo "$name $output_bytes" >out/probe.txt
