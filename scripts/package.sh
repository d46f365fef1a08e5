#!/bin/sh
# Makes the packages of a program, and what they consist of.
#
#   scripts/package.sh all|deb|rpm|arch|tarball|wheel PROGRAM FOLDER [REVISION]
#   scripts/package.sh tree PROGRAM ROOT LAYOUT     the files of a package: deb, rpm or arch
#   scripts/package.sh root PROGRAM ROOT            the root of a container: program, libraries,
#                                                   certificates, a user; no shell, nothing else
#   scripts/package.sh symbols PROGRAM              the newest symbol of each library; fails for a
#                                                   program with a library search path
#   scripts/package.sh formulas ADDRESS SOURCE TARBALL FOLDER
#
# Prints the paths of what it makes. A package has the program's version; deb, rpm and arch append
# REVISION (1). Same program, commit and revision give the same bytes. File times are those of the
# last commit unless SOURCE_DATE_EPOCH is set. Packages fail for a program that would not start on
# Ubuntu 22.04, the oldest supported system.
#
# The libraries of a container are this system's, with their licences if Debian has them.
#
# `formulas` writes the Homebrew formula and the Nix expression of a release. ADDRESS: the URL of
# the folder that offers both archives · SOURCE: pusher-cli-VERSION.tar.gz, made by
# 'git archive --prefix pusher-cli-VERSION/ vVERSION' · TARBALL: the one of x86_64.
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
[ "$#:${1:-}" = 2:symbols ] || { [ $# -gt 2 ] && [ "$1" != symbols ]; } ||
  wrong 'usage: scripts/package.sh KIND PROGRAM FOLDER, or scripts/package.sh symbols PROGRAM'
what=$1
given=$2
[ "$what" = formulas ] || program=$(realpath "$given")
# The oldest supported system has this version of the C library.
glibc=2.35
export LC_ALL=C TZ=UTC
umask 022

# needed: prints the names of the shared libraries of the program.
needed() {
  objdump -p "$program" | sed -n 's/^ *NEEDED *//p'
}

# check_symbols: fails if the program needs symbols that Ubuntu 22.04 has not, or names folders of
# its own for libraries. Debian 12 and later systems have more symbols.
check_symbols() {
  readelf -d "$program" >"$temporary/dynamic" || fail "readelf cannot read $given"
  ! grep -E '\((RPATH|RUNPATH)\)' "$temporary/dynamic" >&2 ||
    fail "$given looks for libraries in folders of its own: build it with scripts/build.sh"
  objdump -T "$program" |
    sed -n 's/.*[( ]\(GLIBC\|GCC\|OPENSSL\|ZLIB\)_\([0-9.]*\))* *\([^ ]*\)$/\1 \2 \3/p' | sort -u >"$temporary/table"
  awk -v program="$given" -v glibc="$glibc" '
    function rank(version, parts) {
      split(version, parts, ".")
      return parts[1] * 1000000 + parts[2] * 1000 + parts[3]
    }
    BEGIN {
      most["GLIBC"] = glibc; most["OPENSSL"] = "3.0.0"; most["ZLIB"] = "1.2.9"; most["GCC"] = "12.0.0"
    }
    rank($2) > rank(newest[$1]) { newest[$1] = $2; symbol[$1] = $3 }
    rank($2) > rank(most[$1]) {
      printf "symbols: %s needs %s of %s_%s; Ubuntu 22.04 has no more than %s_%s: build on an older system\n",
        program, $3, $1, $2, $1, most[$1]
      failed = 1
    }
    END {
      if (!("GLIBC" in newest)) { printf "symbols: %s names no symbols of the C library\n", program; exit 1 }
      if (failed) exit 1
      for (library in newest)
        printf "symbols: newest symbol of %s: %s_%s (%s)\n", library, library, newest[library], symbol[library]
    }' "$temporary/table" >"$temporary/verdict" || {
    cat "$temporary/verdict" >&2
    exit 1
  }
  sort "$temporary/verdict" >"$temporary/symbols"
}

# notices: prints the licences of the libraries inside the program.
notices() {
  cat <<'END'
The pusher-cli program contains these libraries. Shared libraries, such as OpenSSL and zlib, are
packages of their own.

END
  cat packaging/notices/swift
  for library in libstdc++ libhiredis libsodium; do
    case $(needed) in *"$library"*) continue ;; esac
    echo
    cat "packaging/notices/$library"
  done
}

