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
#   BENCH_FUNCTIONS=N the table of instructions also prints the N most expensive functions of each
#                     row, on standard error
#   BENCH_CHECK=1     fails if a row of the table of instructions is more than 3 percent above the
#                     one in docs/benchmarks.md
#
# Word splitting is intended: several variables hold lists of words.
# shellcheck disable=SC2046,SC2086
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/.."

work=.build-bench
runs=${BENCH_RUNS:-3}
limit_runs=${BENCH_RUNS:-7}
scale=${BENCH_SCALE:-100}
before=${BENCH_BEFORE:-}
pinning='' servers='' kept='' steady=''
functions=${BENCH_FUNCTIONS:-0}
tables=${BENCH_TABLES:-summary}
known='summary channels sse many library serve console redis limit instructions'
[ "$tables" != all ] || tables=$known
for table in $tables; do
  case " $known " in *" $table "*) continue ;; esac
  wrong "no table is called '$table'; there are: $known, all"
done
[ -z "$before" ] || [ -x "$before" ] || wrong "BENCH_BEFORE names no program: $before"
find_program
scripts/install-packages.sh bench

# wants TABLE...: succeeds if one of the tables was requested.
wants() {
  for table in "$@"; do
    case " $tables " in *" $table "*) return 0 ;; esac
  done
  return 1
}

# scaled COUNT [STEP]: sets `events` to the row's number of events, a multiple of STEP (1).
scaled() {
  step=${2:-1}
  events=$(($1 * scale / 100 / step * step))
  [ "$events" -gt 0 ] || [ "$1" -eq 0 ] || events=$step
}

# rounds COUNT FUNCTION: measures the rows of a table COUNT times, with the number in `round`.
rounds() {
  round=0
  while [ "$round" -lt "$1" ]; do
    round=$((round + 1))
    "$2"
  done
}

# note TABLE FIELD...: adds a line to the results of a table. Blanks separate fields too.
note() {
  noted=$work/results-$1
  shift
  (IFS='	' && printf '%s\n' "$*") >>"$noted"
}

# show TABLE SCRIPT...: prints a table by scripts of Benchmarks. $base is a variable of theirs.
show() {
  shown=$work/results-$1
  shift
  scripts='-f Benchmarks/grouped.awk'
  for name in "$@"; do scripts="$scripts -f Benchmarks/$name.awk"; done
  awk -F '\t' -v base="${base:-}" -v has_before="${before:+1}" $scripts "$shown"
}

# tell TEXT: tells the progress.
tell() {
  printf 'bench: %s\n' "$*" >&2
}

# start COMMAND...: starts a server that writes the file $work/port; sets `server` and `port`.
start() {
  launch "$work/port" $pinning "$@" || fail "this server did not start: $*"
  servers="$servers $server"
}

# serve OPTION...: starts a server of the program.
serve() {
  start "$program" serve "$@" --listen 127.0.0.1:0 --key bench --app-id 1 --secret-file "$work/secret" \
    --port-file "$work/port"
}

# end_servers: ends the started servers. $kept stays until the end of the script.
end_servers() {
  kill $servers
  wait $servers 2>/dev/null || true
  servers=''
  pids=$kept
}

# compile NAME OUTPUT WORD...: compiles a C program with the libraries of the words and those of the
# program.
compile() {
  source=$1
  output=$2
  shift 2
  "${CC:-cc}" -O3 -Wall -Wextra -o "$work/$output" "Benchmarks/$source.c" "$@" \
    $(pkg-config --cflags --libs openssl zlib libsodium)
}

# measured NAME SOURCE-WORD... -- CLIENT-WORD...: runs a client of the source, which must print
# `lines` lines, and sets `taken` to the figures.
measured() {
  what=$1
  shift
  tell "$what, $events events"
  taken=$("$work/measure" "$work/sink" "$work/replay-server" "$@") || fail "the row $what failed: no figures"
  [ "${lines:-${taken##* }}" = "${taken##* }" ] ||
    fail "the row $what failed: $lines lines were wanted, ${taken##* } came"
}

