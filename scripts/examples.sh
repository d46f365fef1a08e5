#!/bin/sh
# Builds the programs of Examples/, which use only the library's public face, and runs them against a local server.
#
#   scripts/examples.sh PROGRAM
#
# Nothing leaves this machine, everything started here is ended here; once built, it takes a minute at most.
set -eu
cd "$(dirname "$0")/.."

program=$1
swift=${SWIFT:-swift}
# shellcheck source=scripts/ending.sh
. scripts/ending.sh
work=$(mktemp -d)
temporary=$work

fail() {
  echo "examples: $*" >&2
  sed 's/^/  it said: /' "$work/out" >&2 || true
  exit 1
}

# expect NAME LINE...: what the program printed has each of these lines.
expect() {
  name=$1
  shift
  for line in "$@"; do
    grep -qxF -- "$line" "$work/out" || fail "$name did not print: $line"
  done
  echo "examples: $name: as expected"
}

"$swift" build --package-path Examples --scratch-path .build-examples </dev/null
folder=$("$swift" build --package-path Examples --scratch-path .build-examples --show-bin-path)

export PUSHER_APP_ID=local PUSHER_APP_KEY=local PUSHER_APP_SECRET=local
"$program" serve --listen 127.0.0.1:0 --port-file "$work/port" \
  </dev/null >/dev/null 2>"$work/server.err" &
pids=$!
turns=0
until [ -s "$work/port" ]; do
  turns=$((turns + 1))
  [ "$turns" -lt 150 ] || fail 'the server did not start within 15 seconds'
  sleep 0.1
done
port=$(cat "$work/port")

timeout 20 "$folder/ticker" 127.0.0.1 "$port" local 2 >"$work/out" 2>&1 &
ticker=$!
turns=0
# The ticker says when it watches, but a pipe may keep the line back: prices are sent until it has had enough.
while kill -0 "$ticker" 2>/dev/null && [ "$turns" -lt 100 ]; do
  turns=$((turns + 1))
  "$program" trigger --host 127.0.0.1 --port "$port" --scheme http --key local --app-id local \
    -c stocks -e new-price '{"company":"Acme","price":"1.10"}' </dev/null >/dev/null 2>&1 || true
  sleep 0.1
done
wait "$ticker" || fail 'the ticker failed'
expect ticker watching 'Acme is now priced at 1.10'

timeout 20 "$folder/room" 127.0.0.1 "$port" local local >"$work/out" 2>&1 || fail 'the room failed'
expect room 'alice sees bob' 'bob hears {"text":"hello"} from alice' 'members: alice, bob'

timeout 20 "$folder/notifier" 127.0.0.1 "$port" local local local >"$work/out" 2>&1 ||
  fail 'the notifier failed'
expect notifier 'connecting -> connected' 'job 7 is done'
