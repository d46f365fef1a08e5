#!/bin/sh
# Checks the GitHub Action, the workflows and the forms for issues.
#
#   scripts/check-action.sh PROGRAM
#
# Judges the files with the schemas of check-jsonschema and with zizmor, offline. Then it runs the
# Action's steps with PROGRAM as GitHub's runner does: the installation from a wheel, the local
# server, an expected event, a missing event, and the example of docs/recipes.md. Needs bash, jq,
# and python3 with venv. Uses loopback only, ends everything it starts, and takes at most a minute
# after the installation of the tools.
#
# Single-quoted text is for other shells.
# shellcheck disable=SC2016
set -eu

# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
program=$(realpath "${1:?name the program}")
cd "$(dirname "$0")/.."
temporary=$(mktemp -d)
work=$temporary
said=$work/said
folder=''

python=$(scripts/python-peers.sh lint)
tools=${python%/*}

# judge SCHEMA FILE...: compares files with a schema that check-jsonschema contains.
judge() {
  schema=$1
  shift
  "$tools/check-jsonschema" --quiet --builtin-schema "$schema" "$@" >"$work/said" 2>&1 ||
    fail "not as the schema $schema wants it"
}

judge vendor.github-actions action.yml
judge vendor.github-workflows .github/workflows/*.yml
judge custom.github-workflows-require-timeout .github/workflows/*.yml
judge vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
judge vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
"$tools/zizmor" --offline --quiet --no-progress --strict-collection --pedantic . >"$work/said" 2>&1 ||
  fail 'zizmor has something against the Action or a workflow'
say 'schemas and zizmor: no findings'

# The steps ignore the settings of the caller's own services.
forget_services
export XDG_CONFIG_HOME="$work"
mkdir "$work/bin"
ln -s "$program" "$work/bin/pusher-cli"
usual=$PATH
PATH=$work/bin:$PATH

# Ends the processes that the job's steps have left.
end_job() {
  [ -z "$folder" ] || "$python" Tests/Action/runner.py "$folder" end
}
# `stop` ends the script with the status that it finds.
# shellcheck disable=SC2154
trap 'saved=$?; end_job || true; (exit "$saved") || stop; stop' EXIT

# job NAME: ends the earlier job, and starts one without its variables.
job() {
  end_job || fail 'the job left a process'
  folder=$work/$1
  rm -f "$work/said"
}

# act WORD...: runs a step of the job.
act() {
  "$python" Tests/Action/runner.py "$folder" "$@" >"$work/said" 2>&1
}

# refuse TEXT INPUT...: the Action must fail with TEXT in an error, and without an event.
refuse() {
  text=$1
  shift
  ! act with "$@" || fail "must fail, but does not: $*"
  grep -q "^::error title=pusher-cli::pusher-cli: .*$text" "$work/said" || fail "$* fails without '$text'"
  [ ! -e "$folder/outputs/event" ] || fail "$* fails, but there is an event"
}

# gone PROCESS: waits until a process has ended.
gone() {
  await sh -c '! kill -0 "$1"' sh "$1" || fail "the process $1 does not end"
}

order='{"event":"order.created","channel":"orders","data":{"id":1,"total":1.10}}'
send="pusher-cli trigger -c orders -e order.created '{\"id\":1,\"total\":1.10}'"

# event: compares the Action's output with the order.
event() {
  [ "$(cat "$folder/outputs/event")" = "$order" ] || fail "the event is $(cat "$folder/outputs/event")"
}

job install
version=$("$program" --version | sed 's/^pusher-cli //')
wheel=$(scripts/package.sh wheel "$program" "$work" 2>"$work/said") || fail 'no wheel can be made'
PATH=$usual
act with wheel="$wheel" || fail 'the wheel cannot be installed'
act run '[ "$(command -v pusher-cli)" = "$RUNNER_TEMP/pusher-cli/bin/pusher-cli" ] && pusher-cli --version' ||
  fail 'the installed program is not on PATH'
refuse "cannot find the wheel" wheel="$work/none.whl"
refuse "is not a version" version=latest
PATH=$work/bin:$PATH
say "installed from a wheel: $version"

job serve
act with install=false serve=true || fail 'the local server does not start'
server=$(cat "$folder/outputs/pid")
act run 'pusher-cli check' || fail 'a later step cannot reach the server'
act run "printf '%s\n' \"\$PUSHER_APP_ID \$PUSHER_APP_KEY \$PUSHER_APP_SECRET \$PUSHER_APP_CLUSTER\"" || fail 'no variables'
[ "$(cat "$work/said")" = '1 local local mt1' ] || fail 'the variables differ from the default app'
port=$(cat "$folder/outputs/port")
[ "$(cat "$folder/outputs/scheme")://$(cat "$folder/outputs/host"):$port" = "http://127.0.0.1:$port" ] ||
  fail 'the outputs do not name the server'
grep -q "listening on http://127.0.0.1:$port" "$(cat "$folder/outputs/log")" || fail 'the log does not name the server'
! grep -q console "$(cat "$folder/outputs/log")" || fail 'the server has a console'
say 'local server: reached by a later step'

# The event comes from another step, after the subscription.
act with install=false expect='order.*' channel=orders timeout=30s &
waiting=$!
pids=$waiting
await "$python" Tests/Action/runner.py "$folder" run 'pusher-cli channels | grep -q orders' ||
  fail 'the step that waits does not subscribe'
pids=''
"$python" Tests/Action/runner.py "$folder" run "$send" >"$work/sent" 2>&1 || fail "cannot send: $(cat "$work/sent")"
wait "$waiting" || fail 'the event was sent, but not found'
event
act with install=false expect=order.created channel='news orders' timeout=30s run="$send" || fail 'no event of the commands'
event
say "expected event: $order"

act with install=false serve=true run="$send
test \"\$PUSHER_APP_KEY\" = local" || fail 'the commands do not find their server'
refuse "ended with status 3" install=false serve=true run="$send
exit 3"
grep -q 'event order.created on orders' "$work/said" || fail 'the message does not show what the server saw'
say 'commands beside a server: they find it, and their failure shows what it saw'

refuse "no event 'order.paid' within 1s" install=false expect=order.paid channel=orders timeout=1s
refuse "no event 'order.paid' within 2s" install=false expect=order.paid channel=orders timeout=2s run="$send"
grep -q 'order.created' "$work/said" || fail 'the message does not name the other event'
refuse "commands of 'run' failed" install=false expect=order.created channel=orders run='false; true'
refuse "commands of 'run' failed" install=false expect=order.created channel=orders \
  run='printf "::error::x" >&2; false'
mark=$(sed -n 's/^::stop-commands:://p' "$work/said")
grep -qx "::$mark::" "$work/said" || fail 'commands stay off after a line without an end'
refuse 'status 2' install=false expect=order.created channel=orders timeout=soon
refuse "give the input 'channel'" install=false expect=order.created
refuse "without 'expect'" install=false channel=orders
refuse "without 'expect' or 'serve'" install=false run=true
refuse 'give true or false' install=false serve=yes
refuse "cannot start the local server: .*$port" install=false serve=true port="$port"
refuse "no event '\$(touch owned)" install=false expect='$(touch owned)`touch owned`' channel=orders timeout=1s
refuse 'status 2' install=false expect=order.created channel='$(touch${IFS}owned)' timeout=1s
[ ! -e owned ] || fail 'an input was run by a shell'
say 'failing cases: each fails with its reason'

kill "$server"
gone "$server"
say 'local server: ended by its process id'

# A job with settings of its own: the secret stays out of arguments, outputs and the log.
job own
secret=a-secret-of-the-job
act run 'printf "%s\n" PUSHER_APP_ID=7 PUSHER_APP_KEY=shop PUSHER_APP_SECRET=a-secret-of-the-job >>"$GITHUB_ENV"' || fail 'no variables'
act with install=false serve=true || fail 'the local server does not start'
server=$(cat "$folder/outputs/pid")
grep -qx "::add-mask::$secret" "$work/said" || fail 'the secret is not masked'
[ "$(cat "$folder/outputs/app-id") $(cat "$folder/outputs/app-key")" = '7 shop' ] || fail 'the server has another app'
grep -v '^::add-mask::' "$work/said" >"$work/shown"
tr '\0' ' ' <"/proc/$server/cmdline" >"$work/arguments"
! grep -r "$secret" "$work/shown" "$work/arguments" "$folder/outputs" "$folder/temp" >&2 || fail 'the secret can be seen'
act with install=false expect=order.created channel=private-orders timeout=30s \
  run='pusher-cli trigger -c private-orders -e order.created 1' || fail 'no event on a private channel'
end_job || fail 'the job left a process'
gone "$server"
say "the job's own app: served, with its secret hidden, until the job's end"

# Each line of a secret is masked, and none of them is a command to the runner.
job lines
act run 'printf "%s\n" PUSHER_APP_KEY=shop "PUSHER_APP_SECRET<<END" "half%25" "::error::x" "%0Aend" END >>"$GITHUB_ENV"' || fail 'no variables'
act with install=false serve=true || fail 'the local server does not start'
printf '%s\n' '::add-mask::half%2525%0A::error::x%0A%250Aend' '::add-mask::half%2525' '::add-mask::::error::x' \
  '::add-mask::%250Aend' >"$work/wanted"
grep '^[[:space:]]*::' "$work/said" >"$work/orders" || fail 'the secret is not masked'
diff "$work/wanted" "$work/orders" >&2 || fail 'the runner gets other commands'
! grep -v '^::add-mask::' "$work/said" | grep -e half -e end >&2 || fail 'a line of the secret can be seen'
act run 'test "$PUSHER_APP_SECRET" = "$(printf "half%%25\n::error::x\n%%0Aend")"' || fail 'the secret has changed'
say 'a secret of several lines: each line masked, none obeyed'

# The example of the page, with the program of this folder.
job page
sed -n '/^```yaml$/,/^```$/p' docs/recipes.md | sed '/^```/d' >"$work/page.yml"
grep -q "uses: .*/pusher-cli@v$version\$" "$work/page.yml" || fail "docs/recipes.md has no example of version $version"
mkdir "$work/project"
printf '#!/bin/sh\n%s\n' "$send" >"$work/project/place-order.sh"
chmod +x "$work/project/place-order.sh"
here=$PWD
(cd "$work/project" && "$python" "$here/Tests/Action/runner.py" "$folder" steps "$work/page.yml" install=false) \
  >"$work/said" 2>&1 || fail 'the example of docs/recipes.md fails'
event
say 'example of docs/recipes.md: as printed there'
