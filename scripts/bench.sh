#!/bin/sh
# Measures events per second, CPU time and memory of pusher-cli next to a minimal program and Python
# clients, all with the same source on the loopback interface. Prints tables for channels, event
# streams (with curl), many channels and members, the library, `serve`, Redis, and the distance from
# the limit. docs/benchmarks.md explains the measurements.
#
#   PUSHER_CLI=PATH   the program to measure; without it, dist/pusher-cli is built
#   BENCH_RUNS=N      rounds over all rows; the tables show each row's median (3, and 7 for limit)
#   BENCH_SCALE=N     percent of each row's events (100)
#   BENCH_TABLES=...  tables: channels, sse, many, library, serve, console, redis, limit (all)
#   BENCH_BEFORE=PATH an older program for the column "before" of the table limit
set -eu
cd "$(dirname "$0")/.."

work=.build-bench
runs=${BENCH_RUNS:-3}
limit_runs=${BENCH_RUNS:-7}
scale=${BENCH_SCALE:-100}
tables=${BENCH_TABLES:-channels sse many library serve console redis limit}

if [ -n "${PUSHER_CLI:-}" ]; then
  if [ ! -x "$PUSHER_CLI" ]; then
    echo "bench: PUSHER_CLI names no program: $PUSHER_CLI" >&2
    exit 2
  fi
else
  scripts/install-packages.sh build
  PUSHER_CLI=$PWD/dist/pusher-cli
  scripts/build.sh dist/pusher-cli >&2
fi
if [ -n "${BENCH_BEFORE:-}" ] && [ ! -x "$BENCH_BEFORE" ]; then
  echo "bench: BENCH_BEFORE names no program: $BENCH_BEFORE" >&2
  exit 2
fi
scripts/install-packages.sh bench
python=''
[ "$tables" = limit ] || python=$(scripts/python-peers.sh)

# wants TABLE: succeeds if the table was requested.
wants() {
  case " $tables " in *" $1 "*) return 0 ;; esac
  return 1
}

mkdir -p "$work"
# The library's reader; PUSHER_BENCH_HANDLER names a built one.
handler=${PUSHER_BENCH_HANDLER:-}
if [ -z "$handler" ] && { wants channels || wants many || wants limit; }; then
  swift=${SWIFT:-swift}
  # A separate folder: other flags in the same folder would rebuild everything each time.
  set -- build -c release --product bound-handler --scratch-path "$work/library"
  [ "$(uname -s)" = Linux ] && set -- "$@" --static-swift-stdlib
  "$swift" "$@" >&2
  handler=$("$swift" "$@" --show-bin-path)/bound-handler
fi
# The program of the library's other figures; PUSHER_BENCH_FIGURES names a built one.
figures=${PUSHER_BENCH_FIGURES:-}
if [ -z "$figures" ] && wants library; then
  swift=${SWIFT:-swift}
  set -- build -c release --product library-figures --scratch-path "$work/library"
  [ "$(uname -s)" = Linux ] && set -- "$@" --static-swift-stdlib
  "$swift" "$@" >&2
  figures=$("$swift" "$@" --show-bin-path)/library-figures
fi
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
for name in replay-server floor-reader sink measure fan-out fan-out-floor delay; do
  compile "$name" "$name" -Wl,--as-needed
done
if wants limit; then
  for name in inflate-floor secretbox-floor lone-delay first-byte; do
    compile "$name" "$name" -Wl,--as-needed
  done
  # Links all libraries of the program, used or not.
  compile floor-reader linked-floor -Wl,--no-as-needed -lm
  # shellcheck disable=SC2046
  "${CXX:-c++}" -std=c++17 -O3 -Wall -Wextra -o "$work/simdjson-parser" Benchmarks/simdjson-parser.cpp \
    $(pkg-config --cflags --libs simdjson)
fi
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
  -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null

: >"$work/results"
: >"$work/results-sse"
: >"$work/results-many"

# scaled COUNT: sets `events` to the row's number of events.
scaled() {
  events=$(($1 * scale / 100))
  [ "$events" -gt 0 ] || events=1
}

# link NAME: sets the options of the row's link.
link() {
  link=$1
  scheme=http
  certificate=''
  key=''
  trust=''
  if [ "$link" = TLS ]; then
    scheme=https
    certificate=$work/cert.pem
    key=$work/key.pem
    trust="--cacert $certificate"
  fi
}

