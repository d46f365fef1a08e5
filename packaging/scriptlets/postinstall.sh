#!/bin/sh
# After an installation or an upgrade: systemd reads the units.
if [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload >/dev/null || true
fi
