"""The same fan-out done with PyPI's websockets: each text that comes over /publish goes to all other connections.

    websockets-server.py PORT-FILE
"""

import asyncio
import sys

from websockets.asyncio.server import broadcast, serve

subscribers = set()


async def handle(socket):
    if socket.request.path == "/publish":
        async for text in socket:
            broadcast(subscribers, text)
        return
    await socket.send('{"event":"pusher:connection_established"}')
    await socket.recv()
    await socket.send('{"event":"pusher_internal:subscription_succeeded"}')
    subscribers.add(socket)
    await socket.wait_closed()


async def main(path):
    async with serve(handle, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        with open(path, "w") as file:
            print(server.sockets[0].getsockname()[1], file=file)
        await asyncio.sleep(600)


asyncio.run(main(sys.argv[1]))
