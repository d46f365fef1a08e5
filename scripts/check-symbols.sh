#!/bin/sh
# Checks that a program starts on Ubuntu 22.04, the oldest supported system: it must not need newer
# symbols of the C library, OpenSSL or zlib. Prints the newest symbol of each library.
#
#   scripts/check-symbols.sh PROGRAM
#   scripts/check-symbols.sh --glibc     prints the newest version of glibc that is allowed
set -eu

# Symbol versions in the libraries of Ubuntu 22.04. Debian 12 and later systems have more.
glibc=2.35
if [ "$1" = --glibc ]; then
  echo "$glibc"
  exit 0
fi

name=$1
program=$(realpath "$1")
cd "$(dirname "$0")/.."
. scripts/ending.sh
export LC_ALL=C
temporary=$(mktemp -d)

objdump -T "$program" |
  sed -n 's/.*[( ]\(GLIBC\|GCC\|OPENSSL\|ZLIB\)_\([0-9.]*\))* *\([^ ]*\)$/\1 \2 \3/p' | sort -u >"$temporary/symbols"
awk -v program="$name" -v glibc="$glibc" '
  function rank(version, parts) {
    split(version, parts, ".")
    return parts[1] * 1000000 + parts[2] * 1000 + parts[3]
  }
  BEGIN {
    most["GLIBC"] = glibc; most["OPENSSL"] = "3.0.0"; most["ZLIB"] = "1.2.9"; most["GCC"] = "12.0.0"
  }
  rank($2) > rank(newest[$1]) { newest[$1] = $2; symbol[$1] = $3 }
  rank($2) > rank(most[$1]) {
    printf "check-symbols: %s needs %s of %s_%s; Ubuntu 22.04 has no more than %s_%s: build on an older system\n",
      program, $3, $1, $2, $1, most[$1]
    failed = 1
  }
  END {
    if (!("GLIBC" in newest)) { printf "check-symbols: %s names no symbols of the C library\n", program; exit 1 }
    if (failed) exit 1
    for (library in newest)
      printf "check-symbols: newest symbol of %s: %s_%s (%s)\n", library, library, newest[library], symbol[library]
  }' "$temporary/symbols" >"$temporary/verdict" || {
  cat "$temporary/verdict" >&2
  exit 1
}
sort "$temporary/verdict"
