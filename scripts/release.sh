#!/bin/sh
# Makes a release in dist/: every package, SHA256SUMS and a bill of materials. Says what a person
# must still do.
#
#   scripts/release.sh
#
# Checks first that nothing is uncommitted, that the changelog begins with the version, that no tag
# contradicts it, and that the public interface is the promised one. Then it checks the packages. A
# tag needs `make ci` too. The same commit, folder and tools give the same bytes.
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/.."

program=dist/pusher-cli
version=$(version)
changes=$(git status --porcelain)
[ -z "$changes" ] || fail "commit or remove these changes first: $changes"
first=$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)
[ "$first" = "$version" ] || fail "CHANGELOG.md begins with '$first', and Version.swift says $version: make them equal"
tagged=$(git rev-parse --quiet --verify "refs/tags/v$version^{commit}" || true)
[ -z "$tagged" ] || [ "$tagged" = "$(git rev-parse HEAD)" ] ||
  fail "the tag v$version is on another commit: raise the version in Version.swift and CHANGELOG.md"

scripts/install-packages.sh build lint package
CI=true make --no-print-directory lint
debug_build --quiet --target PusherTesting
scripts/interface.py "$("$swift" build --show-bin-path)/Modules"
echo 'release: the public interface is the promised one'

rm -rf dist
make --no-print-directory package
CI=true scripts/examples.sh "$program"
said=$("$program" --version)
[ "$said" = "pusher-cli $version" ] || fail "the program says '$said', not version $version"
"$(scripts/python-peers.sh release)" packaging/sbom.py "$program" "dist/pusher-cli-$version.cdx.json"
scripts/check-packages.sh "$program"
# The tarball's own sum is in the list.
rm -f dist/*.sha256
sums=$(cd dist && find . -type f ! -name pusher-cli -printf '%P\n' | LC_ALL=C sort |
  while IFS= read -r file; do sha256sum "$file"; done)
printf '%s\n' "$sums" | tee dist/SHA256SUMS

cat <<END

release: dist/ holds pusher-cli $version, built from $(git rev-parse --short=12 HEAD). What is left for you:

  1. make ci                                    every check, if it has not run on this commit
  2. git tag --sign v$version && git push origin v$version
  3. sign dist/SHA256SUMS, and publish all of dist/ but the program as the release v$version
  4. upload the wheel to PyPI; .github/workflows/release.yml does that, and drafts the release
  5. scripts/package.sh formulas, with the address of the release, for Homebrew and Nix
END
