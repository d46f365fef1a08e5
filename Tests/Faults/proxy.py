"""A TCP proxy between one server and Redis, which can be told to misbehave."""

import asyncio
import random
import socket
import struct


def reset(writer):
    """Ends a connection with a reset, so that the peer learns of it as of a crash."""
    end = writer.get_extra_info("socket")
    if end is not None:
        try:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
    writer.transport.abort()


class Proxy:
    """Passes bytes; or holds them back until it passes again, as a network does that is away; or resets and refuses."""

    def __init__(self, target):
        self.target = target
        self.passing = asyncio.Event()
        self.passing.set()
        self.refuses = False
        self.delay = (0.0, 0.0)
        self.open = set()
        # Makes a function from bytes to bytes for each connection, which changes what comes from Redis.
        self.tamper = None

    async def start(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def hold(self):
        self.passing.clear()

    def cut(self):
        """Resets all connections and refuses new ones."""
        self.refuses = True
        self.break_all()

    def break_all(self):
        for writer in list(self.open):
            reset(writer)

    def mend(self):
        self.refuses = False
        self.passing.set()

    async def accept(self, reader, writer):
        if self.refuses:
            return reset(writer)
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            return reset(writer)
        self.open |= {writer, there_writer}
        try:
            await asyncio.gather(self.pump(reader, there_writer), self.pump(there_reader, writer, is_answer=True))
        finally:
            self.open -= {writer, there_writer}

    async def pump(self, reader, writer, is_answer=False):
        tamper = self.tamper() if is_answer and self.tamper else None
        try:
            while data := await reader.read(65536):
                if self.delay[1]:
                    await asyncio.sleep(random.uniform(*self.delay))
                await self.passing.wait()
                if tamper:
                    data = tamper(data)
                writer.write(data)
                await writer.drain()
            await self.passing.wait()
            writer.close()
        except OSError:
            reset(writer)