# run RESULTS READER SIZE LINES SOURCE-WORD... -- CLIENT-WORD...: adds one line of results: the row,
# then the output of `measure`.
run() {
  results=$1
  reader=$2
  size=$3
  wanted=$4
  shift 4
  printf 'bench: %s, %s, %s B, %s events\n' "$reader" "$link" "$size" "$events" >&2
  if ! taken=$("$work/measure" "$work/sink" "$work/replay-server" "$@"); then
    echo "bench: the row $reader, $link, $size B failed" >&2
    exit 1
  fi
  lines=${taken##* }
  if [ "$reader" != 'C floor' ] && [ "$reader" != 'bound handler' ] && [ "$lines" -ne "$wanted" ]; then
    echo "bench: $reader printed $lines lines of $wanted" >&2
    exit 1
  fi
  printf '%s\t%s\t%s\t%s\t%s\n' "$reader" "$link" "$size" "$events" "$(echo "$taken" | tr ' ' '\t')" \
    >>"$results"
}

# row READER LINK SIZE EVENTS: adds a row to the table of channels.
row() {
  reader=$1
  size=$3
  scaled "$4"
  link "$2"
  case $reader in
    'C floor') set -- "$work/floor-reader" PORT ${certificate:+tls} ;;
    pusher-cli)
      # shellcheck disable=SC2086
      set -- "$PUSHER_CLI" subscribe --host 127.0.0.1 --port PORT --scheme "$scheme" $trust \
        --key bench -c bench -n $((events + 1))
      ;;
    'bound handler') set -- "$handler" PORT data ${certificate:+tls "$certificate"} ;;
    websockets) set -- "$python" Benchmarks/websockets-reader.py PORT ${certificate:+"$certificate"} ;;
    pysher) set -- "$python" Benchmarks/pysher-reader.py PORT ${certificate:+"$certificate"} ;;
  esac
  # shellcheck disable=SC2086
  run "$work/results" "$reader" "$size" $((events + 1)) "$events" "$size" $certificate $key -- "$@"
}

# stream_row READER LINK SIZE EVENTS: adds a row to the table of event streams.
stream_row() {
  reader=$1
  size=$3
  scaled "$4"
  link "$2"
  url=$scheme://127.0.0.1:PORT/
  lines=$events
  case $reader in
    pusher-cli)
      # shellcheck disable=SC2086
      set -- "$PUSHER_CLI" sse "$url" $trust --reconnect never
      ;;
    curl)
      # curl prints the stream as it arrives, four lines per event.
      lines=$((events * 4))
      # shellcheck disable=SC2086
      set -- curl -sSN "$url" $trust
      ;;
    httpx-sse) set -- "$python" Benchmarks/httpx-sse-reader.py "$url" ${certificate:+"$certificate"} ;;
  esac
  # shellcheck disable=SC2086
  run "$work/results-sse" "$reader" "$size" "$lines" sse "$events" "$size" $certificate $key -- "$@"
}

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
  timeout 600 "$PUSHER_CLI" serve --listen 127.0.0.1:0 --key bench --port-file "$work/port" \
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
printf '%s, %s, %s processors, %s; median of %s\n\n' "$(date -u +%Y-%m-%d)" "$(uname -srm)" \
  "$(getconf _NPROCESSORS_ONLN)" "${processor:-unknown processor}" "$runs"
if wants channels; then awk -F '\t' -v base=websockets -f Benchmarks/grouped.awk -f Benchmarks/table.awk "$work/results"; fi
if wants channels && wants sse; then printf '\nEvent streams:\n\n'; fi
if wants sse; then awk -F '\t' -v base=httpx-sse -f Benchmarks/grouped.awk -f Benchmarks/table.awk "$work/results-sse"; fi
if wants many; then
  printf '\nMany channels on one connection, and many members of a presence channel:\n\n'
  sort -k1,1 -k2,2n -k3,3n "$work/results-many" | awk -f Benchmarks/many.awk
fi
if wants library; then
  printf '\nMany clients of the library, many calls at once, and what they add to a process:\n\n'
  scripts/bench-library.sh "$figures" "$python" "$work" "$runs"
fi
if wants serve || wants console; then
  if wants serve; then printf '\nFan-out of the local server, and connections that do nothing:\n\n'; fi
  # shellcheck disable=SC2086
  scripts/bench-serve.sh "$PUSHER_CLI" "$python" "$work" "$runs" "$scale" $tables
fi
if wants redis; then
  printf '\nLocal servers that meet in Redis:\n\n'
  scripts/bench-redis.sh "$PUSHER_CLI" "$python" "$work" "$runs" "$scale"
fi
if wants limit; then
  [ "$tables" = limit ] || printf '\nThe limit; median of %s:\n\n' "$limit_runs"
  scripts/bench-limit.sh "$PUSHER_CLI" "$handler" "$work" "$limit_runs" "$scale"
fi
