#!/bin/sh
# Builds the stripped release program at PATH, with the Swift libraries linked in.
#
#   scripts/build.sh PATH [PRODUCT]   another program of the package instead, from the same build
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/.."

program=$1 product=${2:-pusher-cli}
need_swift
pkg-config --exists openssl zlib libsodium hiredis 2>/dev/null ||
  fail 'OpenSSL, zlib, libsodium or hiredis is missing: run scripts/install-packages.sh build'

# Only the tests check exclusive access (docs/decisions/0015). Builds are reproducible in any
# folder: no debugging information, which contains the folder's name, and no hashes of the compiler,
# which depend on it. The program has no library search path. Without the library of regular
# expressions, which every source otherwise imports, the program is a tenth smaller. Code that uses
# its searches, such as firstRange(of:), does not compile here; ByteSearch.swift has replacements. A
# folder of its own: these options would compile another build's parts again, and wait for it.
set -- build -c release --product "$product" --scratch-path .build-release -Xswiftc -enforce-exclusivity=unchecked -debug-info-format none \
  --disable-local-rpath -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen \
  -Xswiftc -Xfrontend -Xswiftc -disable-implicit-string-processing-module-import
# Only Linux has the Swift libraries outside the system. libsodium and hiredis are linked statically
# where their archives exist, so that runs that do not use them pay nothing. A pkg-config file of
# our own names the one, and the library search path starts with the folder of the other.
if [ "$(uname -s)" = Linux ]; then
  # No debugging symbols: the build ID covers the remaining bytes. No exported symbols: nothing
  # loads the program's code, and each symbol costs size and start time. One section per function,
  # so that the linker drops unused functions.
  set -- "$@" --static-swift-stdlib -Xlinker --strip-all -Xlinker --no-export-dynamic \
    -Xswiftc -Xfrontend -Xswiftc -function-sections
  mkdir -p .build-release/static
  # The Swift libraries need a little of the C++ library, which costs each run 1 MB if dynamic.
  archive=$(clang -print-file-name=libstdc++.a 2>/dev/null || cc -print-file-name=libstdc++.a 2>/dev/null || true)
  if [ -f "$archive" ]; then
    ln -sf "$archive" .build-release/static/libstdc++.a
    set -- "$@" -Xlinker "-L$PWD/.build-release/static"
    # If that archive needs arc4random, the program would not start with a C library before 2.36, as
    # in Ubuntu 22.04. A replacement asks the system's generator.
    if nm "$archive" 2>/dev/null | grep -q ' U arc4random$'; then
      "$(command -v clang || command -v cc)" -x c -c -O2 -fPIC -o .build-release/static/arc4random.o - <<'END'
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((visibility("hidden"))) uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t number;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}
END
      set -- "$@" -Xlinker "$PWD/.build-release/static/arc4random.o"
    fi
  fi
  # The facts of `version --verbose`. They are linked: a compiler option with the commit would
  # compile everything again after every commit.
  commit=$(git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown)
  compiler=$("$swift" --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p')
  "$(command -v clang || command -v cc)" -x c -c -o .build-release/static/built.o - <<END
const char pusher_built_commit[] = "$commit";
const char pusher_built_swift[] = "${compiler:-unknown}";
END
  set -- "$@" -Xlinker "$PWD/.build-release/static/built.o"
  archive=$(clang -print-file-name=libhiredis.a 2>/dev/null || cc -print-file-name=libhiredis.a 2>/dev/null || true)
  [ ! -f "$archive" ] || ln -sf "$archive" .build-release/static/libhiredis.a
  libraries=$(pkg-config --variable=libdir libsodium)
  if [ -f "$libraries/libsodium.a" ]; then
    here=$(printf %s "$PWD" | sed 's/ /\\\\ /g')
    sed "s|^Libs:.*|Libs: -L$here/.build-release/static -L$libraries -l:libsodium.a|" \
      "$libraries/pkgconfig/libsodium.pc" >.build-release/static/libsodium.pc
    export PKG_CONFIG_PATH="$PWD/.build-release/static${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
  fi
fi

# Random addresses sometimes make the compiler emit different code, so address randomisation is
# disabled where the system allows it; a container may not.
still=''
if setarch -R true 2>/dev/null; then still='setarch -R'; fi
# Word splitting is intended.
# shellcheck disable=SC2086
SWIFT_DETERMINISTIC_HASHING=1 $still "$swift" "$@"
mkdir -p "$(dirname "$program")"
# Renames a new file into place because the program may be running.
cp "$("$swift" "$@" --show-bin-path)/$product" "$program.new"
strip "$program.new"
mv "$program.new" "$program"
echo "built $program ($(wc -c <"$program") bytes)"
