#!/bin/sh
# Prints the version of the sources.
#
#   scripts/version.sh
set -eu
sed -n 's/^ *static let current = "\(.*\)"$/\1/p' "$(dirname "$0")/../Sources/pusher-cli/Settings/Version.swift"
