#!/bin/sh
# Runs one check of the project.
#
#   scripts/check.sh attacks PROGRAM [NAME...]   attacks a program with the scripts of
#                    Tests/Attacks: early bytes, Redis refusals, files of every kind, proxies,
#                    numbers. SEED=N draws other cases (1). All take some minutes. Loopback only
#   scripts/check.sh conformance [quick]    runs every case of the Autobahn test suite against the
#                    client's WebSocket; quick: without 108 long ones. Reports: .build-conformance
#   scripts/check.sh integrations   builds Integrations/, the adapters for packages of server
#                    programs, and runs its tests. Fetches the packages that it names; if one cannot
#                    be fetched, it names that package and ends with 0, with INTEGRATIONS=required 1
#   scripts/check.sh recipes PROGRAM [NAME...]   runs the engine recipes of docs/recipes.md as
#                    printed, with real engines on 127.0.0.1. Stops each engine in the middle and
#                    counts lost and repeated events; a count that the page does not mention fails.
#                    Names: PLAYS in Tests/Engines/recipes.py. KILLS=N, SEED=N kill the program at N
#                    random moments (20); RECIPES_VERBOSE=1 shows the messages of each fault.
#                    Without root there are no mounts: it reports that and skips the journal and the
#                    full disk
#   scripts/check.sh traits         builds the program without the package's traits, and checks that
#                    it needs neither libsodium nor hiredis
#
# Word splitting is intended: several variables hold lists of words.
# shellcheck disable=SC2046,SC2086
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
what=${1:-}
[ $# -eq 0 ] || shift
case $what in
  attacks | recipes)
    program=$(realpath "${1:?name the program}")
    shift
    ;;
esac
cd "$(dirname "$0")/.."

attacks() {
  # The other files there are shared modules.
  [ "$#" -gt 0 ] || set -- $(grep -l '^if __name__' Tests/Attacks/*.py)
  result=0
  for name in "$@"; do
    name=${name##*/}
    name=${name%.py}
    timeout 600 "${PYTHON:-python3}" "Tests/Attacks/$name.py" --program "$program" --seed "${SEED:-1}" </dev/null || {
      echo "attacks: $name: status $?"
      result=1
    }
  done
  exit "$result"
}

# play NAME CASES...: starts a fuzzing server with these cases and a client for them; sets `server`
# and `client` to their process IDs.
play() {
  name=$1 heard=$work/server-$1.log
  shift
  timeout 1300 "$python" -c 'from kosoku._cli import main; main()' -m fuzzingserver 127.0.0.1:0 \
    -o "$work/$name" "$@" </dev/null >"$heard" 2>&1 &
  server=$!
  pids="$pids $server"
  await grep ' listening on .*:[0-9]*$' "$heard" || fail "the fuzzing server did not start: $(cat "$heard")"
  timeout 1200 "$testee" "ws://127.0.0.1:$(sed -n 's/^.* listening on .*:\([0-9][0-9]*\)$/\1/p' "$heard")" pusher-cli \
    </dev/null >"$work/client-$name.log" 2>&1 &
  client=$!
}

