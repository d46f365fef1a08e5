#!/bin/sh
# Uses the program in the container's root, read-only and as the container's user, in a network of
# its own. scripts/check-packages.sh starts it with a folder: there are root/, certificates/, the
# pipe `ready` and the mount point `mounted`, and the results go there. Where /proc cannot be
# mounted, it skips the last check.
set -eu
# shellcheck source=scripts/common.sh
. scripts/common.sh
work=$1
mounted=$work/mounted

# run WORD...: runs the program with only the given secret as a variable.
run() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin ${secret:+"PUSHER_APP_SECRET=$secret"} \
    timeout 60 chroot --userspec=65532:65532 "$mounted" /usr/bin/pusher-cli "$@"
}

secret=''
mount --bind "$work/root" "$mounted"
mount -o remount,bind,ro "$mounted"
ip link set lo up
echo allowed >"$work/allowed"
! touch "$mounted/tmp/file" 2>/dev/null || fail 'the root can be written to'

run serve 2>"$work/serve" &
await grep 'listening on' "$work/serve" || fail "serve says: $(cat "$work/serve")"
run subscribe --local orders --count 1 --timeout 30s --ready-fd 3 3>"$work/ready" >"$work/events" &
subscriber=$!
read -r _ <"$work/ready"
run trigger --local --channel orders --event order.created '{"id":1}'
wait "$subscriber"
run check --local >"$work/health" || fail "check --local: $(cat "$work/health")"

run serve --listen 127.0.0.1:6002 --tls-cert /tls/valid.pem --tls-key /tls/valid.key 2>"$work/secure" &
await grep 'listening on' "$work/secure" || fail "serve says: $(cat "$work/secure")"
secret=local
set -- trigger --host localhost --port 6002 --scheme https --key local --app-id 1 --channel orders --event paid '{}'
! run "$@" 2>"$work/refused" || fail 'a certificate of an unknown authority is taken'
grep -qi 'certificate' "$work/refused" || fail "refused for another reason: $(cat "$work/refused")"
cat "$work/certificates/root.pem" >>"$work/root/etc/ssl/certs/ca-certificates.crt"
run "$@"

# ends WORD...: checks that SIGTERM ends the program as first process, which gets only handled
# signals.
ends() {
  : >"$work/said-$1"
  # shellcheck disable=SC2016
  unshare --net --pid --fork --kill-child sh -c '
    ip link set lo up
    root=$1
    shift
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot --userspec=65532:65532 "$root" /usr/bin/pusher-cli "$@"
  ' sh "$mounted" "$@" 2>"$work/said-$1" &
  first=$!
  await grep 'listening on\|retrying' "$work/said-$1" || fail "as the first process $1 says: $(cat "$work/said-$1")"
  # The list has no end of line.
  child=''
  read -r child <"/proc/$first/task/$first/children" || [ -n "$child" ] ||
    fail "$1 ended before SIGTERM: $(cat "$work/said-$1")"
  kill "$child"
  result=0
  timeout 20 tail --pid="$first" -f /dev/null || fail "SIGTERM does not end $1 as the first process"
  wait "$first" || result=$?
  echo "SIGTERM to the first process: $1 ends with status $result" >>"$work/ended"
}
# The mount shows the processes of this script, so that their children can be found.
mount -t proc proc /proc 2>"$work/unmounted" || {
  echo "skipped: SIGTERM to the first process: $(cat "$work/unmounted")" >"$work/ended"
  exit 0
}
ends serve
ends subscribe --host 127.0.0.1 --scheme http --key local --reconnect always orders
