#!/bin/sh
# Installs the requirements, builds the debug program and the tests, and runs all tests.
#
# Prints few lines after success, and the errors after a failure; .build/test.log is the whole log.
# The last line, with counts, is the test runner's, and so is the status.
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
log=.build/test.log

scripts/install-packages.sh test
# Not every distribution has this package; without it the tests that open a page are skipped.
scripts/install-packages.sh browser || printf '%s\n' 'test: no browser, its tests are skipped' >&2
# Tests with other libraries use this interpreter.
PUSHER_CLI_TEST_PYTHON=$(scripts/python-peers.sh page)
export PUSHER_CLI_TEST_PYTHON
# A crash must not wait for Swift's backtrace, which can hang.
SWIFT_BACKTRACE=enable=no
export SWIFT_BACKTRACE

mkdir -p .build
printf 'test: building; the whole log is in %s\n' "$PWD/$log"
status=0
"$swift" build --build-tests >"$log" 2>&1 </dev/null || status=$?
if [ "$status" -eq 0 ]; then
  # Runs the bundle itself where it is a program: its output reaches the log at once, even if it is
  # killed.
  bundle=$("$swift" build --show-bin-path)/pusher-cliPackageTests.xctest
  if [ -f "$bundle" ]; then
    set -- "$bundle" --testing-library swift-testing
  else
    set -- "$swift" test --skip-build --disable-xctest
  fi
  # For scripts/test-redis.sh: only the program's tests, with every `serve` on Redis.
  if [ -n "${PUSHER_CLI_TEST_SERVE:-}" ]; then set -- "$@" --filter CLITests; fi
  # The limit of a quarter of an hour is many times the need of a slow machine.
  command -v timeout >/dev/null 2>&1 && set -- timeout 900 "$@"
  printf 'test: running\n'
  # In the background, so that an interrupt ends the tests too.
  "$@" >>"$log" 2>&1 </dev/null &
  tests=$!
  trap 'kill "$tests" 2>/dev/null; exit 130' INT TERM
  wait "$tests" || status=$?
fi
scripts/test-summary.sh "$log" "$status"
exit "$status"
