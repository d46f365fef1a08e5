#!/bin/sh
# Builds the program without the package's traits, and checks that it needs neither libsodium nor
# hiredis.
#
#   scripts/check-traits.sh
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh build
swift=${SWIFT:-swift}
folder=.build-plain

if ! command -v "$swift" >/dev/null 2>&1; then
  echo "traits: no '$swift' found: install Swift 6.2 or newer from swift.org" >&2
  exit 1
fi
# pkg-config finds only the two remaining packages, so other headers cannot be used by mistake.
descriptions=$(mktemp -d)
trap 'rm -rf "$descriptions"' EXIT
for library in openssl libssl libcrypto zlib; do
  cp "$(pkg-config --variable=pcfiledir "$library")/$library.pc" "$descriptions/"
done
PKG_CONFIG_LIBDIR=$descriptions PKG_CONFIG_PATH='' "$swift" build --disable-default-traits --product pusher-cli \
  --scratch-path "$folder" </dev/null
program=$(PKG_CONFIG_LIBDIR=$descriptions PKG_CONFIG_PATH='' "$swift" build --disable-default-traits \
  --scratch-path "$folder" --show-bin-path </dev/null)/pusher-cli
if objdump -p "$program" | grep -E 'NEEDED +lib(sodium|hiredis)' >&2; then
  echo 'traits: without its traits the program needs a library of theirs' >&2
  exit 1
fi
"$program" --version </dev/null
echo 'traits: without them the program needs OpenSSL and zlib alone'
