#!/bin/sh
# Counts the instructions that the program and simdjson take for an event, and prints the table. A
# part of `make bench`, which builds everything:
#
#   bench-instructions.sh PROGRAM WORK-FOLDER ROW...
#
# The rows: json-200, json-1000, text-1000, sse-200.
#
#   BENCH_BEFORE=PATH   an older program for the column "before"
#   BENCH_FUNCTIONS=N   prints the N most expensive functions of each row too, on standard error
#
# valgrind's callgrind counts instructions in user space. A figure is the difference between a long
# run and a short run, divided by the difference of their events, so it excludes the start. Each
# figure is taken twice, and the table shows both if they differ. Times depend on the machine's
# load; these figures do not. Prints one line without a table if valgrind is missing.
set -eu
cd "$(dirname "$0")/.."

program=$1
work=$2
shift 2
before=${BENCH_BEFORE:-}
functions=${BENCH_FUNCTIONS:-0}
results=$work/results-instructions
passes=2
short=2000
long=12000

: >"$results"
if ! command -v valgrind >/dev/null 2>&1; then
  echo 'Not counted: valgrind is missing.'
  exit 0
fi

fail() {
  echo "bench: the instructions of $row were not counted: $1" >&2
  [ ! -s "$work/valgrind.log" ] || cat "$work/valgrind.log" >&2
  exit 1
}

# counted FILE COMMAND...: runs a command whose programs write their counts to FILE.
counted() {
  file=$1
  shift
  rm -f "$file"
  "$@" 2>"$work/valgrind.log" || fail 'the run failed'
  [ -s "$file" ] || fail 'callgrind wrote no file'
}

# total FILE: prints the instructions of a run.
total() {
  awk '/^totals:/ { print $2 }' "$1"
}

# client SIDE EVENTS LINES SOURCE WORD...: runs a client of the source.
client() {
  profile=$work/callgrind-$1-$2
  lines=$3
  source=$4
  shift 4
  # Word splitting is intended: the source's words.
  # shellcheck disable=SC2086
  counted "$profile" "$work/measure" "$work/sink" "$work/replay-server" $source -- \
    valgrind -q --tool=callgrind --callgrind-out-file="$profile" "$@" >"$work/measured"
  printed=$(awk '{ print $4 }' "$work/measured")
  [ "$printed" = "$lines" ] || fail "$lines lines were wanted, $printed came"
}

# ours SIDE PROGRAM EVENTS: runs a program with the events of the row.
ours() {
  case $row in
    sse-200) client "$1" "$3" "$3" "sse $3 200" "$2" sse http://127.0.0.1:PORT/ --reconnect never ;;
    *)
      client "$1" "$3" $(($3 + 1)) "$kind $3 $size" "$2" subscribe --host 127.0.0.1 --port PORT --scheme http \
        --key bench --reconnect never -c bench -n $(($3 + 1))
      ;;
  esac
}

# simdjson SIDE PROGRAM EVENTS: reads the messages of the row. An event stream is compared with
# messages of the same size.
simdjson() {
  profile=$work/callgrind-$1-$3
  counted "$profile" valgrind -q --tool=callgrind --callgrind-out-file="$profile" "$2" "$3" \
    <"$work/messages-$row" >"$work/measured"
  [ "$(cat "$work/measured")" = "$3" ] || fail "simdjson copied $(cat "$work/measured") of $3 messages"
}

# figure COMMAND SIDE PROGRAM: adds the figure of a side to the results.
figure() {
  printf 'bench: instructions, pass %s: %s, %s\n' "$pass" "$row" "$2" >&2
  "$1" "$2" "$3" "$short"
  "$1" "$2" "$3" "$long"
  printf '%s\t%s\t%s\t%s\t%s\n' "$pass" "$row" "$2" \
    $(($(total "$work/callgrind-$2-$long") - $(total "$work/callgrind-$2-$short"))) $((long - short)) >>"$results"
}

# costs FILE: prints the instructions and the name of each function of a run. Names do not include
# blanks or files.
costs() {
  callgrind_annotate --threshold=100 --auto=no "$1" |
    sed -n 's/^ *\([0-9,]*\) ([ 0-9.]*%) *\([^ ]*\).*/\1 \2/p' | tr -d ','
}

# explain: prints the most expensive functions of an event.
explain() {
  costs "$work/callgrind-now-$short" >"$work/costs-short"
  costs "$work/callgrind-now-$long" >"$work/costs-long"
  echo "bench: $row, instructions per event by function" >&2
  awk -v events=$((long - short)) 'NR == FNR { short[$2] += $1; next } { long[$2] += $1 }
    END { for (name in long) printf("%9.1f  %s\n", (long[name] - short[name]) / events, name) }' \
    "$work/costs-short" "$work/costs-long" | sort -rn | head -n "$functions" >&2
}

for row in "$@"; do
  kind=''
  [ "${row%-*}" != text ] || kind=text
  size=${row#*-}
  # shellcheck disable=SC2086
  "$work/replay-server" messages $kind "$long" "$size" >"$work/messages-$row"
  pass=0
  while [ "$pass" -lt "$passes" ]; do
    pass=$((pass + 1))
    figure ours now "$program"
    [ -z "$before" ] || figure ours before "$before"
    figure simdjson simdjson "$work/simdjson-minify"
  done
  [ "$functions" -eq 0 ] || explain
done
awk -F '\t' -v has_before="${before:+1}" -f Benchmarks/grouped.awk -f Benchmarks/instructions.awk "$results"
