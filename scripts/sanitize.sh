#!/bin/sh
# Builds program and tests with a sanitizer in a separate folder, and runs all tests. A finding in a
# test, or in a program started by a test, fails the run.
#
#   scripts/sanitize.sh thread|address [ARGUMENT...]   arguments of `swift test`: --filter NAME
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
sanitizer=${1:-}
case $sanitizer in
  thread | address) shift ;;
  *)
    echo "sanitize: name thread or address, not '$sanitizer'" >&2
    exit 2
    ;;
esac

scripts/install-packages.sh test
PUSHER_CLI_TEST_PYTHON=$(scripts/python-peers.sh page)
# Leaks of the test runner itself would fail the run. A crash must not wait for Swift's backtrace,
# which can hang. Foundation's Process reads beyond the last, shorter entry of /proc/self/fd.
mkdir -p ".build-$sanitizer"
echo 'interceptor_via_fun:findMaximumOpenFromProcSelfFD' >".build-$sanitizer/suppressions"
# The sanitizer reads the quotes around a path with blanks.
# shellcheck disable=SC2089
ASAN_OPTIONS="detect_leaks=0:suppressions='$PWD/.build-$sanitizer/suppressions'"
SWIFT_BACKTRACE=enable=no
# Some tests cannot run under a sanitizer and check this variable.
PUSHER_CLI_SANITIZER=$sanitizer
# shellcheck disable=SC2090
export PUSHER_CLI_TEST_PYTHON ASAN_OPTIONS SWIFT_BACKTRACE PUSHER_CLI_SANITIZER

"$swift" build --build-tests --scratch-path ".build-$sanitizer" --sanitize="$sanitizer" </dev/null

set -- "$swift" test --scratch-path ".build-$sanitizer" --sanitize="$sanitizer" \
  --skip-build --disable-xctest "$@"
# The limit of half an hour is many times the need of a slow machine.
command -v timeout >/dev/null 2>&1 && set -- timeout 1800 "$@"
"$@" </dev/null
