#!/bin/sh
# Checks the installable parts of a program: packages, formulas, units and container.
#
#   scripts/check-packages.sh PROGRAM [RELEASE]
#
# RELEASE is the code name of a newer Debian for the bare system, such as trixie (default: this
# one's).
#
# Makes every package twice and compares them; lintian and systemd-analyze must find nothing. Checks
# the rpm and the package of Arch Linux by Debian's rpm, pacman and bsdtar. Tries the program in the
# container's root, without /proc and as an unprivileged user who can write nothing. Then a bare
# Debian installs each package in turn and runs README's first session with it, builds the image of
# Containerfile, and runs the units with systemd. The bare system needs root and a mirror. Missing
# tools are reported and skipped; where CI=true that fails. Steps that the machine forbids, such as
# mounts in a container, are reported and skipped.
#
# Single-quoted text is for apt, dpkg and other shells. Some functions run in a shell of their own.
# shellcheck disable=SC2016,SC2030,SC2031
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
program=$(realpath "${1:?name the program}")
release=${2:-}
cd "$(dirname "$0")/.."
scripts/install-packages.sh package
export LC_ALL=C
temporary=$(mktemp -d)
all=$temporary
work=$all
bare=$all/bare
# The bare system and the container have their own users, who need access to their root.
chmod 755 "$all"

# check FUNCTION: runs it in a shell and with a folder of its own.
check() {
  (
    temporary=''
    trap stop EXIT
    script=$1
    work=$all/$1
    mkdir "$work"
    "$1"
  )
}

# lack WHAT: reports a missing tool, so the check is incomplete.
lack() {
  [ "${CI:-}" != true ] || fail "cannot check all: $*"
  unable "$@"
}

# unable WHAT: reports a step that this machine forbids; an installation would not help.
unable() {
  say "skipped: $*"
  exit 0
}

# need TOOL...: fails if a tool is missing.
need() {
  for tool in "$@"; do
    command -v "$tool" >/dev/null 2>&1 || fail "$tool is missing: run scripts/install-packages.sh package"
  done
}

# same FILE FILE WHAT: fails if the files differ.
same() {
  cmp "$1" "$2" || fail "$3: $(diff "$1" "$2")"
}

# inside COMMAND...: runs as root in the bare system, and keeps the output for a failure.
inside() {
  chroot "$bare" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" \
    </dev/null >"$work/said" 2>&1 || fail "in the bare system '$*' failed: $(cat "$work/said")"
}

# alone COMMAND...: runs in the bare system as an unprivileged user, with its own loopback and no
# other network. /proc is not mounted, as in many chroots.
alone() {
  unshare --net --pid --fork --kill-child sh -c '
    bare=$1
    shift
    ip link set lo up &&
      exec timeout 60 chroot --userspec=65534:65534 "$bare" /usr/bin/env -i PATH=/usr/bin:/bin "$@"
  ' sh "$bare" "$@" </dev/null
}

# session FOLDER: runs README's first session with the program in FOLDER.
# The session is the README block that starts a server: commands follow '$ ', the rest is output.
session() {
  awk '/^```/ { if (block ~ /pusher-cli serve &/) { printf "%s", block; exit } block = ""; next } { block = block $0 "\n" }' \
    README.md >"$work/block"
  {
    echo 'cd "$(mktemp -d)"'
    sed -n '/^\$ /{s/^\$ //;p;:more
/\\$/{n;p;bmore
}
}' "$work/block"
  } >"$bare/session"
  grep '^{' "$work/block" >"$work/expected"
  grep -q 'pusher-cli serve &' "$bare/session" || fail 'README has no session with a server'
  alone env "PATH=$1:/usr/bin:/bin" sh /session >"$work/events" 2>"$work/said" ||
    fail "README's session failed: $(cat "$work/said")"
  cmp "$work/expected" "$work/events" || fail "README's session printed: $(cat "$work/events" "$work/said")"
  mv "$bare/session" "$work/session"
}

# must_be_bare: fails if the bare system has something of pusher-cli.
must_be_bare() {
  ! find "$bare/usr" "$bare/etc" -name '*pusher*' | grep . || fail 'there is something of pusher-cli in the bare system'
}

