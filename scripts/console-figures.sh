#!/bin/sh
# Prints the cost of the console's page in a browser: size, first paint, heap and longest task with
# recordings of up to a million entries, and heap during MINUTES (1) of 1,000 events/s. Needs
# Chromium.
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh test browser
log=$(mktemp "${TMPDIR:-/tmp}/console-figures.XXXXXX")
trap 'rm -f "$log"' EXIT
status=0
PUSHER_CLI_CONSOLE_FIGURES=1 PUSHER_CLI_CONSOLE_MINUTES="${MINUTES:-1}" scripts/browser-suite.sh ConsoleFigures >"$log" 2>&1 || status=$?
if [ "$status" -eq 0 ] && grep '^console: ' "$log"; then exit 0; fi
tail -n 40 "$log" >&2
exit 1
