#!/usr/bin/env bash
# Starts the local server in the background, waits until it listens, and gives its settings to
# later steps. With commands and without an event to wait for, runs the commands beside a server
# that ends with them.
#
# INPUT_PORT: port, or 0 for a free one · INPUT_EXPECT: name or pattern · INPUT_RUN: commands
#
# Without commands the server goes on after this step. The runner ends it with the job, as all
# processes that a step leaves. To end it earlier, kill the process id of the output "pid".
# shellcheck source=packaging/action/common.sh
. "${BASH_SOURCE[0]%/*}/common.sh"

if [ -z "$INPUT_EXPECT" ] && [ -n "$INPUT_RUN" ]; then
  write_commands
  status=0
  verbatim pusher-cli serve --listen="127.0.0.1:$INPUT_PORT" --no-console -- \
    "${RUN_COMMANDS[@]}" "$COMMANDS" </dev/null || status=$?
  [ "$status" -eq 0 ] || fail "the commands of 'run' ended with status $status; the messages above say why"
  exit 0
fi

# The settings have the secret, so nobody else may read this folder.
work=$(mktemp -d "$RUNNER_TEMP/pusher-cli-serve.XXXXXXXX")
log=$work/log
# The command of --on-ready runs after the settings are printed. Its shell expands the variable.
# shellcheck disable=SC2016
READY_FILE=$work/ready pusher-cli serve --listen="127.0.0.1:$INPUT_PORT" --no-console --print-env \
  --on-ready=': >"$READY_FILE"' </dev/null >"$work/settings" 2>"$log" &
pid=$!
# Nothing would take its status.
disown

turns=0
until [ -e "$work/ready" ]; do
  turns=$((turns + 1))
  if [ "$turns" -gt 300 ] || ! kill -0 "$pid" 2>/dev/null; then
    kill "$pid" 2>/dev/null || true
    fail "cannot start the local server: $(cat "$log")"
  fi
  sleep 0.1
done

# The block is quoted for a shell. The caller's own values are replaced.
# shellcheck source=/dev/null
. "$work/settings"
rm "$work/settings" "$work/ready"
if [ "$PUSHER_APP_SECRET" != local ]; then
  mask "$PUSHER_APP_SECRET"
fi
for name in HOST PORT SCHEME APP_ID APP_KEY APP_SECRET APP_CLUSTER; do
  variable=PUSHER_$name
  put "$GITHUB_ENV" "$variable" "${!variable}"
done
for name in host port scheme app-id app-key; do
  variable=${name//-/_}
  variable=PUSHER_${variable^^}
  put "$GITHUB_OUTPUT" "$name" "${!variable}"
done
put "$GITHUB_OUTPUT" pid "$pid"
put "$GITHUB_OUTPUT" log "$log"
echo "pusher-cli: the local server listens on $PUSHER_SCHEME://$PUSHER_HOST:$PUSHER_PORT (process $pid)" >&2