check_formulas() {
  need ruby nix-instantiate
  version=$(version)
  source=$work/pusher-cli-$version.tar.gz
  tarball=$work/pusher-cli-$version-linux-x86_64.tar.gz
  echo sources >"$source"
  echo program >"$tarball"
  # This fails for another version in a template.
  scripts/package.sh formulas https://example.com/pusher-cli "$source" "$tarball" "$work/filled" >"$work/paths"
  for formula in packaging/homebrew/pusher-cli.rb "$work/filled/pusher-cli.rb"; do
    ruby -c "$formula" >"$work/said" 2>&1 || fail "ruby -c: $(cat "$work/said")"
  done
  for expression in packaging/nix/default.nix "$work/filled/default.nix"; do
    nix-instantiate --parse "$expression" >"$work/said" 2>&1 || fail "nix-instantiate --parse: $(cat "$work/said")"
  done
  grep '@[A-Z0-9_]*@' "$work/filled"/* && fail 'package.sh formulas leaves words to replace'
  grep -q "sha256 \"$(sha256sum <"$source" | cut -d ' ' -f 1)\"" "$work/filled/pusher-cli.rb" || fail 'the formula has another checksum'
  grep -q "sha256 = \"$(sha256sum <"$tarball" | cut -d ' ' -f 1)\"" "$work/filled/default.nix" ||
    fail 'the expression has another checksum'
  say "Homebrew and Nix: parsed, version $version; skipped: a build by Homebrew or Nix"
}

# check_rpm: checks the package itself: digests, fields, needed libraries and files.
check_rpm() {
  need rpm
  rpm -K "$rpm" >"$work/said" 2>&1 || fail "rpm -K: $(cat "$work/said")"
  say "rpm -K: $(sed 's/^.*: //' "$work/said")"
  rpm -qp --queryformat '%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{LICENSE} %{BUILDHOST} %{BUILDTIME}\n' "$rpm" >"$work/fields"
  expected="pusher-cli $version 1 $(uname -m) MIT localhost ${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
  [ "$(cat "$work/fields")" = "$expected" ] || fail "its fields are $(cat "$work/fields"), not $expected"

  # The libraries that the program names, except those of glibc.
  {
    echo /bin/sh
    scripts/package.sh symbols "$program" | sed -n 's/.*: GLIBC_\([0-9.]*\) .*/glibc >= \1/p'
    objdump -p "$program" | sed -n 's/^ *NEEDED *//p' | grep -v '^ld-linux\|^libc\.\|^libm\.\|^libdl\.\|^libpthread\.' |
      sed 's/$/()(64bit)/'
  } | sort >"$work/expected"
  rpm -qp --requires "$rpm" | grep -v '^rpmlib' | sort >"$work/found"
  same "$work/expected" "$work/found" "it requires other things"
  say "requires:" "$(paste -s -d ' ' "$work/found")"

  scripts/package.sh tree "$program" "$work/root" rpm
  (cd "$work/root" && find . -type f -printf '/%P %m\n' | sort) >"$work/expected"
  rpm -qp --queryformat '[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME}\n]' "$rpm" |
    sed -n 's/ -rwxr-xr-x root:root$/ 755/p;s/ -rw-r--r-- root:root$/ 644/p' | sort >"$work/found"
  same "$work/expected" "$work/found" "its files differ"
  [ "$(rpm -qpc "$rpm")" = /etc/pusher-cli/example.env ] || fail 'its configuration is not the sample'
  rpm -qpL "$rpm" | grep -q '/THIRD-PARTY-NOTICES$' || fail 'it does not mark its licences'
  say "$(wc -l <"$work/found") files, all where the layout has them"
}

# rpms OPTION...: rpm in the bare system, with a database of its own.
rpms() {
  rpm --root "$bare" --dbpath /var/lib/rpm "$@" >"$work/said" 2>&1 || fail "rpm $*: $(cat "$work/said")"
}

