#!/bin/sh
set -e
# An upgrade does not restart services: the operator chooses the time.
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop pusher-serve.socket pusher-serve.service 'pusher-cli@*.service' >/dev/null || true
fi
