# shellcheck shell=sh
# Sourced by checks that use a bare Debian: runs commands and README's first session in it.
#
#   . scripts/bare-system.sh
#
# $bare: its root · $work: a folder for results · fail: a function that reports and exits.
#
# Single-quoted text is for other shells; the sourcing script sets the variables.
# shellcheck disable=SC2016,SC2154

# inside COMMAND...: runs as root in the bare system, and keeps the output for a failure.
inside() {
  chroot "$bare" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" \
    </dev/null >"$work/said" 2>&1 || fail "in the bare system '$*' failed: $(cat "$work/said")"
}

# alone COMMAND...: runs in the bare system as an unprivileged user, with its own loopback and no
# other network. /proc is not mounted, as in many chroots.
alone() {
  unshare --net --pid --fork --kill-child sh -c '
    bare=$1
    shift
    ip link set lo up &&
      exec timeout 60 chroot --userspec=65534:65534 "$bare" /usr/bin/env -i PATH=/usr/bin:/bin "$@"
  ' sh "$bare" "$@" </dev/null
}

# session FOLDER: runs README's first session with the program in FOLDER.
# The session is the first README block with input and output: commands follow '$ ', the rest is
# their output.
session() {
  sed -n '/^```console$/,/^```$/p' README.md | sed '/^```/d' >"$work/block"
  {
    echo 'cd "$(mktemp -d)"'
    sed -n '/^\$ /{s/^\$ //;p;:more
/\\$/{n;p;bmore
}
}' "$work/block"
    echo 'kill "$!"'
  } >"$bare/session"
  grep '^{' "$work/block" >"$work/expected"
  grep -q 'pusher-cli serve &' "$bare/session" || fail 'README has no first session'
  alone env "PATH=$1:/usr/bin:/bin" sh /session >"$work/events" 2>"$work/said" ||
    fail "README's session failed: $(cat "$work/said")"
  cmp "$work/expected" "$work/events" || fail "README's session printed: $(cat "$work/events" "$work/said")"
  mv "$bare/session" "$work/session"
}