# install_rpm: installs it in the bare system, uses, upgrades and erases it.
install_rpm() {
  must_be_bare
  newer=$(scripts/package.sh rpm "$program" "$work" 2 2>"$work/errors") || fail "$(cat "$work/errors")"
  rpms --initdb
  # No check of dependencies: that database knows no other package. The libraries are there, from
  # Debian packages.
  rpms --force-debian --nodeps --install "$rpm"
  [ ! -s "$work/said" ] || fail "rpm --install says: $(cat "$work/said")"
  rpms --nodeps --verify pusher-cli
  cmp "$program" "$bare/usr/bin/pusher-cli" || fail 'another program is installed'
  session /usr/bin
  say "installed in a bare Debian, README's session: $(cat "$work/events")"
  echo '# Changed by the operator.' >>"$bare/etc/pusher-cli/example.env"
  rpms --force-debian --nodeps --upgrade "$newer"
  rpms --query --queryformat '%{RELEASE}' pusher-cli
  [ "$(cat "$work/said")" = 2 ] || fail "after the upgrade the release is $(cat "$work/said")"
  tail -n 1 "$bare/etc/pusher-cli/example.env" | grep -q operator || fail 'the upgrade has replaced a changed configuration'
  session /usr/bin
  rpms --force-debian --nodeps --erase pusher-cli
  left=$(cd "$bare" && find usr etc -name '*pusher*' -o -path '*/pusher-cli/*')
  [ "$left" = "$(printf '%s\n' etc/pusher-cli etc/pusher-cli/example.env.rpmsave)" ] || fail "erased, but there is $left"
  rm -r "$bare/etc/pusher-cli" "$bare/var/lib/rpm"
  say 'upgraded, and the session again; erased: only a changed configuration is left'
}

