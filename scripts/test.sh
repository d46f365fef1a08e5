#!/bin/sh
# Installs what the tests need, builds the debug program and the tests, runs them all.
# The last lines are the test runner's counts; the status is the runner's.
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}

scripts/install-packages.sh test
# Not every distribution has it under this name; without it the tests that open a page are skipped.
scripts/install-packages.sh browser || printf '%s\n' 'test: no browser, its tests are skipped' >&2
# Tests that talk to other people's libraries run this interpreter.
PUSHER_CLI_TEST_PYTHON=$(scripts/python-peers.sh)
export PUSHER_CLI_TEST_PYTHON

"$swift" build --build-tests </dev/null

# Nothing here may hang for ever: half an hour is many times what a slow machine needs.
set -- "$swift" test --skip-build --disable-xctest
command -v timeout >/dev/null 2>&1 && set -- timeout 1800 "$@"
"$@" </dev/null
