#!/bin/sh
# Checks the rpm: digests, fields, needed libraries and files. With BARE, a bare Debian, installs it
# there instead, uses, upgrades and erases it.
#
#   scripts/check-rpm.sh PROGRAM RPM [BARE]
#
# Debian's rpm reads and installs it. BARE needs root.
set -eu

program=$(realpath "$1")
package=$(realpath "$2")
bare=${3:-}
cd "$(dirname "$0")/.."
. scripts/checking.sh

command -v rpm >/dev/null 2>&1 || fail 'rpm is missing: run scripts/install-packages.sh package'
version=$("$program" --version | sed 's/^pusher-cli //')

# check: checks the package itself.
check() {
  rpm -K "$package" >"$work/said" 2>&1 || fail "rpm -K: $(cat "$work/said")"
  say "rpm -K: $(sed 's/^.*: //' "$work/said")"
  rpm -qp --queryformat '%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{LICENSE} %{BUILDHOST} %{BUILDTIME}\n' "$package" >"$work/fields"
  expected="pusher-cli $version 1 $(uname -m) MIT localhost ${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
  [ "$(cat "$work/fields")" = "$expected" ] || fail "its fields are $(cat "$work/fields"), not $expected"

  # The libraries that the program names, except those of glibc.
  {
    echo /bin/sh
    scripts/check-symbols.sh "$program" | sed -n 's/.*: GLIBC_\([0-9.]*\) .*/glibc >= \1/p'
    objdump -p "$program" | sed -n 's/^ *NEEDED *//p' | grep -v '^ld-linux\|^libc\.\|^libm\.\|^libdl\.\|^libpthread\.' |
      sed 's/$/()(64bit)/'
  } | sort >"$work/expected"
  rpm -qp --requires "$package" | grep -v '^rpmlib' | sort >"$work/found"
  cmp "$work/expected" "$work/found" || fail "it requires other things: $(diff "$work/expected" "$work/found")"
  say "requires:" "$(paste -s -d ' ' "$work/found")"

  scripts/package-root.sh "$program" "$work/root" rpm
  (cd "$work/root" && find . -type f -printf '/%P %m\n' | sort) >"$work/expected"
  rpm -qp --queryformat '[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME}\n]' "$package" |
    sed -n 's/ -rwxr-xr-x root:root$/ 755/p;s/ -rw-r--r-- root:root$/ 644/p' | sort >"$work/found"
  cmp "$work/expected" "$work/found" || fail "its files differ: $(diff "$work/expected" "$work/found")"
  [ "$(rpm -qpc "$package")" = /etc/pusher-cli/example.env ] || fail 'its configuration is not the sample'
  rpm -qpL "$package" | grep -q '/THIRD-PARTY-NOTICES$' || fail 'it does not mark its licences'
  say "$(wc -l <"$work/found") files, all where the layout has them"
}

if [ -z "$bare" ]; then
  check
  exit 0
fi
bare=$(realpath "$bare")
. scripts/bare-system.sh

# rpms OPTION...: rpm in the bare system, with a database of its own.
rpms() {
  rpm --root "$bare" --dbpath /var/lib/rpm "$@" >"$work/said" 2>&1 || fail "rpm $*: $(cat "$work/said")"
}

find "$bare/usr" "$bare/etc" -name '*pusher*' | grep -q . && fail 'there is something of pusher-cli in the bare system'
newer=$(scripts/nfpm.sh "$program" "$work" 2 | grep 'rpm$')
rpms --initdb
# No check of dependencies: that database knows no other package. The libraries are there, from
# Debian packages.
rpms --force-debian --nodeps --install "$package"
[ ! -s "$work/said" ] || fail "rpm --install says: $(cat "$work/said")"
rpms --nodeps --verify pusher-cli
cmp "$program" "$bare/usr/bin/pusher-cli" || fail 'another program is installed'
session /usr/bin
say "installed in a bare Debian, README's session: $(cat "$work/events")"
echo '# Changed by the operator.' >>"$bare/etc/pusher-cli/example.env"
rpms --force-debian --nodeps --upgrade "$newer"
rpms --query --queryformat '%{RELEASE}' pusher-cli
[ "$(cat "$work/said")" = 2 ] || fail "after the upgrade the release is $(cat "$work/said")"
tail -n 1 "$bare/etc/pusher-cli/example.env" | grep -q operator || fail 'the upgrade has replaced a changed configuration'
session /usr/bin
rpms --force-debian --nodeps --erase pusher-cli
left=$(cd "$bare" && find usr etc -name '*pusher*' -o -path '*/pusher-cli/*')
[ "$left" = "$(printf '%s\n' etc/pusher-cli etc/pusher-cli/example.env.rpmsave)" ] || fail "erased, but there is $left"
rm -r "$bare/etc/pusher-cli" "$bare/var/lib/rpm"
say 'upgraded, and the session again; erased: only a changed configuration is left'
