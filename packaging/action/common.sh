# shellcheck shell=bash
# Sourced by the steps of action.yml: failures, and the files through which a step talks to the
# runner. Commands for the runner and texts of others all go to standard error: the runner reads two
# streams in no certain order.
set -euo pipefail

# order COMMAND TEXT: gives the runner a workflow command, such as "error title=x", with TEXT as its
# data. The only place that writes one: a %, a CR or an LF in TEXT stays a part of TEXT.
order() {
  local text=${2//'%'/%25}
  text=${text//$'\r'/%0D}
  printf '::%s::%s\n' "$1" "${text//$'\n'/%0A}" >&2
}

# fail MESSAGE...: ends the step. The runner shows the message as an error of the job.
fail() {
  order 'error title=pusher-cli' "pusher-cli: $*"
  exit 1
}

# mask SECRET: hides SECRET in the log. The runner reads the log line by line, so each line of
# SECRET is hidden too.
mask() {
  local line
  order add-mask "$1"
  while IFS= read -r line || [ -n "$line" ]; do
    [ -z "${line//[[:space:]]/}" ] || order add-mask "$line"
  done <<<"${1//$'\r'/$'\n'}"
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
  order stop-commands "$mark"
  "$@" || status=$?
  # The last line of COMMAND may have no end.
  printf '\n' >&2
  order "$mark" ''
  return "$status"
}

# write_commands: writes the input "run" into the file of COMMANDS, which goes with this step, and
# sets RUN_COMMANDS to the words that run it. A file, because arguments are public and the commands
# may have a secret.
write_commands() {
  # shellcheck disable=SC2034
  RUN_COMMANDS=(bash --noprofile --norc -eo pipefail)
  COMMANDS=$(mktemp "$RUNNER_TEMP/pusher-cli-run.XXXXXXXX")
  export COMMANDS
  trap 'rm -f "$COMMANDS"' EXIT
  printf '%s\n' "$INPUT_RUN" >"$COMMANDS"
}
