#!/bin/sh
# Checks format of sources, manual and scripts, and spelling. Runs every check; one finding fails. A
# missing tool is reported and skipped; where CI=true it fails.
set -eu
cd "$(dirname "$0")/.."

failed=0

# check TOOL WHAT COMMAND...: runs COMMAND if TOOL is installed.
check() {
  tool=$1 what=$2
  shift 2
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "lint: $tool is missing, so this was not checked: $what" >&2
    [ "${CI:-}" != true ] || failed=1
    return
  fi
  if "$@" </dev/null; then
    echo "lint: $what: clean"
  else
    echo "lint: $what: findings above" >&2
    failed=1
  fi
}

swift=${SWIFT:-swift}
check "$swift" 'Swift sources' \
  "$swift" format lint --strict --parallel --recursive Sources Tests Package.swift
check mandoc manual mandoc -T lint -W warning man/pusher-cli.1
check shellcheck 'shell scripts' shellcheck scripts/*.sh packaging/*/*.sh Tests/*.sh Tests/*/*.sh .ci/run
check codespell spelling codespell
check python3 'width of prose' scripts/prose.py
check python3 rooms scripts/tidy.py
# reuse reads LICENSE through the link LICENSES/MIT.txt.
tools=$(scripts/python-peers.sh lint)
check "${tools%/*}/reuse" licences "${tools%/*}/reuse" lint --quiet
exit "$failed"