# row KIND READER LINK SIZE EVENTS: adds a row to the results of channels or event streams.
row() {
  reader=$2
  link=$3
  size=$4
  scaled "$5"
  scheme=http
  certificate=''
  pair=''
  trust=''
  if [ "$link" = TLS ]; then
    scheme=https
    certificate=$work/cert.pem
    pair="$certificate $work/key.pem"
    trust="--cacert $certificate"
  fi
  url=$scheme://127.0.0.1:PORT/
  lines=$events
  source="$events $size $pair"
  if [ "$1" = stream ]; then source="sse $source"; else lines=$((events + 1)); fi
  case "$1 $reader" in
    *'C floor') set -- "$work/floor-reader" PORT ${certificate:+tls} ;;
    'channel pusher-cli')
      set -- "$program" subscribe --host 127.0.0.1 --port PORT --scheme "$scheme" $trust --key bench -c bench -n "$lines"
      ;;
    *'bound handler') set -- "$handler" PORT data ${certificate:+tls "$certificate"} ;;
    'stream pusher-cli') set -- "$program" sse "$url" $trust --reconnect never ;;
    *curl)
      # curl prints the stream as it arrives, four lines per event.
      lines=$((events * 4))
      set -- curl -sSN "$url" $trust
      ;;
    stream*) set -- "$python" "Benchmarks/$reader-reader.py" "$url" ${certificate:+"$certificate"} ;;
    *) set -- "$python" "Benchmarks/$reader-reader.py" PORT ${certificate:+"$certificate"} ;;
  esac
  case $reader in 'C floor' | 'bound handler') lines='' ;; esac
  measured "$reader, $link, $size B" $steady $source -- "$@"
  note "$results" "$reader" "$link" "$size" "$events" $taken
}

# rows KIND LINK SIZE READER:EVENTS...: adds several rows.
rows() {
  shape="$1 $2 $3"
  shift 3
  for each in "$@"; do row "${shape%% *}" "${each%:*}" ${shape#* } "${each#*:}"; done
}

# Each row takes about a second; slow readers get fewer events.
channels() {
  results=channels
  rows channel plain 200 'C floor:10000000' pusher-cli:1000000 pusher-cli:10000000 'bound handler:1500000' \
    websockets:50000 pysher:12000
  rows channel plain 1000 'C floor:2500000' pusher-cli:1000000 websockets:15000 pysher:5000
  rows channel TLS 200 'C floor:2500000' pusher-cli:1500000 'bound handler:1500000' websockets:50000 pysher:12000
  rows channel TLS 1000 'C floor:1000000' pusher-cli:1000000 websockets:15000 pysher:5000
}

sse() {
  results=sse
  rows stream plain 200 curl:2000000 pusher-cli:1000000 pusher-cli:10000000 httpx-sse:25000
  rows stream TLS 200 curl:1500000 pusher-cli:1500000 httpx-sse:25000
}

# many: measures many channels and members, each in its own process.
many() {
  for count in 1000 10000; do
    for what in "channels $count $port" "members $count 0"; do
      tell "$count ${what%% *}"
      timeout 120 "$handler" "${what##* }" "${what%% *}" "$count" >>"$work/results-many"
    done
  done
}

summary_readers() {
  echo "bench: summary: clients, round $round of $runs" >&3
  results=summary
  rows channel plain 200 pusher-cli:1000000 websockets:25000
  rows channel plain 1000 pusher-cli:300000 websockets:10000
  rows channel TLS 200 pusher-cli:700000 websockets:25000
  results=summary-sse
  rows stream plain 200 pusher-cli:800000 curl:400000
  rows stream TLS 200 pusher-cli:700000 curl:400000
  results=summary-largest
  row channel pusher-cli plain 200 10000000
  "$work/first-byte" 20 -- "$work/linked-floor" PORT -- "$program" subscribe --host 127.0.0.1 --port PORT \
    --scheme http --key bench --reconnect never -c bench >>"$work/results-summary-starts"
}

summary_servers() {
  results=summary-serve
  for subscribers in 0 100; do
    serve_row pusher-cli "$subscribers" 25000
    serve_row 'pusher-cli, lone' "$subscribers" 10000
    serve_row websockets "$subscribers" 1000
  done
  serve_row pusher-cli 1000 0
  serve_row websockets 1000 0
}

# summary: measures the twelve rows that matter. $work/summary.log has the progress of the rows.
summary() {
  # Start-up would count for a slow reader, which gets few events.
  steady=steady
  rounds "$runs" summary_readers
  echo 'bench: summary: serve' >&3
  rounds "$runs" summary_servers
  echo 'bench: summary: instructions' >&3
  before=''
  functions=0
  count_instructions json-200 json-1000
}

# fan_out TABLE NAME PUBLISHING SUBSCRIBERS IDLE: measures the started server and ends it.
fan_out() {
  taken=$("$work/fan-out" "$3" "$port" "$server" "$4" "$events" "$5" 0) || fail "the row $2 with $4 subscribers failed"
  note "$1" "$2" "$4" "$events" $taken "$5"
  end_servers
}

# serve_row SERVER SUBSCRIBERS EVENTS [IDLE]: adds one line of results. Each row has its own server.
serve_row() {
  scaled "$3" 10
  tell "$1, $2 subscribers, $events events"
  publishing=frames
  case $1 in
    'C floor') start "$work/fan-out-floor" "$work/port" ;;
    # Ten frames of 204 bytes at a time, like a batch of the HTTP API.
    'C, by tens') start "$work/fan-out-floor" "$work/port" 2040 ;;
    'C, lone') start "$work/fan-out-floor" "$work/port" 204 ;;
    pusher-cli | 'pusher-cli, lone')
      publishing=api
      [ "$1" = pusher-cli ] || publishing=lone
      serve -q
      ;;
    websockets)
      publishing=masked
      start "$python" Benchmarks/websockets-server.py "$work/port" 2>/dev/null
      ;;
  esac
  fan_out "$results" "$1" "$publishing" "$2" "${4:-0}"
}

