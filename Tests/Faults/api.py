"""Calls the HTTP API of one server, each call on a connection of its own, as many back ends do."""

import asyncio
import json


class NoAnswer(Exception):
    """The server cannot be reached, is silent, or answers with no success."""


async def exchange(port, method, target, body):
    """The status and the body of one answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"\r\n" + body)
        answer = await reader.read(-1)
    finally:
        writer.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    if len(words) < 3:
        raise NoAnswer("the connection ended before an answer")
    return int(words[1]), rest


class API:
    def __init__(self, signer, port):
        self.signer, self.port = signer, port

    async def call(self, method, path, parameters=None, body=b"", limit=5.0):
        target = self.signer.target(method, path, parameters or {}, body)
        try:
            return await asyncio.wait_for(exchange(self.port, method, target, body), limit)
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError) as problem:
            raise NoAnswer(repr(problem)) from problem

    async def get(self, path, **parameters):
        status, body = await self.call("GET", path, parameters, limit=2.5)
        if status != 200:
            raise NoAnswer(f"HTTP {status} to GET {path}")
        return json.loads(body)

    async def publish(self, channels, number, limit=8.0):
        """The status of the answer; 0 where there was none."""
        event = {"name": "numbered", "channels": channels, "data": json.dumps({"n": number})}
        try:
            return (await self.call("POST", "/events", body=json.dumps(event).encode(), limit=limit))[0]
        except NoAnswer:
            return 0
