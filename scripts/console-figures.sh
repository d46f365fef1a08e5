#!/bin/sh
# Prints what the console's page costs a browser: its size, its first paint, its heap and its longest task with recordings
# of up to a million entries. It needs Chromium.
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh test browser
PUSHER_CLI_CONSOLE_FIGURES=1 scripts/browser-suite.sh ConsoleFigures | grep '^console: \|issue\|failed after'
