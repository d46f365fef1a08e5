#!/bin/sh
# Measures many clients of the library, many parallel calls and reading an event as a type, and
# prints the tables. A part of `make bench`, which sets up its parameters:
#
#   bench-library.sh FIGURES PYTHON WORK-FOLDER ROUNDS
set -eu
cd "$(dirname "$0")/.."

figures=$1
python=$2
work=$3
rounds=$4

: >"$work/results-library"
servers=''
# Word splitting is intended: a list of process IDs.
# shellcheck disable=SC2086
trap '[ -z "$servers" ] || kill $servers 2>/dev/null || true' EXIT
rm -f "$work/plain-port" "$work/tls-port"
timeout 600 "$python" Benchmarks/websockets-greeter.py "$work/plain-port" &
servers=$!
timeout 600 "$python" Benchmarks/websockets-greeter.py "$work/tls-port" "$work/cert.pem" "$work/key.pem" &
servers="$servers $!"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  [ -s "$work/plain-port" ] && [ -s "$work/tls-port" ] && break
  sleep 0.2
done

# row NAME WORD...: prints one line of results.
row() {
  name=$1
  shift
  printf 'bench: %s\n' "$name" >&2
  if ! taken=$(timeout 300 "$figures" "$@"); then
    echo "bench: the row $name failed" >&2
    exit 1
  fi
  # The last line, without its first word.
  printf '%s\t%s\n' "$name" "$(echo "$taken" | tail -n 1 | cut -d ' ' -f 2- | tr ' ' '\t')" >>"$work/results-library"
}

round=0
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  for kind in own shared; do
    row "100 clients, $kind thread, plain" clients 100 "$(cat "$work/plain-port")" "$kind"
    row "100 clients, $kind thread, TLS" clients 100 "$(cat "$work/tls-port")" "$kind" "$work/cert.pem"
  done
  row '1000 calls to a silent server' calls 1000
  row 'decode' decode 100000
done
awk -F '\t' -f Benchmarks/library.awk "$work/results-library"
