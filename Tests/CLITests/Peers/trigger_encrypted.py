"""Triggers COUNT events on an encrypted channel with the official server library.

Usage: trigger_encrypted.py PORT APP_ID KEY SECRET MASTER_KEY_BASE64 CHANNEL COUNT
"""

import sys

import pusher


def main():
    port, app_id, key, secret, master_key, channel, count = sys.argv[1:8]
    client = pusher.Pusher(
        app_id=app_id, key=key, secret=secret, ssl=False, host="127.0.0.1", port=int(port),
        encryption_master_key_base64=master_key,
    )
    for number in range(int(count)):
        client.trigger(channel, "tick", {"n": number, "text": "Grüße ✓", "total": 1.10})


main()
