"""The faults of a run: what each does to servers and to Redis, for how long, and what may be lost by it."""

import asyncio
import signal


class Fault:
    name = None
    # Shortest and longest duration in seconds; the same number twice for a fault that ends at once.
    length = (0, 0)
    # True if events may be missing that a server accepted with 200; the table counts them, and the run
    # does not fail.
    may_lose = False
    # Whether webhooks may be too few or too many after it.
    may_miscount = False
    # Whether one server is out of reach of the others meanwhile, so that they must go without it.
    isolates = False

    def __init__(self, random, stage):
        self.stage, self.random = stage, random
        self.seconds = random.uniform(*self.length)
        self.server = random.choice(stage.servers)
        self.set_up()

    def set_up(self):
        """Draws what else is random."""

    @property
    def isolated(self):
        return self.server if self.isolates else None

    def on(self):
        """On what it is, in words."""
        return self.server.name

    async def begin(self):
        raise NotImplementedError

    async def end(self):
        pass

    async def run(self):
        await self.begin()
        await asyncio.sleep(self.seconds)
        await self.end()


class Nothing(Fault):
    name = "no fault, clients alone"
    length = (2, 5)

    def on(self):
        return "-"

    async def begin(self):
        pass


class Drops(Fault):
    name = "a third of the sockets reset"

    def on(self):
        return "all servers"

    async def begin(self):
        clients = [one for one in self.stage.crowd.clients if one.socket]
        for one in self.random.sample(clients, len(clients) // 3):
            await one.drop()


class Kill(Fault):
    name = "server killed, back before its lease is over"
    length = (0.5, 4)
    isolates = True
    # Those that the server had not sent yet are gone with it.
    may_miscount = True

    async def begin(self):
        await self.server.end(signal.SIGKILL)

    async def end(self):
        await self.server.start()


class LongKill(Kill):
    name = "server killed, back after its lease"
    length = (10.5, 14)


class Restart(Fault):
    name = "server restarted with SIGTERM and --drain"
    length = (0, 2)

    async def begin(self):
        if not await self.server.end(signal.SIGTERM, 20):
            self.stage.book.problems.append(f"not ended: {self.server.name} was there 20 s after SIGTERM")

    async def end(self):
        await self.server.start()


class Stop(Fault):
    name = "server stopped for less than its lease"
    # The last sign of life may be two seconds old.
    length = (0.5, 3.5)
    isolates = True

    async def begin(self):
        self.server.send(signal.SIGSTOP)

    async def end(self):
        self.server.send(signal.SIGCONT)


class LongStop(Stop):
    name = "server stopped for longer than its lease"
    length = (8, 14)
    may_lose = may_miscount = True


class Cut(Fault):
    name = "server cut off from Redis for less than its lease"
    length = (0.5, 3.5)
    isolates = True

    async def begin(self):
        self.server.proxy.hold()

    async def end(self):
        self.server.proxy.mend()


class LongCut(Cut):
    name = "server cut off from Redis for longer than its lease"
    length = (8, 14)
    may_lose = may_miscount = True


class Reset(Fault):
    name = "a server's connections to Redis reset"
    length = (0, 3)
    may_lose = may_miscount = True

    async def begin(self):
        self.server.proxy.cut()

    async def end(self):
        self.server.proxy.mend()


class Slow(Fault):
    name = "Redis slow for a server, 50 to 300 ms each way"
    length = (3, 12)

    def servers(self):
        return [self.server]

    async def begin(self):
        for server in self.servers():
            server.proxy.delay = (0.05, 0.3)

    async def end(self):
        for server in self.servers():
            server.proxy.delay = (0.0, 0.0)


class OfRedis(Fault):
    def on(self):
        return "redis"


class SlowForAll(OfRedis, Slow):
    name = "Redis slow for all, 50 to 300 ms each way"

    def servers(self):
        return self.stage.servers


class ClientKill(OfRedis):
    name = "CLIENT KILL of all connections to Redis"
    may_lose = may_miscount = True

    async def begin(self):
        for kind in ("normal", "pubsub"):
            await self.stage.redis.command("CLIENT", "KILL", "TYPE", kind)


class Flush(OfRedis):
    name = "FLUSHALL"
    # Nobody knows any more who was there.
    may_miscount = True

    async def begin(self):
        await self.stage.redis.command("FLUSHALL")


class Sleep(OfRedis):
    name = "Redis asleep for 2 to 4 s"
    span = (2, 4)

    def set_up(self):
        self.span_drawn = self.random.uniform(*self.span)

    async def begin(self):
        await self.stage.redis.command("DEBUG", "SLEEP", f"{self.span_drawn:.1f}")


class LongSleep(Sleep):
    name = "Redis asleep for 5 to 12 s"
    span = (5, 12)
    may_lose = may_miscount = True


class NewRedis(OfRedis):
    name = "Redis killed, an empty one in its place"
    length = (0.5, 8)
    may_lose = may_miscount = True

    async def begin(self):
        await self.stage.redis.end(signal.SIGKILL)

    async def end(self):
        await self.stage.redis.start()


KINDS = [Nothing, Drops, Kill, LongKill, Restart, Stop, LongStop, Cut, LongCut, Reset, Slow, SlowForAll, ClientKill,
         Flush, Sleep, LongSleep, NewRedis]
