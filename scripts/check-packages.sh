#!/bin/sh
# Checks the installable parts of a program: packages, formulas, units and container.
#
#   scripts/check-packages.sh PROGRAM [RELEASE]
#
# RELEASE is the code name of a newer Debian for the bare system, such as trixie (default: this
# one's).
#
# Makes every package twice and compares them; lintian and systemd-analyze must find nothing. Then a
# bare Debian installs each package in turn and runs README's first session with it, builds the
# image of Containerfile, and runs the units with systemd. The bare system needs root and a mirror.
# Missing tools are reported and skipped; where CI=true that fails. Steps that the machine forbids,
# such as mounts in a container, are reported and skipped.
#
# Single-quoted text is for apt and other shells.
# shellcheck disable=SC2016
set -eu

program=$(realpath "$1")
release=${2:-}
cd "$(dirname "$0")/.."
scripts/install-packages.sh package
. scripts/checking.sh
# The bare system has its own users, who need access to its root.
chmod 755 "$work"

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

# pack PROGRAM FOLDER: makes all packages and prints their paths.
pack() {
  scripts/deb.sh "$1" "$2" && scripts/dist.sh "$1" "$2" && scripts/wheel.sh "$1" "$2" && scripts/nfpm.sh "$1" "$2"
}

scripts/check-symbols.sh "$program"
pack "$program" "$work/one" >"$work/paths" 2>"$work/errors" || fail "$(cat "$work/errors")"
# The second build has another folder, umask and environment, and uses one processor.
mkdir "$work/elsewhere"
cp "$program" "$work/elsewhere/program"
(
  umask 077
  export TZ=Asia/Tokyo GOMAXPROCS=1
  pack "$work/elsewhere/program" "$work/two"
) >/dev/null 2>"$work/errors" || fail "$(cat "$work/errors")"
while IFS= read -r file; do
  cmp "$file" "$work/two/${file##*/}" || fail "made twice, ${file##*/} is not the same"
  (cd "$work/one" && sha256sum "${file##*/}")
  (cd "$work/two" && sha256sum "${file##*/}")
done <"$work/paths"
say "made twice: the same bytes of $(wc -l <"$work/paths") packages"

# made SUFFIX: prints the path of the package with this suffix.
made() {
  grep "$1\$" "$work/paths"
}
package=$(made .deb)
tarball=$(made .tar.gz)

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

scripts/check-rpm.sh "$program" "$(made .rpm)"
scripts/check-arch.sh "$program" "$(made .pkg.tar.zst)"
scripts/check-formulas.sh
say 'skipped: Ubuntu 22.04, Fedora and Arch Linux themselves: only a Debian can be installed here'
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
. scripts/bare-system.sh
scripts/check-deb.sh "$program" "$package" "$bare"

cp -R "$work/unpacked" "$bare/unpacked"
session "/unpacked/$(ls "$work/unpacked")"
say "the tarball's program there, README's session: $(cat "$work/events")"
rm -r "$bare/unpacked"

status=0
# Its libraries come from the building system.
[ "$release" != "$own" ] || scripts/check-image.sh "$program" "$bare" 2>"$work/errors" || status=$?
case $status in
  0) ;;
  77) say "skipped: the image: $(cat "$work/errors")" ;;
  *) fail "$(cat "$work/errors")" ;;
esac

scripts/check-wheel.sh "$program" "$(made .whl)" "$bare"
scripts/check-rpm.sh "$program" "$(made .rpm)" "$bare"
scripts/check-arch.sh "$program" "$(made .pkg.tar.zst)" "$bare"

cp "$package" "$bare/package.deb"
inside apt-get -q -y --no-install-recommends install systemd /package.deb
status=0
scripts/check-units.sh "$bare" 2>"$work/errors" || status=$?
case $status in
  0) say 'units: run by a systemd' ;;
  77) unable "the units in a systemd: $(cat "$work/errors")" ;;
  *) fail "$(cat "$work/errors")" ;;
esac
