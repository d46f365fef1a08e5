#!/bin/sh
# Measures the twelve rows that matter, and prints them as a table of one screen. A part of
# `make bench`, which sets up its parameters:
#
#   bench-summary.sh PROGRAM PYTHON WORK-FOLDER ROUNDS SCALE
#
# WORK-FOLDER/summary.log has the progress of the rows. Standard error has the progress of the
# rounds, and the reason if a row fails.
set -eu
cd "$(dirname "$0")/.."

program=$1
python=$2
work=$3
rounds=$4
scale=$5
# Start-up would count for a slow reader, which gets few events.
# shellcheck disable=SC2034 # bench-rows.sh reads it
steady=steady
# shellcheck source=scripts/bench-rows.sh
. scripts/bench-rows.sh

rows=$work/results-summary
largest=$work/results-summary-largest
starts=$work/results-summary-starts
log=$work/summary.log
rm -f "$rows" "$rows-sse" "$largest" "$starts"

# readers: measures the clients for one round.
readers() {
  results=$rows
  row pusher-cli plain 200 1000000
  row websockets plain 200 25000
  row pusher-cli plain 1000 300000
  row websockets plain 1000 10000
  row pusher-cli TLS 200 700000
  row websockets TLS 200 25000
  results=$rows-sse
  stream_row pusher-cli plain 200 800000
  stream_row curl plain 200 400000
  stream_row pusher-cli TLS 200 700000
  stream_row curl TLS 200 400000
  results=$largest
  row pusher-cli plain 200 10000000
  "$work/first-byte" 20 -- "$work/linked-floor" PORT -- "$program" subscribe --host 127.0.0.1 --port PORT \
    --scheme http --key bench --reconnect never -c bench >>"$starts"
}

# measure_all: measures all rows.
measure_all() {
  round=0
  while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    echo "bench: summary: clients, round $round of $rounds" >&3
    readers
  done
  echo 'bench: summary: serve' >&3
  scripts/bench-serve.sh "$program" "$python" "$work" "$rounds" "$scale" summary
  echo 'bench: summary: instructions' >&3
  BENCH_BEFORE='' BENCH_FUNCTIONS=0 scripts/bench-instructions.sh "$program" "$work" json-200 json-1000 >"$work/counted"
}

# A function in a condition would run without `set -e`, so a shell of its own runs it.
set +e
(set -e && measure_all) 3>&2 >"$log" 2>&1
status=$?
set -e
if [ "$status" -ne 0 ]; then
  tail -n 5 "$log" >&2
  exit 1
fi
awk -F '\t' -f Benchmarks/grouped.awk -f Benchmarks/summary.awk kind=channels "$rows" kind=sse "$rows-sse" \
  kind=largest "$largest" kind=serve "$work/results-serve" kind=instructions "$work/results-instructions" \
  FS=' ' kind=starts "$starts"
cat <<'END'

Times and memory are the lowest and the highest of the rounds: they depend on the
machine and its load. Instructions, in user space, do not. docs/benchmarks.md has
the measurements; BENCH_TABLES=all make bench prints all tables.
END
