#!/bin/sh
# Takes pictures of each console view in four sizes, light and dark, and renews that of
# docs/images.
#
#   PUSHER_CLI_SCREENSHOTS=FOLDER   folder of all pictures (.build/screenshots)
set -eu
cd "$(dirname "$0")/.."

PUSHER_CLI_SCREENSHOTS=${PUSHER_CLI_SCREENSHOTS:-$PWD/.build/screenshots}
export PUSHER_CLI_SCREENSHOTS

scripts/install-packages.sh test browser
scripts/browser-suite.sh ConsoleLookTests
mkdir -p docs/images
cp "$PUSHER_CLI_SCREENSHOTS/live-1280-dark.png" docs/images/console-dark.png
printf 'screenshots: %s\n' "$PUSHER_CLI_SCREENSHOTS"
