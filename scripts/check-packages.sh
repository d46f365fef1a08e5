#!/bin/sh
# Checks the installable parts of a program: package, tarball and units.
#
#   scripts/check-packages.sh PROGRAM [RELEASE]
#
# RELEASE is the code name of a newer Debian for the bare system, such as trixie (default: this
# one's).
#
# Makes package and tarball twice and compares them; lintian and systemd-analyze must find nothing.
# Then a bare Debian installs the package, runs README's example, upgrades and removes it, builds
# the image of Containerfile, and runs the units with systemd. The bare system needs root and a
# mirror. Missing tools are reported and skipped; where CI=true that fails. Steps that the machine
# forbids, such as mounts in a container, are reported and skipped.
#
# Single-quoted text is for apt, dpkg and other shells.
# shellcheck disable=SC2016
set -eu

program=$(realpath "$1")
release=${2:-}
cd "$(dirname "$0")/.."
scripts/install-packages.sh package
. scripts/ending.sh
export LC_ALL=C
temporary=$(mktemp -d)
work=$temporary
# The bare system has its own users, who need access to its root.
chmod 755 "$work"

fail() {
  echo "check-packages: $*" >&2
  exit 1
}

say() {
  echo "check-packages: $*"
}

# lack WHAT: reports a missing tool, so the check is incomplete.
lack() {
  [ "${CI:-}" != true ] || fail "cannot check all: $*"
  say "skipped: $*"
  exit 0
}

# unable WHAT: reports a step that this machine forbids; an installation would not help.
unable() {
  say "skipped: $*"
  exit 0
}

objdump --private-headers "$program" >"$work/headers" || fail "objdump cannot read $program"
grep -E '^ *(RPATH|RUNPATH) ' "$work/headers" && fail 'the program looks for libraries in a place of its own'
say 'libraries: looked for where the system has them'

# The second build has another folder, user and environment.
package=$(scripts/deb.sh "$program" "$work/one")
tarball=$(scripts/dist.sh "$program" "$work/one" 2>"$work/symbols") || fail "$(cat "$work/symbols")"
cat "$work/symbols"
mkdir "$work/elsewhere"
cp "$program" "$work/elsewhere/program"
(
  umask 077
  export TZ=Asia/Tokyo
  scripts/deb.sh "$work/elsewhere/program" "$work/two"
  scripts/dist.sh "$work/elsewhere/program" "$work/two"
) >/dev/null 2>"$work/errors" || fail "$(cat "$work/errors")"
for file in "$package" "$tarball"; do
  cmp "$file" "$work/two/${file##*/}" || fail "made twice, ${file##*/} is not the same"
  (cd "$work/one" && sha256sum "${file##*/}")
  (cd "$work/two" && sha256sum "${file##*/}")
done
say 'made twice: the same bytes'

mkdir "$work/unpacked"
tar -xzf "$tarball" -C "$work/unpacked"
(cd "$work/unpacked"/* && sha256sum --check --quiet SHA256SUMS) || fail 'the checksums of the tarball are wrong'
(cd "$work/one" && sha256sum --check --quiet "${tarball##*/}.sha256") || fail 'the checksum beside the tarball is wrong'
say 'checksums: right'

for tool in lintian systemd-analyze; do
  command -v "$tool" >/dev/null 2>&1 || fail "$tool is missing: run scripts/install-packages.sh package"
done
lintian --fail-on error,warning "$package" 2>"$work/errors" || {
  cat "$work/errors" >&2
  fail 'lintian has something against the package'
}
say 'lintian: no error, no warning'

# Our units refer to systemd's own.
mkdir -p "$work/system/usr/lib/systemd"
ln -s usr/lib "$work/system/lib"
cp -R /lib/systemd/system "$work/system/usr/lib/systemd/system"
dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$work/system"
systemd-analyze verify --man=no --root="$work/system" pusher-cli@shop.service pusher-serve.service pusher-serve.socket \
  >"$work/findings" 2>&1 || fail "systemd-analyze verify: $(cat "$work/findings")"
