#!/bin/sh
# Runs the program's tests with every server on Redis. Each server has its own database in one
# redis-server, which this script starts on a free port of 127.0.0.1 and ends.
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh test
folder=$(mktemp -d "${TMPDIR:-/tmp}/pusher-cli-redis.XXXXXX")
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
redis-server --port "$port" --bind 127.0.0.1 --dir "$folder" --save '' --appendonly no --databases 100000 \
  >"$folder/log" 2>&1 </dev/null &
redis=$!
trap 'kill "$redis" 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

tries=0
until redis-cli -p "$port" ping >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -gt 100 ]; then
    echo "test-redis: redis-server did not start: $(tail -n 3 "$folder/log")" >&2
    exit 1
  fi
  sleep 0.1
done
status=0
PUSHER_CLI_TEST_SERVE="--redis redis://127.0.0.1:$port/{n}" scripts/test.sh || status=$?
exit "$status"
