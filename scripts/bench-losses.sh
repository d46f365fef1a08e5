#!/bin/sh
# Kills one of three servers on one Redis while `bench` runs, and checks the losses that `bench`
# tells: Benchmarks/delivery-counter.py stands between it and the servers, and must count as many.
# Needs redis-server, Python and jq. Nothing lost is a failure too.
#
#   scripts/bench-losses.sh PROGRAM
set -eu
cd "$(dirname "$0")/.."
. scripts/ending.sh
. scripts/redis.sh

program=$1
subscribers=300
temporary=$(mktemp -d)

# wait_for FILE TEXT: waits until a process has written a text to a file.
wait_for() {
  for _ in $(seq 300); do
    ! grep -qs "$2" "$1" || return 0
    sleep 0.1
  done
  echo "bench-losses: $1 has no '$2' after 30 s" >&2
  exit 1
}

(umask 077 && printf 'local\n' >"$temporary/secret")
start_redis "$temporary"
pids=$redis
ports=''
for number in 1 2 3; do
  "$program" serve -q --listen 127.0.0.1:0 --port-file "$temporary/$number" --redis "redis://127.0.0.1:$redis_port/0" \
    --key local --app-id local --secret-file "$temporary/secret" &
  last=$!
  pids="$last $pids"
  wait_for "$temporary/$number" .
  ports="$ports $(cat "$temporary/$number")"
done
# Word splitting is intended: a list of ports.
# shellcheck disable=SC2086
python3 Benchmarks/delivery-counter.py "$temporary/port" $ports >"$temporary/counted" &
counter=$!
pids="$counter $pids"
wait_for "$temporary/port" .

"$program" bench -v --local --port "$(cat "$temporary/port")" --key local --app-id local --secret-file "$temporary/secret" \
  --subscribers "$subscribers" --rate 50 --time 6s -o json >"$temporary/figures" 2>"$temporary/notices" &
bench=$!
pids="$bench $pids"
wait_for "$temporary/notices" ' 2 s: '
kill -9 "$last"
wait "$bench" || true
kill "$counter"
wait "$counter" || true

read -r accepted delivered <"$temporary/counted"
missing=$((accepted * subscribers - delivered))
lost=$(jq .lost "$temporary/figures")
echo "bench-losses: $accepted events for $subscribers subscribers; bench lost $lost, the counter $missing"
[ "$lost" -gt 0 ] && [ "$lost" -eq "$missing" ]
