#!/bin/sh
# Reconnects the release program over and over, with traffic between, and prints what it holds at start and end.
# docs/endurance.md tells what is measured. Ends by itself.
#
#   MINUTES=N         how long (5)
#   PUSHER_CLI=PATH   the program to measure; without it, dist/pusher-cli is built
#   FAULTS=N          before it, numbered events through so many random faults (10000); 0 leaves that out
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
minutes=${MINUTES:-5}
faults=${FAULTS:-10000}

scripts/install-packages.sh build
if [ -z "${PUSHER_CLI:-}" ]; then
  PUSHER_CLI=$PWD/dist/pusher-cli
  scripts/build.sh dist/pusher-cli
fi
"$swift" build --build-tests </dev/null

PUSHER_CLI_BINARY=$PUSHER_CLI
export PUSHER_CLI_BINARY

# run SECONDS SUITE: one suite, bounded in time; its figures and its verdict.
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
