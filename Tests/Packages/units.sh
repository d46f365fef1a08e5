#!/bin/sh
# Checks the units under a systemd that boots in a bare Debian with the package, then removes the
# package. scripts/check-packages.sh starts it there as the only service, and reads /verdict.
exec >/verdict 2>&1
echo booted

mkdir -p /etc/pusher-cli
echo 'a secret of its own' | tee /etc/pusher-cli/pusher-serve.secret >/etc/pusher-cli/shop.secret
chmod 600 /etc/pusher-cli/*.secret
server='PUSHER_APP_KEY=local
PUSHER_HOST=127.0.0.1
PUSHER_PORT=6001
PUSHER_SCHEME=http'
printf '%s\n' 'PUSHER_CLI_ARGUMENTS="subscribe private-orders -e '"'order.*'"' --reconnect always"' "$server" \
  >/etc/pusher-cli/shop.env
# This unit needs no secret and has none.
printf '%s\n' 'PUSHER_CLI_ARGUMENTS="subscribe news"' "$server" >/etc/pusher-cli/news.env
echo 'PUSHER_CLI_ARGUMENTS="subscribe --unheard-of"' >/etc/pusher-cli/wrong.env
for unit in pusher-serve.service pusher-cli@.service; do
  mkdir -p "/etc/systemd/system/$unit.d"
  printf '[Service]\nWatchdogSec=4s\nRestartSec=100ms\n' >"/etc/systemd/system/$unit.d/soon.conf"
done
systemctl daemon-reload

fail() {
  echo "failed: $*"
  systemctl --no-pager --full status pusher-serve 'pusher-cli@*'
  journalctl --no-pager -o cat
  systemctl poweroff --force --force
  exit 1
}

# await WHAT COMMAND...: waits until COMMAND succeeds, for at most 20 seconds.
await() {
  what=$1
  shift
  turns=0
  until "$@" >/dev/null 2>&1; do
    turns=$((turns + 1))
    [ "$turns" -lt 200 ] || fail "$what"
    sleep 0.1
  done
}

show() { systemctl show --property="$2" --value "$1"; }
has_event() { journalctl -o cat -u pusher-cli@shop | grep -q "\"event\":\"$1\""; }
has_restarted() { [ "$(show "$1" NRestarts)" -ge 1 ] && systemctl --quiet is-active "$1"; }
is_subscribed() { show pusher-cli@shop StatusText | grep -q '^subscribed to'; }

trigger() {
  PUSHER_APP_KEY=local PUSHER_APP_ID=1 PUSHER_APP_SECRET_FILE=/etc/pusher-cli/shop.secret \
    pusher-cli trigger --host 127.0.0.1 --port 6001 --scheme http -c private-orders -e "$1" '{"id":1}' ||
    fail "triggering $1"
}

systemctl start pusher-serve || fail 'pusher-serve does not start'
systemctl start pusher-cli@shop || fail 'pusher-cli@shop does not start'
systemctl start pusher-cli@news || fail 'pusher-cli@news, which has no secret, does not start'
is_subscribed || fail 'pusher-cli@shop counts as started before it is subscribed'
echo "pusher-serve: $(show pusher-serve StatusText)"
echo "pusher-cli@shop: $(show pusher-cli@shop StatusText)"
trigger order.created
await 'no event in the journal' has_event order.created
trigger refund.created
systemctl start pusher-cli@wrong 2>/dev/null && fail 'a wrong option passes for a start'
sleep 6
has_event refund.created && fail 'an event that is not asked for is in the journal'
[ "$(show pusher-cli@wrong NRestarts)" = 0 ] || fail 'a wrong option is tried again'
for unit in pusher-serve pusher-cli@shop pusher-cli@news; do
  [ "$(show $unit NRestarts)" = 0 ] || fail "$unit has been restarted"
done
echo 'longer than the watchdog: nothing was restarted'

for unit in pusher-cli@shop pusher-serve; do
  kill -STOP "$(show $unit MainPID)"
  await "$unit hangs, and is not restarted" has_restarted $unit
  echo "hung: $unit was restarted"
done
systemctl kill --signal=HUP pusher-cli@news
sleep 1
await 'SIGHUP ends pusher-cli@news for good' systemctl --quiet is-active pusher-cli@news
echo 'SIGHUP: pusher-cli@news runs on'
await 'not subscribed again' is_subscribed
trigger order.paid
await 'no event after the restart' has_event order.paid
systemctl stop pusher-serve 'pusher-cli@*' || fail 'they do not stop'
for unit in pusher-serve pusher-cli@shop; do
  [ "$(show $unit Result)" = success ] || fail "$unit stopped with $(show $unit Result)"
done
# The first connection to the socket starts the server. Later ones wait while it restarts.
ask() {
  PUSHER_APP_KEY=local PUSHER_APP_ID=1 PUSHER_APP_SECRET_FILE=/etc/pusher-cli/shop.secret \
    pusher-cli channels --host 127.0.0.1 --port 6001 --scheme http
}
systemctl start pusher-serve.socket || fail 'pusher-serve.socket does not start'
systemctl --quiet is-active pusher-serve && fail 'pusher-serve was started without a connection'
ask || fail 'the socket does not start pusher-serve'
server=$(show pusher-serve MainPID)
: >/asking
(while [ -e /asking ]; do ask >>/answers 2>&1 && echo answered >>/answers; done) &
systemctl restart pusher-serve || fail 'pusher-serve does not start again with its socket'
systemctl restart pusher-serve || fail 'pusher-serve does not start a third time with its socket'
rm /asking
wait
[ "$(show pusher-serve MainPID)" != "$server" ] || fail 'pusher-serve was not started again'
grep -v '^answered$' /answers && fail 'a connection was refused while pusher-serve was started again'
grep -q . /answers || fail 'no call came while pusher-serve was started again'
echo "pusher-serve.socket: started again twice, $(grep -c . /answers) calls meanwhile, none failed"
systemctl stop pusher-serve.socket pusher-serve || fail 'pusher-serve.socket does not stop'
# One after the other: a feed ends if its first connection is refused.
systemctl start pusher-serve.socket pusher-serve || fail 'pusher-serve does not start again'
systemctl start pusher-cli@news || fail 'pusher-cli@news does not start again'
dpkg --remove pusher-cli >/dev/null || fail 'the package cannot be removed'
for unit in pusher-serve.socket pusher-serve pusher-cli@news; do
  systemctl --quiet is-active $unit && fail "$unit runs without its package"
done
echo 'removed: the units were stopped'
echo passed
systemctl poweroff --force --force 2>/dev/null
