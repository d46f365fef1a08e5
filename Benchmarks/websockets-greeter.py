"""A server for `make bench` that greets every client, confirms what it subscribes to, and says nothing else.

    websockets-greeter.py PORT-FILE [CERTIFICATE KEY]
"""

import asyncio
import json
import os
import ssl
import sys

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


def message(event, data, **more):
    return json.dumps({"event": event, "data": json.dumps(data), **more})


async def client(socket):
    try:
        await talk(socket)
    except ConnectionClosed:
        pass  # A client that is gone without a goodbye is fine here.


async def talk(socket):
    greeting = {"socket_id": "1.2", "activity_timeout": 120}
    await socket.send(message("pusher:connection_established", greeting))
    async for text in socket:
        command = json.loads(text)
        if command["event"] == "pusher:ping":
            await socket.send(message("pusher:pong", {}))
        elif command["event"] == "pusher:subscribe":
            channel = command["data"]["channel"]
            await socket.send(
                message("pusher_internal:subscription_succeeded", {}, channel=channel)
            )


async def main(port_file, certificate=None, key=None):
    context = None
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
    async with serve(client, "127.0.0.1", 0, ssl=context, backlog=256) as server:
        port = server.sockets[0].getsockname()[1]
        with open(port_file + ".new", "w", encoding="ascii") as file:
            file.write(str(port))
        os.rename(port_file + ".new", port_file)
        await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
