"""The same job done with PyPI's websockets: subscribe, read each event, print it as one JSON line.

    websockets-reader.py PORT [CERTIFICATE]
"""

import asyncio
import json
import ssl
import sys

import websockets


async def main(port, certificate):
    scheme, context = "ws", None
    if certificate:
        scheme, context = "wss", ssl.create_default_context(cafile=certificate)
    write = sys.stdout.write
    url = f"{scheme}://127.0.0.1:{port}/app/bench?protocol=7"
    async with websockets.connect(url, ssl=context, compression=None, proxy=None) as socket:
        subscribe = {"event": "pusher:subscribe", "data": {"channel": "bench"}}
        await socket.send(json.dumps(subscribe))
        async for text in socket:
            message = json.loads(text)
            event = message["event"]
            if event.startswith("pusher"):
                continue
            line = {
                "event": event,
                "channel": message["channel"],
                "data": json.loads(message["data"]),
            }
            write(json.dumps(line) + "\n")
            if event == "bench.end":
                return


asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