# put SOURCE PATH [MODE]: adds a file to the tree.
put() {
  install -D -m "${3:-644}" "$1" "$root/$2"
}

# put_completions BASH ZSH FISH: adds the completions.
put_completions() {
  for shell in bash zsh fish; do
    "$program" completion "$shell" >"$temporary/completion"
    put "$temporary/completion" "$1"
    shift
  done
}

# make_tree ROOT LAYOUT: lays out the files for systems of this kind.
make_tree() {
  root=$1
  layout=$2
  name=pusher-cli
  units=usr/lib/systemd/system
  zsh=usr/share/zsh/site-functions
  documents=usr/share/doc/$name
  case $layout in
    deb)
      units=lib/systemd/system
      zsh=usr/share/zsh/vendor-completions
      ;;
    rpm | arch) ;;
    *) wrong "no layout is called '$layout': there are deb, rpm and arch" ;;
  esac
  put "$program" usr/bin/$name 755
  gzip -9n <man/$name.1 >"$temporary/manual"
  put "$temporary/manual" usr/share/man/man1/$name.1.gz
  put_completions usr/share/bash-completion/completions/$name $zsh/_$name usr/share/fish/vendor_completions.d/$name.fish
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
  notices >"$temporary/notices"
  if [ "$layout" != deb ]; then
    put LICENSE usr/share/licenses/$name/LICENSE
    put "$temporary/notices" usr/share/licenses/$name/THIRD-PARTY-NOTICES
    put CHANGELOG.md $documents/CHANGELOG.md
    return
  fi
  # Debian's policy: one file with all licences, and compressed changes.
  {
    cat - LICENSE <<'END'
pusher-cli
SPDX-License-Identifier: MIT

END
    echo
    cat "$temporary/notices"
  } >"$root/$documents/copyright"
  gzip -9n <CHANGELOG.md >"$root/$documents/changelog.gz"
}