[ ! -s "$work/findings" ] || fail "systemd-analyze verify: $(cat "$work/findings")"
say 'systemd-analyze verify: nothing'
for unit in contrib/systemd/*.service; do
  # The limit is in tenths.
  systemd-analyze security --offline=true --threshold=20 --no-pager "$unit" >"$work/findings" 2>&1 || {
    cat "$work/findings" >&2
    fail "$unit is exposed to more than 2.0"
  }
  say "systemd-analyze security: $(sed -n 's/^.*\(Overall.*[0-9]\).*$/\1/p' "$work/findings")"
done

scripts/check-container.sh "$program"

[ "$(id -u)" -eq 0 ] || unable 'the bare system, which only root can make'
for tool in buildah debootstrap unshare ip; do
  command -v "$tool" >/dev/null 2>&1 || lack "the bare system, since $tool is missing"
done
# A container may forbid system calls that debootstrap and the sessions need.
mkdir "$work/probe"
unshare --mount --net --pid --fork --kill-child sh -e -c '
  mount -t tmpfs tmpfs "$1"
  mknod "$1/null" c 1 3
  : >"$1/null"
  mkdir "$1/proc"
  mount -t proc proc "$1/proc"
  ip link set lo up
  chroot / true
' sh "$work/probe" 2>"$work/errors" ||
  unable "the bare system and the units in it, since this machine does not allow it: $(tail -n 1 "$work/errors")"
# The linked libraries exist in the same release and in newer ones.
grep -qx 'ID=debian' /etc/os-release || unable 'the bare system, since this is not Debian'
own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
release=${release:-$own}
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
  "Codename: $own" 'Component: main' | head -n 1)
[ -n "$mirror" ] || lack "the bare system, since apt knows no mirror of Debian $own; run apt-get update"

bare=$work/bare
# debootstrap does not read apt's settings.
proxy=''
eval "$(apt-config shell proxy Acquire::http::Proxy)"
[ -z "$proxy" ] || export http_proxy="$proxy"
# Mounts are private and end with their process.
unshare --mount debootstrap --variant=minbase "$release" "$bare" "$mirror" >"$work/debootstrap" 2>&1 ||
  lack "the bare system, since debootstrap failed: $(tail -n 3 "$work/debootstrap")"
for file in /etc/resolv.conf /etc/hosts; do
  [ ! -f "$file" ] || cp "$file" "$bare$file"
done
apt-config dump | grep -i '^Acquire::https*::proxy' >"$bare/etc/apt/apt.conf.d/proxy" || true
find "$bare" -name '*pusher*' | grep -q . && fail 'the bare system is not bare'
mkdir "$bare/packages"
cp "$package" "$bare/packages"
newer=$(scripts/deb.sh "$program" "$bare/packages" 2)

# inside COMMAND...: runs as root in the bare system, and keeps the output for a failure.
inside() {
  chroot "$bare" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" \
    </dev/null >"$work/said" 2>&1 || fail "in the bare system '$*' failed: $(cat "$work/said")"
}

inside apt-get -q update
inside dpkg-query --show --showformat='${Package}\n'
cp "$work/said" "$work/before"
inside apt-get -q -y --no-install-recommends install "/packages/${package##*/}"
inside dpkg-query --show --showformat='${Package}\n'
say "installed:" "$(grep -Fxv -f "$work/before" "$work/said" | paste -s -d ' ')"
inside dpkg --verify pusher-cli
[ ! -s "$work/said" ] || fail "not installed as packed: $(cat "$work/said")"

# The first README block with input and output: commands follow '$ ', the rest is their output.
sed -n '/^```console$/,/^```$/p' README.md | sed '/^```/d' >"$work/block"
{
  echo 'cd "$(mktemp -d)"'
  sed -n '/^\$ /{s/^\$ //;p;:more
/\\$/{n;p;bmore
}
}' "$work/block"
  echo 'kill "$!"'
} >"$bare/packages/session"
grep '^{' "$work/block" >"$work/expected"
grep -q 'pusher-cli serve &' "$bare/packages/session" || fail 'README has no first session'

# alone COMMAND...: runs in the bare system as an unprivileged user, with its own loopback and no
# other network. /proc is not mounted, as in many chroots.
alone() {
  unshare --net --pid --fork --kill-child sh -c '
    bare=$1
    shift
    ip link set lo up &&
      exec timeout 60 chroot --userspec=65534:65534 "$bare" /usr/bin/env -i PATH=/usr/bin:/bin "$@"
  ' sh "$bare" "$@" </dev/null
}

session() {
  alone sh /packages/session >"$work/events" 2>"$work/said" || fail "README's session failed: $(cat "$work/said")"
  cmp "$work/expected" "$work/events" || fail "README's session printed: $(cat "$work/events" "$work/said")"
}

session
sed 's/^/  /' "$bare/packages/session" "$work/said" "$work/events"
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
session
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
mv "$bare/packages" "$work/packages"
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
rm "$wants/pusher-cli@own.service" "$bare/etc/systemd/system/pusher-cli@own.service"
say 'removed: only the configuration is left; purged: nothing is enabled any more'

cp -R "$work/unpacked" "$bare/unpacked"
alone sh -c '/unpacked/*/pusher-cli --version' >"$work/said" 2>&1 || fail "unpacked, it says: $(cat "$work/said")"
say "the tarball's program runs there: $(cat "$work/said")"

status=0
# Its libraries come from the building system.
[ "$release" != "$own" ] || scripts/check-image.sh "$program" "$bare" 2>"$work/errors" || status=$?
case $status in
  0) ;;
  77) say "skipped: the image: $(cat "$work/errors")" ;;
  *) fail "$(cat "$work/errors")" ;;
esac

mv "$work/packages" "$bare/packages"
inside apt-get -q -y --no-install-recommends install systemd "/packages/${newer##*/}"
status=0
scripts/check-units.sh "$bare" 2>"$work/errors" || status=$?
case $status in
  0) say 'units: run by a systemd' ;;
  77) unable "the units in a systemd: $(cat "$work/errors")" ;;
  *) fail "$(cat "$work/errors")" ;;
esac
