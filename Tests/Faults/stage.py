"""All that a run needs, started and ended: Redis, servers with their proxies, the receiver of webhooks, clients."""

import asyncio
import json
import os
import secrets
import signal
import socket

import book
import crowd
import machines
import model
import proxy
import sabotage
import signing
import store
import webhooks

SERVERS = 3


def free_ports(count):
    ends = [socket.socket() for _ in range(count)]
    for one in ends:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in ends]
    for one in ends:
        one.close()
    return ports


class Stage:
    def __init__(self, program, folder, random, client_count):
        self.journal = machines.Journal(folder)
        self.random = random
        # Its own for each run, and nowhere but in the file for the servers.
        secret = secrets.token_hex(16)
        self.signer = signing.Signer(secret)
        self.book = book.Book(self.journal)
        self.receiver = webhooks.Receiver(self.signer, self.journal)
        self.program, self.secret, self.client_count = program, secret, client_count
        self.servers, self.redis, self.crowd = [], None, None
        self.apps = self.journal.folder.resolve() / "apps.json"

    async def start(self, broken):
        """`broken`: which part of the run is wrong on purpose."""
        ports = free_ports(SERVERS + 1)
        self.redis = machines.Redis(ports[0], self.journal)
        await self.redis.start()
        await self.receiver.start()
        self.write_apps()
        for number in range(SERVERS):
            one = proxy.Proxy(self.redis.port)
            await one.start()
            database = 1 if broken == "database" and number == 1 else 0
            self.servers.append(machines.Server(
                number, self.program, ports[number + 1], one, self.apps, self.journal, database))
        self.crowd = crowd.Crowd(self.random, self.servers, self.signer, self.book, self.client_count)
        self.comparison = model.Comparison(self.crowd.clients, crowd.CHANNELS, self.signer, store.Store(self.redis))
        sabotage.arm(self, broken)
        await asyncio.gather(*(one.start() for one in self.servers))
        await self.crowd.start()

    def write_apps(self):
        app = {"id": signing.APP_ID, "key": signing.KEY, "secret": self.secret, "subscription_counts": True,
               "webhooks": [f"http://127.0.0.1:{self.receiver.port}/"]}
        handle = os.open(self.apps, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump([app], file)

    async def begin_anew(self):
        """Brings all to a right state: everything is ended and started again, and what was told does not count."""
        for one in self.servers:
            one.send(signal.SIGCONT)
            one.proxy.mend()
            one.proxy.delay = (0.0, 0.0)
            await one.end()
        await self.redis.end()
        await self.redis.start()
        self.receiver.balance.clear()
        await asyncio.gather(*(one.start() for one in self.servers))

    async def close(self):
        if self.crowd:
            self.crowd.stop()
        for one in [*self.servers, self.redis]:
            one.send(signal.SIGCONT)
            await one.end()
        self.apps.unlink(missing_ok=True)
