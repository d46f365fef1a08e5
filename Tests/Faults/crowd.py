"""The clients of a run, and what they and the publishers do all the time."""

import asyncio

import api
import client

CHANNELS = ["lobby", "news", "rare", "private-desk", "private-rare", "presence-room-1", "presence-room-2",
            "presence-room-3", "presence-rare"]
# Channels that few want, so that they become empty and occupied again.
RARE = {"rare", "private-rare", "presence-rare"}


class Crowd:
    def __init__(self, random, servers, signer, book, count):
        self.random, self.servers, self.signer, self.book = random, servers, signer, book
        self.moves = asyncio.Event()
        self.publishes = asyncio.Event()
        self.calls = set()
        self.tasks = []
        # A user has three sockets, mostly on three servers.
        users = max(1, count // 3)
        self.clients = [
            client.Client(f"client-{number}", f"user-{number % users}", (number // users + number) % len(servers),
                          number % 2 == 0, servers, signer, book)
            for number in range(count)]
        # A third of the users stay, so that there are sockets and members which a fault alone can take away.
        self.movers = [one for number, one in enumerate(self.clients) if number % users % 3]
        for one in self.clients:
            one.wanted = {name for name in CHANNELS if self.likes(name)}

    def likes(self, name):
        return self.random.random() < (0.04 if name in RARE else 0.35)

    async def start(self):
        for one in self.clients:
            self.tasks.append(asyncio.create_task(one.live()))
            one.come()
        self.tasks += [asyncio.create_task(self.move_all_the_time()), asyncio.create_task(self.publish_all_the_time())]

    async def move_all_the_time(self):
        while True:
            await asyncio.sleep(self.random.uniform(0.02, 0.15))
            await self.moves.wait()
            await self.move()

    async def move(self):
        one = self.random.choice(self.movers)
        chance = self.random.random()
        if not one.online.is_set():
            one.come()
        elif chance < 0.40:
            name = self.random.choice(CHANNELS)
            if name not in RARE or self.likes(name):
                await one.join(name)
        elif chance < 0.80:
            if one.wanted:
                await one.leave(self.random.choice(sorted(one.wanted)))
        elif chance < 0.86:
            await one.drop()
        elif chance < 0.93:
            await one.go(abruptly=True)
        else:
            await one.go(abruptly=False)

    async def publish_all_the_time(self):
        while True:
            await asyncio.sleep(self.random.uniform(0.02, 0.08))
            await self.publishes.wait()
            channels = self.random.sample(CHANNELS, self.random.choice([1, 1, 1, 2]))
            server = self.random.choice(self.servers)
            # The number is the call's order, so it is taken before the task begins.
            call = asyncio.create_task(self.publish(self.book.begin(channels), server))
            self.calls.add(call)
            call.add_done_callback(self.calls.discard)

    async def publish(self, event, server):
        event.server = server.name
        event.status = await api.API(self.signer, server.port).publish(event.channels, event.number)
        if event.status not in (200, 503, 0):
            self.book.problems.append(f"refused: {server.name} answered {event.status} to event {event.number}")

    async def finish_calls(self):
        """No more events; those under way are answered, and have time to arrive."""
        self.publishes.clear()
        while self.calls:
            await asyncio.wait(set(self.calls))
        await asyncio.sleep(0.6)

    def stop(self):
        for task in self.tasks:
            task.cancel()
