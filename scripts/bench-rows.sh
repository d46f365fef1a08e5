# shellcheck shell=sh
# Sourced by scripts that measure readers of channels and event streams: one function for each kind
# of row.
#
#   . scripts/bench-rows.sh
#
# $program, $handler, $python: the readers · $work: the folder of `make bench` · $scale: percent of
# the events · $results: where a row adds its line · $steady: `steady` if CPU time counts from the
# first event, without the start, or empty. The caller sets them all.
# shellcheck disable=SC2154

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

# run READER SIZE LINES SOURCE-WORD... -- CLIENT-WORD...: adds one line of results: the row, then
# the output of `measure`.
run() {
  reader=$1
  size=$2
  wanted=$3
  shift 3
  printf 'bench: %s, %s, %s B, %s events\n' "$reader" "$link" "$size" "$events" >&2
  if ! taken=$("$work/measure" "$work/sink" "$work/replay-server" ${steady:+"$steady"} "$@"); then
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
      set -- "$program" subscribe --host 127.0.0.1 --port PORT --scheme "$scheme" $trust \
        --key bench -c bench -n $((events + 1))
      ;;
    'bound handler') set -- "$handler" PORT data ${certificate:+tls "$certificate"} ;;
    websockets) set -- "$python" Benchmarks/websockets-reader.py PORT ${certificate:+"$certificate"} ;;
    pysher) set -- "$python" Benchmarks/pysher-reader.py PORT ${certificate:+"$certificate"} ;;
  esac
  # shellcheck disable=SC2086
  run "$reader" "$size" $((events + 1)) "$events" "$size" $certificate $key -- "$@"
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
      set -- "$program" sse "$url" $trust --reconnect never
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
  run "$reader" "$size" "$lines" sse "$events" "$size" $certificate $key -- "$@"
}
