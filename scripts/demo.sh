#!/bin/sh
# Starts a local server, subscribes to three channels, triggers events and shows their JSON lines.
#
#   scripts/demo.sh [PROGRAM]
#
# Without PROGRAM it installs what a build needs, and builds a debug program, which takes a third of
# the time of a release. Uses loopback only, and ends everything it starts.
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
if [ $# -gt 0 ]; then
  program=$1
else
  cd "$(dirname "$0")/.."
  echo 'demo: installs what a build needs, builds the program (about a minute), and shows events'
  scripts/install-packages.sh build
  need_swift
  debug_build --quiet --product pusher-cli
  program=$("$swift" build --show-bin-path)/pusher-cli
fi
work=$(mktemp -d)
temporary=$work
said="$work/server.err $work/subscriber.err $work/trigger.err"

show() {
  printf '\n$ %s\n' "$*"
}

# The demo ignores the settings of the reader's own services.
forget_services
export XDG_CONFIG_HOME="$work"
# The environment carries the secret because arguments are public.
export PUSHER_APP_ID=local PUSHER_APP_KEY=local PUSHER_APP_SECRET=local

show 'pusher-cli serve --listen 127.0.0.1:0 --port-file port &'
launch "$work/port" "$program" serve --listen 127.0.0.1:0 --port-file "$work/port" \
  </dev/null >"$work/server.out" 2>"$work/server.err" || fail 'the server did not start'
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
await all_subscribed || fail 'the program did not subscribe to three channels'
echo 'subscribed to all three'

# trigger CHANNEL EVENT DATA CONNECTION-OPTION...
trigger() {
  channel=$1 event=$2 data=$3
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
wait "$subscriber" || fail "the subscriber ended with status $?"
pids=${pids#* }

printf '\nwhat the subscriber printed:\n'
cat "$work/events"
