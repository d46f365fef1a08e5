#!/bin/sh
# Fails, with file and line, if a text contains a phrase of scripts/refused-phrases.txt.
set -eu
cd "$(dirname "$0")/.."

status=0
grep -v '^#' scripts/refused-phrases.txt |
  grep -rnE -f - Sources man/pusher-cli.1.in README.md CONTRIBUTING.md docs || status=$?
# grep exits with 1 for no match, and with 2 for an invalid expression.
[ "$status" -eq 1 ]
