#!/bin/sh
# Installs the requirements, builds the debug program and the tests, and runs all tests.
#
#   scripts/test.sh [--filter NAME]                all, or those whose types or functions match NAME
#   scripts/test.sh redis                          the program's tests, all servers on Redis
#   scripts/test.sh thread|address [ARGUMENT...]   with a sanitizer, in a separate folder; a finding
#                                                  in a test, or in a program that it starts, fails
#
# Prints few lines after success, and the errors after a failure. The build's folder has the whole
# log, test.log. The last line, with counts, is the test runner's, and so is the status.
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

kind=${1:-}
[ "${kind#-}" = "$kind" ] || kind=''
[ -z "$kind" ] || shift
case $kind in
  '' | redis | thread | address) cd "$(dirname "$0")/.." ;;
  *) wrong "name --filter, redis, thread or address, not '$kind'" ;;
esac

scripts/install-packages.sh test
# Tests with other libraries use this interpreter; it is ready before they begin.
scripts/python-peers.sh page >/dev/null &
peers=$!
# A crash must not wait for Swift's backtrace, which can hang.
export SWIFT_BACKTRACE=enable=no PUSHER_CLI_TEST_PYTHON="$PWD/.build-python/bin/python3"

folder=.build limit=900
case $kind in
  thread | address)
    folder=.build-$kind limit=1800
    # Leaks of the test runner itself would fail the run. Some tests cannot run under a sanitizer.
    export ASAN_OPTIONS=detect_leaks=0 PUSHER_CLI_SANITIZER="$kind"
    ;;
  redis)
    temporary=$(mktemp -d)
    start_redis "$temporary" --databases 100000
    export PUSHER_CLI_TEST_SERVE="--redis redis://127.0.0.1:$redis_port/{n}"
    set -- --filter CLITests
    ;;
esac

scripts/install-packages.sh browser || printf '%s\n' 'test: no browser, its tests are skipped' >&2
log=$folder/test.log
mkdir -p "$folder"
say "building; the whole log is in $PWD/$log"
result=0
case $kind in
  thread | address) swift_build --build-tests --scratch-path "$folder" --sanitize="$kind" ;;
  *) debug_build --build-tests ;;
esac >"$log" 2>&1 || result=$?
wait "$peers" || result=$?
if [ "$result" -ne 0 ]; then
  summary "$log" "$result"
  exit "$result"
fi
say running
run_tests "$limit" "$log" . "$folder" "$@"
