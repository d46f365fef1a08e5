#!/bin/sh
# Before a removal: stops the services. rpm's argument is 1 for an upgrade, which does not restart
# services: the operator chooses the time.
if [ "${1:-}" != 1 ] && [ -d /run/systemd/system ]; then
  systemctl --system stop pusher-serve.socket pusher-serve.service 'pusher-cli@*.service' >/dev/null || true
fi
