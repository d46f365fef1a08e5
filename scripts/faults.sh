#!/bin/sh
# Runs three servers that meet in one Redis, with clients that come and go, through random faults, and checks after each
# that members, counts and events are right. docs/endurance.md tells what is checked. Ends by itself.
#
#   MINUTES=N           how long (5)
#   SEED=N              draw the same faults again (a new number)
#   KINDS='NAME...'     these kinds of fault alone: the classes of Tests/Faults/faults.py
#   CLIENTS=N           so many clients (48)
#   PUSHER_CLI=PATH     the program to run; without it, dist/pusher-cli is built
#   FAULTS_PYTHON=PATH  a Python with Tests/requirements.txt; without it, .build-python is made
#   BREAK=NAME          break something on purpose, to see that it is found: Tests/Faults/sabotage.py has the names
#
# What the programs say stays in .build-faults, each line with the second of the run.
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
# A round may still be under way when the time is over, and one that is never right takes a minute and a half.
limit=$(awk -v minutes="$minutes" 'BEGIN { printf "%d", minutes * 60 + 300 }')
exec timeout --kill-after=30 "$limit" "$python" -B Tests/Faults/run.py "$PUSHER_CLI" "$minutes" "$seed" .build-faults </dev/null
