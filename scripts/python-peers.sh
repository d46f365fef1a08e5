#!/bin/sh
# Makes .build-python: a separate Python with the client and server libraries for comparison. Prints
# the path of its interpreter. Does nothing more if it is up to date.
#
#   scripts/python-peers.sh [SET...]     sets: conformance, engines, lint, package
set -eu
cd "$(dirname "$0")/.."

home=.build-python

# install NAME: installs the packages of Tests/NAME.txt unless they are there.
install() {
  wanted=Tests/$1.txt
  if cmp -s "$wanted" "$home/$1.txt"; then return; fi
  echo "python-peers: installing $(grep -c '==' "$wanted") packages into $home" >&2
  "$home/bin/python3" -m pip install -qq --no-input --disable-pip-version-check -r "$wanted" >&2
  cp "$wanted" "$home/$1.txt"
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
  install "requirements-$set"
done
echo "$PWD/$home/bin/python3"
