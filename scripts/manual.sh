#!/bin/sh
# Writes man/pusher-cli.1 from its template and the flag table, through the test that compares them.
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/.."
export PUSHER_CLI_WRITE_MANUAL=1
debug_build --build-tests
suite 600 ManualTests