servers() {
  results=serve
  # A row takes one or two seconds. Zero subscribers give the cost of publishing alone.
  for shape in 0:500000:50000:25000 1:500000:100000:25000 100:50000:25000:1000 1000:5000:2500:100; do
    subscribers=${shape%%:*}
    shape=${shape#*:}
    serve_row 'C floor' "$subscribers" "${shape%%:*}"
    serve_row 'C, by tens' "$subscribers" "${shape%%:*}"
    shape=${shape#*:}
    serve_row pusher-cli "$subscribers" "${shape%%:*}"
    serve_row websockets "$subscribers" "${shape#*:}"
    case $subscribers in
      0 | 100)
        serve_row 'C, lone' "$subscribers" 50000
        serve_row 'pusher-cli, lone' "$subscribers" 10000
        ;;
    esac
  done
  serve_row pusher-cli 1000 0
  serve_row websockets 1000 0
  serve_row pusher-cli 1 20000 10
  serve_row pusher-cli 1 20000 9000
}

# console: measures 100 subscribers without a console, with one that has no reader, and with one
# reader of its stream. The rows alternate, so that other load affects all of them.
console() {
  scaled 15000 10
  for state in none closed open; do
    tell "console $state, 100 subscribers, $events events"
    if [ "$state" = none ]; then
      serve --no-console 2>/dev/null
    else
      serve --console --console-history 0 2>"$work/console"
    fi
    if [ "$state" = open ]; then
      rm -f "$work/console-events"
      curl -sN "$(sed -n 's,/console?,/console/events?,; s/.*console at \(.*\)/\1/p' "$work/console")" >"$work/console-events" &
      servers="$servers $!"
      pids="$! $pids"
      await test -s "$work/console-events" || fail 'the console has no events'
    fi
    fan_out console "$state" api 100 0
  done
}

# library_row NAME WORD...: prints one line of results.
library_row() {
  name=$1
  shift
  tell "$name"
  taken=$(timeout 300 "$figures" "$@") || fail "the row $name failed"
  # The last line, without its first word.
  note library "$name" $(echo "$taken" | tail -n 1 | cut -d ' ' -f 2-)
}

library() {
  for kind in own shared; do
    library_row "100 clients, $kind thread, plain" clients 100 "$plain_port" "$kind"
    library_row "100 clients, $kind thread, TLS" clients 100 "$tls_port" "$kind" "$work/cert.pem"
  done
  library_row '1000 calls to a silent server' calls 1000
  library_row 'decode' decode 100000
}

# nodes NAME: starts `one` server, or `one-redis` or `two-redis` with Redis; sets `ports` and
# `processes`.
nodes() {
  case $1 in
    one) serve -q ;;
    *) serve -q --redis "redis://127.0.0.1:$redis_port/0" ;;
  esac
  ports=$port
  processes=$server
  [ "$1" = two-redis ] || return 0
  serve -q --redis "redis://127.0.0.1:$redis_port/0"
  ports=$ports,$port
  processes=$processes,$server
}