# make_package LAYOUT PACKAGER NAME: makes one package with nfpm.
make_package() {
  tree=$temporary/$1
  [ -d "$tree" ] || make_tree "$tree" "$1"
  find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  {
    cat packaging/nfpm.yaml
    echo 'contents:'
    # The files, and the folders that belong to the package alone.
    (cd "$tree" && find . -path '*/pusher-cli*' -type d -printf '/%P\n' -o -type f -printf '/%P\n') | sort |
      while IFS= read -r path; do
        type='file'
        if [ -d "$tree$path" ]; then
          printf '  - {type: dir, dst: "%s", file_info: {mode: 0755}}\n' "$path"
          continue
        fi
        case $1$path in
          */etc/*) type='config|noreplace' ;;
          rpm/usr/share/licenses/*) type='license' ;;
          rpm/usr/share/doc/* | rpm/usr/share/man/*) type='doc' ;;
        esac
        printf '  - {type: %s, src: "%s", dst: "%s"}\n' "$type" "$tree$path" "$path"
      done
  } >"$temporary/$1.yaml"
  path=$folder/$3
  run_tool "$3" "${tools%/*}/nfpm" package --config "$temporary/$1.yaml" --packager "$2" --target "$path"
  echo "$path"
}

# run_tool PACKAGE COMMAND...: runs a command silently, and says what it said if it fails.
run_tool() {
  made=$1
  shift
  "$@" >"$temporary/said" 2>&1 || {
    cat "$temporary/said" >&2
    fail "$made was not made; the reason is above"
  }
}

make_deb() {
  command -v dpkg-shlibdeps >/dev/null 2>&1 || fail 'dpkg-shlibdeps is missing: run scripts/install-packages.sh package'
  make_tree "$temporary/deb" deb
  documents=$temporary/deb/usr/share/doc/pusher-cli
  gzip -9n >"$documents/changelog.Debian.gz" <<END
pusher-cli ($PACKAGE_VERSION-$PACKAGE_RELEASE) unstable; urgency=medium

  * Package of pusher-cli $PACKAGE_VERSION; its own changelog tells what is new.

 -- pusher-cli maintainers <>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
  install -D -m 644 packaging/lintian-overrides "$temporary/deb/usr/share/lintian/overrides/pusher-cli"
  # Required library versions, from the tables of Debian's libraries.
  mkdir -p "$temporary/source/debian" "$temporary/deb/DEBIAN"
  printf 'Source: pusher-cli\n\nPackage: pusher-cli\nArchitecture: any\n' >"$temporary/source/debian/control"
  PACKAGE_DEPENDS=$(cd "$temporary/source" && dpkg-shlibdeps -O "$temporary/deb/usr/bin/pusher-cli" |
    sed -n 's/^shlibs:Depends=//p')
  [ -n "$PACKAGE_DEPENDS" ] || fail "dpkg-shlibdeps did not say which packages $given needs"
  export PACKAGE_DEPENDS
  make_package deb deb "pusher-cli_$PACKAGE_VERSION-${PACKAGE_RELEASE}_$(dpkg --print-architecture).deb"
  # nfpm's own xz gives a third more bytes. Several threads would cut the archive differently on
  # other machines.
  (cd "$temporary/source" && ar x "$path" && xz --threads=1 data.tar && rm "$path" &&
    ar rcD "$path" debian-binary control.tar.gz data.tar.xz)
}

make_rpm() {
  # Its summary is a field of its own.
  PACKAGE_DESCRIPTION=$(sed 1d packaging/description)
  make_package rpm rpm "pusher-cli-$PACKAGE_VERSION-$PACKAGE_RELEASE.$(uname -m).rpm"
}

make_arch() {
  # Arch Linux has one line only.
  PACKAGE_DESCRIPTION=$(sed -n 1p packaging/description)
  make_package arch archlinux "pusher-cli-$PACKAGE_VERSION-$PACKAGE_RELEASE-$(uname -m).pkg.tar.zst"
}

make_tarball() {
  name=pusher-cli-$PACKAGE_VERSION-linux-$(uname -m)
  root=$temporary/$name
  put "$program" pusher-cli 755
  for file in LICENSE man/pusher-cli.1 README.md CHANGELOG.md; do put "$file" "${file##*/}"; done
  for file in contrib/*/* docs/recipes.md docs/metrics.md docs/security.md; do put "$file" "${file#contrib/}"; done
  put_completions completions/pusher-cli.bash completions/_pusher-cli completions/pusher-cli.fish
  notices >"$root/THIRD-PARTY-NOTICES"
  (cd "$root" && find . -type f -print | sed 's|^\./||' | sort |
    while IFS= read -r file; do sha256sum "$file"; done) >"$temporary/sums"
  mv "$temporary/sums" "$root/SHA256SUMS"
  tar --create --directory "$temporary" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
    --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX "$name" >"$temporary/tar"
  gzip -9n <"$temporary/tar" >"$folder/$name.tar.gz"
  (cd "$folder" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
  echo "$folder/$name.tar.gz"
}

make_wheel() {
  # A wheel holds only files below the folder of its pyproject.toml.
  root=$temporary/packaging/python
  install -D -m 644 Sources/pusher-cli/Settings/Version.swift "$temporary/Sources/pusher-cli/Settings/Version.swift"
  for file in packaging/python/*.* LICENSE man/pusher-cli.1; do put "$file" "${file##*/}"; done
  put "$program" pusher-cli 755
  notices >"$root/THIRD-PARTY-NOTICES"
  # No isolation: the build uses the pinned tools and downloads nothing.
  PUSHER_CLI_GLIBC=$glibc run_tool 'the wheel' "$tools" -m build --wheel --no-isolation --outdir "$temporary/made" "$root"
  wheel=$(cd "$temporary/made" && echo *.whl)
  case $wheel in
    "pusher_cli-$PACKAGE_VERSION-py3-none-manylinux_"*) ;;
    *) fail "the program says version $PACKAGE_VERSION, but the wheel is $wheel: build the program again" ;;
  esac
  mv "$temporary/made/$wheel" "$folder/$wheel"
  echo "$folder/$wheel"
}

make_root() {
  bundle=/etc/ssl/certs/ca-certificates.crt
  documents=$root/usr/share/doc
  [ -s "$bundle" ] || fail "$bundle is missing: run scripts/install-packages.sh container"
  # A runtime mounts over these, even if it may not write into the root.
  mkdir -p "$root/dev" "$root/proc" "$root/sys" "$root/run" "$root/tmp" "$root/etc" "$documents/pusher-cli"
  chmod 1777 "$root/tmp"
  put "$program" usr/bin/pusher-cli 755
  ldd "$program" >"$temporary/libraries"
  ! grep 'not found' "$temporary/libraries" >&2 || fail "a library of $given is missing"
  sed -n 's|^[^/]*\(/[^ ]*\) (0x.*|\1|p' "$temporary/libraries" | while IFS= read -r library; do
    put "$(realpath "$library")" "$library" 755
    command -v dpkg-query >/dev/null 2>&1 || continue
    package=$(dpkg-query --search "$library" "$(realpath "$library")" 2>/dev/null | sed -n '1s/:.*//p')
    [ -z "$package" ] || [ ! -f "/usr/share/doc/$package/copyright" ] ||
      put "/usr/share/doc/$package/copyright" "usr/share/doc/$package/copyright"
  done
  put LICENSE usr/share/doc/pusher-cli/copyright
  notices >"$documents/pusher-cli/THIRD-PARTY-NOTICES"
  put "$bundle" "$bundle"
  printf '%s\n' 'root:x:0:0:root:/:/sbin/nologin' 'pusher-cli:x:65532:65532:pusher-cli:/:/sbin/nologin' >"$root/etc/passwd"
  printf '%s\n' 'root:x:0:' 'pusher-cli:x:65532:' >"$root/etc/group"
  echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
}

