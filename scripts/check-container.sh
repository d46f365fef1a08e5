#!/bin/sh
# Checks the contents of the container image, and the program in it: without /proc, as an
# unprivileged user who can write nothing.
#
#   scripts/check-container.sh PROGRAM
#
# Requires root for mounts. It skips and reports steps that the machine forbids.
#
# Single-quoted text is for other shells.
# shellcheck disable=SC2016
set -eu

program=$(realpath "$1")
cd "$(dirname "$0")/.."
. scripts/checking.sh
root=$work/root
# The unprivileged user needs access to the root.
chmod 755 "$work"

# unable WHAT: reports a step that this machine forbids.
unable() {
  say "skipped: $*"
  exit 0
}

scripts/rootfs.sh "$program" "$root"
ldd "$program" | grep -o '/[^ ]*' | sed 's|^|.|' >"$work/expected"
printf '%s\n' ./usr/bin/pusher-cli ./etc/group ./etc/nsswitch.conf ./etc/passwd ./etc/ssl/certs/ca-certificates.crt \
  >>"$work/expected"
(cd "$root" && find . ! -type d ! -path './usr/share/doc/*' -print) | sort >"$work/found"
sort -o "$work/expected" "$work/expected"
cmp "$work/expected" "$work/found" || fail "in the root there is: $(cat "$work/found")"
[ -z "$(find "$root" -perm /6000)" ] || fail 'the root has programs that change who runs them'
grep -q '^RUN .*scripts/rootfs.sh' Containerfile || fail 'Containerfile does not make its root by scripts/rootfs.sh'
say "the root: program, $(grep -c '^./lib' "$work/found") libraries and 4 files, $(du -sk "$root" | cut -f 1) KiB"

[ "$(id -u)" -eq 0 ] || unable 'the program in its root, where only root can change to'
chroot / true 2>"$work/errors" || unable "the program in its root: $(cat "$work/errors")"

# run WORD...: runs the program in its root as the container's user, with only the given variables.
cat >"$work/run" <<'END'
run() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin ${secret:+"PUSHER_APP_SECRET=$secret"} \
    timeout 60 chroot --userspec=65532:65532 "$mounted" /usr/bin/pusher-cli "$@"
}

# await FILE PATTERN: waits for the pattern in the file, for at most 20 seconds.
await() {
  turns=0
  until grep -q "$2" "$1" 2>/dev/null; do
    turns=$((turns + 1))
    [ "$turns" -lt 200 ] || { echo "no '$2' in $1: $(cat "$1")" >&2; exit 1; }
    sleep 0.1
  done
}
END
# shellcheck source=/dev/null
. "$work/run"

# shellcheck disable=SC2034
mounted=$root
[ ! -e "$root/proc/self" ] || fail '/proc is mounted, where it should not be'
version=$(run --version) || fail "it does not start: $version"
[ "$version" = "$("$program" --version)" ] || fail "without /proc --version says: $version"
say "without /proc: $version"

scripts/test-certificates.sh "$work/certificates" >"$work/said" 2>&1 || fail "$(cat "$work/said")"
install -D -o 65532 -m 400 -t "$root/tls" "$work/certificates/valid.pem" "$work/certificates/valid.key"
# A runtime writes this file.
echo '127.0.0.1 localhost' >"$root/etc/hosts"
mkdir "$work/mounted"
mkfifo "$work/ready"
cat >"$work/session" <<'END'
set -eu
work=$1
mounted=$work/mounted
secret=''
. "$work/run"
mount --bind "$work/root" "$mounted"
mount -o remount,bind,ro "$mounted"
ip link set lo up
echo allowed >"$work/allowed"
! touch "$mounted/tmp/file" 2>/dev/null || { echo 'the root can be written to' >&2; exit 1; }

run serve 2>"$work/serve" &
await "$work/serve" 'listening on'
run subscribe --local orders --count 1 --timeout 30s --ready-fd 3 3>"$work/ready" >"$work/events" &
subscriber=$!
read -r _ <"$work/ready"
run trigger --local --channel orders --event order.created '{"id":1}'
wait "$subscriber"
run check --local >"$work/health" || { echo "check --local: $(cat "$work/health")" >&2; exit 1; }

run serve --listen 127.0.0.1:6002 --tls-cert /tls/valid.pem --tls-key /tls/valid.key 2>"$work/secure" &
await "$work/secure" 'listening on'
secret=local
set -- trigger --host localhost --port 6002 --scheme https --key local --app-id 1 --channel orders --event paid '{}'
status=0
run "$@" 2>"$work/refused" || status=$?
[ "$status" -ne 0 ] || { echo 'a certificate of an unknown authority is taken' >&2; exit 1; }
grep -qi 'certificate' "$work/refused" || { echo "refused for another reason: $(cat "$work/refused")" >&2; exit 1; }
cat "$work/certificates/root.pem" >>"$work/root/etc/ssl/certs/ca-certificates.crt"
run "$@"
END
status=0
unshare --mount --net --pid --fork --kill-child sh "$work/session" "$work" </dev/null >"$work/said" 2>&1 || status=$?
if [ ! -f "$work/allowed" ]; then
  unable "the program in its read-only root, since this machine does not allow it: $(tail -n 1 "$work/said")"
fi
[ "$status" -eq 0 ] || fail "in its read-only root: $(cat "$work/said" "$work/serve")"
[ "$(cat "$work/events")" = '{"event":"order.created","channel":"orders","data":{"id":1}}' ] ||
  fail "subscribe printed: $(cat "$work/events")"
say "read-only, as user 65532: serve, subscribe and trigger: $(cat "$work/events")"
say "health of serve: $(tail -n 1 "$work/health")"
say "TLS by the bundle: $(head -n 1 "$work/refused")"
say 'TLS by the bundle: with the authority added to it, taken'

# ends WORD...: checks that SIGTERM ends the program as first process, which gets only handled
# signals.
ends() {
  : >"$work/said"
  unshare --net --pid --fork --kill-child sh -c '
    ip link set lo up
    root=$1
    shift
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot --userspec=65532:65532 "$root" /usr/bin/pusher-cli "$@"
  ' sh "$root" "$@" </dev/null >/dev/null 2>"$work/said" &
  pids=$!
  await "$work/said" 'listening on\|retrying'
  kill "$(cat "/proc/$pids/task/$pids/children")"
  turns=0
  while kill -0 "$pids" 2>/dev/null; do
    turns=$((turns + 1))
    [ "$turns" -lt 200 ] || fail "SIGTERM does not end $1 as the first process"
    sleep 0.1
  done
  status=0
  wait "$pids" || status=$?
  pids=''
  say "SIGTERM to the first process: $1 ends with status $status"
}
ends serve
ends subscribe --host 127.0.0.1 --scheme http --key local --reconnect always orders
