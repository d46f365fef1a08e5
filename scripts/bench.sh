#!/bin/sh
# Measures pusher-cli next to minimal programs and other people's, all with the same source on the
# loopback interface. Prints a summary of twelve rows; the whole tables come by name.
# docs/benchmarks.md explains the measurements.
#
#   PUSHER_CLI=PATH   the program to measure; without it, dist/pusher-cli is built
#   BENCH_TABLES=...  tables: summary, channels, sse, many, library, serve, console, redis, limit,
#                     instructions, or all (summary)
#   BENCH_RUNS=N      rounds over all rows; the tables show each row's median (3, and 7 for limit)
#   BENCH_SCALE=N     percent of each row's events (100)
#   BENCH_BEFORE=PATH an older program for the column "before" of the tables limit and instructions
set -eu
cd "$(dirname "$0")/.."

work=.build-bench
runs=${BENCH_RUNS:-3}
limit_runs=${BENCH_RUNS:-7}
scale=${BENCH_SCALE:-100}
tables=${BENCH_TABLES:-summary}
known='summary channels sse many library serve console redis limit instructions'
[ "$tables" != all ] || tables=$known
for table in $tables; do
  case " $known " in *" $table "*) continue ;; esac
  echo "bench: no table is called '$table'; there are: $known, all" >&2
  exit 2
done

if [ -n "${PUSHER_CLI:-}" ]; then
  if [ ! -x "$PUSHER_CLI" ]; then
    echo "bench: PUSHER_CLI names no program: $PUSHER_CLI" >&2
    exit 2
  fi
  program=$PUSHER_CLI
else
  scripts/install-packages.sh build
  program=$PWD/dist/pusher-cli
  scripts/build.sh dist/pusher-cli >&2
fi
if [ -n "${BENCH_BEFORE:-}" ] && [ ! -x "$BENCH_BEFORE" ]; then
  echo "bench: BENCH_BEFORE names no program: $BENCH_BEFORE" >&2
  exit 2
fi
scripts/install-packages.sh bench

# wants TABLE...: succeeds if one of the tables was requested.
wants() {
  for table in "$@"; do
    case " $tables " in *" $table "*) return 0 ;; esac
  done
  return 1
}

python=''
if wants summary channels sse many library serve console; then python=$(scripts/python-peers.sh); fi
mkdir -p "$work"

# library_program PRODUCT: builds a program of the library, and prints its path.
library_program() {
  swift=${SWIFT:-swift}
  # A separate folder: other flags in the same folder would rebuild everything each time.
  set -- build -c release --product "$1" --scratch-path "$work/library"
  [ "$(uname -s)" = Linux ] && set -- "$@" --static-swift-stdlib
  "$swift" "$@" >&2
  "$swift" "$@" --show-bin-path
}

# The library's reader, and the program of its other figures; PUSHER_BENCH_HANDLER and
# PUSHER_BENCH_FIGURES name built ones.
handler=${PUSHER_BENCH_HANDLER:-}
if [ -z "$handler" ] && wants channels many limit; then handler=$(library_program bound-handler)/bound-handler; fi
figures=${PUSHER_BENCH_FIGURES:-}
if [ -z "$figures" ] && wants library; then figures=$(library_program library-figures)/library-figures; fi

# compile NAME OUTPUT WORD...: compiles a C program with the libraries of the words and pkg-config
# that it uses.
compile() {
  name=$1
  output=$2
  shift 2
  # Word splitting is intended: pkg-config prints a list of words.
  # shellcheck disable=SC2046
  "${CC:-cc}" -O3 -Wall -Wextra -o "$work/$output" "Benchmarks/$name.c" "$@" \
    $(pkg-config --cflags --libs openssl zlib libsodium)
}
for name in replay-server floor-reader sink measure fan-out fan-out-floor delay first-byte; do
  compile "$name" "$name" -Wl,--as-needed
done
# Links all libraries of the program, used or not.
compile floor-reader linked-floor -Wl,--no-as-needed -lm
if wants limit; then
  for name in inflate-floor secretbox-floor lone-delay; do compile "$name" "$name" -Wl,--as-needed; done
fi
if wants summary instructions; then
  # shellcheck disable=SC2046
  "${CXX:-c++}" -std=c++17 -O3 -Wall -Wextra -o "$work/simdjson-minify" Benchmarks/simdjson-minify.cpp \
    $(pkg-config --cflags --libs simdjson)
fi
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
  -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null

