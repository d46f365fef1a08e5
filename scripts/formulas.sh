#!/bin/sh
# Writes the Homebrew formula and the Nix expression of a release, and prints their paths.
#
#   scripts/formulas.sh ADDRESS SOURCE TARBALL FOLDER
#
# ADDRESS: the URL of the folder that offers both archives · SOURCE: pusher-cli-VERSION.tar.gz, made
# by 'git archive --prefix pusher-cli-VERSION/ vVERSION' · TARBALL: the file of scripts/dist.sh for
# x86_64.
set -eu

address=${1%/}
source=$(realpath "$2")
tarball=$(realpath "$3")
mkdir -p "$4"
folder=$(realpath "$4")
cd "$(dirname "$0")/.."

case $address in
  https://*[\|\&\\]*) ;;
  https://?*) accepted=yes ;;
esac
if [ -z "${accepted:-}" ]; then
  echo "formulas: '$1' is no address: give one that begins with https:// and has no |, & or \\" >&2
  exit 2
fi

# stand TEMPLATE: prints the version of a template.
stand() {
  sed -n 's/^ *version *=* *"\([^"]*\)";*$/\1/p' "$1"
}

version=$(scripts/version.sh)
for template in packaging/homebrew/pusher-cli.rb packaging/nix/default.nix; do
  if [ "$(stand $template)" != "$version" ]; then
    echo "formulas: $template has version '$(stand $template)', but Version.swift has $version: change the template" >&2
    exit 1
  fi
done
for pair in "pusher-cli-$version.tar.gz ${source##*/}" "pusher-cli-$version-linux-x86_64.tar.gz ${tarball##*/}"; do
  if [ "${pair% *}" != "${pair#* }" ]; then
    echo "formulas: the formulas name ${pair% *}, but the file is ${pair#* }: rename or make it again" >&2
    exit 1
  fi
done

for template in packaging/homebrew/pusher-cli.rb packaging/nix/default.nix; do
  # The first paragraph that goes describes the template.
  sed -e '/^# A template/,/^#$/d' \
    -e "s|@ADDRESS@|$address|" \
    -e "s|@SOURCE_SHA256@|$(sha256sum <"$source" | cut -d ' ' -f 1)|" \
    -e "s|@TARBALL_SHA256@|$(sha256sum <"$tarball" | cut -d ' ' -f 1)|" $template >"$folder/${template##*/}"
  echo "$folder/${template##*/}"
done
