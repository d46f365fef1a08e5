#!/bin/sh
# Runs one suite of the tests that open a page, for at most MINUTES (1) plus a quarter of an hour:
# scripts/browser-suite.sh SUITE
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
"$swift" build --build-tests </dev/null
set -- "$swift" test --skip-build --disable-xctest --filter "$1"
command -v timeout >/dev/null 2>&1 && set -- timeout $((900 + 60 * ${MINUTES:-1})) "$@"
"$@" </dev/null
