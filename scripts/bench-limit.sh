#!/bin/sh
# Compares the program's times with the minimum, a C program that copies, or the library alone, and
# prints the table. bench-instructions.sh counts what does not depend on the machine's load. A part
# of `make bench`, which builds everything:
#
#   bench-limit.sh PROGRAM HANDLER WORK-FOLDER ROUNDS SCALE
#
#   BENCH_BEFORE=PATH           an older program for the column "before", run in the same rounds
#   BENCH_BEFORE_HANDLER=PATH   an older handler of the library
set -eu
cd "$(dirname "$0")/.."

program=$1
handler=$2
work=$3
rounds=$4
scale=$5
before=${BENCH_BEFORE:-}
before_handler=${BENCH_BEFORE_HANDLER:-}
results=$work/results-limit
round=0

: >"$results"
(umask 077 && printf 'bench\n' >"$work/secret")
# The master key of the encrypted channel, as Benchmarks/encrypted.h has it.
(umask 077 && printf 'a key that everybody knows: 32 B' | openssl base64 >"$work/master-key")
certificate=$work/cert.pem
pair="$certificate $work/key.pem"

plain='subscribe --host 127.0.0.1 --port PORT --scheme http --key bench --reconnect never'
tls="subscribe --host 127.0.0.1 --port PORT --scheme https --cacert $certificate --key bench --reconnect never"

# scaled NUMBER: sets `events` to the row's number of events.
scaled() {
  events=$(($1 * scale / 100))
  [ "$events" -gt 0 ] || events=1
}

# note KEY SIDE AMOUNT PER: prints one line of results.
note() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$round" "$1" "$2" "$3" "$4" >>"$results"
}

fail() {
  echo "bench: the row $1 of the limit failed: $2: $3" >&2
  exit 1
}

# take KEY SIDE LINES SOURCE CLIENT-WORD...: measures the CPU time of one run with `events` events
# and LINES lines of output. SOURCE is the source's words before the number and size of events.
take() {
  key_taken=$1
  side_taken=$2
  wanted=$3
  source_taken=$4
  shift 4
  printf 'bench: limit, round %s: %s, %s, %s events\n' "$round" "$key_taken" "$side_taken" "$events" >&2
  # Word splitting is intended: the source's words.
  # shellcheck disable=SC2086
  taken=$("$work/measure" "$work/sink" "$work/replay-server" steady $source_taken -- "$@") ||
    fail "$key_taken" "$side_taken" 'no figures'
  [ "${taken##* }" = "$wanted" ] || fail "$key_taken" "$side_taken" "$wanted lines were wanted, ${taken##* } came"
  # shellcheck disable=SC2086
  set -- $taken
  spent=$2
  memory=$3
  note "$key_taken" "$side_taken" "$spent" "$events"
}

# ours KEY LINES SOURCE WORD...: measures the program, and the older one if given.
ours() {
  key_ours=$1
  lines_ours=$2
  source_ours=$3
  shift 3
  take "$key_ours" now "$lines_ours" "$source_ours" "$program" "$@"
  [ -z "$before" ] || take "$key_ours" before "$lines_ours" "$source_ours" "$before" "$@"
}

# copy KEY LINES SOURCE WORD...: measures the copying C program. It counts frames by their first
# bytes.
copy() {
  key_copy=$1
  lines_copy=$2
  source_copy=$3
  shift 3
  take "$key_copy" cat "$lines_copy" "$source_copy" "$work/floor-reader" PORT copy "$@"
}

# frames_copy KEY SOURCE WORD...: copies with three extra frames: greeting, subscription and close.
frames_copy() {
  key_frames=$1
  source_frames=$2
  shift 2
  export SINK_BYTE=129
  copy "$key_frames" $((events + 3)) "$source_frames" "$@"
  unset SINK_BYTE
}

# json KEY EVENTS SIZE [KIND]: measures plain events.
json() {
  scaled "$2"
  source_json="${4:-} $events $3"
  # shellcheck disable=SC2086
  ours "$1" $((events + 1)) "$source_json" $plain -c bench -n $((events + 1))
  frames_copy "$1" "$source_json"
}

# secured KEY EVENTS SIZE [KIND]: measures TLS.
secured() {
  scaled "$2"
  source_secured="${4:-} $events $3 $pair"
  # shellcheck disable=SC2086
  ours "$1" $((events + 1)) "$source_secured" $tls -c bench -n $((events + 1))
  frames_copy "$1" "$source_secured" tls
}

# stream KEY SCHEME [PAIR]: measures an event stream. Its copy includes the chunk lines. curl is
# slow, so it gets fewer events.
stream() {
  trust=''
  [ -z "${3:-}" ] || trust="--cacert $certificate"
  scaled 800000
  # shellcheck disable=SC2086
  ours "$1" "$events" "sse $events 200 ${3:-}" sse "$2://127.0.0.1:PORT/" $trust --reconnect never
  copy "$1" $((events * 6 + 2)) "sse $events 200 ${3:-}" sse ${3:+tls}
  scaled 200000
  # shellcheck disable=SC2086
  take "$1" curl $((events * 4)) "sse $events 200 ${3:-}" curl -sSN "$2://127.0.0.1:PORT/" $trust
}

compressed() {
  scaled 500000
  # shellcheck disable=SC2086
  ours deflate $((events + 1)) "deflate $events 200" $plain -c bench -n $((events + 1))
  take deflate zlib $((events + 3)) "deflate $events 200" "$work/inflate-floor" PORT
}

