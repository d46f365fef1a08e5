#!/bin/sh
# Builds the libraries' documentation from sources and catalogs, in .build-docs; a warning fails.
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/.."
need_swift
work=.build-docs
docc=${DOCC:-$(dirname "$(command -v "$swift")")/docc}
[ -x "$docc" ] || fail "no docc beside $swift: name it by DOCC"
target=$("$swift" -print-target-info | sed -n 's/.*"triple": "\(.*\)",/\1/p' | head -n 1)

for module in PusherCore PusherTesting; do
  # The compiler writes the module's public symbols while it checks the sources.
  debug_build --target "$module"
  modules=$("$swift" build --show-bin-path)/Modules
  rm -rf "$work/symbols"
  mkdir -p "$work/symbols"
  set -- -module-name "$module" -minimum-access-level public -I "$modules" \
    -output-dir "$work/symbols" -skip-synthesized-members
  for map in Sources/CSystem*/module.modulemap; do set -- "$@" -I "${map%/*}"; done
  "$(dirname "$docc")/swift-symbolgraph-extract" "$@" -target "$target"
  "$docc" convert "Sources/$module/$module.docc" --warnings-as-errors \
    --additional-symbol-graph-dir "$work/symbols" --fallback-display-name "$module" \
    --fallback-bundle-identifier "$module" --output-dir "$work/$module.doccarchive"
  echo "built $work/$module.doccarchive"
done
