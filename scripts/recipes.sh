#!/bin/sh
# Runs the engine recipes of docs/recipes.md as printed, with real engines on 127.0.0.1. Stops each
# engine in the middle and counts lost and repeated events. A count that the page does not mention
# fails.
#
#   scripts/recipes.sh PROGRAM [NAME...]     names of PLAYS in Tests/Engines/recipes.py (all)
#
#   KILLS=N, SEED=N      kill the program at N random moments (20)
#   RECIPES_VERBOSE=1    show the messages of each fault
#
# Keeps all data in a temporary folder, and ends everything it starts, within four minutes. Without
# root there are no mounts: it reports that and skips the journal and the full disk.
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh engines
python=$(scripts/python-peers.sh engines)
exec timeout --kill-after=30 "${RECIPES_SECONDS:-600}" "$python" -B Tests/Engines/recipes.py "$@" </dev/null
