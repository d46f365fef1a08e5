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
