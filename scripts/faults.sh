#!/bin/sh
# Runs three servers on one Redis, with clients that come and go, through random faults. Checks
# members, counts and events after each fault. docs/endurance.md lists the checks.
#
#   MINUTES=N           duration (5)
#   SEED=N              repeat the faults of this seed (default: random)
#   KINDS='NAME...'     only these kinds of fault: the classes of Tests/Faults/faults.py
#   CLIENTS=N           number of clients (48)
#   PUSHER_CLI=PATH     the program to run; without it, dist/pusher-cli is built
#   FAULTS_PYTHON=PATH  a Python with Tests/requirements.txt; without it, .build-python is made
#   BREAK=NAME          break something to test the checks: names in Tests/Faults/sabotage.py
#
# .build-faults keeps the output of the programs, each line with the second of the run.
set -eu
cd "$(dirname "$0")/.."

minutes=${MINUTES:-5}
seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
python=${FAULTS_PYTHON:-}

if [ -z "${PUSHER_CLI:-}" ]; then
  scripts/install-packages.sh build
  scripts/build.sh dist/pusher-cli
  PUSHER_CLI=dist/pusher-cli
fi
if [ -z "$python" ]; then
  scripts/install-packages.sh test
  python=$(scripts/python-peers.sh)
fi
rm -rf .build-faults
# The last round may run beyond the time; a round that never recovers takes a minute and a half.
limit=$(awk -v minutes="$minutes" 'BEGIN { printf "%d", minutes * 60 + 300 }')
exec timeout --kill-after=30 "$limit" "$python" -B Tests/Faults/run.py "$PUSHER_CLI" "$minutes" "$seed" .build-faults </dev/null
