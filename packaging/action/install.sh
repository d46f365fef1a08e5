#!/usr/bin/env bash
# Installs the wheel into a Python environment of its own, and puts the program on the PATH of later
# steps.
#
# INPUT_WHEEL: path of a wheel · INPUT_VERSION: version from PyPI (the version of this source)
#
# The system's Python often refuses packages from pip; an environment works with every Python.
# shellcheck source=packaging/action/common.sh
. "${BASH_SOURCE[0]%/*}/common.sh"

if [ -n "$INPUT_WHEEL" ]; then
  [ -f "$INPUT_WHEEL" ] || fail "cannot find the wheel '$INPUT_WHEEL': give the path of a file"
  package=$(realpath -- "$INPUT_WHEEL")
else
  source=${BASH_SOURCE[0]%/*}/../../Sources/pusher-cli/Settings/Version.swift
  version=${INPUT_VERSION:-$(sed -n 's/^ *static let current = "\(.*\)"$/\1/p' "$source")}
  [[ $version =~ ^[0-9][0-9A-Za-z.+]*$ ]] || fail "'$version' is not a version: give one such as 1.0.0"
  package=pusher-cli==$version
fi

command -v python3 >/dev/null || fail 'python3 is missing: add actions/setup-python before this step'
home=$RUNNER_TEMP/pusher-cli
verbatim python3 -m venv "$home" >&2 || fail 'python3 cannot make an environment: install python3-venv before this step'
# Nothing is built here, and the program needs no other package.
verbatim "$home/bin/python3" -m pip install --quiet --no-input --disable-pip-version-check --no-deps \
  --only-binary :all: "$package" >&2 || fail "pip cannot install $package; its messages above say why"
verbatim "$home/bin/pusher-cli" --version >&2 || fail 'pusher-cli does not run: it needs libssl.so.3 and libz.so.1 (Debian: libssl3, zlib1g)'
printf '%s\n' "$home/bin" >>"$GITHUB_PATH"
