# shellcheck shell=sh
# Sourced by scripts that need a Redis of their own.

# start_redis FOLDER: starts one on a free port of 127.0.0.1, which writes nothing to disk. Sets
# `redis_port` and `redis`, its process ID.
start_redis() {
  redis_port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
  redis-server --bind 127.0.0.1 --port "$redis_port" --save '' --appendonly no --dir "$1" >"$1/redis.log" &
  # shellcheck disable=SC2034
  redis=$!
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    grep -q 'Ready to accept connections' "$1/redis.log" && return
    sleep 0.2
  done
  echo "redis-server did not start; $1/redis.log says why" >&2
  exit 1
}
