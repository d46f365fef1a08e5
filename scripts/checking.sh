# shellcheck shell=sh
# Sourced by checks: gives them a folder for results, and names the script in their messages.
#
#   . scripts/checking.sh
#
# $work: the folder, which goes with the script. It also sources scripts/ending.sh.
# shellcheck source=scripts/ending.sh
. scripts/ending.sh
export LC_ALL=C
temporary=$(mktemp -d)
# shellcheck disable=SC2034
work=$temporary
script=${0##*/}
script=${script%.sh}

fail() {
  echo "$script: $*" >&2
  exit 1
}

say() {
  echo "$script: $*"
}
