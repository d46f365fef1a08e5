#!/bin/sh
# Fails, with file and line, where a text has a phrase of scripts/refused-phrases.txt.
set -eu
cd "$(dirname "$0")/.."

status=0
grep -v '^#' scripts/refused-phrases.txt |
  grep -rnE -f - Sources man/pusher-cli.1.in README.md CONTRIBUTING.md docs || status=$?
# 1 is grep's word for nothing found; 2 is an expression that cannot be read.
[ "$status" -eq 1 ]