# shellcheck source=scripts/bench-rows.sh
. scripts/bench-rows.sh
# shellcheck disable=SC2034 # bench-rows.sh reads it
steady=''
: >"$work/results"
: >"$work/results-sse"
: >"$work/results-many"

# many WHAT COUNT PORT: adds a row to the table of many channels and members, each in its own
# process.
many() {
  printf 'bench: %s %s\n' "$2" "$1" >&2
  timeout 120 "$handler" "$3" "$1" "$2" >>"$work/results-many"
}

# Each row takes about a second; slow readers get fewer events.
round=0
while [ "$round" -lt "$runs" ]; do
  round=$((round + 1))
  if wants channels; then
    results=$work/results
    row 'C floor' plain 200 10000000
    row pusher-cli plain 200 1000000
    row pusher-cli plain 200 10000000
    row 'bound handler' plain 200 1500000
    row websockets plain 200 50000
    row pysher plain 200 12000
    row 'C floor' plain 1000 2500000
    row pusher-cli plain 1000 1000000
    row websockets plain 1000 15000
    row pysher plain 1000 5000
    row 'C floor' TLS 200 2500000
    row pusher-cli TLS 200 1500000
    row 'bound handler' TLS 200 1500000
    row websockets TLS 200 50000
    row pysher TLS 200 12000
    row 'C floor' TLS 1000 1000000
    row pusher-cli TLS 1000 1000000
    row websockets TLS 1000 15000
    row pysher TLS 1000 5000
  fi
  if wants sse; then
    results=$work/results-sse
    stream_row curl plain 200 2000000
    stream_row pusher-cli plain 200 1000000
    stream_row pusher-cli plain 200 10000000
    stream_row httpx-sse plain 200 25000
    stream_row curl TLS 200 1500000
    stream_row pusher-cli TLS 200 1500000
    stream_row httpx-sse TLS 200 25000
  fi
done

if wants many; then
  rm -f "$work/port"
  timeout 600 "$program" serve --listen 127.0.0.1:0 --key bench --port-file "$work/port" \
    >/dev/null 2>"$work/serve.log" &
  server=$!
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -s "$work/port" ] || sleep 0.2
  done
  round=0
  while [ "$round" -lt "$runs" ]; do
    round=$((round + 1))
    for count in 1000 10000; do
      many channels "$count" "$(cat "$work/port")"
      many members "$count" 0
    done
  done
  kill "$server"
  wait "$server" || true
fi

[ "$tables" != limit ] || runs=$limit_runs
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
printf '%s, %s, %s processors, %s; rounds: %s\n' "$(date -u +%Y-%m-%d)" "$(uname -srm)" \
  "$(getconf _NPROCESSORS_ONLN)" "${processor:-unknown processor}" "$runs"
if wants summary; then
  echo
  scripts/bench-summary.sh "$program" "$python" "$work" "$runs" "$scale"
fi
if wants channels; then
  printf '\nChannels:\n\n'
  awk -F '\t' -v base=websockets -f Benchmarks/grouped.awk -f Benchmarks/table.awk "$work/results"
fi
if wants sse; then
  printf '\nEvent streams:\n\n'
  awk -F '\t' -v base=httpx-sse -f Benchmarks/grouped.awk -f Benchmarks/table.awk "$work/results-sse"
fi
if wants many; then
  printf '\nMany channels on one connection, and many members of a presence channel:\n\n'
  sort -k1,1 -k2,2n -k3,3n "$work/results-many" | awk -f Benchmarks/many.awk
fi
if wants library; then
  printf '\nMany clients of the library, many calls at once, and what they add to a process:\n\n'
  scripts/bench-library.sh "$figures" "$python" "$work" "$runs"
fi
if wants serve; then
  printf '\nFan-out of the local server, and connections that do nothing:\n\n'
  scripts/bench-serve.sh "$program" "$python" "$work" "$runs" "$scale" serve
fi
if wants console; then
  # It prints its own heading.
  scripts/bench-serve.sh "$program" "$python" "$work" "$runs" "$scale" console
fi
if wants redis; then
  printf '\nLocal servers that meet in Redis:\n\n'
  scripts/bench-redis.sh "$program" "$work" "$runs" "$scale"
fi
if wants limit; then
  printf '\nThe limit; rounds: %s\n\n' "$limit_runs"
  scripts/bench-limit.sh "$program" "$handler" "$work" "$limit_runs" "$scale"
fi
if wants instructions; then
  printf '\nInstructions in user space:\n\n'
  scripts/bench-instructions.sh "$program" "$work" json-200 json-1000 text-1000 sse-200
fi
