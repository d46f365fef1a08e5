# shellcheck shell=sh
# Sourced by the other scripts: their messages, temporary files and programs, which end with them.
#
#   . scripts/common.sh
#
# $pids: processes to end, the last one first · $temporary: folder to remove, or empty · $said:
# files that a failure shows. All may change until the end. Only some scripts use a variable.
# shellcheck disable=SC2034,SC3045
script=${0##*/}
script=${script%.sh}
swift=${SWIFT:-swift}
pids=''
temporary=''
said=''

stop() {
  status=$?
  trap - EXIT
  for pid in $pids; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  [ -z "$temporary" ] || rm -rf "$temporary"
  exit "$status"
}
trap stop EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  echo "$script: $*" >&2
  for file in $said; do [ ! -s "$file" ] || sed "s|^|  ${file##*/}: |" "$file" >&2; done
  exit 1
}

say() {
  echo "$script: $*"
}

# wrong WHAT: ends the script, since its arguments are wrong.
wrong() {
  echo "$script: $*" >&2
  exit 2
}

need_swift() {
  command -v "$swift" >/dev/null 2>&1 || fail "no '$swift' found: install Swift 6.2 or newer from swift.org"
}

# find_program: sets `program` to the path in PUSHER_CLI; without it, builds dist/pusher-cli.
find_program() {
  program=${PUSHER_CLI:-}
  if [ -z "$program" ]; then
    scripts/install-packages.sh build
    program=$PWD/dist/pusher-cli
    scripts/build.sh dist/pusher-cli >&2
  fi
  [ -x "$program" ] || wrong "PUSHER_CLI names no program: $program"
}

# swift_build ARGUMENT...: builds. SwiftPM orders a package's traits by their hashes. With random
# hashes the order changes between builds, and a new order compiles everything again.
swift_build() {
  SWIFT_DETERMINISTIC_HASHING=1 "$swift" build "$@" </dev/null
}

# debug_build ARGUMENT...: builds without optimisation, and without what only debuggers read: it
# costs a tenth. A build that no later one continues takes a third less time by whole modules; but
# each change would then compile a module again.
debug_build() {
  set -- "$@" -debug-info-format none
  if [ "${CI:-}" = true ]; then
    swift_build "$@" -Xswiftc -whole-module-optimization -Xswiftc -no-emit-module-separately-wmo \
      -Xswiftc -num-threads -Xswiftc 2
  else
    # Several batches per processor end at about the same time. The seed mixes a folder's files,
    # which cost alike. Each compiler takes up to 0.8 GB, so one module is built at a time.
    count=$(getconf _NPROCESSORS_ONLN)
    swift_build "$@" --jobs 1 -Xswiftc -driver-batch-count -Xswiftc "$((2 * count + 1))" \
      -Xswiftc "-j$count" -Xswiftc -driver-batch-seed -Xswiftc 1
  fi
}

# version: prints the version of the sources.
version() {
  sed -n 's/^ *static let current = "\(.*\)"$/\1/p' Sources/pusher-cli/Settings/Version.swift
}

# bounded SECONDS COMMAND...: limits a command's time, far above its need, where timeout(1) exists.
bounded() {
  if command -v timeout >/dev/null 2>&1; then timeout "$@"; else shift && "$@"; fi
}

# summary LOG STATUS: prints the reasons for skipped tests, what failed, what never ended, the ten
# slowest tests that start programs, and the last line.
summary() {
  # Several cases and tests give the same reason.
  sed -n 's/^➜ .* skipped: "\(.*\)"$/\1/p' "$1" | sort | uniq -c | sort -rn | head -n 20 | cut -c 1-200 |
    sed 's/^ *\([0-9]*\) /test: \1 skipped: /'
  if [ "$2" -ne 0 ]; then
    printf 'test: status %s; what failed:\n' "$2"
    grep -a -A 8 'recorded an issue\|[Ff]atal error\|Crash\|\(^\| \)error: ' "$1" | grep -a -v -e '^✔' -e '^◇' | cut -c 1-1000 | tail -n 120 || true
    awk '
      /^◇ Test / && !/^◇ Test (case|run) / { sub(/^◇ Test /, ""); sub(/ started\.$/, ""); open[$0] = 1 }
      /^(✔|✘) Test / { sub(/^(✔|✘) Test /, ""); sub(/( with [0-9]+ test cases?)? (passed|failed) after .*$/, ""); delete open[$0] }
      END { for (name in open) print "test: began and did not end: " name }
    ' "$1"
  fi
  sed -n 's/^test: took \([0-9.]*\) seconds: /\1 /p' "$1" | sort -rn | head -n 10 |
    awk '{ printf "test: slow: %4.1f s:", $1; $1 = ""; print }'
  tail -n 1 "$1"
}

