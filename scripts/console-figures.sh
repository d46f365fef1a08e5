#!/bin/sh
# Prints what the console's page costs a browser: its size, its first paint, its heap and its longest task with recordings
# of up to a million entries, and its heap during MINUTES (1) of a thousand events a second. It needs Chromium.
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
