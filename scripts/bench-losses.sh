#!/bin/sh
# Kills one of three servers on one Redis with `kill -9` while `bench` runs, and compares the losses
# that it tells with those that Benchmarks/delivery-counter.py counts between it and the servers.
# Needs redis-server, Python and jq. Fails if the two differ, or if nothing was lost.
#
#   scripts/bench-losses.sh PROGRAM
set -eu
cd "$(dirname "$0")/.."
. scripts/ending.sh

program=$1
subscribers=300
temporary=$(mktemp -d)

# wait_for FILE: waits until a process has written its port.
wait_for() {
  for _ in $(seq 100); do
    [ ! -s "$1" ] || return 0
    sleep 0.1
  done
  echo "bench-losses: $1 was not written" >&2
  exit 1
}

(umask 077 && printf 'local\n' >"$temporary/secret")
redis_port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
redis-server --bind 127.0.0.1 --port "$redis_port" --save '' --appendonly no --dir "$temporary" >"$temporary/redis.log" &
pids=$!
ports=''
for number in 1 2 3; do
  "$program" serve -q --listen 127.0.0.1:0 --port-file "$temporary/$number" --redis "redis://127.0.0.1:$redis_port/0" \
    --key local --app-id local --secret-file "$temporary/secret" &
  last=$!
  pids="$last $pids"
  wait_for "$temporary/$number"
  ports="$ports $(cat "$temporary/$number")"
done
# Word splitting is intended: a list of ports.
# shellcheck disable=SC2086
python3 Benchmarks/delivery-counter.py "$temporary/port" $ports >"$temporary/counted" &
counter=$!
pids="$counter $pids"
wait_for "$temporary/port"

"$program" bench -v --local --port "$(cat "$temporary/port")" --key local --app-id local --secret-file "$temporary/secret" \
  --subscribers "$subscribers" --rate 50 --time 6s -o json >"$temporary/figures" 2>"$temporary/notices" &
bench=$!
pids="$bench $pids"
sleep 4
kill -9 "$last"
wait "$bench" || true
kill "$counter"
wait "$counter" || true

read -r accepted delivered <"$temporary/counted"
missing=$((accepted * subscribers - delivered))
lost=$(jq .lost "$temporary/figures")
echo "bench-losses: $accepted events for $subscribers subscribers; bench lost $lost, the counter $missing"
[ "$lost" -gt 0 ] && [ "$lost" -eq "$missing" ]
