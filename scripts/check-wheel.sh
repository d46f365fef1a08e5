#!/bin/sh
# Installs the wheel in a bare Debian, with pip in a virtual environment and with pipx, and runs
# README's first session with it.
#
#   scripts/check-wheel.sh PROGRAM WHEEL BARE
#
# Needs root, and a network for the Debian packages of pip and pipx.
set -eu

program=$(realpath "$1")
wheel=$(realpath "$2")
bare=$(realpath "$3")
cd "$(dirname "$0")/.."
. scripts/checking.sh

. scripts/bare-system.sh

version=$("$program" --version | sed 's/^pusher-cli //')
bsdtar -xOf "$wheel" '*.dist-info/METADATA' >"$work/fields" || fail 'it has no METADATA'
for field in 'Name: pusher-cli' "Version: $version" 'License-Expression: MIT' 'License-File: THIRD-PARTY-NOTICES'; do
  grep -qx "$field" "$work/fields" || fail "its METADATA has no line '$field'"
done

inside apt-get -q -y --no-install-recommends install python3-venv pipx
mkdir "$bare/wheel"
cp "$wheel" "$bare/wheel"
file=/wheel/${wheel##*/}
inside python3 -m venv /wheel/venv
# No index: the wheel needs no other package.
inside /wheel/venv/bin/pip --disable-pip-version-check install --no-index "$file"
cmp "$program" "$bare/wheel/venv/bin/pusher-cli" || fail 'pip has installed another program'
[ -f "$bare/wheel/venv/share/man/man1/pusher-cli.1" ] || fail 'pip has not installed the manual'
session /wheel/venv/bin
say "pip in a virtual environment, README's session: $(cat "$work/events")"
inside /wheel/venv/bin/pip --disable-pip-version-check uninstall --yes pusher-cli
left=$(find "$bare/wheel/venv" -name '*pusher*')
[ -z "$left" ] || fail "uninstalled, but there is $left"

# pipx renews its pip first: from Debian's own copy.
inside env HOME=/wheel PIP_NO_INDEX=1 PIP_FIND_LINKS=/usr/share/python-wheels pipx run --spec "$file" pusher-cli --version
grep -qx "$("$program" --version)" "$work/said" || fail "pipx run says: $(cat "$work/said")"
say "pipx run --spec: $(tail -n 1 "$work/said")"
rm -r "$bare/wheel"
