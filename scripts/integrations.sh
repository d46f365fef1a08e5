#!/bin/sh
# Builds Integrations/, the adapters for packages of server programs, and runs its tests over
# loopback.
#
#   scripts/integrations.sh
#
# Fetches the packages that Integrations/Package.swift names. If a package cannot be fetched, it
# names that package and ends with 0; with INTEGRATIONS=required it fails. The first build takes
# minutes.
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
folder=.build-integrations
log=$folder/test.log

say() {
  printf 'integrations: %s\n' "$*"
}

scripts/install-packages.sh integrations
if ! command -v "$swift" >/dev/null 2>&1; then
  say "no '$swift' found: install Swift 6.2 or newer from swift.org" >&2
  exit 1
fi
mkdir -p "$folder"

# Git must not ask for a password where a repository is missing.
GIT_TERMINAL_PROMPT=0
export GIT_TERMINAL_PROMPT
# Without the user's cache, an error names the package that is missing.
if ! "$swift" package resolve --package-path Integrations --scratch-path "$folder" \
  --disable-dependency-cache >"$log" 2>&1 </dev/null; then
  package=$(sed -n -e 's/.*Failed to clone repository \(.*\):$/\1/p' \
    -e "s/.*fatal: unable to access '\([^']*\)'.*/\1/p" \
    -e "s/.*fatal: '\([^']*\)' does not appear to be a git repository.*/\1/p" "$log" |
    sed -n '1s|\(\.git\)\{0,1\}/*$||p' | sed 's|.*/||')
  if [ -n "$package" ] && [ "${INTEGRATIONS:-}" != required ]; then
    say "skipped: $package cannot be had"
    exit 0
  fi
  say "cannot resolve the packages${package:+: $package cannot be had}; the log:" >&2
  cat "$log" >&2
  exit 1
fi

say "building and testing; the whole log is in $PWD/$log"
set -- --package-path Integrations --scratch-path "$folder" --disable-dependency-cache
status=0
"$swift" build "$@" --build-tests >"$log" 2>&1 </dev/null || status=$?
if [ "$status" -eq 0 ]; then
  # The limit is many times the need of a slow machine.
  timeout 300 "$swift" test "$@" --skip-build --disable-xctest >>"$log" 2>&1 </dev/null || status=$?
fi
scripts/test-summary.sh "$log" "$status"
exit "$status"
