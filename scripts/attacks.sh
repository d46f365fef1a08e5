#!/bin/sh
# Attacks a program with the scripts of Tests/Attacks: early bytes, Redis refusals, files of every
# kind, proxies, numbers.
#
#   scripts/attacks.sh PROGRAM [NAME...]
#
# SEED=N draws other cases (1). Without names it runs all scripts, which takes some minutes.
# Loopback only; each script ends its own processes. Status 1 means a fault; the scripts print it.
set -eu

program=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
# The other files there are shared modules.
# shellcheck disable=SC2046
[ "$#" -gt 0 ] || set -- $(grep -l '^if __name__' Tests/Attacks/*.py)

status=0
for script in "$@"; do
  name=${script##*/}
  name=${name%.py}
  timeout 600 "${PYTHON:-python3}" "Tests/Attacks/$name.py" --program "$program" --seed "${SEED:-1}" </dev/null || {
    echo "attacks: $name: status $?"
    status=1
  }
done
exit "$status"
