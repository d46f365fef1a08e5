#!/bin/sh
# Packs a program with manual, completions, units, recipes and dashboards into a tarball, and prints
# its path.
#
#   scripts/dist.sh PROGRAM FOLDER
#
# Same program and commit give the same bytes. File times are those of the last commit unless
# SOURCE_DATE_EPOCH is set. Fails if the program would not start on Ubuntu 22.04, the oldest
# supported system.
set -eu

program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "$0")/.."
. scripts/ending.sh

if [ "$(uname -s)" != Linux ]; then
  echo 'dist: tarballs are made on Linux; here use make install' >&2
  exit 1
fi
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export LC_ALL=C
umask 022
temporary=$(mktemp -d)

scripts/check-symbols.sh "$program" >&2

name=pusher-cli-$("$program" --version | sed 's/^pusher-cli //')-linux-$(uname -m)
root=$temporary/$name
install -D -m 755 "$program" "$root/pusher-cli"
install -D -m 644 -t "$root" LICENSE man/pusher-cli.1 README.md CHANGELOG.md
install -D -m 644 -t "$root/systemd" contrib/systemd/*.service contrib/systemd/*.socket contrib/systemd/example.env
install -D -m 644 -t "$root/logrotate" contrib/logrotate/pusher-cli
install -D -m 644 -t "$root/prometheus" contrib/prometheus/pusher-cli.rules.yml
install -D -m 644 -t "$root/grafana" contrib/grafana/pusher-cli.json
install -D -m 644 -t "$root/docs" docs/recipes.md docs/metrics.md docs/security.md
mkdir "$root/completions"
"$program" completion bash >"$root/completions/pusher-cli.bash"
"$program" completion zsh >"$root/completions/_pusher-cli"
"$program" completion fish >"$root/completions/pusher-cli.fish"
scripts/notices.sh "$program" >"$root/THIRD-PARTY-NOTICES"
(cd "$root" && find . -type f ! -name SHA256SUMS -print | sed 's|^\./||' | sort |
  while IFS= read -r file; do sha256sum "$file"; done) >"$temporary/sums"
mv "$temporary/sums" "$root/SHA256SUMS"

tar --create --directory "$temporary" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
  --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX "$name" >"$temporary/tar"
gzip -9n <"$temporary/tar" >"$folder/$name.tar.gz"
(cd "$folder" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$folder/$name.tar.gz"
