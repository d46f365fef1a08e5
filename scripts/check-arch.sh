#!/bin/sh
# Checks the Arch Linux package: fields, files and their digests. With BARE, a bare Debian, installs
# it there instead, uses and removes it.
#
#   scripts/check-arch.sh PROGRAM PACKAGE [BARE]
#
# bsdtar reads it, and Debian's pacman installs it. BARE needs root.
set -eu

program=$(realpath "$1")
package=$(realpath "$2")
bare=${3:-}
cd "$(dirname "$0")/.."
. scripts/checking.sh

for tool in bsdtar pacman; do
  command -v "$tool" >/dev/null 2>&1 || fail "$tool is missing: run scripts/install-packages.sh package"
done

# check: checks the package itself.
check() {
  mkdir "$work/unpacked"
  bsdtar -xf "$package" -C "$work/unpacked" .PKGINFO .MTREE .INSTALL || fail 'it has no .PKGINFO, .MTREE or .INSTALL'
  grep -v '^#' "$work/unpacked/.PKGINFO" | sort >"$work/fields"

  version=$("$program" --version | sed 's/^pusher-cli //')
  scripts/package-root.sh "$program" "$work/root" arch
  size=$(find "$work/root" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
  # The packages of Arch Linux that have the libraries.
  objdump -p "$program" | sed -n 's/^ *NEEDED *//p' | sed 's/^libssl\..*\|^libcrypto\..*/openssl/;s/^libz\..*/zlib/
s/^libgcc_s\..*/gcc-libs/;s/^ld-linux.*\|^libc\..*\|^libm\..*/glibc/' | sort -u | sed 's/^/depend = /' >"$work/depends"
  sort - "$work/depends" >"$work/expected" <<TEXT
arch = $(uname -m)
backup = etc/pusher-cli/example.env
builddate = ${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
license = MIT
packager = pusher-cli maintainers
pkgbase = pusher-cli
pkgdesc = $(sed -n 1p packaging/description)
pkgname = pusher-cli
pkgver = $version-1
size = $size
TEXT
  cmp "$work/expected" "$work/fields" || fail "its fields differ: $(diff "$work/expected" "$work/fields")"

  # Kind, mode, size and digest of every file: from the tree, from .MTREE and from the archive.
  (cd "$work/root" && find . -mindepth 1 -printf '%y %m %P\n' | sort) >"$work/expected"
  bsdtar -tvf "$package" | awk '$NF !~ /^\./ { print substr($1, 1, 1), $1, $NF }' | sed 's|/$||
s/^d drwxr-xr-x/d 755/
s/^- -rwxr-xr-x/f 755/
s/^- -rw-r--r--/f 644/' | sort >"$work/found"
  cmp "$work/expected" "$work/found" || fail "its files differ: $(diff "$work/expected" "$work/found")"
  (cd "$work/root" && find . -type f -exec sha256sum {} +) | sed 's/\([^ ]*\)  \(.*\)/\2 \1/' | sort >"$work/expected"
  gzip -dc "$work/unpacked/.MTREE" | sed -n 's/^\(\.\/[^.][^ ]*\) .*type=file.*sha256digest=\([0-9a-f]*\).*/\1 \2/p' | sort >"$work/found"
  cmp "$work/expected" "$work/found" || fail "its .MTREE differs: $(diff "$work/expected" "$work/found")"
  for function in post_install pre_remove post_remove; do
    grep -q "^function $function()" "$work/unpacked/.INSTALL" ||
      fail "its .INSTALL has no $function"
  done
  say "$(wc -l <"$work/expected") files with their digests; fields: right"
}

if [ -z "$bare" ]; then
  check
  exit 0
fi
bare=$(realpath "$bare")
. scripts/bare-system.sh

# pacmans OPTION...: pacman in the bare system, with a database of its own and without signatures.
pacmans() {
  pacman --config "$work/settings" --root "$bare" --dbpath "$bare/var/lib/pacman" --cachedir "$work/cache" \
    --gpgdir "$work/keys" --hookdir "$work/hooks" --logfile "$work/log" --noconfirm "$@" >"$work/said" 2>&1 ||
    fail "pacman $*: $(cat "$work/said")"
  ! grep '^error:' "$work/said" || fail "pacman $*: $(cat "$work/said")"
}

find "$bare/usr" "$bare/etc" -name '*pusher*' | grep -q . && fail 'there is something of pusher-cli in the bare system'
printf '[options]\nArchitecture = auto\nSigLevel = Never\nLocalFileSigLevel = Never\n' >"$work/settings"
mkdir -p "$bare/var/lib/pacman" "$work/cache"
# Scriptlets are for bash, which is sh on Arch Linux, but not for Debian's pacman.
ln -sf bash "$bare/bin/sh"
# -dd: no check of dependencies, since that database knows no other package. The libraries are there
# from Debian packages.
pacmans -U -dd "$package"
pacmans -Qkk pusher-cli
say "installed in a bare Debian: $(cat "$work/said")"
cmp "$program" "$bare/usr/bin/pusher-cli" || fail 'another program is installed'
session /usr/bin
say "README's session: $(cat "$work/events")"
pacmans -R pusher-cli
ln -sf dash "$bare/bin/sh"
left=$(cd "$bare" && find usr etc -name '*pusher*')
[ -z "$left" ] || fail "removed, but there is $left"
rm -r "$bare/var/lib/pacman"
say 'removed: nothing is left'
