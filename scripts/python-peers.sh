#!/bin/sh
# Makes .build-python: a separate Python with the client and server libraries for comparison. Prints
# the path of its interpreter. Does nothing more if it is up to date.
#
#   scripts/python-peers.sh [SET...]   sets: conformance, engines, lint, package, page, release
set -eu
cd "$(dirname "$0")/.."

home=.build-python

# install NAME [OPTION...]: installs the packages of Tests/NAME.txt unless they are there.
install() {
  name=$1
  wanted=Tests/$name.txt
  shift
  if cmp -s "$wanted" "$home/$name.txt"; then return; fi
  echo "python-peers: installing $(grep -c '==' "$wanted") packages into $home" >&2
  # Python compiles what is imported, which is little.
  "$home/bin/python3" -m pip install -qq --no-compile --no-input --disable-pip-version-check "$@" -r "$wanted" >&2
  cp "$wanted" "$home/$name.txt"
}

# A changed list of libraries gets a new Python.
if [ ! -x "$home/bin/python3" ] || ! cmp -s Tests/requirements.txt "$home/requirements.txt"; then
  # Prefers the system's Python: another one on the path may lack venv.
  python=/usr/bin/python3
  [ -x "$python" ] || python=python3
  rm -rf "$home"
  "$python" -m venv "$home" >&2
fi
install requirements
for set in "$@"; do
  # The tests need one script of this package, and nothing that the package needs.
  if [ "$set" = page ]; then install requirements-page --no-deps; else install "requirements-$set"; fi
done
echo "$PWD/$home/bin/python3"
