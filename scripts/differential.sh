#!/bin/sh
# Compares the fast path from messages to lines with the general one, over COUNT generated messages
# between guard pages. Prints the first difference and exits with status 1.
#
#   scripts/differential.sh [COUNT [SEED]]   10,000,000 messages from seed 1
set -eu
cd "$(dirname "$0")/.."

swiftc=${SWIFTC:-swiftc}
count=${1:-10000000}
seed=${2:-1}
work=.build-differential

case $count$seed in
  '' | *[!0-9]*)
    echo "differential: no numbers: $count $seed" >&2
    exit 2
    ;;
esac
scripts/install-packages.sh build
mkdir -p "$work"

# compile ARGUMENT...: compiles like the release program. The modules are one package, as in
# Package.swift.
compile() {
  # Word splitting is intended: pkg-config prints a list of words.
  # shellcheck disable=SC2046
  "$swiftc" -swift-version 6 -package-name pusher_cli -parse-as-library -whole-module-optimization -O \
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault \
    -enable-upcoming-feature MemberImportVisibility -enforce-exclusivity=unchecked \
    -I Sources/CSystemEpoll -I Sources/CSystemVectors -I Sources/CSystemOpenSSL -I Sources/CSystemZlib \
    -I Sources/CSystemSodium -I "$work" \
    $(pkg-config --cflags-only-I openssl zlib libsodium) "$@" </dev/null
}

if [ ! -f "$work/PusherCore.o" ] || [ -n "$(find Sources/PusherCore Sources/PusherLines Sources/CSystemVectors -newer "$work/PusherCore.o" -type f)" ]; then
  echo 'differential: compiling PusherCore and PusherLines' >&2
  # Word splitting is intended: source paths contain no blanks.
  # shellcheck disable=SC2046
  for module in PusherPlatform PusherCore PusherLines; do
    compile -module-name "$module" -emit-object -o "$work/$module.o" \
      -emit-module -emit-module-path "$work/$module.swiftmodule" $(find "Sources/$module" -name '*.swift')
  done
fi
shared=''
for file in GuardedBytes RandomJSON RandomMessage SeededGenerator; do
  shared="$shared Tests/TestSupport/$file.swift"
done
# shellcheck disable=SC2046,SC2086
compile -module-name Differential -emit-executable Tests/Differential/Differential.swift $shared "$work/PusherPlatform.o" \
  "$work/PusherCore.o" "$work/PusherLines.o" \
  $(pkg-config --libs openssl zlib libsodium) -o "$work/differential"
"$work/differential" "$count" "$seed"
