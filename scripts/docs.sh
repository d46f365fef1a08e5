#!/bin/sh
# Builds the library's documentation from its sources and its catalog; a warning fails.
#
#   scripts/docs.sh [FOLDER]      where the archive goes (.build-docs/PusherCore.doccarchive)
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
work=.build-docs
archive=${1:-$work/PusherCore.doccarchive}

if ! command -v "$swift" >/dev/null 2>&1; then
  echo "docs: no '$swift' found: install Swift 6.2 or newer from swift.org" >&2
  exit 1
fi
docc=${DOCC:-$(dirname "$(command -v "$swift")")/docc}
if [ ! -x "$docc" ]; then
  echo "docs: no docc beside $swift: name it by DOCC" >&2
  exit 1
fi

# One module's public symbols, written by the compiler while it checks the sources.
"$swift" build --target PusherCore </dev/null
modules=$("$swift" build --show-bin-path)/Modules
rm -rf "$work/symbols"
mkdir -p "$work/symbols"
set -- -module-name PusherCore -minimum-access-level public -I "$modules" \
  -output-dir "$work/symbols" -skip-synthesized-members
for library in CSystemOpenSSL CSystemZlib CSystemSodium; do
  [ ! -f "Sources/$library/module.modulemap" ] || set -- "$@" -I "Sources/$library"
done
target=$("$swift" -print-target-info | sed -n 's/.*"triple": "\(.*\)",/\1/p' | head -n 1)
"$(dirname "$docc")/swift-symbolgraph-extract" "$@" -target "$target"

"$docc" convert Sources/PusherCore/PusherCore.docc --warnings-as-errors \
  --additional-symbol-graph-dir "$work/symbols" --fallback-display-name PusherCore \
  --fallback-bundle-identifier PusherCore --output-dir "$archive"
echo "built $archive"
