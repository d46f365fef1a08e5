"""Takes the servers' webhooks, and counts arrivals and departures of channels and of members."""

import asyncio
import collections
import hmac
import json

ARRIVALS = {"channel_occupied": 1, "member_added": 1, "channel_vacated": -1, "member_removed": -1}


class Receiver:
    def __init__(self, signer, journal):
        self.signer, self.journal = signer, journal
        # Arrivals less departures, of channels and of pairs of a channel and a user.
        self.balance = collections.Counter()
        self.count = 0
        self.unsigned = 0

    async def start(self):
        server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.server = server
        self.port = server.sockets[0].getsockname()[1]

    async def accept(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                fields = {name.lower(): value.strip() for name, _, value in
                          (line.partition(":") for line in head.split("\r\n")[1:])}
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                self.take(fields, body.decode())
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def take(self, fields, body):
        if not hmac.compare_digest(fields.get("x-pusher-signature", ""), self.signer.sign(body)):
            self.unsigned += 1
            return
        for event in json.loads(body)["events"]:
            if event["name"] in ARRIVALS:
                self.count += 1
                self.balance[event["channel"], event.get("user_id")] += ARRIVALS[event["name"]]
                self.journal.write("webhooks", f"{event['name']} {event['channel']} {event.get('user_id', '')}")

    def differences(self, picture):
        """How much each balance is above or below what it should be."""
        wanted = collections.Counter()
        for channel in picture.sockets:
            wanted[channel, None] = 1
        for channel, users in picture.users.items():
            for user in users:
                wanted[channel, user] = 1
        keys = set(wanted) | set(self.balance)
        return {key: self.balance[key] - wanted[key] for key in keys if self.balance[key] != wanted[key]}

    def take_over(self, differences):
        """Counts from what is true, so that what is wrong is counted once."""
        for key, amount in differences.items():
            self.balance[key] -= amount
