"""Joins channels with the client library pysher, sends client events and prints all events.

Usage: pysher_chat.py PORT KEY SECRET_OR_ENDPOINT CHANNEL...

Reads [CHANNEL, EVENT, DATA] per line, or [CHANNEL] to leave it. Writes [CHANNEL, EVENT, DATA] per line.
"""

import json
import sys

import pysher

EVENTS = [
    "pusher_internal:subscription_succeeded", "pusher_internal:member_added",
    "pusher_internal:member_removed", "note", "client-typing",
]

port, key, signer, *channels = sys.argv[1:]
by_endpoint = signer.startswith("http://")
client = pysher.Pusher(
    key, secret="" if by_endpoint else signer, auth_endpoint=signer if by_endpoint else None,
    secure=False, custom_host="127.0.0.1", port=int(port),
    user_data={"user_id": "pysher", "user_info": {"name": "Grüße"}},
)


def show(data, channel, event):
    print(json.dumps([channel, event, data], ensure_ascii=False), flush=True)


def on_connected(data):
    for name in channels:
        channel = client.subscribe(name)
        for event in EVENTS:
            channel.bind(event, show, name, event)


client.connection.bind("pusher:connection_established", on_connected)
client.connect()
for line in sys.stdin:
    name, *event = json.loads(line)
    if event:
        client.channel(name).trigger(*event)
    else:
        client.unsubscribe(name)
client.disconnect(5)