# cost NODES SUBSCRIBERS EVENTS: adds a line of costs. The load generator reads a hundred events at
# a time to leave CPU time to the servers. With `pinning`, everything but Redis runs on one
# processor.
cost() {
  scaled "$3" 10
  tell "over Redis: $1, $2 subscribers, $events events"
  nodes "$1"
  taken=$($pinning "$work/fan-out" api "$ports" "$processes" "$2" "$events" 0 100 "$redis_port") ||
    fail "the row $1 with $2 subscribers failed"
  note redis "$1${pinning:+-pinned}" "$2" "$events" $taken
  end_servers
}

# delay NODES: adds a line of latencies for each pause and each server's subscriber.
delay() {
  scaled 1000 10
  nodes "$1"
  for pause in 200 2000; do
    tell "delay: $1, $events events, a pause of $pause us after each"
    taken=$("$work/delay" "${ports%%,*}" "$ports" "$events" "$pause") ||
      fail "the delay of $1 with pauses of $pause us failed"
    set -- "$1" $taken
    note delay "$1" same "$pause" "$events" "$2" "$3"
    [ $# -eq 3 ] || note delay "$1" other "$pause" "$events" "$4" "$5"
  done
  end_servers
}

# The rows alternate, so that other load affects all of them.
redis() {
  for node in one two-redis one-redis; do
    # Zero subscribers give the cost of publishing alone; two give a node's additional cost of each
    # event.
    cost "$node" 0 20000
    cost "$node" 2 20000
    cost "$node" 1000 2000
  done
  # Two nodes on two processors use both caches for their sockets, and so cost less than one node.
  if taskset -c 0 true 2>/dev/null; then
    pinning='taskset -c 0'
    for node in one two-redis; do
      cost "$node" 0 20000
      cost "$node" 1000 2000
    done
    pinning=''
  fi
  delay one
  delay two-redis
}

# --- The limit: the program's times next to the minimum, a C program that copies, or the library
# alone.

# its SIDE: sets `its` to the program of the side, and `mark` to the beginning of its other sides.
its() {
  its=$program mark=''
  [ "$1" != before ] || its=$before mark=before-
}

# take KEY SIDE CLIENT-WORD...: measures the CPU time of one run with `events` events. `source` has
# the source's words; the client must print `lines` lines.
take() {
  key=$1
  taken_side=$2
  shift 2
  measured "limit, round $round: $key, $taken_side" steady $source -- "$@"
  set -- $taken
  spent=$2
  memory=$3
  note limit "$round" "$key" "$taken_side" "$spent" "$events"
}

# ours KEY WORD...: measures the program, and the older one if given.
ours() {
  key=$1
  shift
  for side in now ${before:+before}; do
    its "$side"
    take "$key" "$side" "$its" "$@"
  done
}

# frames KEY EVENTS SIZE [KIND] [tls]: measures events, plain or by TLS. The copy has three more
# frames, greeting, subscription and close, and counts frames by their first bytes.
frames() {
  scaled "$2"
  source="${4:-} $events $3 ${5:+$pair}"
  words=$plain
  [ -z "${5:-}" ] || words=$tls
  lines=$((events + 1))
  ours "$1" $words -c bench -n "$lines"
  lines=$((events + 3))
  SINK_BYTE=129 take "$1" cat $copy ${5:+tls}
}

# stream KEY SCHEME [PAIR]: measures an event stream. Its copy includes the chunk lines. curl is
# slow, so it gets fewer events.
stream() {
  words="$2://127.0.0.1:PORT/"
  [ -z "${3:-}" ] || words="$words --cacert $work/cert.pem"
  scaled 800000
  source="sse $events 200 ${3:-}"
  lines=$events
  ours "$1" sse $words --reconnect never
  lines=$((events * 6 + 2))
  take "$1" cat $copy sse ${3:+tls}
  scaled 200000
  source="sse $events 200 ${3:-}"
  lines=$((events * 4))
  take "$1" curl curl -sSN $words
}

# print EVENTS: sets the events of rows that print each of them once.
print() {
  scaled "$1"
  source="$events 200"
  lines=$events
  printing="$plain -n $events -c bench"
}

# printings: measures all output formats, right after plain printing.
printings() {
  print 800000
  for side in now ${before:+before}; do
    its "$side"
    take timestamps "${mark}plain" "$its" $printing
    for key in filter format; do note limit "$round" "$key" "${mark}plain" "$spent" "$events"; done
    take timestamps "$side" "$its" $printing -t
    take filter "$side" "$its" $printing -e 'price.*'
    take format "$side" "$its" $printing -F '%c %e %d'
  done
}

# many_channels: compares 10,000 channels on one connection with one channel. Consecutive events of
# a block have different channels.
many_channels() {
  print 800000
  for side in now ${before:+before}; do
    its "$side"
    source="channels 1 $events 200"
    take channels "${mark}one" "$its" $plain -n "$events" bench-00000
    source="channels 10000 $events 200"
    take channels "$side" "$its" $plain -n "$events" $(seq -f 'bench-%05g' 0 9999)
  done
}

# handlers: compares the library's handler with the program. The handler prints its number of
# events: two more than the source sent, for subscription and end.
handlers() {
  print 700000
  take handler program "$program" $printing
  [ -z "$before" ] || take handler before-program "$before" $printing
  lines=$((events + 2))
  SINK_NUMBER=1 take handler now "$handler" PORT data
}

# delays PAUSE EVENTS: measures the latency of single events, in the program and in a C program.
delays() {
  pause=$1
  scaled "$2"
  tell "limit, round $round: delay, a pause of $pause us, $events events"
  taken=$("$work/lone-delay" "$events" "$pause" -- $copy -- "$program" $plain -c bench \
    ${before:+-- "$before" $plain -c bench}) || fail "the row delay-$pause of the limit failed: no figures"
  set -- $taken
  for side in C now ${before:+before}; do
    note limit "$round" "delay-$pause-median" "$side" "$1" 1
    note limit "$round" "delay-$pause-99" "$side" "$2" 1
    shift 2
  done
}

# starts: measures the time from the start of the process to the first byte of its request.
starts() {
  tell "limit, round $round: starts"
  taken=$("$work/first-byte" 20 -- "$work/linked-floor" PORT -- "$program" $plain -c bench \
    ${before:+-- "$before" $plain -c bench}) || fail 'the row start of the limit failed: no figures'
  set -- $taken
  for side in C now ${before:+before}; do
    note limit "$round" start "$side" "$1" 1
    shift
  done
}

# sizes: measures memory after ten million events, plain and with TLS, and the file size.
sizes() {
  scaled 10000000
  lines=$((events + 1))
  for side in now ${before:+before}; do
    its "$side"
    source="$events 200"
    take memory-run "$side" "$its" $plain -c bench -n "$lines"
    note limit "$round" memory "$side" "$memory" 1
    source="$events 200 $pair"
    take memory-run "$side" "$its" $tls -c bench -n "$lines"
    note limit "$round" memory-tls "$side" "$memory" 1
    strip -o "$work/stripped" "$its"
    note limit "$round" size "$side" "$(wc -c <"$work/stripped")" 1
  done
}

limit() {
  pair="$work/cert.pem $work/key.pem"
  plain='subscribe --host 127.0.0.1 --port PORT --scheme http --key bench --reconnect never'
  tls="subscribe --host 127.0.0.1 --port PORT --scheme https --cacert $work/cert.pem --key bench --reconnect never"
  copy="$work/floor-reader PORT copy"
  frames json-200 1000000 200
  frames json-1000 150000 1000
  frames text-1000 250000 1000 text
  frames tls-200 700000 200 '' tls
  frames tls-1000 120000 1000 '' tls
  frames records 200000 200 records tls
  scaled 500000
  source="deflate $events 200"
  lines=$((events + 1))
  ours deflate $plain -c bench -n "$lines"
  lines=$((events + 3))
  take deflate zlib "$work/inflate-floor" PORT
  stream stream http
  stream stream-tls https "$pair"
  handlers
  print 150000
  source="encrypted $events 200"
  ours encrypted $plain -c private-encrypted-bench --secret-file "$work/secret" \
    --encryption-key-file "$work/master-key" -n "$events"
  take encrypted libsodium "$work/secretbox-floor" PORT
  printings
  many_channels
  delays 200 1000
  delays 2000 200
  starts
  # Memory and size are the same in all rounds.
  [ "$round" -gt 1 ] || sizes
}

# --- Instructions in user space of the program and simdjson, by valgrind's callgrind. A figure is
# the difference between a long run and a short run, divided by the difference of their events, so
# it excludes the start. Each figure is taken twice, and the table shows both if they differ. Times
# depend on the machine's load; these figures do not.

# count SIDE EVENTS: counts a run of a side with the events of the row in `total`. simdjson reads
# the messages; an event stream is compared with messages of the same size.
count() {
  profile=$work/callgrind-$1-$2
  rm -f "$profile"
  its "$1"
  events=$2
  lines=$events
  name="instructions, pass $pass: $row, $1"
  grind="valgrind -q --tool=callgrind --callgrind-out-file=$profile"
  case $1/$row in
    simdjson/*)
      tell "$name"
      taken=$($grind "$work/simdjson-minify" "$events" <"$work/messages-$row")
      [ "$taken" = "$events" ] || fail "simdjson copied $taken of $events messages"
      ;;
    */sse-200) measured "$name" sse "$events" 200 -- $grind "$its" sse http://127.0.0.1:PORT/ --reconnect never ;;
    *)
      # The last event has no price.
      case $row in field-* | where-*) ;; *) lines=$((events + 1)) ;; esac
      rm -f "$work/record"
      measured "$name" $kind "$events" "$size" -- $grind "$its" subscribe --host 127.0.0.1 --port PORT --scheme http \
        --key bench --reconnect never -c bench -n "$lines" $options
      ;;
  esac
  total=$(awk '/^totals:/ { print $2 }' "$profile")
}

