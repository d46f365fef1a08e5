#!/bin/sh
# Prints a summary of a test run's log: reasons for skipped tests; after a failure, each error with
# its details and the tests that never ended; last the runner's final line.
#
#   scripts/test-summary.sh LOG STATUS      STATUS: exit status of the run
set -eu

log=$1
status=$2

# Prints each reason once, although several cases and tests give it.
sed -n 's/^➜ .* skipped: "\(.*\)"$/\1/p' "$log" | sort | uniq -c | sort -rn | head -n 20 | cut -c 1-200 |
  sed 's/^ *\([0-9]*\) /test: \1 skipped: /'
if [ "$status" -ne 0 ]; then
  printf 'test: status %s; what failed:\n' "$status"
  grep -a -A 8 'recorded an issue\|[Ff]atal error\|Crash\|\(^\| \)error: ' "$log" | grep -a -v -e '^✔' -e '^◇' | cut -c 1-1000 | tail -n 120 || true
  awk '
    /^◇ Test / && !/^◇ Test (case|run) / { sub(/^◇ Test /, ""); sub(/ started\.$/, ""); open[$0] = 1 }
    /^(✔|✘) Test / { sub(/^(✔|✘) Test /, ""); sub(/( with [0-9]+ test cases?)? (passed|failed) after .*$/, ""); delete open[$0] }
    END { for (name in open) print "test: began and did not end: " name }
  ' "$log"
fi
tail -n 1 "$log"
