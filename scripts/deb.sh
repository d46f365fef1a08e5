#!/bin/sh
# Makes the Debian package of a program with dpkg-deb and dpkg-shlibdeps, and prints its path.
#
#   scripts/deb.sh PROGRAM FOLDER [REVISION]
#
# The version is the program's own, followed by REVISION (1). Same program, commit and revision give
# the same bytes. File times are those of the last commit unless SOURCE_DATE_EPOCH is set.
set -eu

program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
revision=${3:-1}
cd "$(dirname "$0")/.."
. scripts/ending.sh

for tool in dpkg-deb dpkg-shlibdeps objdump; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "deb: $tool is missing: run scripts/install-packages.sh package" >&2
    exit 1
  fi
done
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH LC_ALL=C
umask 022

name=pusher-cli
version=$("$program" --version | sed "s/^$name //")-$revision
architecture=$(dpkg --print-architecture)
# A name without an address: the project has no mail address yet.
maintainer="$name maintainers"
temporary=$(mktemp -d)
root=$temporary/root
documents=$root/usr/share/doc/$name

scripts/package-root.sh "$program" "$root" deb
gzip -9n >"$documents/changelog.Debian.gz" <<END
$name ($version) unstable; urgency=medium

  * Package of $name ${version%-*}; its own changelog tells what is new.

 -- $maintainer <>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END

mkdir -p "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/$name" <<END
# A package by the project, not meant for Debian's archive: no packaging request to close.
$name: initial-upload-closes-no-bugs *
# The project has no mail address yet.
$name: maintainer-address-missing *
$name: bogus-mail-host-in-debian-changelog *
END

# Required library versions, from the tables of Debian's libraries.
mkdir -p "$temporary/source/debian" "$root/DEBIAN"
printf 'Source: %s\n\nPackage: %s\nArchitecture: any\n' $name $name >"$temporary/source/debian/control"
depends=$(cd "$temporary/source" && dpkg-shlibdeps -O "$root/usr/bin/$name" | sed -n 's/^shlibs:Depends=//p')
if [ -z "$depends" ]; then
  echo "deb: dpkg-shlibdeps did not say which packages $1 needs" >&2
  exit 1
fi

cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload >/dev/null || true
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
# An upgrade does not restart services: the operator chooses the time.
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop pusher-serve.socket pusher-serve.service 'pusher-cli@*.service' >/dev/null || true
fi
END
cat >"$root/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
# Debian's convention: an enabled unit stays enabled after a removal, for the next installation, but
# not after a purge. Only dangling links go: an operator may have a unit of the same name in /etc.
units=${DPKG_ROOT:-}/etc/systemd/system
if [ "$1" = purge ] && [ -d "$units" ]; then
  find "$units" -mindepth 2 -maxdepth 2 -type l \
    '(' -name pusher-serve.service -o -name pusher-serve.socket -o -name 'pusher-cli@*.service' ')' |
    while IFS= read -r link; do
      target=$(readlink "$link")
      case $target in
        /*) target=${DPKG_ROOT:-}$target ;;
        *) target=${link%/*}/$target ;;
      esac
      [ -e "$target" ] || rm -f "$link"
    done
fi
if [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload >/dev/null || true
fi
END
echo /etc/$name/example.env >"$root/DEBIAN/conffiles"
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm" "$root/DEBIAN/postrm"

# KiB as dpkg counts them: each file rounded up, one for each folder.
size=$(cd "$root" && find . -path ./DEBIAN -prune -o -printf '%y %s\n' |
  awk '{ sum += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print sum }')
cat >"$root/DEBIAN/control" <<END
Package: $name
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
Depends: $depends
Recommends: ca-certificates
Suggests: jq
Section: net
Priority: optional
Description: $(sed '2,$s/^/ /' packaging/description)
END
(cd "$root" && find . '(' -path ./DEBIAN -o -path ./etc ')' -prune -o -type f -print | sed 's|^\./||' | sort |
  while IFS= read -r file; do md5sum "$file"; done) >"$root/DEBIAN/md5sums"

package=$folder/${name}_${version}_$architecture.deb
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
# Several threads would cut the archive differently on other machines.
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$package" >/dev/null
echo "$package"
