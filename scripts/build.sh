#!/bin/sh
# Builds the release program, with the Swift libraries inside and stripped, and leaves it at PATH.
#
#   scripts/build.sh PATH
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
program=$1

if ! command -v "$swift" >/dev/null 2>&1; then
  echo "build: no '$swift' found: install Swift 6.2 or newer from swift.org" >&2
  exit 1
fi
if ! pkg-config --exists openssl zlib libsodium hiredis 2>/dev/null; then
  echo 'build: OpenSSL, zlib, libsodium or hiredis is missing: run scripts/install-packages.sh build' >&2
  exit 1
fi

# Exclusive access is checked by the tests, whose build has the checks (docs/decisions/0015).
# The program is the same bytes wherever it is built: without debugging information, which names the folder, and without
# the compiler's hashes of its own work, which hold the folder's name. It looks for no library beside itself.
# Without the library of regular expressions, which every source else imports unasked, it is a tenth smaller: code that
# uses one of its searches, such as firstRange(of:), does not compile here. ByteSearch.swift has ours.
set -- build -c release --product pusher-cli -Xswiftc -enforce-exclusivity=unchecked -debug-info-format none \
  --disable-local-rpath -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen \
  -Xswiftc -Xfrontend -Xswiftc -disable-implicit-string-processing-module-import
# Only Linux has the Swift libraries outside the system. Runs that use no encrypted channel must not pay for
# libsodium, nor runs without Redis for hiredis, so both are linked in where their archives are there: a description of
# our own names the one, and the folder in which the other is found first.
if [ "$(uname -s)" = Linux ]; then
  # Linked without names for debuggers, the build id is that of the bytes that are left. Nobody loads code that would look
  # for names of the program, so it offers none: each costs room, and time at each start.
  # Each function stands in a section of its own, so that the linker leaves out those that nothing calls.
  set -- "$@" --static-swift-stdlib -Xlinker --strip-all -Xlinker --no-export-dynamic \
    -Xswiftc -Xfrontend -Xswiftc -function-sections
  mkdir -p .build/static
  # The Swift libraries need a little of the C++ library, which as a library of its own costs each run a megabyte.
  archive=$(clang -print-file-name=libstdc++.a 2>/dev/null || cc -print-file-name=libstdc++.a 2>/dev/null || true)
  if [ -f "$archive" ]; then
    ln -sf "$archive" .build/static/libstdc++.a
    set -- "$@" -Xlinker "-L$PWD/.build/static"
    # Where that archive asks the C library for arc4random, the program would not start with one older than 2.36, as
    # Ubuntu 22.04 has: it gets one that asks the system's generator.
    if nm "$archive" 2>/dev/null | grep -q ' U arc4random$'; then
      "$(command -v clang || command -v cc)" -x c -c -O2 -fPIC -o .build/static/arc4random.o - <<'END'
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
      set -- "$@" -Xlinker "$PWD/.build/static/arc4random.o"
    fi
  fi
  archive=$(clang -print-file-name=libhiredis.a 2>/dev/null || cc -print-file-name=libhiredis.a 2>/dev/null || true)
  [ ! -f "$archive" ] || ln -sf "$archive" .build/static/libhiredis.a
  libraries=$(pkg-config --variable=libdir libsodium)
  if [ -f "$libraries/libsodium.a" ]; then
    sed "s|^Libs:.*|Libs: -L$PWD/.build/static -L$libraries -l:libsodium.a|" \
      "$libraries/pkgconfig/libsodium.pc" >.build/static/libsodium.pc
    export PKG_CONFIG_PATH="$PWD/.build/static${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
  fi
fi

# At addresses that differ each time the compiler now and then makes other code, so they stay the same where the system
# allows that; a container may not.
still=''
if setarch -R true 2>/dev/null; then still='setarch -R'; fi
# Word splitting is meant.
# shellcheck disable=SC2086
$still "$swift" "$@"
mkdir -p "$(dirname "$program")"
# A new file under another name first: the program may be running.
cp "$("$swift" "$@" --show-bin-path)/pusher-cli" "$program.new"
strip "$program.new"
mv "$program.new" "$program"
echo "built $program ($(wc -c <"$program") bytes)"
