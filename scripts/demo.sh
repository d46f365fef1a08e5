#!/bin/sh
# Starts a local server, subscribes to three channels, triggers events and shows their JSON lines.
#
#   scripts/demo.sh [PROGRAM]
#
# Without PROGRAM it installs what a build needs, and builds a debug program, which takes a third of
# the time of a release. Uses loopback only, and ends everything it starts.
set -eu

# shellcheck source=scripts/ending.sh
. "$(dirname "$0")/ending.sh"
if [ $# -gt 0 ]; then
  program=$1
else
  cd "$(dirname "$0")/.."
  swift=${SWIFT:-swift}
  echo 'demo: installs what a build needs, builds the program (about a minute), and shows events'
  scripts/install-packages.sh build
  if ! command -v "$swift" >/dev/null 2>&1; then
    echo "demo: no '$swift' found: install Swift 6.2 or newer from swift.org" >&2
    exit 1
  fi
  "$swift" build --quiet --product pusher-cli
  program=$("$swift" build --show-bin-path)/pusher-cli
fi
work=$(mktemp -d)
temporary=$work

fail() {
  echo "demo: $*" >&2
  for file in server subscriber trigger; do
    [ ! -s "$work/$file.err" ] || sed "s/^/  $file said: /" "$work/$file.err" >&2
  done
  exit 1
}

show() {
  printf '\n$ %s\n' "$*"
}

# await WHAT COMMAND...: waits until COMMAND succeeds, for at most 15 seconds.
await() {
  what=$1
  shift
  turns=0
  until "$@" >/dev/null 2>&1; do
    turns=$((turns + 1))
    [ "$turns" -lt 150 ] || fail "$what did not happen within 15 seconds"
    for pid in $pids; do
      kill -0 "$pid" 2>/dev/null || fail "$what did not happen: the program ended"
    done
    sleep 0.1
  done
}

# The demo ignores the settings of the reader's own services.
for name in $(env | sed -n 's/^\(\(PUSHER\|REVERB\|SOKETI\)_[A-Z_]*\)=.*/\1/p') \
  ALL_PROXY HTTPS_PROXY BROADCAST_CONNECTION BROADCAST_DRIVER; do
  unset "$name"
done
export XDG_CONFIG_HOME="$work"
# The environment carries the secret because arguments are public.
export PUSHER_APP_ID=local PUSHER_APP_KEY=local PUSHER_APP_SECRET=local

show 'pusher-cli serve --listen 127.0.0.1:0 --port-file port &'
"$program" serve --listen 127.0.0.1:0 --port-file "$work/port" \
  </dev/null >"$work/server.out" 2>"$work/server.err" &
pids=$!
await 'a port from the server' test -s "$work/port"
port=$(cat "$work/port")
echo "listening on 127.0.0.1:$port"

set -- --host 127.0.0.1 --port "$port" --scheme http --key local
show "pusher-cli subscribe $* -c news -c private-orders -c presence-lobby -L -n 4 &"
"$program" subscribe "$@" -c news -c private-orders -c presence-lobby --user-id 7 \
  -L -n 4 -W 30s </dev/null >"$work/events" 2>"$work/subscriber.err" &
subscriber=$!
pids="$subscriber $pids"

all_subscribed() {
  [ "$(grep -c '"pusher:subscription_succeeded"' "$work/events")" -eq 3 ]
}
await 'subscribing to three channels' all_subscribed
echo 'subscribed to all three'

# trigger CHANNEL EVENT DATA CONNECTION-OPTION...
trigger() {
  channel=$1
  event=$2
  data=$3
  shift 3
  show "pusher-cli trigger $* --app-id local -c $channel -e $event '$data'"
  "$program" trigger "$@" --app-id local -c "$channel" -e "$event" "$data" \
    </dev/null 2>"$work/trigger.err" || fail "triggering $event on $channel failed"
}
trigger news headline '{"title":"Grüße aus der Konsole","urgent":false}' "$@"
trigger private-orders order.created '{"id":1,"total":1.10}' "$@"
trigger private-orders order.paid '{"id":1,"by":"card"}' "$@"
trigger presence-lobby greeting '"plain text is fine too"' "$@"

# The subscriber ends after the fourth event.
status=0
wait "$subscriber" || status=$?
pids=${pids#* }
[ "$status" -eq 0 ] || fail "the subscriber ended with status $status"

printf '\nwhat the subscriber printed:\n'
cat "$work/events"
