"""Joins a presence channel as a browser does, sends client events and prints what it receives.

Usage: send_client_events.py PORT KEY SECRET CHANNEL COUNT

Speaks the protocol over the library websockets, with signatures of the official server library.
"""

import asyncio
import json
import sys

import pusher
import websockets


async def main():
    port, key, secret, channel, count = sys.argv[1:6]
    signer = pusher.Pusher(app_id="1", key=key, secret=secret)
    url = f"ws://127.0.0.1:{port}/app/{key}?protocol=7&client=js&version=8.4.0"
    async with websockets.connect(url) as socket:
        greeting = json.loads(await socket.recv())
        assert greeting["event"] == "pusher:connection_established", greeting
        socket_id = json.loads(greeting["data"])["socket_id"]
        member = {"user_id": "browser", "user_info": {"name": "Grüße"}}
        auth = signer.authenticate(channel=channel, socket_id=socket_id, custom_data=member)
        await socket.send(
            json.dumps({"event": "pusher:subscribe", "data": {"channel": channel, **auth}})
        )
        answer = json.loads(await socket.recv())
        assert answer["event"] == "pusher_internal:subscription_succeeded", answer
        print(json.dumps(json.loads(answer["data"])), flush=True)
        for number in range(int(count)):
            message = {"event": "client-typing", "channel": channel, "data": {"n": number}}
            await socket.send(json.dumps(message))
        await socket.send(json.dumps({"event": "pusher:ping", "data": {}}))
        answer = json.loads(await socket.recv())
        assert answer["event"] == "pusher:pong", answer


asyncio.run(asyncio.wait_for(main(), 60))