# run_tests SECONDS LOG PACKAGE FOLDER [ARGUMENT...]: runs the tests of PACKAGE, built in FOLDER,
# and prints a summary. Ends the script if a test fails or none ran; for none, swift test gives 0.
run_tests() {
  seconds=$1 log=$2 package=$3 folder=$4
  shift 4
  # Up to 3,400 files are open at once, and many systems allow only 1024.
  ulimit -Sn 8192 2>/dev/null || say "at most $(ulimit -n) files can be open, and 8192 are needed"
  # On Linux the bundle is a program. It runs directly: swift test would lose output at a kill.
  bundle=$(echo "$PWD/$folder"/debug/*PackageTests.xctest)
  if [ -f "$bundle" ]; then
    set -- "$bundle" --testing-library swift-testing "$@"
  else
    set -- "$swift" test --package-path "$package" --scratch-path "$folder" --skip-build --disable-xctest "$@"
  fi
  ! command -v timeout >/dev/null 2>&1 || set -- timeout "$seconds" "$@"
  result=0
  # The shell acts on an interrupt at once only while it waits for a program in the background.
  "$@" >>"$log" 2>&1 </dev/null &
  pids="$! $pids"
  wait "$!" || result=$?
  summary "$log" "$result"
  [ "$result" -eq 0 ] || exit "$result"
  tail -n 1 "$log" | grep -q 'Test run with [1-9][0-9]* test.* passed' || fail "no test ran: $*"
}

# suite SECONDS NAME: runs one suite of the built tests.
suite() {
  : >.build/test.log
  run_tests "$1" .build/test.log . .build --filter "$2"
}

# await COMMAND...: waits until COMMAND succeeds, for at most 20 seconds. It fails earlier if one of
# $pids ends.
await() {
  turns=0
  until "$@" >/dev/null 2>&1; do
    turns=$((turns + 1))
    [ "$turns" -lt 200 ] || return 1
    for pid in $pids; do
      kill -0 "$pid" 2>/dev/null || return 1
    done
    sleep 0.1
  done
}

# launch FILE COMMAND...: starts a server that writes its port to FILE; sets `server` and `port`. It
# ends with the script.
launch() {
  port_file=$1
  shift
  rm -f "$port_file"
  "$@" &
  server=$!
  pids="$server $pids"
  await test -s "$port_file" && port=$(cat "$port_file")
}

# start_redis FOLDER [OPTION...]: starts one on a free port of 127.0.0.1, which writes nothing to
# disk, and sets `redis_port`. It ends with the script.
start_redis() {
  redis_log=$1/redis.log
  redis_port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
  redis-server --bind 127.0.0.1 --port "$redis_port" --save '' --appendonly no --dir "$@" >"$redis_log" 2>&1 </dev/null &
  pids="$! $pids"
  await grep -q 'Ready to accept connections' "$redis_log" ||
    fail "redis-server did not start: $(tail -n 3 "$redis_log")"
}

# forget_services: unsets the settings of the caller's own services.
forget_services() {
  for name in $(env | sed -n 's/^\(\(PUSHER\|REVERB\|SOKETI\)_[A-Z_]*\)=.*/\1/p') \
    ALL_PROXY HTTPS_PROXY BROADCAST_CONNECTION BROADCAST_DRIVER; do
    unset "$name"
  done
}

# product NAME: builds a release program with the compiler's usual options, and prints its path. All
# share one folder; in CI, where no figure counts, they share that of the release, and its options.
product() {
  product=$1
  if [ "${CI:-}" = true ]; then
    scripts/build.sh ".build-products/$product" "$product" >&2 && echo "$PWD/.build-products/$product"
    return
  fi
  set -- -c release --product "$1" --scratch-path .build-products
  [ "$(uname -s)" != Linux ] || set -- "$@" --static-swift-stdlib
  swift_build "$@" >&2
  echo "$("$swift" build "$@" --show-bin-path)/$product"
}
