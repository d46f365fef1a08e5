#!/bin/sh
# Installs what the tests need, builds the debug program and the tests, runs them all.
#
# Prints few lines when all is well, and what failed when not; the whole log is in .build/test.log. The last line is the test
# runner's, with its counts; the status is the runner's.
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
log=.build/test.log

scripts/install-packages.sh test
# Not every distribution has it under this name; without it the tests that open a page are skipped.
scripts/install-packages.sh browser || printf '%s\n' 'test: no browser, its tests are skipped' >&2
# Tests that talk to other people's libraries run this interpreter.
PUSHER_CLI_TEST_PYTHON=$(scripts/python-peers.sh)
export PUSHER_CLI_TEST_PYTHON
# A crash must not wait for Swift's own backtrace, which can hang.
SWIFT_BACKTRACE=enable=no
export SWIFT_BACKTRACE

mkdir -p .build
printf 'test: building; the whole log is in %s\n' "$PWD/$log"
status=0
"$swift" build --build-tests >"$log" 2>&1 </dev/null || status=$?
if [ "$status" -eq 0 ]; then
  # The bundle itself, where it is a program: its output is in the log at once, also when it is ended.
  bundle=$("$swift" build --show-bin-path)/pusher-cliPackageTests.xctest
  if [ -f "$bundle" ]; then
    set -- "$bundle" --testing-library swift-testing
  else
    set -- "$swift" test --skip-build --disable-xctest
  fi
  # scripts/test-redis.sh: the tests of the program alone, with every `serve` on a Redis.
  if [ -n "${PUSHER_CLI_TEST_SERVE:-}" ]; then set -- "$@" --filter CLITests; fi
  # Nothing here may hang for ever: a quarter of an hour is many times what a slow machine needs.
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
