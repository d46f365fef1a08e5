#!/bin/sh
# Runs the program for long, among faults. docs/endurance.md explains the rules and the figures.
#
#   scripts/endurance.sh soak       reconnects the release program over and over, with traffic
#                                   between, and prints its resources at start and end
#     MINUTES=N         duration (5)
#     FAULTS=N          first, send numbered events through N random faults (10000); 0 skips this
#     SLEEP=N           then stop the program for N seconds and resume it (300); 0 skips this
#     CYCLES=N          then make, connect and release N clients (10000); 0 skips this
#   scripts/endurance.sh faults     runs three servers on one Redis, with clients that come and go,
#                                   through random faults; checks members, counts and events after
#                                   each. .build-faults keeps the programs' output
#     MINUTES=N           duration (5)
#     SEED=N              repeat the faults of this seed (default: random)
#     KINDS='NAME...'     only these kinds of fault: the classes of Tests/Faults/faults.py
#     CLIENTS=N           number of clients (48)
#     FAULTS_PYTHON=PATH  a Python with Tests/requirements.txt; without it, .build-python is made
#     BREAK=NAME          break something to test the checks: names in Tests/Faults/sabotage.py
#   scripts/endurance.sh losses     kills one of three servers on one Redis while `bench` runs, and
#                                   checks the losses that `bench` tells by an independent count:
#                                   Benchmarks/delivery-counter.py. Nothing lost is a failure too
#   scripts/endurance.sh recovery   sends 10,000 numbered events to subscribe --state-file through
#                                   200 cuts of the connection and 50 kills; each must be printed,
#                                   twice only if it was in flight, or lie in a told gap
#     EVENTS=N CUTS=N KILLS=N   other numbers
#     SEED=N                    other draws (55)
#     SERVERS=N                 N servers that share one Redis, of which each fifth cut kills one
#   scripts/endurance.sh simulate [COUNT [SEED]]   plays schedules (10,000 from seed 1): servers on
#                                   a model of Redis, with delays, lost links, kills and an emptied
#                                   Redis. Prints a schedule that breaks a promise, with its
#                                   necessary steps alone; the status is then 1
#
# PUSHER_CLI names the program of all but simulate; without it, dist/pusher-cli is built.
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/.."
minutes=${MINUTES:-5}

# cycle own|shared: makes clients one after the other; the process must not grow.
cycle() {
  timeout $((cycles / 20 + 60)) "$figures" cycles "$cycles" "$port" "$1" >"$temporary/cycles"
  awk -v kind="$1" -v limit=2048 '
    NR == 1 { threads = $3; descriptors = $4; memory = $5 }
    { print "soak: " kind " thread, after " $2 " clients: " $3 " threads, " $4 " descriptors, RSS " $5 " KiB" }
    END {
      # A worker thread of the scheduler may exist or not.
      if ($3 > threads + 2 || $4 > descriptors || $5 > memory + limit) { print "soak: the process has grown"; exit 1 }
    }' "$temporary/cycles"
}

soak() {
  faults=${FAULTS:-10000}
  cycles=${CYCLES:-10000}
  sleep=${SLEEP:-300}
  scripts/install-packages.sh build
  debug_build --build-tests
  export PUSHER_CLI_BINARY="$program"
  [ "$faults" -eq 0 ] || PUSHER_CLI_FAULTS=$faults suite $((faults / 10 + 300)) NumberedRunTests
  PUSHER_CLI_SOAK_MINUTES=$minutes suite $((minutes * 60 + 300)) SoakTests
  [ "$sleep" -eq 0 ] || PUSHER_CLI_SOAK_SLEEP=$sleep suite $((sleep + 300)) SoakTests
  [ "$cycles" -gt 0 ] || return 0
  scripts/install-packages.sh bench
  python=$(scripts/python-peers.sh)
  figures=$(product library-figures)
  launch "$temporary/port" timeout $((cycles / 10 + 120)) "$python" Benchmarks/websockets-greeter.py "$temporary/port"
  cycle own
  cycle shared
}

faults() {
  python=${FAULTS_PYTHON:-}
  if [ -z "$python" ]; then
    scripts/install-packages.sh test
    python=$(scripts/python-peers.sh)
  fi
  rm -rf .build-faults
  # The last round may run beyond the time; a round that never recovers takes a minute and a half.
  timeout --kill-after=30 "$(awk -v minutes="$minutes" 'BEGIN { printf "%d", minutes * 60 + 300 }')" \
    "$python" -B Tests/Faults/run.py "$program" "$minutes" "${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}" .build-faults </dev/null
}

losses() {
  scripts/install-packages.sh test
  subscribers=300
  (umask 077 && printf 'local\n' >"$temporary/secret")
  start_redis "$temporary"
  ports=''
  for number in 1 2 3; do
    launch "$temporary/$number" "$program" serve -q --listen 127.0.0.1:0 --port-file "$temporary/$number" \
      --redis "redis://127.0.0.1:$redis_port/0" --key local --app-id local --secret-file "$temporary/secret" ||
      fail "server $number did not start"
    ports="$ports $port"
  done
  last=$server
  # Word splitting is intended: a list of ports.
  # shellcheck disable=SC2086
  launch "$temporary/port" python3 Benchmarks/delivery-counter.py "$temporary/port" $ports >"$temporary/counted" ||
    fail 'the counter did not start'
  counter=$server
  "$program" bench -v --local --port "$port" --key local --app-id local --secret-file "$temporary/secret" \
    --subscribers "$subscribers" --rate 50 --time 6s -o json >"$temporary/figures" 2>"$temporary/notices" &
  bench=$!
  pids="$bench $pids"
  await grep ' 2 s: ' "$temporary/notices" || fail "bench says: $(cat "$temporary/notices")"
  kill -9 "$last"
  wait "$bench" || true
  kill "$counter"
  wait "$counter" || true

  read -r accepted delivered <"$temporary/counted"
  missing=$((accepted * subscribers - delivered))
  lost=$(jq .lost "$temporary/figures")
  echo "losses: $accepted events for $subscribers subscribers; bench lost $lost, the counter $missing"
  [ "$lost" -gt 0 ] && [ "$lost" -eq "$missing" ]
}

case ${1:-} in
  simulate)
    "$(product simulation)" "${2:-10000}" "${3:-1}"
    ;;
  recovery)
    find_program
    servers=${SERVERS:-1}
    if [ "$servers" -gt 1 ]; then
      temporary=$(mktemp -d)
      start_redis "$temporary"
    fi
    python3 Tests/Faults/recovery.py "$program" "${EVENTS:-10000}" "${CUTS:-200}" "${KILLS:-50}" "${SEED:-55}" \
      "$servers" "${redis_port:-0}"
    ;;
  soak | faults | losses)
    find_program
    temporary=$(mktemp -d)
    "$1"
    ;;
  *) wrong "name soak, faults, losses, recovery or simulate, not '${1:-}'" ;;
esac
