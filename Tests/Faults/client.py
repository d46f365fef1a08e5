"""A client of the servers: it speaks Pusher's protocol, keeps its own lists of members, and comes back by itself."""

import asyncio
import json
import logging
import time

import websockets.asyncio.client
import websockets.exceptions

import proxy
import signing

logging.getLogger("websockets").setLevel(logging.CRITICAL)


class Subscription:
    """One subscription of one connection, from the request to its end."""

    def __init__(self, channel):
        self.channel = channel
        self.confirmed = None
        self.members = None
        self.received = {}

    def confirm(self, data):
        self.confirmed = self.confirmed or time.monotonic()
        if "presence" in data:
            self.members = set(data["presence"]["ids"])


class Client:
    """It is to be online or not, and to be subscribed to `wanted`; who drives it changes both."""

    def __init__(self, name, user, home, may_roam, servers, signer, book):
        self.name, self.user, self.home, self.may_roam = name, user, home, may_roam
        self.servers, self.signer, self.book = servers, signer, book
        self.wanted = set()
        self.online = asyncio.Event()
        self.subscriptions = {}
        self.socket = None
        self.socket_id = None
        self.server = None

    @property
    def is_settled(self):
        """Whether it has all that it wants."""
        if not self.online.is_set():
            return self.socket is None
        confirmed = {name for name, one in self.subscriptions.items() if one.confirmed}
        return self.socket_id is not None and confirmed == self.wanted

    async def live(self):
        wait = 0.1
        turn = 0
        while True:
            await self.online.wait()
            self.server = self.servers[(self.home + turn) % len(self.servers)]
            try:
                self.socket = await websockets.asyncio.client.connect(
                    f"ws://127.0.0.1:{self.server.port}/app/{signing.KEY}?protocol=7", open_timeout=3, close_timeout=1,
                    ping_interval=None, proxy=None, compression=None)
                if not self.online.is_set():
                    # The driver sent it away while a stopped server kept it waiting.
                    await self.socket.close()
                async for text in self.socket:
                    await self.take(json.loads(text))
                    wait = 0.1
            except (OSError, asyncio.TimeoutError, websockets.exceptions.WebSocketException):
                pass
            finally:
                self.forget()
            turn = turn + 1 if self.may_roam else 0
            await asyncio.sleep(wait)
            wait = min(wait * 2, 0.8)

    def forget(self):
        self.socket = self.socket_id = None
        self.subscriptions = {}

    async def take(self, message):
        event, channel = message["event"], message.get("channel")
        data = message.get("data")
        if isinstance(data, str) and data:
            data = json.loads(data)
        one = self.subscriptions.get(channel)
        match event:
            case "pusher:connection_established":
                self.socket_id = data["socket_id"]
                for name in sorted(self.wanted):
                    # Who drives it may have changed its mind meanwhile.
                    if name in self.wanted and name not in self.subscriptions:
                        await self.subscribe(name)
            case "pusher:ping":
                await self.send("pusher:pong", {})
            case "pusher:error" | "pusher:subscription_error":
                self.book.note_refusal(self, message)
            case "pusher_internal:subscription_succeeded" if one:
                one.confirm(data)
            case "pusher_internal:member_added" if one and one.members is not None:
                if data["user_id"] in one.members:
                    self.book.note_twice(self, channel, f"{data['user_id']} added again")
                one.members.add(data["user_id"])
            case "pusher_internal:member_removed" if one and one.members is not None:
                if data["user_id"] not in one.members:
                    self.book.note_twice(self, channel, f"{data['user_id']} removed, and was not there")
                one.members.discard(data["user_id"])
            case "numbered" if one:
                self.book.note_received(self, one, data["n"])

    async def send(self, event, data):
        try:
            await self.socket.send(json.dumps({"event": event, "data": data}))
        except (AttributeError, websockets.exceptions.ConnectionClosed):
            pass

    async def subscribe(self, name):
        self.subscriptions[name] = Subscription(name)
        await self.send("pusher:subscribe", self.signer.subscription(self.socket_id, name, self.user))

    async def join(self, name):
        if name in self.wanted:
            return
        self.wanted.add(name)
        if self.socket_id:
            await self.subscribe(name)

    async def leave(self, name):
        self.wanted.discard(name)
        if self.subscriptions.pop(name, None):
            await self.send("pusher:unsubscribe", {"channel": name})

    def come(self):
        self.online.set()

    async def go(self, abruptly):
        """Goes and stays away: with a close frame, or as a machine does that loses its network."""
        self.online.clear()
        await self.drop(abruptly)

    async def drop(self, abruptly=True):
        socket = self.socket
        if not socket:
            return
        if abruptly:
            proxy.reset(Transport(socket.transport))
        else:
            await socket.close()


class Transport:
    """A transport in the form of a writer."""

    def __init__(self, transport):
        self.transport = transport
        self.get_extra_info = transport.get_extra_info
