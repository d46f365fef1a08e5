"""The same job done with PyPI's pysher: subscribe, read each event, print it as one JSON line.

    pysher-reader.py PORT [CERTIFICATE]
"""

import json
import os
import sys
import threading

# The library underneath takes a certificate only from this variable.
if len(sys.argv) > 2:
    os.environ["WEBSOCKET_CLIENT_CA_BUNDLE"] = sys.argv[2]

import pysher

ended = threading.Event()
write = sys.stdout.write


def show(event):
    def handle(data):
        line = {"event": event, "channel": "bench", "data": json.loads(data)}
        write(json.dumps(line) + "\n")
        if event == "bench.end":
            ended.set()

    return handle


def connected(_):
    channel = client.subscribe("bench")
    channel.bind("price.updated", show("price.updated"))
    channel.bind("bench.end", show("bench.end"))


client = pysher.Pusher(
    "bench", secure=len(sys.argv) > 2, custom_host="127.0.0.1", port=int(sys.argv[1]), log_level=40
)
client.connection.bind("pusher:connection_established", connected)
client.connect()
if not ended.wait(150):
    sys.exit("pysher-reader: the last event did not come")
sys.stdout.flush()
# pysher's own disconnect waits for a timer.
os._exit(0)