# costs FILE: prints the instructions and the name of each function of a run. Names do not include
# blanks or files.
costs() {
  callgrind_annotate --threshold=100 --auto=no "$1" |
    sed -n 's/^ *\([0-9,]*\) ([ 0-9.]*%) *\([^ ]*\).*/\1 \2/p' | tr -d ','
}

# count_instructions ROW...: a row is a kind of the source or an option of the program, and a size.
count_instructions() {
  : >"$work/results-instructions"
  if ! command -v valgrind >/dev/null 2>&1; then
    echo 'Not counted: valgrind is missing.'
    return
  fi
  short=2000
  long=12000
  # One round asks for no range.
  passes='1 2'
  [ "$runs" -gt 1 ] || passes=1
  for row in "$@"; do
    kind='' options='' others=''
    case ${row%-*} in
      json | sse) others=simdjson ;;
      text) kind=text others=simdjson ;;
      turns | fresh) kind=${row%-*} ;;
      summary) options=--summary ;;
      record) options="--record $work/record" ;;
      raw) options='-o raw' ;;
      where) options='--where data.price>0' ;;
      field) options='--field price' ;;
      format) options='-F %c,%e,%d' ;;
    esac
    size=${row#*-}
    "$work/replay-server" messages $kind "$long" "$size" >"$work/messages-$row"
    for pass in $passes; do
      for side in now ${before:+before} $others; do
        count "$side" "$short"
        less=$total
        count "$side" "$long"
        note instructions "$pass" "$row" "$side" $((total - less)) $((long - short))
      done
    done
    [ "$functions" -gt 0 ] || continue
    costs "$work/callgrind-now-$short" >"$work/costs-short"
    costs "$work/callgrind-now-$long" >"$work/costs-long"
    tell "$row, instructions per event by function"
    awk -v events=$((long - short)) 'NR == FNR { short[$2] += $1; next } { long[$2] += $1 }
      END { for (name in long) printf("%9.1f  %s\n", (long[name] - short[name]) / events, name) }' \
      "$work/costs-short" "$work/costs-long" | sort -rn | head -n "$functions" >&2
  done
}