# make_formulas ADDRESS SOURCE TARBALL
make_formulas() {
  echo "$1" | grep -qx 'https://[^|&\]\{1,\}' ||
    wrong "'$1' is no address: give one that begins with https:// and has no |, & or \\"
  version=$(version)
  for pair in "pusher-cli-$version.tar.gz ${2##*/}" "pusher-cli-$version-linux-x86_64.tar.gz ${3##*/}"; do
    [ "${pair% *}" = "${pair#* }" ] ||
      fail "the formulas name ${pair% *}, but the file is ${pair#* }: rename or make it again"
  done
  for template in packaging/homebrew/pusher-cli.rb packaging/nix/default.nix; do
    stands=$(sed -n 's/^ *version *=* *"\([^"]*\)";*$/\1/p' $template)
    [ "$stands" = "$version" ] ||
      fail "$template has version '$stands', but Version.swift has $version: change the template"
    # The first paragraph that goes describes the template.
    sed -e '/^# A template/,/^#$/d' -e "s|@ADDRESS@|${1%/}|" \
      -e "s|@SOURCE_SHA256@|$(sha256sum <"$2" | cut -d ' ' -f 1)|" \
      -e "s|@TARBALL_SHA256@|$(sha256sum <"$3" | cut -d ' ' -f 1)|" $template >"$folder/${template##*/}"
    echo "$folder/${template##*/}"
  done
}

if [ "$what" = formulas ]; then
  [ $# -eq 5 ] || wrong 'name the address, the archive of the sources, the tarball and the folder'
  mkdir -p "$5"
  folder=$(realpath "$5")
  set -- "$2" "$(realpath "$3")" "$(realpath "$4")"
  cd "$(dirname "$0")/.."
  make_formulas "$@"
  exit 0
fi
if [ $# -gt 2 ]; then
  mkdir -p "$3"
  folder=$(realpath "$3")
  root=$folder
fi
cd "$(dirname "$0")/.."
temporary=$(mktemp -d)
case $what in
  tree) make_tree "$root" "${4:-}" ;;
  root) make_root ;;
  symbols)
    check_symbols
    cat "$temporary/symbols"
    ;;
  all | deb | rpm | arch | tarball | wheel)
    case $(uname -sm) in
      'Linux x86_64') PACKAGE_ARCH=amd64 ;;
      'Linux aarch64') PACKAGE_ARCH=arm64 ;;
      *) fail "no packages are made for $(uname -sm): use make install" ;;
    esac
    check_symbols
    cat "$temporary/symbols" >&2
    [ "$what" = tarball ] || tools=$(scripts/python-peers.sh package)
    : "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
    PACKAGE_VERSION=$("$program" --version | sed 's/^pusher-cli //')
    PACKAGE_RELEASE=${4:-1}
    PACKAGE_GLIBC=$(sed -n 's/.*: GLIBC_\([0-9.]*\) .*/\1/p' "$temporary/symbols")
    PACKAGE_DESCRIPTION=$(cat packaging/description)
    PACKAGE_DEPENDS=''
    export SOURCE_DATE_EPOCH PACKAGE_VERSION PACKAGE_RELEASE PACKAGE_ARCH PACKAGE_GLIBC PACKAGE_DESCRIPTION PACKAGE_DEPENDS
    [ "$what" != all ] || what='deb tarball wheel rpm arch'
    for one in $what; do (trap - EXIT && "make_$one"); done
    ;;
  *) wrong "nothing is called '$what': there are all, deb, rpm, arch, tarball, wheel, tree, root, symbols and formulas" ;;
esac
