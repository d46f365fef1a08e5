# shellcheck shell=bash
# Sourced by the steps of action.yml: failures, and the files through which a step talks to the
# runner. Commands for the runner and texts of others all go to standard error: the runner reads two
# streams in no certain order.
set -euo pipefail

# fail MESSAGE...: ends the step. The runner shows the message as an error of the job.
fail() {
  local message="pusher-cli: $*"
  message=${message//'%'/%25}
  message=${message//$'\r'/%0D}
  printf '::error title=pusher-cli::%s\n' "${message//$'\n'/%0A}" >&2
  exit 1
}

# Prints 32 hexadecimal digits that nobody can guess.
token() {
  od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# put FILE NAME VALUE: sets an output or a variable. The end mark is random, so that no value can
# set a second one.
put() {
  local mark
  mark=pusher-cli-$(token)
  printf '%s<<%s\n%s\n%s\n' "$2" "$mark" "$3" "$mark" >>"$1"
}

# verbatim COMMAND...: runs COMMAND. The runner obeys no workflow command in the standard error of
# COMMAND, which shows texts of other people.
verbatim() {
  local mark status=0
  mark=pusher-cli-$(token)
  printf '::stop-commands::%s\n' "$mark" >&2
  "$@" || status=$?
  printf '::%s::\n' "$mark" >&2
  return "$status"
}
