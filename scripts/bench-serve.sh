#!/bin/sh
# Measures what fan-out and idle connections cost `pusher-cli serve`, a floor and a server of another library, and prints the
# tables. A part of `make bench`, which sets everything that it needs:
#
#   bench-serve.sh PROGRAM PYTHON WORK-FOLDER ROUNDS SCALE
set -eu
cd "$(dirname "$0")/.."

program=$1
python=$2
work=$3
rounds=$4
scale=$5

(umask 077 && printf 'bench\n' >"$work/secret")
: >"$work/results-serve"
server=''
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true' EXIT

# row SERVER SUBSCRIBERS EVENTS [IDLE]: one line in the results. Each row has a server of its own.
row() {
  idle=${4:-0}
  events=$(($3 * scale / 100))
  events=$((events - events % 10))
  [ "$events" -gt 0 ] || [ "$3" -eq 0 ] || events=10
  printf 'bench: %s, %s subscribers, %s events\n' "$1" "$2" "$events" >&2
  rm -f "$work/port"
  case $1 in
    'C floor')
      publishing=frames
      "$work/fan-out-floor" "$work/port" &
      ;;
    'C, by tens')
      publishing=frames
      # Ten frames of 204 bytes at a time, as the batches of the HTTP API have them.
      "$work/fan-out-floor" "$work/port" 2040 &
      ;;
    pusher-cli)
      publishing=api
      "$program" serve -q --listen 127.0.0.1:0 --key bench --app-id 1 \
        --secret-file "$work/secret" --port-file "$work/port" &
      ;;
    websockets)
      publishing=masked
      "$python" Benchmarks/websockets-server.py "$work/port" 2>/dev/null &
      ;;
  esac
  server=$!
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s "$work/port" ] || sleep 0.2
  done
  if taken=$("$work/fan-out" "$publishing" "$(cat "$work/port")" "$server" "$2" "$events" "$idle"); then
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$events" "$(echo "$taken" | tr ' ' '\t')" "$idle" >>"$work/results-serve"
  else
    echo "bench: the row $1 with $2 subscribers failed" >&2
    exit 1
  fi
  kill "$server"
  wait "$server" 2>/dev/null || true
  server=''
}

round=0
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  # Events chosen so that a row takes some seconds; nobody subscribed shows what publishing alone costs.
  for shape in 0:1000000:100000:50000 1:1000000:200000:50000 100:100000:50000:2000 1000:10000:5000:200; do
    subscribers=${shape%%:*}
    shape=${shape#*:}
    row 'C floor' "$subscribers" "${shape%%:*}"
    row 'C, by tens' "$subscribers" "${shape%%:*}"
    shape=${shape#*:}
    row pusher-cli "$subscribers" "${shape%%:*}"
    row websockets "$subscribers" "${shape#*:}"
  done
  row pusher-cli 1000 0
  row websockets 1000 0
  row pusher-cli 1 20000 10
  row pusher-cli 1 20000 9000
done
awk -F '\t' -v base=websockets -f Benchmarks/grouped.awk -f Benchmarks/fan-out.awk "$work/results-serve"
