#!/bin/sh
# Measures fan-out and idle connections of `pusher-cli serve`, a minimal server and another
# library's server, and the cost of the console, and prints the tables. A part of `make bench`,
# which sets up its parameters:
#
#   bench-serve.sh PROGRAM PYTHON WORK-FOLDER ROUNDS SCALE TABLE...
#
# The tables: serve, console. `summary` measures the few rows of the summary, and prints nothing.
set -eu
cd "$(dirname "$0")/.."

program=$1
python=$2
work=$3
rounds=$4
scale=$5
shift 5
tables=$*

(umask 077 && printf 'bench\n' >"$work/secret")
: >"$work/results-serve"
: >"$work/results-console"
server=''
reader=''
trap 'kill $server $reader 2>/dev/null || true' EXIT

# wants TABLE: succeeds if the table was requested.
wants() {
  case " $tables " in *" $1 "*) return 0 ;; esac
  return 1
}

# count_events NUMBER: sets `events` to the row's number of events, a multiple of ten.
count_events() {
  events=$(($1 * scale / 100))
  events=$((events - events % 10))
  [ "$events" -gt 0 ] || [ "$1" -eq 0 ] || events=10
}

# row SERVER SUBSCRIBERS EVENTS [IDLE]: adds one line of results. Each row has its own server.
row() {
  idle=${4:-0}
  count_events "$3"
  printf 'bench: %s, %s subscribers, %s events\n' "$1" "$2" "$events" >&2
  rm -f "$work/port"
  case $1 in
    'C floor')
      publishing=frames
      "$work/fan-out-floor" "$work/port" &
      ;;
    'C, by tens')
      publishing=frames
      # Ten frames of 204 bytes at a time, like a batch of the HTTP API.
      "$work/fan-out-floor" "$work/port" 2040 &
      ;;
    'C, lone')
      publishing=frames
      "$work/fan-out-floor" "$work/port" 204 &
      ;;
    pusher-cli | 'pusher-cli, lone')
      publishing=api
      [ "$1" = pusher-cli ] || publishing=lone
      "$program" serve -q --listen 127.0.0.1:0 --key bench --app-id 1 \
        --secret-file "$work/secret" --port-file "$work/port" &
      ;;
    websockets)
      publishing=masked
      "$python" Benchmarks/websockets-server.py "$work/port" 2>/dev/null &
      ;;
  esac
  server=$!
  measure "$work/results-serve" "$1" "$publishing" "$2" "$idle"
}

# console_row NAME SUBSCRIBERS EVENTS: adds a line for the console: `none` serves without one,
# `closed` has no reader, and `open` has one reader of its stream.
console_row() {
  count_events "$3"
  printf 'bench: console %s, %s subscribers, %s events\n' "$1" "$2" "$events" >&2
  rm -f "$work/port"
  flag='--console --console-history 0'
  [ "$1" != none ] || flag=--no-console
  # shellcheck disable=SC2086 # several words
  "$program" serve $flag --listen 127.0.0.1:0 --key bench --app-id 1 --secret-file "$work/secret" \
    --port-file "$work/port" 2>"$work/console" &
  server=$!
  if [ "$1" = open ]; then
    await_port
    address=$(sed -n 's/.*console at \(.*\)/\1/p' "$work/console")
    curl -sN "$(echo "$address" | sed 's,/console?,/console/events?,')" >"$work/console-events" &
    reader=$!
    until [ -s "$work/console-events" ]; do sleep 0.1; done
  fi
  measure "$work/results-console" "$1" api "$2" 0
  [ -z "$reader" ] || kill "$reader" 2>/dev/null || true
  [ -z "$reader" ] || wait "$reader" 2>/dev/null || true
  reader=''
}

# await_port: waits for the server's port file.
await_port() {
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s "$work/port" ] || sleep 0.2
  done
}

# measure RESULTS NAME PUBLISHING SUBSCRIBERS IDLE [TOGETHER]: measures the started server and ends
# it.
measure() {
  await_port
  if taken=$("$work/fan-out" "$3" "$(cat "$work/port")" "$server" "$4" "$events" "$5" "${6:-0}"); then
    printf '%s\t%s\t%s\t%s\t%s\n' "$2" "$4" "$events" "$(echo "$taken" | tr ' ' '\t')" "$5" >>"$1"
  else
    echo "bench: the row $2 with $4 subscribers failed" >&2
    exit 1
  fi
  kill "$server"
  wait "$server" 2>/dev/null || true
  server=''
}

round=0
while wants serve && [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  # A row takes one or two seconds. Zero subscribers give the cost of publishing alone.
  for shape in 0:500000:50000:25000 1:500000:100000:25000 100:50000:25000:1000 1000:5000:2500:100; do
    subscribers=${shape%%:*}
    shape=${shape#*:}
    row 'C floor' "$subscribers" "${shape%%:*}"
    row 'C, by tens' "$subscribers" "${shape%%:*}"
    shape=${shape#*:}
    row pusher-cli "$subscribers" "${shape%%:*}"
    row websockets "$subscribers" "${shape#*:}"
    case $subscribers in
      0 | 100)
        row 'C, lone' "$subscribers" 50000
        row 'pusher-cli, lone' "$subscribers" 10000
        ;;
    esac
  done
  row pusher-cli 1000 0
  row websockets 1000 0
  row pusher-cli 1 20000 10
  row pusher-cli 1 20000 9000
done
if wants serve; then
  awk -F '\t' -v base=websockets -f Benchmarks/grouped.awk -f Benchmarks/fan-out.awk "$work/results-serve"
fi

round=0
while wants summary && [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  for subscribers in 0 100; do
    row pusher-cli "$subscribers" 25000
    row 'pusher-cli, lone' "$subscribers" 10000
    row websockets "$subscribers" 1000
  done
  row pusher-cli 1000 0
  row websockets 1000 0
done

# The rows alternate, so that other load affects all of them: no console, no reader, one reader.
round=0
while wants console && [ "$round" -lt $((3 * rounds)) ]; do
  round=$((round + 1))
  for state in none closed open; do console_row "$state" 100 15000; done
done
if wants console; then
  printf '\nThe console of the local server, 100 subscribers:\n\n'
  awk -F '\t' -f Benchmarks/grouped.awk -f Benchmarks/median.awk -f Benchmarks/console.awk "$work/results-console"
fi
