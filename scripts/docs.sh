#!/bin/sh
# Builds the libraries' documentation from sources and catalogs; a warning fails.
#
#   scripts/docs.sh [FOLDER]      folder of the archives (.build-docs)
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
work=.build-docs
archives=${1:-$work}

if ! command -v "$swift" >/dev/null 2>&1; then
  echo "docs: no '$swift' found: install Swift 6.2 or newer from swift.org" >&2
  exit 1
fi
docc=${DOCC:-$(dirname "$(command -v "$swift")")/docc}
if [ ! -x "$docc" ]; then
  echo "docs: no docc beside $swift: name it by DOCC" >&2
  exit 1
fi
mkdir -p "$archives"
target=$("$swift" -print-target-info | sed -n 's/.*"triple": "\(.*\)",/\1/p' | head -n 1)

for module in PusherCore PusherTesting; do
  # The compiler writes the module's public symbols while it checks the sources.
  "$swift" build --target "$module" </dev/null
  modules=$("$swift" build --show-bin-path)/Modules
  rm -rf "$work/symbols"
  mkdir -p "$work/symbols"
  set -- -module-name "$module" -minimum-access-level public -I "$modules" \
    -output-dir "$work/symbols" -skip-synthesized-members
  for library in CSystemEpoll CSystemOpenSSL CSystemVectors CSystemZlib CSystemSodium CSystemHiredis; do
    [ ! -f "Sources/$library/module.modulemap" ] || set -- "$@" -I "Sources/$library"
  done
  "$(dirname "$docc")/swift-symbolgraph-extract" "$@" -target "$target"

  "$docc" convert "Sources/$module/$module.docc" --warnings-as-errors \
    --additional-symbol-graph-dir "$work/symbols" --fallback-display-name "$module" \
    --fallback-bundle-identifier "$module" --output-dir "$archives/$module.doccarchive"
  echo "built $archives/$module.doccarchive"
done