encrypted() {
  scaled 150000
  # shellcheck disable=SC2086
  ours encrypted "$events" "encrypted $events 200" $plain -c private-encrypted-bench --secret-file "$work/secret" \
    --encryption-key-file "$work/master-key" -n "$events"
  take encrypted libsodium "$events" "encrypted $events 200" "$work/secretbox-floor" PORT
}

# printings PROGRAM SIDE PLAIN-SIDE: measures all output formats, right after plain printing.
printings() {
  program_printing=$1
  side_printing=$2
  scaled 800000
  # shellcheck disable=SC2086
  take timestamps "$3" "$events" "$events 200" "$1" $plain -c bench -n "$events"
  for key in filter format; do note "$key" "$3" "$spent" "$events"; done
  printed timestamps 800000 -t
  printed filter 800000 -e 'price.*'
  printed format 800000 -F '%c %e %d'
}

# printed KEY EVENTS WORD...: measures one output format.
printed() {
  key_printed=$1
  scaled "$2"
  shift 2
  # shellcheck disable=SC2086
  take "$key_printed" "$side_printing" "$events" "$events 200" \
    "$program_printing" $plain -c bench -n "$events" "$@"
}

# channels: compares 10,000 channels on one connection with one channel. Consecutive events of a
# block have different channels.
channels() {
  names=$(seq -f 'bench-%05g' 0 9999)
  scaled 800000
  for side in now ${before:+before}; do
    one=one
    its_program=$program
    if [ "$side" = before ]; then
      one='before-one'
      its_program=$before
    fi
    # shellcheck disable=SC2086
    take channels "$one" "$events" "channels 1 $events 200" "$its_program" $plain -n "$events" bench-00000
    # shellcheck disable=SC2086
    take channels "$side" "$events" "channels 10000 $events 200" "$its_program" $plain -n "$events" $names
  done
}

# handlers: compares the library's handler with the program. The handler prints its number of
# events: two more than the source sent, for subscription and end.
handlers() {
  scaled 700000
  # shellcheck disable=SC2086
  take handler program "$events" "$events 200" "$program" $plain -c bench -n "$events"
  # shellcheck disable=SC2086
  [ -z "$before" ] || take handler before-program "$events" "$events 200" "$before" $plain -c bench -n "$events"
  export SINK_NUMBER=1
  take handler now $((events + 2)) "$events 200" "$handler" PORT data
  [ -z "$before_handler" ] || take handler before $((events + 2)) "$events 200" "$before_handler" PORT data
  unset SINK_NUMBER
}

# delays PAUSE EVENTS: measures the latency of single events, in the program and in a C program.
delays() {
  scaled "$2"
  printf 'bench: limit, round %s: delay, a pause of %s us, %s events\n' "$round" "$1" "$events" >&2
  # shellcheck disable=SC2086
  taken=$("$work/lone-delay" "$events" "$1" -- "$work/floor-reader" PORT copy -- "$program" $plain -c bench \
    ${before:+-- "$before" $plain -c bench}) || fail "delay-$1" now 'no figures'
  pause=$1
  # shellcheck disable=SC2086
  set -- $taken
  for side in C now ${before:+before}; do
    note "delay-$pause-median" "$side" "$1" 1
    note "delay-$pause-99" "$side" "$2" 1
    shift 2
  done
}

# starts: measures the time from the start of the process to the first byte of its request.
starts() {
  printf 'bench: limit, round %s: starts\n' "$round" >&2
  # shellcheck disable=SC2086
  taken=$("$work/first-byte" 20 -- "$work/linked-floor" PORT -- "$program" $plain -c bench \
    ${before:+-- "$before" $plain -c bench}) || fail start now 'no figures'
  # shellcheck disable=SC2086
  set -- $taken
  for side in C now ${before:+before}; do
    note start "$side" "$1" 1
    shift
  done
}

# sizes PROGRAM SIDE: measures memory after ten million events, plain and with TLS, and the file
# size.
sizes() {
  scaled 10000000
  # shellcheck disable=SC2086
  take memory-run "$2" $((events + 1)) "$events 200" "$1" $plain -c bench -n $((events + 1))
  note memory "$2" "$memory" 1
  # shellcheck disable=SC2086
  take memory-run "$2" $((events + 1)) "$events 200 $pair" "$1" $tls -c bench -n $((events + 1))
  note memory-tls "$2" "$memory" 1
  strip -o "$work/stripped" "$1"
  note size "$2" "$(wc -c <"$work/stripped")" 1
}

while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  json json-200 1000000 200
  json json-1000 150000 1000
  json text-1000 250000 1000 text
  secured tls-200 700000 200
  secured tls-1000 120000 1000
  secured records 200000 200 records
  compressed
  stream stream http
  stream stream-tls https "$pair"
  handlers
  encrypted
  printings "$program" now plain
  [ -z "$before" ] || printings "$before" before before-plain
  channels
  delays 200 1000
  delays 2000 200
  starts
  # Memory and size are the same in all rounds.
  [ "$round" -gt 1 ] || sizes "$program" now
  [ "$round" -gt 1 ] || [ -z "$before" ] || sizes "$before" before
done
awk -F '\t' -v has_before="${before:+1}" -f Benchmarks/grouped.awk -f Benchmarks/median.awk -f Benchmarks/limit.awk "$results"