python=''
if wants summary channels sse many library serve console; then python=$(scripts/python-peers.sh); fi
mkdir -p "$work"
rm -f "$work"/results*
if wants channels many limit; then handler=$(product bound-handler); fi
if wants library; then figures=$(product library-figures); fi
for name in replay-server floor-reader sink measure fan-out fan-out-floor delay first-byte inflate-floor secretbox-floor \
  lone-delay; do
  compile "$name" "$name" -Wl,--as-needed
done
# Links all libraries of the program, used or not.
compile floor-reader linked-floor -Wl,--no-as-needed -lm
"${CXX:-c++}" -std=c++17 -O3 -Wall -Wextra -o "$work/simdjson-minify" Benchmarks/simdjson-minify.cpp \
  $(pkg-config --cflags --libs simdjson)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
  -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
(umask 077 && printf 'bench\n' >"$work/secret")
# The master key of the encrypted channel, as Benchmarks/encrypted.h has it.
(umask 077 && printf 'a key that everybody knows: 32 B' | openssl base64 >"$work/master-key")

shown_runs=$runs
[ "$tables" != limit ] || shown_runs=$limit_runs
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
printf '%s, %s, %s processors, %s; rounds: %s\n' "$(date -u +%Y-%m-%d)" "$(uname -srm)" \
  "$(getconf _NPROCESSORS_ONLN)" "${processor:-unknown processor}" "$shown_runs"
