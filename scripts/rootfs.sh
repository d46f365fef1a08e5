#!/bin/sh
# Makes the root of a container: program, libraries, certificates and an unprivileged user.
#
#   scripts/rootfs.sh PROGRAM FOLDER
#
# The libraries are this system's, with their licences if Debian has them. No shell, no other
# program.
set -eu

program=$(realpath "$1")
mkdir -p "$2"
root=$(realpath "$2")
cd "$(dirname "$0")/.."
export LC_ALL=C
umask 022

bundle=/etc/ssl/certs/ca-certificates.crt
documents=$root/usr/share/doc
if [ ! -s "$bundle" ]; then
  echo "rootfs: $bundle is missing: run scripts/install-packages.sh container" >&2
  exit 1
fi

# A runtime mounts over these, even if it may not write into the root.
mkdir -p "$root/dev" "$root/proc" "$root/sys" "$root/run" "$root/tmp" "$root/etc"
chmod 1777 "$root/tmp"
install -D -m 755 "$program" "$root/usr/bin/pusher-cli"

libraries=$(ldd "$program")
if printf '%s\n' "$libraries" | grep 'not found' >&2; then
  echo "rootfs: a library of $1 is missing" >&2
  exit 1
fi
printf '%s\n' "$libraries" | sed -n 's|^[^/]*\(/[^ ]*\) (0x.*|\1|p' | while IFS= read -r library; do
  install -D -m 755 "$(realpath "$library")" "$root$library"
  command -v dpkg-query >/dev/null 2>&1 || continue
  package=$(dpkg-query --search "$library" "$(realpath "$library")" 2>/dev/null | sed -n '1s/:.*//p')
  [ -z "$package" ] || [ ! -f "/usr/share/doc/$package/copyright" ] ||
    install -D -m 644 "/usr/share/doc/$package/copyright" "$documents/$package/copyright"
done
mkdir -p "$documents/pusher-cli"
install -m 644 LICENSE "$documents/pusher-cli/copyright"
scripts/notices.sh "$program" >"$documents/pusher-cli/THIRD-PARTY-NOTICES"

install -D -m 644 "$bundle" "$root$bundle"
printf '%s\n' 'root:x:0:0:root:/:/sbin/nologin' 'pusher-cli:x:65532:65532:pusher-cli:/:/sbin/nologin' >"$root/etc/passwd"
printf '%s\n' 'root:x:0:' 'pusher-cli:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
