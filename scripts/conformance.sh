#!/bin/sh
# Runs every case of the Autobahn test suite against the client's WebSocket. Each must be OK or
# INFORMATIONAL. Uses loopback only and leaves the reports in .build-conformance.
#
# Two servers share the cases to use two processors, because server and client take turns.
set -eu
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
work=.build-conformance
# shellcheck source=scripts/ending.sh
. scripts/ending.sh

fail() {
  echo "conformance: $*" >&2
  for file in "$work"/*.log; do
    [ ! -s "$file" ] || sed "s|^|  $(basename "$file" .log) said: |" "$file" >&2
  done
  exit 1
}

# has_ended PID SECONDS: waits until the process ends.
has_ended() {
  left=$(($2 * 5))
  while kill -0 "$1" 2>/dev/null; do
    [ "$left" -gt 0 ] || return 1
    left=$((left - 1))
    sleep 0.2
  done
}

# play NAME CASES...: starts a server with these cases and a client for them; sets `server_NAME` and
# `client_NAME` to their process IDs.
play() {
  name=$1
  shift
  : >"$work/server-$name.log"
  "$python" -c 'from kosoku._cli import main; main()' -m fuzzingserver 127.0.0.1:0 \
    -o "$work/$name" "$@" </dev/null >"$work/server-$name.log" 2>&1 &
  server=$!
  pids="$pids $server"
  turns=0
  until port=$(sed -n 's/^.* listening on .*:\([0-9][0-9]*\)$/\1/p' "$work/server-$name.log") &&
    [ -n "$port" ]; do
    turns=$((turns + 1))
    kill -0 "$server" 2>/dev/null || fail 'the fuzzing server did not start'
    [ "$turns" -lt 150 ] || fail 'the fuzzing server did not listen within 30 seconds'
    sleep 0.2
  done
  "$testee" "ws://127.0.0.1:$port" pusher-cli </dev/null >"$work/client-$name.log" 2>&1 &
  client=$!
  pids="$pids $client"
}

scripts/install-packages.sh test
python=$(scripts/python-peers.sh conformance)

# The cases echo gigabytes, for which a debug build is slow.
set -- build -c release --product autobahn-testee
[ "$(uname -s)" = Linux ] && set -- "$@" --static-swift-stdlib
"$swift" "$@" </dev/null
testee=$("$swift" "$@" --show-bin-path)/autobahn-testee

rm -rf "$work"
mkdir -p "$work"
# Both halves take about the same time.
play large -i '12.2.*' -i '12.3.*' -i '12.5.*'
large="$server $client"
play others -x '12.2.*' -x '12.3.*' -x '12.5.*'
others="$server $client"

for pair in "$large" "$others"; do
  server=${pair% *}
  client=${pair#* }
  has_ended "$client" 1200 || fail 'the client did not get through the cases within 20 minutes'
  wait "$client" || fail 'the client gave up'
  # The server's own status is 1 when a case failed; the verdict has the details.
  has_ended "$server" 30 || fail 'the fuzzing server did not write its report'
done

"$python" scripts/conformance-verdict.py 517 "$work/large/index.json" "$work/others/index.json"
