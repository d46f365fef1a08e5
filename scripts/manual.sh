#!/bin/sh
# Writes man/pusher-cli.1 from its template and the flag table, through the test that compares them.
set -eu
cd "$(dirname "$0")/.."

PUSHER_CLI_WRITE_MANUAL=1 SWIFT_DETERMINISTIC_HASHING=1 "${SWIFT:-swift}" test --disable-xctest --filter ManualTests
