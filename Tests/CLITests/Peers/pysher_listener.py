"""Prints COUNT events of some channels as JSON lines, with the client library pysher.

Usage: pysher_listener.py PORT KEY SECRET COUNT CHANNEL...

Prints "ready" first, after it has joined all channels.
"""

import json
import sys
import threading

import pysher


def main():
    port, key, secret, count = sys.argv[1:5]
    channels = sys.argv[5:]
    client = pysher.Pusher(
        key, secret=secret, secure=False, custom_host="127.0.0.1", port=int(port),
        user_data={"user_id": "pysher", "user_info": {"name": "Ada"}},
    )
    joined = set()
    left = [int(count)]
    done = threading.Event()

    def on_joined(data, channel):
        joined.add(channel)
        if len(joined) == len(channels):
            print("ready", flush=True)

    def on_event(data, channel):
        print(json.dumps({"channel": channel, "data": json.loads(data)}), flush=True)
        left[0] -= 1
        if left[0] == 0:
            done.set()

    def on_connected(data):
        for name in channels:
            channel = client.subscribe(name)
            channel.bind("pusher_internal:subscription_succeeded", on_joined, name)
            channel.bind("tick", on_event, name)

    client.connection.bind("pusher:connection_established", on_connected)
    client.connect()
    sys.exit(0 if done.wait(90) else 1)


main()
