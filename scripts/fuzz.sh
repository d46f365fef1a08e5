#!/bin/sh
# Builds the fuzzing harnesses of Tests/Fuzzing with libFuzzer and AddressSanitizer, and runs each.
# Status 1 means a finding; the line before it names the input.
#
#   scripts/fuzz.sh [HARNESS...]   without a name, all of Tests/Fuzzing/Harnesses
#
#   FUZZ_SECONDS=N   time of each harness (60); 0 only runs the seeds, as the tests do
#
# Repeat a finding with: .build-fuzz/bin/HARNESS INPUT
#
#   scripts/fuzz.sh differential [COUNT [SEED]]   compares the fast path from messages to lines with
#                    the general one, over COUNT generated messages between guard pages (10,000,000
#                    from seed 1). Prints the first difference and exits with status 1
#
# Word splitting is intended: several variables hold lists of words, and no path has a blank.
# shellcheck disable=SC2046,SC2086
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/.."
swiftc=${SWIFTC:-swiftc}
seconds=${FUZZ_SECONDS:-60}
work=.build-fuzz
modules='PusherPlatform PusherCore PusherLines PusherServer'
mode='-g -sanitize=fuzzer,address'
if [ "${1:-}" = differential ]; then
  # As the release program.
  work=.build-differential
  modules='PusherPlatform PusherCore PusherLines'
  mode='-enforce-exclusivity=unchecked'
  count=${2:-10000000}
  seed=${3:-1}
  case $count$seed in *[!0-9]*) wrong "no numbers: $count $seed" ;; esac
  set -- Differential
else
  case $seconds in '' | *[!0-9]*) wrong "FUZZ_SECONDS is no number of seconds: $seconds" ;; esac
  [ $# -gt 0 ] || set -- $(cd Tests/Fuzzing/Harnesses && printf '%s\n' *.swift | sed 's/\.swift$//')
  for harness in "$@"; do
    [ -f "Tests/Fuzzing/Harnesses/$harness.swift" ] || wrong "there is no harness '$harness' in Tests/Fuzzing/Harnesses"
  done
fi
scripts/install-packages.sh build
mkdir -p "$work/bin" "$work/findings"

# compile ARGUMENT...: compiles a part with optimisation; a harness also with branch coverage. The
# modules are one package, as in Package.swift, so harnesses can use package declarations.
compile() {
  "$swiftc" -swift-version 6 -package-name pusher_cli -parse-as-library -whole-module-optimization -O $mode \
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault \
    -enable-upcoming-feature MemberImportVisibility \
    $(printf -- '-I %s ' Sources/CSystem*) -I "$work" \
    $(pkg-config --cflags-only-I openssl zlib libsodium hiredis) "$@" </dev/null
}

# is_stale PRODUCT SOURCE...: succeeds if the product is missing or older than a source.
is_stale() {
  [ -f "$1" ] || return 0
  product=$1
  shift
  [ -n "$(find "$@" -newer "$product" '(' -name '*.swift' -o -name '*.h' ')')" ]
}

stale=false
objects=''
for module in $modules; do
  objects="$objects $work/$module.o"
  if $stale || is_stale "$work/$module.o" "Sources/$module" Sources/CSystemVectors; then
    echo "fuzz: compiling $module" >&2
    compile -module-name "$module" -emit-object -o "$work/$module.o" \
      -emit-module -emit-module-path "$work/$module.swiftmodule" $(find "Sources/$module" -name '*.swift')
    stale=true
  fi
done

# TestSupport has only those files that need no test library.
support=''
for file in GuardedBytes HTTPHeadParser+Once RandomJSON RandomMessage ReceivedEvent SeededGenerator StrictJSON WireBytes; do
  support="$support Tests/TestSupport/$file.swift"
done
source=Tests/Fuzzing
[ "$1" != Differential ] || source=Tests/Differential
if $stale || is_stale "$work/harness" "$source" $support; then
  echo "fuzz: compiling $source" >&2
  compile -module-name TestSupport -emit-object -o "$work/TestSupport.o" \
    -emit-module -emit-module-path "$work/TestSupport.swiftmodule" $support
  compile -module-name Fuzzing -emit-executable -emit-module-path "$work/Fuzzing.swiftmodule" \
    $(find "$source" -name '*.swift') "$work/TestSupport.o" \
    $objects $(pkg-config --libs openssl zlib libsodium hiredis) -o "$work/harness" 2>"$work/link.log" || {
    cat "$work/link.log" >&2
    exit 1
  }
fi
# A program reads its harness from its own name.
for harness in "$@"; do ln -f "$work/harness" "$work/bin/$harness"; done
if [ "$1" = Differential ]; then
  "$work/bin/Differential" "$count" "$seed"
  exit 0
fi

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
