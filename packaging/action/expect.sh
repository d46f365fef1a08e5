#!/usr/bin/env bash
# Waits for an event, and puts its line of JSON into the output "event". Fails without the event.
#
# INPUT_EXPECT: name or pattern · INPUT_CHANNEL: channels · INPUT_TIMEOUT: time limit
# INPUT_RUN: commands that cause the event, or empty
#
# Server and app come from the environment, which the local server's step or the job has set.
# shellcheck source=packaging/action/common.sh
. "${BASH_SOURCE[0]%/*}/common.sh"

arguments=(subscribe --event="$INPUT_EXPECT" --count=1 --timeout="$INPUT_TIMEOUT")
# Pathname expansion is off: a channel is a pattern only for the program.
set -f
for channel in $INPUT_CHANNEL; do
  arguments+=(--channel="$channel")
done
set +f
if [ -n "$INPUT_RUN" ]; then
  write_commands
  arguments+=(--on-ready="exec ${RUN_COMMANDS[*]} \"\$COMMANDS\"")
fi

status=0
event=$(verbatim pusher-cli "${arguments[@]}" </dev/null) || status=$?
case $status in
  0) ;;
  7) fail "the commands of 'run' failed; their messages are above" ;;
  124) fail "no event '$INPUT_EXPECT' within $INPUT_TIMEOUT; the message above says what else came" ;;
  *) fail "cannot wait for '$INPUT_EXPECT' (status $status); the message above says why" ;;
esac
[ -n "$event" ] || fail "the run ended without the event '$INPUT_EXPECT'"
verbatim printf '%s\n' "$event" >&2
put "$GITHUB_OUTPUT" event "$event"