conformance() {
  work=.build-conformance
  scripts/install-packages.sh test
  python=$(scripts/python-peers.sh conformance)
  # The cases echo gigabytes, for which a debug build is slow.
  testee=$(product autobahn-testee)
  rm -rf "$work" && mkdir -p "$work"
  # Two servers share the cases to use two processors, because server and client take turns. Both
  # halves take about the same time.
  count=517 half='12.2.* 12.3.* 12.5.*' skipped=''
  [ "${1:-}" != quick ] || count=409 skipped="$half 13.3.* 13.5.* 13.7.*" half='12.4.* 13.2.*'
  play large $(printf ' -i %s' $half)
  large="$server $client"
  play others $(printf ' -x %s' $half $skipped)
  pids="$pids $client ${large#* }"
  for pair in "$large" "$server $client"; do
    wait "${pair#* }" || fail "the client gave up, or took 20 minutes: $(cat "$work"/*.log)"
    # Its status is 1 when a case failed.
    wait "${pair% *}" || true
  done
  jq -rs '[.[][]] | add | (to_entries | sort_by(.key | split(".") | map(tonumber))[] |
      "\(.value.behavior), close \(.value.behaviorClose)" as $verdict | select($verdict != "OK, close OK") |
      "case \(.key): \($verdict)"),
    ([.[].behavior] as $all | "conformance: \(length) cases: " +
      (["OK", "INFORMATIONAL", "NON-STRICT", "UNIMPLEMENTED", "FAILED"] |
        map(. as $name | "\($all | map(select(. == $name)) | length) \(.)") | join(", ")))
  ' "$work"/*/index.json
  jq -es "[.[][]] | add | length == $count and ([.[] | .behavior, .behaviorClose] - [\"OK\", \"INFORMATIONAL\"] == [])" \
    "$work"/*/index.json >/dev/null || fail "there should be $count cases, all OK or INFORMATIONAL"
}

integrations() {
  folder=.build-integrations
  log=$folder/test.log
  scripts/install-packages.sh integrations
  need_swift
  mkdir -p "$folder"
  # Git must not ask for a password where a repository is missing.
  export GIT_TERMINAL_PROMPT=0
  # Without the user's cache, an error names the package that is missing.
  set -- --package-path Integrations --scratch-path "$folder" --disable-dependency-cache
  if ! "$swift" package resolve "$@" >"$log" 2>&1 </dev/null; then
    package=$(sed -n -e 's/.*Failed to clone repository \(.*\):$/\1/p' \
      -e "s/.*fatal: unable to access '\([^']*\)'.*/\1/p" \
      -e "s/.*fatal: '\([^']*\)' does not appear to be a git repository.*/\1/p" "$log" |
      sed -n '1s|\(\.git\)\{0,1\}/*$||p' | sed 's|.*/||')
    if [ -n "$package" ] && [ "${INTEGRATIONS:-}" != required ]; then
      say "skipped: $package cannot be had"
      exit 0
    fi
    fail "cannot resolve the packages${package:+: $package cannot be had}; the log: $(cat "$log")"
  fi
  say "building and testing; the whole log is in $PWD/$log"
  result=0
  debug_build "$@" --build-tests >"$log" 2>&1 || result=$?
  if [ "$result" -ne 0 ]; then
    summary "$log" "$result"
    exit "$result"
  fi
  run_tests 300 "$log" Integrations "$folder"
}

recipes() {
  scripts/install-packages.sh engines
  python=$(scripts/python-peers.sh engines)
  exec timeout --kill-after=30 "${RECIPES_SECONDS:-600}" "$python" -B Tests/Engines/recipes.py "$program" "$@" </dev/null
}

traits() {
  scripts/install-packages.sh build
  need_swift
  # pkg-config finds only the two remaining packages, so other headers cannot be used by mistake.
  temporary=$(mktemp -d)
  for library in openssl libssl libcrypto zlib; do
    cp "$(pkg-config --variable=pcfiledir "$library")/$library.pc" "$temporary/"
  done
  export PKG_CONFIG_LIBDIR="$temporary" PKG_CONFIG_PATH=''
  set -- --disable-default-traits --product pusher-cli --scratch-path .build-plain
  debug_build "$@"
  program=$("$swift" build "$@" --show-bin-path </dev/null)/pusher-cli
  ! objdump -p "$program" | grep -E 'NEEDED +lib(sodium|hiredis)' >&2 ||
    fail 'without its traits the program needs a library of theirs'
  "$program" --version </dev/null
  say 'without them the program needs OpenSSL and zlib alone'
}

case $what in
  attacks | conformance | integrations | recipes | traits)
    script=$what
    "$what" "$@"
    ;;
  *) wrong "no check is called '$what': there are attacks, conformance, integrations, recipes and traits" ;;
esac
