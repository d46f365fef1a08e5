#!/usr/bin/env bash
# Checks the inputs of action.yml that a step would otherwise ignore without a word. The program
# checks all others.
# shellcheck source=packaging/action/common.sh
. "${BASH_SOURCE[0]%/*}/common.sh"

for input in install serve; do
  name=INPUT_${input^^}
  case ${!name} in
    true | false) ;;
    *) fail "the input '$input' is '${!name}': give true or false" ;;
  esac
done
if [ -n "$INPUT_WHEEL" ] && [ -n "$INPUT_VERSION" ]; then
  fail "the inputs 'wheel' and 'version' exclude each other: give one"
fi
if [ "$INPUT_INSTALL" = false ] && [ -n "$INPUT_WHEEL$INPUT_VERSION" ]; then
  fail "the input 'install' is false, so 'wheel' and 'version' have no effect: remove them"
fi
if [ -n "$INPUT_EXPECT" ]; then
  [ -n "${INPUT_CHANNEL//[[:space:]]/}" ] || fail "no channel for '$INPUT_EXPECT': give the input 'channel'"
elif [ -n "$INPUT_CHANNEL" ]; then
  fail "the input 'channel' has no effect without 'expect': give the name of an event"
elif [ -n "$INPUT_RUN" ] && [ "$INPUT_SERVE" = false ]; then
  fail "the input 'run' has no effect without 'expect' or 'serve': give the name of an event, or true"
fi
if [ "$INPUT_INSTALL" = false ] && ! command -v pusher-cli >/dev/null; then
  fail "the input 'install' is false, and no pusher-cli is on PATH: install it in an earlier step"
fi
