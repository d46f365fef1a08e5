#!/bin/sh
# Boots systemd in a root file system, with Tests/Packages/units.sh as its only service.
# scripts/check-packages.sh starts it in namespaces of its own.
set -eu
bare=$1
mkdir -p "$bare/outside"
install -m 755 Tests/Packages/units.sh "$bare/judge"
cat >"$bare/etc/systemd/system/judge.service" <<'END'
[Unit]
DefaultDependencies=no
After=sysinit.target dbus.socket
Requires=sysinit.target
[Service]
ExecStart=/judge
END

mount --bind "$bare" "$bare"
cd "$bare"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  mount -t tmpfs tmpfs sys/fs/cgroup
  mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
  mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
  mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
fi
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs dev
mkdir dev/pts dev/shm dev/mqueue
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
mount -t mqueue mqueue dev/mqueue
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ip link set lo up
pivot_root . outside
umount -l outside
# A child of systemd mounts credentials. Containers leave this to their starter.
mount --make-rshared /
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  chroot . /lib/systemd/systemd --unit=judge.service --log-target=null
