#!/bin/sh
# Installs the missing Debian packages of the named sets, without questions.
#
#   scripts/install-packages.sh SET...
#
# Without apt-get it names the packages, and continues if pkg-config finds the libraries.
#
# A set is a variable with its packages.
# shellcheck disable=SC2034
set -eu

sets='build test browser lint bench container package engines integrations'
build='make libhiredis-dev libssl-dev libsodium-dev zlib1g-dev pkg-config binutils g++'
test="$build python3 python3-venv ca-certificates curl jq libnginx-mod-nchan faketime logrotate mandoc microsocks nginx-light openssl procps prometheus redis-server redis-tools tinyproxy-bin fish zsh"
# A download of 140 MB: the tests of the console's page and its parts run where it is installed.
browser='chromium-headless-shell nodejs'
lint='codespell mandoc python3 python3-venv ca-certificates shellcheck'
bench="$build python3 python3-venv ca-certificates curl libsimdjson-dev openssl redis-server valgrind"
container="$build ca-certificates"
package="$container buildah debootstrap dpkg-dev iproute2 libarchive-tools lintian nix-bin openssl pacman-package-manager python3 python3-venv rpm ruby systemd"
engines="$build python3 python3-venv ca-certificates kcat nats-server postgresql redis-server redis-tools rsyslog systemd"
integrations="$build ca-certificates git"

say() {
  printf '%s\n' "install-packages: $*" >&2
}

# give_up STATUS TEXT
give_up() {
  say "$2"
  exit "$1"
}

wanted=''
for set in "$@"; do
  case " $sets " in
    *" $set "*) eval "wanted=\"\$wanted \$$set\"" ;;
    *) give_up 2 "no set is called '$set'; there are: $sets" ;;
  esac
done
[ -n "$wanted" ] || give_up 2 "name at least one set: $sets"

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
  if pkg-config --exists openssl zlib libsodium hiredis 2>/dev/null; then
    give_up 0 "no apt-get here; going on, since pkg-config finds openssl, zlib, libsodium and hiredis (Debian names:$wanted)"
  fi
  give_up 1 "no apt-get here, and pkg-config does not find openssl, zlib, libsodium and hiredis; Debian calls what is needed:$wanted"
fi

missing=''
for package in $wanted; do
  case " $missing " in *" $package "*) continue ;; esac
  # dpkg-query reports no status for an unknown package.
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root='env'
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root='sudo -n env'
else
  give_up 1 "these packages are missing; install them as root: apt-get install$missing"
fi

say "installing$missing"
log=$(mktemp)
policy=''
trap 'rm -f "$log"; [ -z "$policy" ] || $as_root rm -f "$policy"' EXIT
# Without the traps the shell would leave the file behind.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
# Installed services must not start. Debian asks this file before it starts one.
if [ ! -e /usr/sbin/policy-rc.d ]; then
  policy=/usr/sbin/policy-rc.d
  # shellcheck disable=SC2086
  printf '#!/bin/sh\nexit 101\n' | $as_root install -m 755 /dev/stdin "$policy"
fi
# Word splitting is intended: both variables hold lists of words.
# shellcheck disable=SC2086
if ! {
  $as_root DEBIAN_FRONTEND=noninteractive apt-get -q update &&
    $as_root DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing
} </dev/null >"$log" 2>&1; then
  cat "$log" >&2
  give_up 1 "apt-get could not install$missing"
fi
say 'done'
