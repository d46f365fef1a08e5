#!/bin/sh
# Opens the console's page in a browser. Needs Chromium.
#
#   scripts/console.sh figures    prints its cost: size, first paint, heap and longest task with
#                                 recordings of up to a million entries, and heap during MINUTES (1)
#                                 of 1,000 events/s
#   scripts/console.sh pictures   takes pictures of each view in four sizes, light and dark, and
#                                 renews that of docs/images. PUSHER_CLI_SCREENSHOTS names the
#                                 folder of all pictures (.build/screenshots)
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/.."
minutes=${MINUTES:-1}
limit=$((900 + 60 * minutes))

build() {
  scripts/install-packages.sh test browser && debug_build --build-tests
}

case ${1:-} in
  figures)
    export PUSHER_CLI_CONSOLE_FIGURES=1 PUSHER_CLI_CONSOLE_MINUTES="$minutes"
    build >&2
    suite "$limit" ConsoleFigures >&2
    grep '^console: ' .build/test.log || fail 'there are no figures'
    ;;
  pictures)
    export PUSHER_CLI_SCREENSHOTS="${PUSHER_CLI_SCREENSHOTS:-$PWD/.build/screenshots}"
    build
    suite "$limit" ConsoleLookTests
    mkdir -p docs/images
    cp "$PUSHER_CLI_SCREENSHOTS/live-1280-dark.png" docs/images/console-dark.png
    say "$PUSHER_CLI_SCREENSHOTS"
    ;;
  *) wrong 'name figures or pictures' ;;
esac
