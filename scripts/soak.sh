#!/bin/sh
# Reconnects the release program over and over, with traffic between, and prints its resources at
# start and end. docs/endurance.md explains the measurements.
#
#   MINUTES=N         duration (5)
#   PUSHER_CLI=PATH   the program to measure; without it, dist/pusher-cli is built
#   FAULTS=N          first, send numbered events through N random faults (10000); 0 skips this
#   SLEEP=N           then stop the program for N seconds and resume it (300); 0 skips this
#   CYCLES=N          then make, connect and release N clients of the library (10000); 0 skips this
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
minutes=${MINUTES:-5}
faults=${FAULTS:-10000}
cycles=${CYCLES:-10000}
sleep=${SLEEP:-300}

scripts/install-packages.sh build
if [ -z "${PUSHER_CLI:-}" ]; then
  PUSHER_CLI=$PWD/dist/pusher-cli
  scripts/build.sh dist/pusher-cli
fi
"$swift" build --build-tests </dev/null

PUSHER_CLI_BINARY=$PUSHER_CLI
export PUSHER_CLI_BINARY

# run SECONDS SUITE: runs one suite with a time limit, and prints its figures and verdict.
run() {
  limit=$1
  suite=$2
  set -- "$swift" test --skip-build --disable-xctest --filter "$suite"
  command -v timeout >/dev/null 2>&1 && set -- timeout "$limit" "$@"
  "$@" </dev/null
}

if [ "$faults" -gt 0 ]; then
  PUSHER_CLI_FAULTS=$faults run $((faults / 10 + 300)) NumberedRunTests
fi
PUSHER_CLI_SOAK_MINUTES=$minutes run $((minutes * 60 + 300)) SoakTests
if [ "$sleep" -gt 0 ]; then
  PUSHER_CLI_SOAK_SLEEP=$sleep run $((sleep + 300)) SoakTests
fi

# cycle own|shared: makes clients one after the other; the process must not grow.
cycle() {
  timeout $((cycles / 20 + 60)) "$figures" cycles "$cycles" "$(cat "$work/port")" "$1" >"$work/cycles"
  awk -v kind="$1" -v limit=2048 '
    NR == 1 { threads = $3; descriptors = $4; memory = $5 }
    { print "soak: " kind " thread, after " $2 " clients: " $3 " threads, " $4 " descriptors, RSS " $5 " KiB" }
    END {
      # A worker thread of the scheduler may exist or not.
      if ($3 > threads + 2 || $4 > descriptors || $5 > memory + limit) { print "soak: the process has grown"; exit 1 }
    }' "$work/cycles"
}

if [ "$cycles" -gt 0 ]; then
  scripts/install-packages.sh bench
  python=$(scripts/python-peers.sh)
  work=$(mktemp -d)
  "$swift" build -c release --product library-figures --scratch-path .build-library </dev/null
  figures=$("$swift" build -c release --product library-figures --scratch-path .build-library --show-bin-path)/library-figures
  timeout $((cycles / 10 + 120)) "$python" Benchmarks/websockets-greeter.py "$work/port" &
  server=$!
  trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s "$work/port" ] || sleep 0.2
  done
  cycle own
  cycle shared
fi
