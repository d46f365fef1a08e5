#!/bin/sh
# Makes the Python wheel of a program, which pip, pipx and uv install, and prints its path.
#
#   scripts/wheel.sh PROGRAM FOLDER
#
# Same program and commit give the same bytes. File times are those of the last commit unless
# SOURCE_DATE_EPOCH is set. Fails if the program needs newer symbols than the wheel's name says.
set -eu

program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "$0")/.."
. scripts/ending.sh

if [ "$(uname -s)" != Linux ]; then
  echo 'wheel: wheels are made on Linux; here use make install' >&2
  exit 1
fi
scripts/check-symbols.sh "$program" >&2
tools=$(scripts/python-peers.sh package)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
PUSHER_CLI_GLIBC=$(scripts/check-symbols.sh --glibc)
export SOURCE_DATE_EPOCH PUSHER_CLI_GLIBC LC_ALL=C
umask 022
temporary=$(mktemp -d)

# A wheel holds only files below the folder of its pyproject.toml.
source=$temporary/packaging/python
version=Sources/pusher-cli/Settings/Version.swift
install -D -m 644 $version "$temporary/$version"
install -D -m 644 -t "$source" packaging/python/README.md packaging/python/hatch_build.py packaging/python/pyproject.toml \
  LICENSE man/pusher-cli.1
install -m 755 "$program" "$source/pusher-cli"
scripts/notices.sh "$program" >"$source/THIRD-PARTY-NOTICES"
expected=$("$program" --version | sed 's/^pusher-cli //')

# No isolation: the build uses the pinned tools and downloads nothing.
"$tools" -m build --wheel --no-isolation --outdir "$temporary/made" "$source" >"$temporary/said" 2>&1 || {
  cat "$temporary/said" >&2
  echo 'wheel: the wheel was not built; the reason is above' >&2
  exit 1
}
wheel=$(cd "$temporary/made" && echo *.whl)
case $wheel in
  "pusher_cli-$expected-py3-none-manylinux_"*) ;;
  *)
    echo "wheel: the program says version $expected, but the wheel is $wheel: build the program again" >&2
    exit 1
    ;;
esac
mv "$temporary/made/$wheel" "$folder/$wheel"
echo "$folder/$wheel"
