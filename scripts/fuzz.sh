#!/bin/sh
# Builds the fuzzing harnesses of Tests/Fuzzing with libFuzzer and AddressSanitizer, and runs each.
# Status 1 means a finding; the line before it names the input.
#
#   scripts/fuzz.sh [HARNESS...]   without a name, all of Tests/Fuzzing/Harnesses
#
#   FUZZ_SECONDS=N   time of each harness (60); 0 only runs the seeds
#
# Repeat a finding with: .build-fuzz/bin/HARNESS INPUT
set -eu
cd "$(dirname "$0")/.."

swiftc=${SWIFTC:-swiftc}
seconds=${FUZZ_SECONDS:-60}
work=.build-fuzz

case $seconds in
  '' | *[!0-9]*)
    echo "fuzz: FUZZ_SECONDS is no number of seconds: $seconds" >&2
    exit 2
    ;;
esac
if [ $# -eq 0 ]; then
  for source in Tests/Fuzzing/Harnesses/*.swift; do
    set -- "$@" "$(basename "$source" .swift)"
  done
fi
for harness in "$@"; do
  if [ ! -f "Tests/Fuzzing/Harnesses/$harness.swift" ]; then
    echo "fuzz: there is no harness '$harness' in Tests/Fuzzing/Harnesses" >&2
    exit 2
  fi
done
scripts/install-packages.sh build
mkdir -p "$work/bin" "$work/findings"

# compile ARGUMENT...: compiles a part with optimisation and branch coverage. The modules are one
# package, as in Package.swift, so harnesses can use package declarations.
compile() {
  # Word splitting is intended: pkg-config prints a list of words.
  # shellcheck disable=SC2046
  "$swiftc" -swift-version 6 -package-name pusher_cli -parse-as-library -whole-module-optimization -O -g \
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault \
    -enable-upcoming-feature MemberImportVisibility -sanitize=fuzzer,address \
    -I Sources/CSystemEpoll -I Sources/CSystemVectors -I Sources/CSystemOpenSSL -I Sources/CSystemZlib -I Sources/CSystemSodium \
    -I Sources/CSystemHiredis -I "$work" \
    $(pkg-config --cflags-only-I openssl zlib libsodium hiredis) "$@" </dev/null
}

# is_stale PRODUCT SOURCE...: succeeds if the product is missing or older than a source.
is_stale() {
  [ -f "$1" ] || return 0
  product=$1
  shift
  [ -n "$(find "$@" -newer "$product" -name '*.swift')" ]
}

stale=false
for module in PusherPlatform PusherCore PusherLines PusherServer; do
  if $stale || is_stale "$work/$module.o" "Sources/$module"; then
    echo "fuzz: compiling $module" >&2
    # Word splitting is intended: source paths contain no blanks.
    # shellcheck disable=SC2046
    compile -module-name "$module" -emit-object -o "$work/$module.o" \
      -emit-module -emit-module-path "$work/$module.swiftmodule" $(find "Sources/$module" -name '*.swift')
    stale=true
  fi
done

# Code that harnesses share with the tests.
shared="Tests/PusherCoreTests/Support/ReceivedEvent.swift"
for file in GuardedBytes HTTPHeadParser+Once SeededGenerator StrictJSON WireBytes; do shared="$shared Tests/TestSupport/$file.swift"; done
for harness in "$@"; do
  # Word splitting is intended: source paths contain no blanks.
  # shellcheck disable=SC2086
  if $stale || is_stale "$work/bin/$harness" Tests/Fuzzing $shared; then
    echo "fuzz: compiling the harness $harness" >&2
    # shellcheck disable=SC2046,SC2086
    compile -module-name FuzzHarness -emit-executable -emit-module-path "$work/FuzzHarness.swiftmodule" \
      Tests/Fuzzing/*.swift "Tests/Fuzzing/Harnesses/$harness.swift" \
      $shared "$work/PusherPlatform.o" "$work/PusherCore.o" "$work/PusherLines.o" "$work/PusherServer.o" \
      $(pkg-config --libs openssl zlib libsodium hiredis) -o "$work/bin/$harness" 2>"$work/link.log" || {
      cat "$work/link.log" >&2
      exit 1
    }
  fi
done

failed=0
for harness in "$@"; do
  corpus=$work/corpus/$harness
  log=$work/$harness.log
  mkdir -p "$corpus"
  limit="-max_total_time=$seconds"
  [ "$seconds" -gt 0 ] || limit='-runs=0'
  dictionary=Tests/Fuzzing/Dictionaries/$harness.txt
  if [ -f "$dictionary" ]; then dictionary=-dict=$dictionary; else dictionary=''; fi
  # Swift's backtraces can hang a crashed process. Leak checks are off because the runtime leaks.
  if SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0 "$work/bin/$harness" \
    "$limit" ${dictionary:+"$dictionary"} -max_len=4096 -rss_limit_mb=1024 -timeout=10 \
    -print_final_stats=1 -artifact_prefix="$work/findings/$harness-" \
    "$corpus" "Tests/Fuzzing/Seeds/$harness" >"$log" 2>&1 </dev/null; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "fuzz: $harness: ${runs:-0} inputs, $(sed -n 's/.*\(cov: [0-9]*\) \(ft: [0-9]*\).*/\1, \2/p' "$log" | tail -n 1)"
  else
    failed=1
    grep -a -E 'finding:|Fatal error|ERROR:|SUMMARY:' "$log" | head -n 5 >&2
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    echo "fuzz: $harness: a finding: ${input:-see $log}" >&2
  fi
done
exit "$failed"
