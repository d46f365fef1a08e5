#!/bin/sh
# Installs what the tests need, builds the debug program and the tests, runs them all.
# The last lines are the test runner's counts, after a failure with what failed before them; the status is the runner's.
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

# The bundle itself, where it is a program: what it prints is there at once, also when it is ended.
bundle=$("$swift" build --show-bin-path)/pusher-cliPackageTests.xctest
if [ -f "$bundle" ]; then
  set -- "$bundle" --testing-library swift-testing
else
  set -- "$swift" test --skip-build --disable-xctest
fi
# `make test-threads`, `make test-redis`: the tests of the program alone, with every `serve` on several threads, or on a Redis.
if [ -n "${PUSHER_CLI_TEST_SERVE:-}" ]; then set -- "$@" --filter CLITests; fi
# Nothing here may hang for ever: a quarter of an hour is many times what a slow machine needs.
command -v timeout >/dev/null 2>&1 && set -- timeout 900 "$@"
# A crash must not wait for Swift's own backtrace, which can hang.
SWIFT_BACKTRACE=enable=no
export SWIFT_BACKTRACE

# A log that is shown from its end only must still say what failed: the runner's own lines for it are far above.
record=$(mktemp -d "${TMPDIR:-/tmp}/pusher-cli-test.XXXXXX")
trap 'rm -rf "$record"' EXIT
status=0
if tail --version >/dev/null 2>&1; then
  # Not a pipe, whose end would come only with that of every process a test has left behind.
  "$@" >"$record/log" 2>&1 </dev/null &
  tests=$!
  trap 'kill "$tests" 2>/dev/null; exit 130' INT TERM
  tail -n +1 -f --pid="$tests" "$record/log"
  wait "$tests" || status=$?
else
  { "$@" </dev/null || printf '%s\n' "$?" >"$record/status"; } 2>&1 | tee "$record/log"
  [ ! -f "$record/status" ] || status=$(cat "$record/status")
fi
if [ "$status" -ne 0 ]; then
  printf '\ntest: status %s; what failed:\n' "$status"
  grep -A 8 'recorded an issue\|[Ff]atal error\|Crash' "$record/log" | grep -v '^[✔◇]' | cut -c 1-1000 | tail -n 120 || true
  printf 'test: what had begun and did not end:\n'
  awk '
    /^◇ Test / && !/^◇ Test (case|run) / { sub(/^◇ Test /, ""); sub(/ started\.$/, ""); open[$0] = 1 }
    /^(✔|✘) Test / { sub(/^(✔|✘) Test /, ""); sub(/( with [0-9]+ test cases?)? (passed|failed) after .*$/, ""); delete open[$0] }
    END { for (name in open) print name }
  ' "$record/log"
  tail -n 1 "$record/log"
fi
exit "$status"
