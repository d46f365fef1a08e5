#!/bin/sh
# Runs the recipes for engines of docs/recipes.md as they are printed, against the engines themselves on 127.0.0.1, takes each
# engine down in the middle, and counts what is lost and doubled. A count that the page does not tell fails.
#
#   scripts/recipes.sh PROGRAM [NAME...]     names: those of PLAYS in Tests/Engines/recipes.py; all unless given
#
#   KILLS=N, SEED=N      kill the program at so many random moments (20)
#   RECIPES_VERBOSE=1    show what is told in each fault
#
# All data is in a temporary folder, and everything started here is ended here. It takes four minutes at most. Without root there
# are no mounts: then the journal and the full disk are left out, and that is said.
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh engines
python=$(scripts/python-peers.sh engines)
exec timeout --kill-after=30 "${RECIPES_SECONDS:-600}" "$python" -B Tests/Engines/recipes.py "$@" </dev/null
