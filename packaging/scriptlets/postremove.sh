#!/bin/sh
# After a removal: systemd forgets the units. Enabled units stay enabled for the next installation.
if [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload >/dev/null || true
fi
