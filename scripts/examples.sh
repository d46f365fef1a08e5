#!/bin/sh
# Builds and runs the programs of Examples/, which use only public API: the small ones with a local
# server, the tour, which has every sample of the pages, with its own servers.
#
#   scripts/examples.sh PROGRAM
#
# With CI=true the programs depend on the library as another package does: by a git URL and a
# version. A copy of the repository has the tag of that version on its last commit.
#
# Uses loopback only and ends everything it starts. After the build it takes at most a minute. Fails
# if a program does not print its expected lines.
set -eu
cd "$(dirname "$0")/.."

program=$1
# shellcheck source=scripts/common.sh
. scripts/common.sh
work=$(mktemp -d)
temporary=$work
said=$work/out

# expect NAME LINE...: checks that the program's output contains each line.
expect() {
  name=$1
  shift
  for line in "$@"; do
    grep -qxF -- "$line" "$work/out" || fail "$name did not print: $line"
  done
  echo "examples: $name: as expected"
}

package=Examples
if [ "${CI:-}" = true ]; then
  package=$work/examples
  version=$(version)
  git clone --quiet --no-local . "$work/pusher-cli"
  git -C "$work/pusher-cli" -c user.name=examples -c user.email=examples@localhost tag --force "v$version" HEAD
  cp -R Examples "$package"
  sed "s|name: \"pusher-cli\", path: \"..\"|url: \"file://$work/pusher-cli\", from: \"$version\"|" \
    Examples/Package.swift >"$package/Package.swift"
fi
# The cache of the user's own packages stays as it is.
set -- --package-path "$package" --scratch-path .build-examples --cache-path "$work/cache"
debug_build "$@"
folder=$("$swift" build "$@" --show-bin-path)

export PUSHER_APP_ID=local PUSHER_APP_KEY=local PUSHER_APP_SECRET=local
launch "$work/port" "$program" serve --listen 127.0.0.1:0 --port-file "$work/port" \
  </dev/null >/dev/null 2>"$work/server.err" || fail 'the server did not start'

# trigger WORD...: triggers an event.
trigger() {
  "$program" trigger --host 127.0.0.1 --port "$port" --scheme http --key local --app-id local "$@" </dev/null || true
}

timeout 20 "$folder/ticker" 127.0.0.1 "$port" local 2 >"$work/out" 2>&1 &
ticker=$!
# The ticker announces itself, but a pipe may delay the line: send prices until it has enough.
has_prices() {
  trigger -c stocks -e new-price '{"company":"Acme","price":"1.10"}'
  ! kill -0 "$ticker"
}
await has_prices || true
wait "$ticker" || fail 'the ticker failed'
expect ticker watching 'Acme is now priced at 1.10'

timeout 20 "$folder/room" 127.0.0.1 "$port" local local >"$work/out" 2>&1 || fail 'the room failed'
expect room 'alice sees bob' 'bob hears {"text":"hello"} from alice' 'members: alice, bob'

timeout 20 "$folder/notifier" 127.0.0.1 "$port" local local local >"$work/out" 2>&1 ||
  fail 'the notifier failed'
expect notifier 'connecting -> connected' 'job 7 is done'

# A signal ends it after its current jobs.
timeout 20 stdbuf -oL "$folder/worker" 127.0.0.1 "$port" local >"$work/out" 2>&1 &
worker=$!
has_job() {
  trigger -c jobs -e job 1
  grep '^job 1$' "$work/out"
}
await has_job || fail 'the worker did no job'
# timeout(1) forwards the signal.
kill -TERM "$worker"
wait "$worker" || fail "the worker ended with status $?"
expect worker 'job 1' 'all jobs are done'

# README's program as printed, with the default port of `serve`. Runs in its own network, where root
# can make one, so that the port is free.
cat >"$work/readme" <<'END'
. scripts/common.sh
ip link set lo up 2>/dev/null || true
unset PUSHER_APP_ID PUSHER_APP_KEY PUSHER_APP_SECRET
"$1" serve --port-file "$3/readme.port" </dev/null >/dev/null 2>"$3/server.err" &
pids=$!
timeout 20 stdbuf -oL "$2" >"$3/out" 2>&1 &
pids="$! $pids"
is_read() {
  "$1" trigger --local -c orders -e order.created '{"id":1}' </dev/null
  grep '^{"id":1}$' "$2/out"
}
await is_read "$1" "$3"
END
own=''
if unshare --net true 2>/dev/null; then own='unshare --net'; fi
# Word splitting is intended.
# shellcheck disable=SC2086
timeout 60 $own sh "$work/readme" "$program" "$folder/orders" "$work" || true
expect "README's program" '{"id":1}'

Tests/certificates.sh "$work/certificates"
timeout 60 "$folder/tour" "$work/certificates" >"$work/out" 2>&1 || fail 'the tour failed'
if grep -E '( failed:|^a forged webhook was taken)' "$work/out"; then fail 'a sample of the tour failed'; fi
expect 'tour: the first pages' 'overview: 1.10' 'overview: ACME 1.5' 'watching' \
  'order 1 for 1.1' 'overview is done' 'five minutes is done'
expect 'tour: on a server' 'Vapor: 7 may see the room' 'Vapor: the vault is refused' \
  'user 7 is signed in' 'publishing: order.created private-orders' \
  'publishing: order.created private-shop-7' \
  'publishing: stock shop-7' 'publishing: stock shop-8' 'Vapor: open orders' 'Vapor: close orders' \
  'channel endpoint is done' 'user endpoint is done' 'publishing is done' \
  'a forged webhook is refused: X-Pusher-Signature does not match the body'
expect 'tour: what is missing' 'missing: no connection; prices are old from now on' 'missing: a gap was told' \
  'missing: a plain reader sees events alone' \
  'slow reader: 300 jobs, sum 44850' 'unread: lost nearly all' 'missing events is done' \
  'slow readers is done' 'retries is done'
expect 'tour: threads and lifetime' 'owner: shows 1.10' 'owner: is gone' 'signatures: refused, forbidden' \
  'loop: reads pusher:subscription_succeeded' 'loop: has ended' 'loops is done' \
  'journal: disconnected > connecting, connecting > connected, private-good' \
  'runtime: 20 clients, 20 connections' 'owners is done' 'actors is done' 'runtime is done'
expect 'tour: from other libraries' 'libPusher: hello' 'Eventflit: ready' \
  'EventSource: came back with the last id' 'EventSource: closed with 200' \
  'EventSource: reads message hello' 'EventSource: told of a comment' \
  'libPusher is done' 'Eventflit is done'
expect 'tour: testing an app' 'faults: staged and cleared' \
  'client-hello on private-chat'
expect 'tour: features' 'TLS: trusts the root' 'TLS: refuses an unknown root' \
  'TLS: refuses another key than the pinned one' 'TLS is done' 'switched: hears from the second' \
  'encrypted: 5 gold' 'bob hears hello from ann' 'the API counts 2 users: ["ann", "bob"]' \
  'JSON: {"count":3,"items":["a","b"]} b' 'connected to pusher' 'connected to reverb' 'connected to soketi'
