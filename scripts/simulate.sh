#!/bin/sh
# Runs simulated schedules: servers on a model of Redis, with delays, lost links, kills and an
# emptied Redis.
#
#   scripts/simulate.sh [COUNT [SEED]]     default: 10,000 schedules from seed 1
#
# A schedule that breaks a promise of docs/endurance.md is reduced to its necessary steps and
# printed; the status is then 1.
set -eu
cd "$(dirname "$0")/.."

"${SWIFT:-swift}" build -c release --product simulation --scratch-path .build-simulation >&2 </dev/null
exec .build-simulation/release/simulation "${1:-10000}" "${2:-1}"
