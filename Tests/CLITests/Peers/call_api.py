"""Makes calls with the official server library and prints what each returns or raises.

Usage: call_api.py PORT APP_ID KEY SECRET [MASTER_KEY_BASE64]

Reads [CALL, ARGUMENTS] per line and writes {"returned": VALUE} or {"raised": CLASS, "text": MESSAGE}. The
argument "clock" shifts the library's clock, in seconds. The first line has the library's version and calls.
"""

import importlib.metadata
import json
import sys
import time
import unittest.mock

import pusher

port, app_id, key, secret, *master_key = sys.argv[1:]
application = pusher.Pusher(
    app_id=app_id, key=key, secret=secret, ssl=False, host="127.0.0.1", port=int(port),
    encryption_master_key_base64=master_key[0] if master_key else None,
)


def say(value):
    # The library gives a channel's shared secret as bytes.
    text = json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=bytes.decode)
    print(text, flush=True)


calls = [name for name in vars(pusher.Pusher) if name[0] != "_" and not name.startswith("from_")]
say({"version": importlib.metadata.version("pusher"), "calls": sorted(calls)})
for line in sys.stdin:
    call, arguments = json.loads(line)
    now = time.time() + arguments.pop("clock", 0)
    try:
        with unittest.mock.patch("pusher.http.time.time", lambda: now):
            say({"returned": getattr(application, call)(**arguments)})
    except Exception as error:
        say({"raised": type(error).__name__, "text": str(error)})
