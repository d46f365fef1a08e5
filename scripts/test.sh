#!/bin/sh
# Installs the requirements, builds the debug program and the tests, and runs all tests.
#
#   scripts/test.sh [--filter NAME]                all, or those whose types or functions match NAME
#   scripts/test.sh redis                          the program's tests, all servers on Redis
#   scripts/test.sh thread|address [ARGUMENT...]   with a sanitizer, in a separate folder; a finding
#                                                  in a test, or in a program that it starts, fails
#   scripts/test.sh summary LOG STATUS             the summary of a run's log: reasons for skipped
#                                                  tests; errors; tests that never ended; the ten
#                                                  slowest that start programs; last line
#
# Prints few lines after success, and the errors after a failure; .build/test.log is the whole log.
# The last line, with counts, is the test runner's, and so is the status.
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# summary LOG STATUS
summary() {
  # Prints each reason once, although several cases and tests give it.
  sed -n 's/^➜ .* skipped: "\(.*\)"$/\1/p' "$1" | sort | uniq -c | sort -rn | head -n 20 | cut -c 1-200 |
    sed 's/^ *\([0-9]*\) /test: \1 skipped: /'
  if [ "$2" -ne 0 ]; then
    printf 'test: status %s; what failed:\n' "$2"
    grep -a -A 8 'recorded an issue\|[Ff]atal error\|Crash\|\(^\| \)error: ' "$1" | grep -a -v -e '^✔' -e '^◇' | cut -c 1-1000 | tail -n 120 || true
    awk '
      /^◇ Test / && !/^◇ Test (case|run) / { sub(/^◇ Test /, ""); sub(/ started\.$/, ""); open[$0] = 1 }
      /^(✔|✘) Test / { sub(/^(✔|✘) Test /, ""); sub(/( with [0-9]+ test cases?)? (passed|failed) after .*$/, ""); delete open[$0] }
      END { for (name in open) print "test: began and did not end: " name }
    ' "$1"
  fi
  sed -n 's/^test: took \([0-9.]*\) seconds: /\1 /p' "$1" | sort -rn | head -n 10 |
    awk '{ printf "test: slow: %4.1f s:", $1; $1 = ""; print }'
  tail -n 1 "$1"
}

kind=${1:-}
[ "${kind#-}" = "$kind" ] || kind=''
[ -z "$kind" ] || shift
case $kind in
  summary)
    summary "$@"
    exit 0
    ;;
  '' | redis | thread | address) cd "$(dirname "$0")/.." ;;
  *) wrong "name --filter, redis, thread or address, not '$kind'" ;;
esac

scripts/install-packages.sh test
# Tests with other libraries use this interpreter; it is ready before they begin.
scripts/python-peers.sh page >/dev/null &
peers=$!
# A crash must not wait for Swift's backtrace, which can hang.
export SWIFT_BACKTRACE=enable=no PUSHER_CLI_TEST_PYTHON="$PWD/.build-python/bin/python3"

case $kind in
  thread | address)
    folder=.build-$kind
    # Leaks of the test runner itself would fail the run. Some tests cannot run under a sanitizer.
    export ASAN_OPTIONS=detect_leaks=0 PUSHER_CLI_SANITIZER="$kind"
    swift_build --build-tests --scratch-path "$folder" --sanitize="$kind"
    wait "$peers"
    bounded 1800 "$swift" test --scratch-path "$folder" --sanitize="$kind" --skip-build --disable-xctest "$@" </dev/null
    exit 0
    ;;
  redis)
    temporary=$(mktemp -d)
    start_redis "$temporary" --databases 100000
    export PUSHER_CLI_TEST_SERVE="--redis redis://127.0.0.1:$redis_port/{n}"
    set -- --filter CLITests
    ;;
esac

scripts/install-packages.sh browser || printf '%s\n' 'test: no browser, its tests are skipped' >&2
log=.build/test.log
mkdir -p .build
printf 'test: building; the whole log is in %s\n' "$PWD/$log"
result=0
debug_build --build-tests >"$log" 2>&1 || result=$?
wait "$peers" || result=$?
if [ "$result" -eq 0 ]; then
  # Runs the bundle itself where it is a program: its output reaches the log at once, even if it is
  # killed.
  bundle=$("$swift" build --show-bin-path)/pusher-cliPackageTests.xctest
  if [ -f "$bundle" ]; then
    set -- "$bundle" --testing-library swift-testing "$@"
  else
    set -- "$swift" test --skip-build --disable-xctest "$@"
  fi
  command -v timeout >/dev/null 2>&1 && set -- timeout 900 "$@"
  printf 'test: running\n'
  # In the background, so that an interrupt ends the tests too.
  "$@" >>"$log" 2>&1 </dev/null &
  tests=$!
  pids="$tests $pids"
  wait "$tests" || result=$?
fi
summary "$log" "$result"
exit "$result"
