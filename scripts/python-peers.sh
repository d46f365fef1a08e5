#!/bin/sh
# Makes .build-python: a Python of its own with the client and server libraries we are compared with.
# Prints the path of its interpreter; does nothing more when it is already up to date.
set -eu
cd "$(dirname "$0")/.."

home=.build-python
wanted=Tests/requirements.txt

if [ -x "$home/bin/python3" ] && cmp -s "$wanted" "$home/requirements.txt"; then
  echo "$PWD/$home/bin/python3"
  exit 0
fi

# The system's own Python first: another one earlier on the path may lack venv.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

echo "python-peers: installing $(grep -c '==' "$wanted") packages into $home" >&2
rm -rf "$home"
"$python" -m venv "$home" >&2
"$home/bin/python3" -m pip install -qq --no-input --disable-pip-version-check -r "$wanted" >&2
cp "$wanted" "$home/requirements.txt"
echo "$PWD/$home/bin/python3"
