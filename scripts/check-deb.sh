#!/bin/sh
# Installs the Debian package in a bare Debian, runs README's first session, upgrades, removes and
# purges the package.
#
#   scripts/check-deb.sh PROGRAM PACKAGE BARE
#
# Needs root, and a network for the packages that it depends on.
#
# Single-quoted text is for apt, dpkg and other shells.
# shellcheck disable=SC2016
set -eu

program=$(realpath "$1")
package=$(realpath "$2")
bare=$(realpath "$3")
cd "$(dirname "$0")/.."
. scripts/checking.sh

. scripts/bare-system.sh

mkdir "$bare/packages"
cp "$package" "$bare/packages"
newer=$(scripts/deb.sh "$program" "$bare/packages" 2)

inside apt-get -q update
inside dpkg-query --show --showformat='${Package}\n'
cp "$work/said" "$work/before"
inside apt-get -q -y --no-install-recommends install "/packages/${package##*/}"
inside dpkg-query --show --showformat='${Package}\n'
say "installed:" "$(grep -Fxv -f "$work/before" "$work/said" | paste -s -d ' ')"
inside dpkg --verify pusher-cli
[ ! -s "$work/said" ] || fail "not installed as packed: $(cat "$work/said")"

session /usr/bin
sed 's/^/  /' "$work/session" "$work/said" "$work/events"
say "README's session: as printed there"

# The program accepts every command of the sample.
grep '^#PUSHER_CLI_ARGUMENTS=' "$bare/etc/pusher-cli/example.env" | sed 's/^#PUSHER_CLI_ARGUMENTS="\(.*\)"$/\1/' >"$work/sample"
[ "$(wc -l <"$work/sample")" -ge 2 ] || fail 'the sample of a feed has no commands'
while IFS= read -r arguments; do
  alone env PUSHER_APP_KEY=app-key sh -c "pusher-cli config $arguments" >"$work/said" 2>&1 ||
    fail "the sample's '$arguments' is refused: $(cat "$work/said")"
done <"$work/sample"
say "the sample of a feed: $(wc -l <"$work/sample") commands, all taken"

echo 'PUSHER_CLI_ARGUMENTS="subscribe orders"' >"$bare/etc/pusher-cli/shop.env"
inside dpkg --install "/packages/${newer##*/}"
inside dpkg-query --show --showformat='${Version} ${db:Status-Status}' pusher-cli
[ "$(cat "$work/said")" = "$("$program" --version | sed 's/^pusher-cli //')-2 installed" ] ||
  fail "after the upgrade it is $(cat "$work/said")"
session /usr/bin
say 'upgraded, and the session again'

# Enabled as by systemctl, and another one with the operator's own unit.
systemctl --root="$bare" --quiet enable pusher-serve.service pusher-serve.socket pusher-cli@shop.service
sockets=$bare/etc/systemd/system/sockets.target.wants
wants=$bare/etc/systemd/system/multi-user.target.wants
cp "$bare/lib/systemd/system/pusher-cli@.service" "$bare/etc/systemd/system/pusher-cli@own.service"
ln -s ../pusher-cli@own.service "$wants"
inside dpkg --listfiles pusher-cli
cp "$work/said" "$work/files"
inside dpkg --remove pusher-cli
while IFS= read -r path; do
  case $path in /etc/pusher-cli/*) continue ;; esac
  [ -d "$bare$path" ] || [ ! -e "$bare$path" ] || fail "removed, but $path is still there"
done <"$work/files"
rm -r "$bare/packages"
left=$(cd "$bare" && find . -path ./var/lib/dpkg -prune -o -path ./etc/systemd -prune -o -name '*pusher*' -print)
[ "$left" = ./etc/pusher-cli ] || fail "removed, but there is $left"
left=$(cd "$wants" && echo *pusher*)
[ "$left" = 'pusher-cli@own.service pusher-cli@shop.service pusher-serve.service' ] ||
  fail "removed, and what is enabled is: $left"
[ -L "$sockets/pusher-serve.socket" ] || fail 'removed, and the socket is not enabled any more'
[ "$(cd "$bare/etc/pusher-cli" && echo *)" = 'example.env shop.env' ] || fail 'removed, with the configuration'
inside dpkg --purge pusher-cli
left=$(find "$bare/var/lib/dpkg" -name '*pusher*')
[ -z "$left" ] || fail "purged, but there is $left"
[ "$(ls "$bare/etc/pusher-cli")" = shop.env ] || fail 'purged, and the sample is left, or the configuration is not'
left=$(cd "$wants" && echo *pusher*)
[ "$left" = pusher-cli@own.service ] || fail "purged, and what is enabled is: $left"
[ ! -L "$sockets/pusher-serve.socket" ] || fail 'purged, and the socket is still enabled'
rm -r "$wants/pusher-cli@own.service" "$bare/etc/systemd/system/pusher-cli@own.service" "$bare/etc/pusher-cli"
say 'removed: only the configuration is left; purged: nothing is enabled any more'