# check_arch: checks the package itself: fields, files and their digests.
check_arch() {
  need bsdtar pacman
  mkdir "$work/unpacked"
  bsdtar -xf "$arch" -C "$work/unpacked" .PKGINFO .MTREE .INSTALL || fail 'it has no .PKGINFO, .MTREE or .INSTALL'
  grep -v '^#' "$work/unpacked/.PKGINFO" | sort >"$work/fields"

  scripts/package.sh tree "$program" "$work/root" arch
  size=$(find "$work/root" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
  # The packages of Arch Linux that have the libraries.
  objdump -p "$program" | sed -n 's/^ *NEEDED *//p' | sed 's/^libssl\..*\|^libcrypto\..*/openssl/;s/^libz\..*/zlib/
s/^libgcc_s\..*/gcc-libs/;s/^ld-linux.*\|^libc\..*\|^libm\..*/glibc/' | sort -u | sed 's/^/depend = /' >"$work/depends"
  sort - "$work/depends" >"$work/expected" <<TEXT
arch = $(uname -m)
backup = etc/pusher-cli/example.env
builddate = ${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
license = MIT
packager = pusher-cli maintainers
pkgbase = pusher-cli
pkgdesc = $(sed -n 1p packaging/description)
pkgname = pusher-cli
pkgver = $version-1
size = $size
TEXT
  same "$work/expected" "$work/fields" "its fields differ"

  # Kind, mode, size and digest of every file: from the tree, from .MTREE and from the archive.
  (cd "$work/root" && find . -mindepth 1 -printf '%y %m %P\n' | sort) >"$work/expected"
  bsdtar -tvf "$arch" | awk '$NF !~ /^\./ { print substr($1, 1, 1), $1, $NF }' | sed 's|/$||
s/^d drwxr-xr-x/d 755/
s/^- -rwxr-xr-x/f 755/
s/^- -rw-r--r--/f 644/' | sort >"$work/found"
  same "$work/expected" "$work/found" "its files differ"
  (cd "$work/root" && find . -type f -exec sha256sum {} +) | sed 's/\([^ ]*\)  \(.*\)/\2 \1/' | sort >"$work/expected"
  gzip -dc "$work/unpacked/.MTREE" | sed -n 's/^\(\.\/[^.][^ ]*\) .*type=file.*sha256digest=\([0-9a-f]*\).*/\1 \2/p' | sort >"$work/found"
  same "$work/expected" "$work/found" "its .MTREE differs"
  for function in post_install pre_remove post_remove; do
    grep -q "^function $function()" "$work/unpacked/.INSTALL" ||
      fail "its .INSTALL has no $function"
  done
  say "$(wc -l <"$work/expected") files with their digests; fields: right"
}

# pacmans OPTION...: pacman in the bare system, with a database of its own and without signatures.
pacmans() {
  pacman --config "$work/settings" --root "$bare" --dbpath "$bare/var/lib/pacman" --cachedir "$work/cache" \
    --gpgdir "$work/keys" --hookdir "$work/hooks" --logfile "$work/log" --noconfirm "$@" >"$work/said" 2>&1 ||
    fail "pacman $*: $(cat "$work/said")"
  ! grep '^error:' "$work/said" || fail "pacman $*: $(cat "$work/said")"
}

# install_arch: installs it in the bare system, uses and removes it.
install_arch() {
  must_be_bare
  printf '[options]\nArchitecture = auto\nSigLevel = Never\nLocalFileSigLevel = Never\n' >"$work/settings"
  mkdir -p "$bare/var/lib/pacman" "$work/cache"
  # nfpm writes scriptlets for bash, and Arch Linux runs them with bash. Debian's pacman runs them
  # with /bin/sh, which is dash.
  ln -sf bash "$bare/bin/sh"
  # -dd: no check of dependencies, since that database knows no other package. The libraries are
  # there from Debian packages.
  pacmans -U -dd "$arch"
  pacmans -Qkk pusher-cli
  say "installed in a bare Debian: $(cat "$work/said")"
  cmp "$program" "$bare/usr/bin/pusher-cli" || fail 'another program is installed'
  session /usr/bin
  say "README's session: $(cat "$work/events")"
  pacmans -R pusher-cli
  ln -sf dash "$bare/bin/sh"
  left=$(cd "$bare" && find usr etc -name '*pusher*')
  [ -z "$left" ] || fail "removed, but there is $left"
  rm -r "$bare/var/lib/pacman"
  say 'removed: nothing is left'
}

# install_deb: installs the Debian package, uses, upgrades, removes and purges it.
install_deb() {
  mkdir "$bare/packages"
  cp "$deb" "$bare/packages"
  newer=$(scripts/package.sh deb "$program" "$bare/packages" 2 2>"$work/errors") || fail "$(cat "$work/errors")"

  inside apt-get -q update
  inside dpkg-query --show --showformat='${Package}\n'
  cp "$work/said" "$work/before"
  inside apt-get -q -y --no-install-recommends install "/packages/${deb##*/}"
  inside dpkg-query --show --showformat='${Package}\n'
  say "installed:" "$(grep -Fxv -f "$work/before" "$work/said" | paste -s -d ' ')"
  inside dpkg --verify pusher-cli
  [ ! -s "$work/said" ] || fail "not installed as packed: $(cat "$work/said")"

  session /usr/bin
  sed 's/^/  /' "$work/session" "$work/said" "$work/events"
  say "README's session: as printed there"

  # The program accepts every command of the sample.
  grep '^#PUSHER_CLI_ARGUMENTS=' "$bare/etc/pusher-cli/example.env" | sed 's/^#PUSHER_CLI_ARGUMENTS="\(.*\)"$/\1/' >"$work/sample"
  [ "$(wc -l <"$work/sample")" -ge 2 ] || fail 'the sample of a feed has no commands'
  while IFS= read -r arguments; do
    alone env PUSHER_APP_KEY=app-key sh -c "pusher-cli config $arguments" >"$work/said" 2>&1 ||
      fail "the sample's '$arguments' is refused: $(cat "$work/said")"
  done <"$work/sample"
  say "the sample of a feed: $(wc -l <"$work/sample") commands, all taken"

  echo 'PUSHER_CLI_ARGUMENTS="subscribe orders"' >"$bare/etc/pusher-cli/shop.env"
  inside dpkg --install "/packages/${newer##*/}"
  inside dpkg-query --show --showformat='${Version} ${db:Status-Status}' pusher-cli
  [ "$(cat "$work/said")" = "$version-2 installed" ] ||
    fail "after the upgrade it is $(cat "$work/said")"
  session /usr/bin
  say 'upgraded, and the session again'

  # Enabled as by systemctl, and another one with the operator's own unit.
  systemctl --root="$bare" --quiet enable pusher-serve.service pusher-serve.socket pusher-cli@shop.service
  sockets=$bare/etc/systemd/system/sockets.target.wants
  wants=$bare/etc/systemd/system/multi-user.target.wants
  cp "$bare/lib/systemd/system/pusher-cli@.service" "$bare/etc/systemd/system/pusher-cli@own.service"
  ln -s ../pusher-cli@own.service "$wants"
  inside dpkg --listfiles pusher-cli
  cp "$work/said" "$work/files"
  inside dpkg --remove pusher-cli
  while IFS= read -r path; do
    case $path in /etc/pusher-cli/*) continue ;; esac
    [ -d "$bare$path" ] || [ ! -e "$bare$path" ] || fail "removed, but $path is still there"
  done <"$work/files"
  rm -r "$bare/packages"
  left=$(cd "$bare" && find . -path ./var/lib/dpkg -prune -o -path ./etc/systemd -prune -o -name '*pusher*' -print)
  [ "$left" = ./etc/pusher-cli ] || fail "removed, but there is $left"
  left=$(cd "$wants" && echo *pusher*)
  [ "$left" = 'pusher-cli@own.service pusher-cli@shop.service pusher-serve.service' ] ||
    fail "removed, and what is enabled is: $left"
  [ -L "$sockets/pusher-serve.socket" ] || fail 'removed, and the socket is not enabled any more'
  [ "$(cd "$bare/etc/pusher-cli" && echo *)" = 'example.env shop.env' ] || fail 'removed, with the configuration'
  inside dpkg --purge pusher-cli
  left=$(find "$bare/var/lib/dpkg" -name '*pusher*')
  [ -z "$left" ] || fail "purged, but there is $left"
  [ "$(ls "$bare/etc/pusher-cli")" = shop.env ] || fail 'purged, and the sample is left, or the configuration is not'
  left=$(cd "$wants" && echo *pusher*)
  [ "$left" = pusher-cli@own.service ] || fail "purged, and what is enabled is: $left"
  [ ! -L "$sockets/pusher-serve.socket" ] || fail 'purged, and the socket is still enabled'
  rm -r "$wants/pusher-cli@own.service" "$bare/etc/systemd/system/pusher-cli@own.service" "$bare/etc/pusher-cli"
  say 'removed: only the configuration is left; purged: nothing is enabled any more'
}

# install_wheel: installs the wheel by pip in a virtual environment and by pipx, and uses it.
install_wheel() {
  bsdtar -xOf "$wheel" '*.dist-info/METADATA' >"$work/fields" || fail 'it has no METADATA'
  for field in 'Name: pusher-cli' "Version: $version" 'License-Expression: MIT' 'License-File: THIRD-PARTY-NOTICES'; do
    grep -qx "$field" "$work/fields" || fail "its METADATA has no line '$field'"
  done

  inside apt-get -q -y --no-install-recommends install python3-venv pipx
  mkdir "$bare/wheel"
  cp "$wheel" "$bare/wheel"
  file=/wheel/${wheel##*/}
  inside python3 -m venv /wheel/venv
  # No index: the wheel needs no other package.
  inside /wheel/venv/bin/pip --disable-pip-version-check install --no-index "$file"
  cmp "$program" "$bare/wheel/venv/bin/pusher-cli" || fail 'pip has installed another program'
  [ -f "$bare/wheel/venv/share/man/man1/pusher-cli.1" ] || fail 'pip has not installed the manual'
  session /wheel/venv/bin
  say "pip in a virtual environment, README's session: $(cat "$work/events")"
  inside /wheel/venv/bin/pip --disable-pip-version-check uninstall --yes pusher-cli
  left=$(find "$bare/wheel/venv" -name '*pusher*')
  [ -z "$left" ] || fail "uninstalled, but there is $left"

  # pipx renews its pip first: from Debian's own copy.
  inside env HOME=/wheel PIP_NO_INDEX=1 PIP_FIND_LINKS=/usr/share/python-wheels pipx run --spec "$file" pusher-cli --version
  grep -qx "$("$program" --version)" "$work/said" || fail "pipx run says: $(cat "$work/said")"
  say "pipx run --spec: $(tail -n 1 "$work/said")"
  rm -r "$bare/wheel"
}

# build WORD...: runs buildah. This machine's own images are neither used nor changed.
build() {
  BUILDAH_ISOLATION=chroot buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"
}

# check_image: builds the image of Containerfile with buildah, with the bare system in place of the
# Swift image. It gets the program, which is not built again.
check_image() {
  mkdir "$work/probe" "$work/source"
  printf 'FROM scratch\nCOPY file /\n' >"$work/probe/Containerfile"
  echo 1 >"$work/probe/file"
  build build --quiet "$work/probe" >"$work/said" 2>&1 ||
    unable "the image: buildah cannot build here: $(tail -n 1 "$work/said")"

  git ls-files --cached --others --exclude-standard | tar --create --files-from=- | tar --extract --directory "$work/source"
  install -D -m 755 "$program" "$work/source/dist/pusher-cli"
  printf 'FROM scratch\nCOPY . /\n' >"$work/Builder"
  build build --quiet --file "$work/Builder" --tag builder "$bare" >"$work/said" 2>&1 || fail "$(cat "$work/said")"
  : >"$work/ignored"
  build build --ignorefile "$work/ignored" --build-arg BUILDER=localhost/builder --pull-never --tag pusher-cli "$work/source" \
    >"$work/said" 2>&1 || fail "Containerfile does not build: $(tail -n 20 "$work/said")"

  build inspect --type image --format \
    '{{.OCIv1.Config.User}} {{.OCIv1.Config.StopSignal}} {{.OCIv1.Config.Entrypoint}} {{len .OCIv1.RootFS.DiffIDs}}' \
    localhost/pusher-cli >"$work/said"
  [ "$(cat "$work/said")" = '65532:65532 SIGTERM [/usr/bin/pusher-cli] 1' ] || fail "the image is set up as: $(cat "$work/said")"
  container=$(build from --pull-never localhost/pusher-cli)
  image=$(build mount "$container")
  scripts/package.sh root "$program" "$work/root"
  (cd "$work/root" && find . | sort) >"$work/expected"
  (cd "$image" && find . | sort) >"$work/found"
  same "$work/expected" "$work/found" "the image has other files"
  cmp "$program" "$image/usr/bin/pusher-cli" || fail 'the image has another program'
  version=$(build run "$container" /usr/bin/pusher-cli --version 2>&1) || fail "in the image: $version"
  [ "$version" = "$("$program" --version)" ] || fail "in the image --version says: $version"
  say "Containerfile: built by buildah, $(du -sk "$image" | cut -f 1) KiB, $version"
}

# check_container: checks the files of the container's root, and the program in it.
check_container() {
  root=$work/root
  scripts/package.sh root "$program" "$root"
  ldd "$program" | grep -o '/[^ ]*' | sed 's|^|.|' >"$work/expected"
  printf '%s\n' ./usr/bin/pusher-cli ./etc/group ./etc/nsswitch.conf ./etc/passwd ./etc/ssl/certs/ca-certificates.crt \
    >>"$work/expected"
  (cd "$root" && find . ! -type d ! -path './usr/share/doc/*' -print) | sort >"$work/found"
  sort -o "$work/expected" "$work/expected"
  cmp "$work/expected" "$work/found" || fail "in the root there is: $(cat "$work/found")"
  [ -z "$(find "$root" -perm /6000)" ] || fail 'the root has programs that change who runs them'
  grep -q '^RUN .*scripts/package.sh root' Containerfile || fail 'Containerfile does not make its root by scripts/package.sh'
  say "the root: program, $(grep -c '^./lib' "$work/found") libraries and 4 files, $(du -sk "$root" | cut -f 1) KiB"

  [ "$(id -u)" -eq 0 ] || unable 'the program in its root, where only root can change to'
  chroot / true 2>"$work/errors" || unable "the program in its root: $(cat "$work/errors")"

  [ ! -e "$root/proc/self" ] || fail '/proc is mounted, where it should not be'
  said=$(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin timeout 60 chroot --userspec=65532:65532 "$root" /usr/bin/pusher-cli --version) ||
    fail "it does not start: $said"
  [ "$said" = "pusher-cli $version" ] || fail "without /proc --version says: $said"
  say "without /proc: $said"

  Tests/certificates.sh "$work/certificates" >"$work/said" 2>&1 || fail "$(cat "$work/said")"
  install -D -o 65532 -m 400 -t "$root/tls" "$work/certificates/valid.pem" "$work/certificates/valid.key"
  # A runtime writes this file.
  echo '127.0.0.1 localhost' >"$root/etc/hosts"
  mkdir "$work/mounted"
  mkfifo "$work/ready"
  status=0
  unshare --mount --net --pid --fork --kill-child sh Tests/Packages/container.sh "$work" </dev/null >"$work/said" 2>&1 || status=$?
  [ -f "$work/allowed" ] ||
    unable "the program in its read-only root, since this machine does not allow it: $(tail -n 1 "$work/said")"
  [ "$status" -eq 0 ] || fail "in its read-only root: $(cat "$work/said" "$work/serve")"
  [ "$(cat "$work/events")" = '{"event":"order.created","channel":"orders","data":{"id":1}}' ] ||
    fail "subscribe printed: $(cat "$work/events")"
  say "read-only, as user 65532: serve, subscribe and trigger: $(cat "$work/events")"
  say "health of serve: $(tail -n 1 "$work/health")"
  say "TLS by the bundle: $(head -n 1 "$work/refused")"
  say 'TLS by the bundle: with the authority added to it, taken'
  sed "s/^/$script: /" "$work/ended"
}

# leave_groups: removes the control groups at the end.
leave_groups() {
  status=$?
  for tree in $trees; do
    turns=0
    while [ -d "$tree/$group" ] && [ "$turns" -lt 50 ]; do
      find "$tree/$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true
      [ ! -d "$tree/$group" ] || sleep 0.1
      turns=$((turns + 1))
    done
  done
  trap - EXIT
  exit "$status"
}

# check_units: boots systemd in the bare system with the package, and checks the units there, in
# processes, mounts, a network and control groups of its own. Ends within two minutes.
check_units() {
  # Control groups below ours: in one tree, or in the two of older systemd. Mounts end with the
  # processes; groups do not.
  trees=/sys/fs/cgroup
  [ "$(stat -f -c %T $trees)" = cgroup2fs ] || trees="$trees/systemd $trees/unified"
  group=check-units.$$
  trap leave_groups EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM

  rm -f "$bare/verdict"
  status=0
  (
    for tree in $trees; do
      [ -d "$tree" ] || continue
      mkdir "$tree/$group"
      echo 0 >"$tree/$group/cgroup.procs"
    done
    exec timeout --kill-after=5 120 \
      unshare --mount --pid --fork --kill-child --net --uts --ipc --cgroup sh Tests/Packages/boot.sh "$bare"
  ) </dev/null >"$bare/console" 2>&1 || status=$?

  if ! grep -q '^booted$' "$bare/verdict" 2>/dev/null; then
    unable "the units in a systemd: it could not be started (status $status): $(tail -n 3 "$bare/console")"
  fi
  if ! grep -q '^passed$' "$bare/verdict"; then
    fail "$(cat "$bare/verdict")"
  fi
  sed -e '/^booted$/d; /^passed$/d; s/^/check_units: /' "$bare/verdict"
  say 'run by a systemd'
}

version=$("$program" --version | sed 's/^pusher-cli //')
scripts/package.sh symbols "$program"
scripts/package.sh all "$program" "$work/one" >"$work/paths" 2>"$work/errors" || fail "$(cat "$work/errors")"
# The second build has another folder, umask and environment, and uses one processor.
mkdir "$work/elsewhere"
cp "$program" "$work/elsewhere/program"
(
  umask 077
  export TZ=Asia/Tokyo GOMAXPROCS=1
  scripts/package.sh all "$work/elsewhere/program" "$work/two"
) >/dev/null 2>"$work/errors" || fail "$(cat "$work/errors")"
while IFS= read -r file; do
  cmp "$file" "$work/two/${file##*/}" || fail "made twice, ${file##*/} is not the same"
  (cd "$work/one" && sha256sum "${file##*/}")
done <"$work/paths"
say "made twice: the same bytes of $(wc -l <"$work/paths") packages"

deb=$(grep '\.deb$' "$work/paths")
rpm=$(grep '\.rpm$' "$work/paths")
arch=$(grep '\.zst$' "$work/paths")
tarball=$(grep '\.gz$' "$work/paths")
wheel=$(grep '\.whl$' "$work/paths")

mkdir "$work/unpacked"
tar -xzf "$tarball" -C "$work/unpacked"
(cd "$work/unpacked"/* && sha256sum --check --quiet SHA256SUMS) || fail 'the checksums of the tarball are wrong'
(cd "$work/one" && sha256sum --check --quiet "${tarball##*/}.sha256") || fail 'the checksum beside the tarball is wrong'
say 'checksums: right'

need lintian systemd-analyze
lintian --fail-on error,warning "$deb" 2>"$work/errors" || {
  cat "$work/errors" >&2
  fail 'lintian has something against the package'
}
say 'lintian: no error, no warning'

# Our units refer to systemd's own.
mkdir -p "$work/system/usr/lib/systemd"
ln -s usr/lib "$work/system/lib"
cp -R /lib/systemd/system "$work/system/usr/lib/systemd/system"
dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$work/system"
systemd-analyze verify --man=no --root="$work/system" pusher-cli@shop.service pusher-serve.service pusher-serve.socket \
  >"$work/findings" 2>&1 || fail "systemd-analyze verify: $(cat "$work/findings")"
[ ! -s "$work/findings" ] || fail "systemd-analyze verify: $(cat "$work/findings")"
say 'systemd-analyze verify: nothing'
for unit in contrib/systemd/*.service; do
  # The limit is in tenths.
  systemd-analyze security --offline=true --threshold=20 --no-pager "$unit" >"$work/findings" 2>&1 || {
    cat "$work/findings" >&2
    fail "$unit is exposed to more than 2.0"
  }
  say "systemd-analyze security: $(sed -n 's/^.*\(Overall.*[0-9]\).*$/\1/p' "$work/findings")"
done

check check_rpm
check check_arch
check check_formulas
say 'skipped: Ubuntu 22.04, Fedora and Arch Linux themselves: only a Debian can be installed here'
check check_container

[ "$(id -u)" -eq 0 ] || unable 'the bare system, which only root can make'
for tool in buildah debootstrap unshare ip; do
  command -v "$tool" >/dev/null 2>&1 || lack "the bare system, since $tool is missing"
done
# A container may forbid system calls that debootstrap and the sessions need.
mkdir "$work/probe"
unshare --mount --net --pid --fork --kill-child sh -e -c '
  mount -t tmpfs tmpfs "$1"
  mknod "$1/null" c 1 3
  : >"$1/null"
  mkdir "$1/proc"
  mount -t proc proc "$1/proc"
  ip link set lo up
  chroot / true
' sh "$work/probe" 2>"$work/errors" ||
  unable "the bare system and the units in it, since this machine does not allow it: $(tail -n 1 "$work/errors")"
# The linked libraries exist in the same release and in newer ones.
grep -qx 'ID=debian' /etc/os-release || unable 'the bare system, since this is not Debian'
own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
release=${release:-$own}
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
  "Codename: $own" 'Component: main' | head -n 1)
[ -n "$mirror" ] || lack "the bare system, since apt knows no mirror of Debian $own; run apt-get update"

# debootstrap does not read apt's settings.
proxy=''
eval "$(apt-config shell proxy Acquire::http::Proxy)"
[ -z "$proxy" ] || export http_proxy="$proxy"
# Mounts are private and end with their process.
unshare --mount debootstrap --variant=minbase "$release" "$bare" "$mirror" >"$work/debootstrap" 2>&1 ||
  lack "the bare system, since debootstrap failed: $(tail -n 3 "$work/debootstrap")"
for file in /etc/resolv.conf /etc/hosts; do
  [ ! -f "$file" ] || cp "$file" "$bare$file"
done
apt-config dump | grep -i '^Acquire::https*::proxy' >"$bare/etc/apt/apt.conf.d/proxy" || true
find "$bare" -name '*pusher*' | grep -q . && fail 'the bare system is not bare'
check install_deb

cp -R "$work/unpacked" "$bare/unpacked"
session "/unpacked/$(ls "$work/unpacked")"
say "the tarball's program there, README's session: $(cat "$work/events")"
rm -r "$bare/unpacked"

# Its libraries come from the building system.
[ "$release" != "$own" ] || check check_image
check install_wheel
check install_rpm
check install_arch

cp "$deb" "$bare/package.deb"
inside apt-get -q -y --no-install-recommends install systemd /package.deb
check check_units
