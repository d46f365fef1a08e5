#!/bin/sh
# Checks the Homebrew formula and the Nix expression: syntax, version, and that scripts/formulas.sh
# leaves nothing to fill in. Neither Homebrew nor Nix builds them.
#
#   scripts/check-formulas.sh
set -eu
cd "$(dirname "$0")/.."
. scripts/checking.sh

for tool in ruby nix-instantiate; do
  command -v "$tool" >/dev/null 2>&1 || fail "$tool is missing: run scripts/install-packages.sh package"
done
version=$(scripts/version.sh)
source=$work/pusher-cli-$version.tar.gz
tarball=$work/pusher-cli-$version-linux-x86_64.tar.gz
echo sources >"$source"
echo program >"$tarball"
# This fails for another version in a template.
scripts/formulas.sh https://example.com/pusher-cli "$source" "$tarball" "$work/filled" >"$work/paths"
for formula in packaging/homebrew/pusher-cli.rb "$work/filled/pusher-cli.rb"; do
  ruby -c "$formula" >"$work/said" 2>&1 || fail "ruby -c: $(cat "$work/said")"
done
for expression in packaging/nix/default.nix "$work/filled/default.nix"; do
  nix-instantiate --parse "$expression" >"$work/said" 2>&1 || fail "nix-instantiate --parse: $(cat "$work/said")"
done
grep '@[A-Z0-9_]*@' "$work/filled"/* && fail 'scripts/formulas.sh leaves words to replace'
grep -q "sha256 \"$(sha256sum <"$source" | cut -d ' ' -f 1)\"" "$work/filled/pusher-cli.rb" || fail 'the formula has another checksum'
grep -q "sha256 = \"$(sha256sum <"$tarball" | cut -d ' ' -f 1)\"" "$work/filled/default.nix" ||
  fail 'the expression has another checksum'
echo "check-formulas: Homebrew and Nix: parsed, version $version; skipped: a build by Homebrew or Nix"
