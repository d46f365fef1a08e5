# shellcheck shell=sh
# Read by scripts that start programs: however such a script ends, what it started ends with it.
#
#   . scripts/ending.sh
#
# $pids: the processes to end, the last started first · $temporary: a folder to remove, or nothing. Both may change
# until the end.
pids=''
temporary=''

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
