#!/bin/sh
# Makes the rpm and Arch Linux packages of a program with nfpm, and prints their paths.
#
#   scripts/nfpm.sh PROGRAM FOLDER [RELEASE]
#
# The version is the program's own, followed by RELEASE (1). Same program, commit and release give
# the same bytes. File times are those of the last commit unless SOURCE_DATE_EPOCH is set.
set -eu

program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
release=${3:-1}
cd "$(dirname "$0")/.."
. scripts/ending.sh

case $(uname -sm) in
  'Linux x86_64') architecture=amd64 ;;
  'Linux aarch64') architecture=arm64 ;;
  *)
    echo "nfpm: no packages are made for $(uname -sm): use make install" >&2
    exit 1
    ;;
esac
tools=$(scripts/python-peers.sh package)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022
temporary=$(mktemp -d)

PACKAGE_VERSION=$("$program" --version | sed 's/^pusher-cli //')
PACKAGE_RELEASE=$release
PACKAGE_ARCH=$architecture
scripts/check-symbols.sh "$program" >"$temporary/symbols"
PACKAGE_GLIBC=$(sed -n 's/.*: GLIBC_\([0-9.]*\) .*/\1/p' "$temporary/symbols")
export PACKAGE_VERSION PACKAGE_RELEASE PACKAGE_ARCH PACKAGE_GLIBC

# contents ROOT LAYOUT: lists the files for nfpm, and the folders that belong to the package alone.
contents() {
  echo 'contents:'
  (cd "$1" && find . -path '*/pusher-cli*' -type d -printf '/%P\n' -o -type f -printf '/%P\n') | sort |
    while IFS= read -r path; do
      type='file'
      if [ -d "$1$path" ]; then
        printf '  - {type: dir, dst: "%s", file_info: {mode: 0755}}\n' "$path"
        continue
      fi
      case $2$path in
        */etc/*) type='config|noreplace' ;;
        rpm/usr/share/licenses/*) type='license' ;;
        rpm/usr/share/doc/* | rpm/usr/share/man/*) type='doc' ;;
      esac
      printf '  - {type: %s, src: "%s", dst: "%s"}\n' "$type" "$1$path" "$path"
    done
}

# make LAYOUT PACKAGER NAME: makes one package.
make() {
  root=$temporary/$1
  scripts/package-root.sh "$program" "$root" "$1"
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  {
    cat packaging/nfpm.yaml
    contents "$root" "$1"
  } >"$temporary/$1.yaml"
  "${tools%/*}/nfpm" package --config "$temporary/$1.yaml" --packager "$2" --target "$folder/$3" \
    >"$temporary/said" 2>&1 || {
    cat "$temporary/said" >&2
    echo "nfpm: $3 was not made; the reason is above" >&2
    exit 1
  }
  echo "$folder/$3"
}

PACKAGE_DESCRIPTION=$(sed 1d packaging/description)
export PACKAGE_DESCRIPTION
make rpm rpm "pusher-cli-$PACKAGE_VERSION-$release.$(uname -m).rpm"
# Arch Linux has one line only.
PACKAGE_DESCRIPTION=$(sed -n 1p packaging/description)
make arch archlinux "pusher-cli-$PACKAGE_VERSION-$release-$(uname -m).pkg.tar.zst"
