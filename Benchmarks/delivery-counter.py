"""Stands between `bench` and servers that form a cluster, and counts what passes.

    delivery-counter.py PORT-FILE SERVER-PORT...

Calls of the HTTP API go to the first server, sockets to one server after another that accepts. It
writes its port to PORT-FILE. After SIGTERM it prints "accepted delivered": API calls that the
server accepted, and events that went to subscribers.
"""

import asyncio
import pathlib
import signal
import sys

EVENT = b'"event":"bench"'


class Frames:
    """Counts the events in the frames of a server, whose frames have no mask (RFC 6455 section 5.2)."""

    def __init__(self):
        self.head, self.waiting = False, b""

    def feed(self, data):
        """Returns the number of events that end in these bytes."""
        self.waiting += data
        if not self.head:
            head, end, rest = self.waiting.partition(b"\r\n\r\n")
            if not end:
                return 0
            self.head, self.waiting = True, rest
        events = 0
        while (size := self.size()) is not None and len(self.waiting) >= size:
            events += EVENT in self.waiting[:size]
            self.waiting = self.waiting[size:]
        return events

    def size(self):
        """Size of the first frame with its header; None if the header is incomplete."""
        if len(self.waiting) < 10:
            return 2 + self.waiting[1] if len(self.waiting) > 1 and self.waiting[1] < 126 else None
        match self.waiting[1]:
            case 126:
                return 4 + int.from_bytes(self.waiting[2:4], "big")
            case 127:
                return 10 + int.from_bytes(self.waiting[2:10], "big")
            case length:
                return 2 + length


class Counter:
    def __init__(self, ports):
        self.ports, self.turn, self.accepted, self.delivered = ports, 0, 0, 0

    async def dial(self, is_call):
        for _ in self.ports:
            port = self.ports[0] if is_call else self.ports[self.turn % len(self.ports)]
            self.turn += not is_call
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                pass
        raise OSError("no server accepts")

    async def accept(self, reader, writer):
        there = None
        try:
            first = await reader.read(65536)
            is_call = first.startswith(b"POST ")
            answers, there = await self.dial(is_call)
            there.write(first)
            copy = asyncio.create_task(self.copy(reader, there))
            frames = Frames()
            while data := await answers.read(65536):
                writer.write(data)
                if is_call:
                    self.accepted += data.startswith(b"HTTP/1.1 200 ")
                else:
                    self.delivered += frames.feed(data)
            copy.cancel()
        except OSError:
            pass
        for end in [writer, there]:
            if end:
                end.close()

    @staticmethod
    async def copy(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()


async def main(port_file, ports):
    counter = Counter(ports)
    server = await asyncio.start_server(counter.accept, "127.0.0.1", 0, backlog=1024)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    pathlib.Path(port_file).write_text(f"{server.sockets[0].getsockname()[1]}\n")
    await stop.wait()
    print(counter.accepted, counter.delivered)


asyncio.run(main(sys.argv[1], [int(word) for word in sys.argv[2:]]))