if wants summary; then
  echo
  # A function in a condition would run without `set -e`, so a shell of its own runs it.
  set +e
  (set -e && trap stop EXIT && summary) 3>&2 >"$work/summary.log" 2>&1
  status=$?
  set -e
  if [ "$status" -ne 0 ]; then
    tail -n 5 "$work/summary.log" >&2
    exit 1
  fi
  awk -F '\t' -f Benchmarks/grouped.awk -f Benchmarks/summary.awk kind=channels "$work/results-summary" \
    kind=sse "$work/results-summary-sse" kind=largest "$work/results-summary-largest" \
    kind=serve "$work/results-summary-serve" kind=instructions "$work/results-instructions" \
    FS=' ' kind=starts "$work/results-summary-starts"
  cat <<'END'

Times and memory are the lowest and the highest of the rounds: they depend on the
machine and its load. Instructions, in user space, do not. docs/benchmarks.md has
the measurements; BENCH_TABLES=all make bench prints all tables.
END
fi
for readers in channels:websockets:Channels 'sse:httpx-sse:Event streams'; do
  kind=${readers%%:*}
  wants "$kind" || continue
  rounds "$runs" "$kind"
  printf '\n%s:\n\n' "${readers##*:}"
  base=${readers#*:}
  base=${base%:*} show "$kind" table
done
if wants many; then
  serve 2>"$work/serve.log"
  rounds "$runs" many
  end_servers
  printf '\nMany channels on one connection, and many members of a presence channel:\n\n'
  sort -k1,1 -k2,2n -k3,3n "$work/results-many" | awk -f Benchmarks/many.awk
fi
if wants library; then
  printf '\nMany clients of the library, many calls at once, and what they add to a process:\n\n'
  start timeout 600 "$python" Benchmarks/websockets-greeter.py "$work/port"
  plain_port=$port
  start timeout 600 "$python" Benchmarks/websockets-greeter.py "$work/port" "$work/cert.pem" "$work/key.pem"
  tls_port=$port
  rounds "$runs" library
  end_servers
  awk -F '\t' -f Benchmarks/library.awk "$work/results-library"
fi
if wants serve; then
  printf '\nFan-out of the local server, and connections that do nothing:\n\n'
  rounds "$runs" servers
  base=websockets show serve fan-out
fi
if wants console; then
  rounds $((3 * runs)) console
  printf '\nThe console of the local server, 100 subscribers:\n\n'
  show console median console
fi
if wants redis; then
  printf '\nLocal servers that meet in Redis:\n\n'
  start_redis "$work"
  kept=$pids
  rounds $((3 * runs)) redis
  awk -F '\t' -v processors="$(getconf _NPROCESSORS_ONLN)" -f Benchmarks/grouped.awk -f Benchmarks/median.awk \
    -f Benchmarks/redis.awk "$work/results-redis" "$work/results-delay"
fi
if wants limit; then
  printf '\nThe limit; rounds: %s\n\n' "$limit_runs"
  rounds "$limit_runs" limit
  show limit median limit
fi
if wants instructions; then
  printf '\nInstructions in user space:\n\n'
  count_instructions json-200 json-1000 text-1000 sse-200 turns-200 fresh-200 summary-200 record-200 raw-200 \
    where-200 field-200 format-200
  if [ -s "$work/results-instructions" ]; then
    show instructions instructions | tee "$work/table"
    if [ -n "${BENCH_CHECK:-}" ]; then
      ours=$("$swift" --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p')
      grep -q avx2 /proc/cpuinfo || ours='no AVX2'
      awk -F '|' -v ours="$ours" -f Benchmarks/above.awk docs/benchmarks.md "$work/table"
    fi
  fi
fi
