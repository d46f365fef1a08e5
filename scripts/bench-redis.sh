#!/bin/sh
# Measures the cost of servers with Redis next to one without, and the latency of events, and prints
# the tables. A part of `make bench`, which sets up its parameters:
#
#   bench-redis.sh PROGRAM WORK-FOLDER ROUNDS SCALE
set -eu
cd "$(dirname "$0")/.."
. scripts/redis.sh

program=$1
work=$2
rounds=$3
scale=$4

(umask 077 && printf 'bench\n' >"$work/secret")
: >"$work/results-redis"
: >"$work/results-delay"
redis=''
servers=''
pinning=''
# Word splitting is intended: lists of process IDs.
# shellcheck disable=SC2086
trap '[ -z "$servers$redis" ] || kill $servers $redis 2>/dev/null || true' EXIT

# scaled NUMBER: sets `events` to the row's number of events, a multiple of ten.
scaled() {
  tens=$(($1 * scale / 1000))
  [ "$tens" -gt 0 ] || tens=1
  events=$((tens * 10))
}

# start NODES: starts `one` server, or `one-redis` or `two-redis` with Redis; sets `ports` and
# `processes`.
start() {
  ports=''
  processes=''
  case $1 in
    one) start_server ;;
    one-redis) start_server --redis "redis://127.0.0.1:$redis_port/0" ;;
    two-redis)
      start_server --redis "redis://127.0.0.1:$redis_port/0"
      start_server --redis "redis://127.0.0.1:$redis_port/0"
      ;;
  esac
}

# start_server OPTION...: starts one more server.
start_server() {
  rm -f "$work/port"
  # shellcheck disable=SC2086
  $pinning "$program" serve -q --listen 127.0.0.1:0 --key bench --app-id 1 --secret-file "$work/secret" \
    --port-file "$work/port" "$@" &
  processes=${processes:+$processes,}$!
  servers="$servers $!"
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s "$work/port" ] || sleep 0.2
  done
  ports=${ports:+$ports,}$(cat "$work/port")
}

end_servers() {
  # shellcheck disable=SC2086
  kill $servers
  # shellcheck disable=SC2086
  wait $servers 2>/dev/null || true
  servers=''
}

# cost NODES SUBSCRIBERS EVENTS: adds a line of costs. The load generator reads a hundred events at
# a time to leave CPU time to the servers. With `pinning`, everything but Redis runs on one
# processor.
cost() {
  scaled "$3"
  printf 'bench: over Redis: %s, %s subscribers, %s events\n' "$1" "$2" "$events" >&2
  start "$1"
  # shellcheck disable=SC2086
  if ! taken=$($pinning "$work/fan-out" api "$ports" "$processes" "$2" "$events" 0 100 "$redis_port"); then
    echo "bench: the row $1 with $2 subscribers failed" >&2
    exit 1
  fi
  printf '%s\t%s\t%s\t%s\n' "$1${pinning:+-pinned}" "$2" "$events" "$(echo "$taken" | tr ' ' '\t')" >>"$work/results-redis"
  end_servers
}

# delay NODES EVENTS PAUSE...: adds a line of latencies for each pause and each server's subscriber.
delay() {
  nodes=$1
  scaled "$2"
  shift 2
  start "$nodes"
  for pause in "$@"; do
    printf 'bench: delay: %s, %s events, a pause of %s us after each\n' "$nodes" "$events" "$pause" >&2
    if ! taken=$("$work/delay" "${ports%%,*}" "$ports" "$events" "$pause"); then
      echo "bench: the delay of $nodes with pauses of $pause us failed" >&2
      exit 1
    fi
    subscriber=same
    # shellcheck disable=SC2086
    set -- $taken
    while [ $# -gt 0 ]; do
      printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$nodes" "$subscriber" "$pause" "$events" "$1" "$2" >>"$work/results-delay"
      subscriber=other
      shift 2
    done
  done
  end_servers
}

start_redis "$work"
# The rows alternate, so that other load affects all of them; three times a round.
round=0
while [ "$round" -lt $((3 * rounds)) ]; do
  round=$((round + 1))
  for nodes in one two-redis one-redis; do
    # Zero subscribers give the cost of publishing alone; two give a node's additional cost of each
    # event.
    cost "$nodes" 0 20000
    cost "$nodes" 2 20000
    cost "$nodes" 1000 2000
  done
  # Two nodes on two processors use both caches for their sockets, and so cost less than one node.
  if taskset -c 0 true 2>/dev/null; then
    pinning='taskset -c 0'
    for nodes in one two-redis; do
      cost "$nodes" 0 20000
      cost "$nodes" 1000 2000
    done
    pinning=''
  fi
  for nodes in one two-redis; do
    delay "$nodes" 1000 200 2000
  done
done
awk -F '\t' -v processors="$(getconf _NPROCESSORS_ONLN)" -f Benchmarks/grouped.awk -f Benchmarks/median.awk \
  -f Benchmarks/redis.awk "$work/results-redis" "$work/results-delay"
