# shellcheck shell=sh
# Sourced by scripts that start programs: ends them with the script, however it ends.
#
#   . scripts/ending.sh
#
# $pids: processes to end, the last one first · $temporary: folder to remove, or empty. Both may
# change until the end.
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
