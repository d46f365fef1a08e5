#!/bin/sh
# Lays out the files of a package: program, manual, completions, units, sample, examples, documents
# and licences. Every package is made from this tree.
#
#   scripts/package-root.sh PROGRAM ROOT LAYOUT
#
# LAYOUT is deb, rpm or arch: where systems of this kind look for completions, units and licences.
set -eu

umask 022
program=$(realpath "$1")
mkdir -p "$2"
root=$(realpath "$2")
layout=$3
cd "$(dirname "$0")/.."
. scripts/ending.sh
export LC_ALL=C
temporary=$(mktemp -d)

name=pusher-cli
units=usr/lib/systemd/system
zsh=usr/share/zsh/site-functions
documents=usr/share/doc/$name
licences=usr/share/licenses/$name
case $layout in
  deb)
    units=lib/systemd/system
    zsh=usr/share/zsh/vendor-completions
    ;;
  rpm | arch) ;;
  *)
    echo "package-root: no layout is called '$layout': there are deb, rpm and arch" >&2
    exit 2
    ;;
esac

# put SOURCE PATH [MODE]: adds a file.
put() {
  install -D -m "${3:-644}" "$1" "$root/$2"
}

put "$program" usr/bin/$name 755
gzip -9n <man/$name.1 >"$temporary/manual"
put "$temporary/manual" usr/share/man/man1/$name.1.gz
for shell in bash zsh fish; do
  "$program" completion "$shell" >"$temporary/$shell"
done
put "$temporary/bash" usr/share/bash-completion/completions/$name
put "$temporary/zsh" $zsh/_$name
put "$temporary/fish" usr/share/fish/vendor_completions.d/$name.fish
for unit in contrib/systemd/*.service contrib/systemd/*.socket; do
  put "$unit" "$units/${unit##*/}"
done
put contrib/systemd/example.env etc/$name/example.env
put contrib/logrotate/pusher-cli $documents/examples/logrotate
put contrib/prometheus/pusher-cli.rules.yml $documents/examples/prometheus.rules.yml
put contrib/grafana/pusher-cli.json $documents/examples/grafana.json
for page in recipes metrics security; do
  put docs/$page.md $documents/$page.md
done

scripts/notices.sh "$program" >"$temporary/notices"
if [ "$layout" = deb ]; then
  # Debian's policy: one file with all licences, and compressed changes.
  {
    cat <<'TEXT'
pusher-cli
SPDX-License-Identifier: MIT

TEXT
    cat LICENSE
    echo
    cat "$temporary/notices"
  } >"$root/$documents/copyright"
  gzip -9n <CHANGELOG.md >"$root/$documents/changelog.gz"
else
  put LICENSE $licences/LICENSE
  put "$temporary/notices" $licences/THIRD-PARTY-NOTICES
  put CHANGELOG.md $documents/CHANGELOG.md
fi
