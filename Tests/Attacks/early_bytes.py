"""Sends bytes before their time, cut everywhere, to servers and clients of the program; tells which were lost.

    early_bytes.py --program PATH [--seed N]

Prints a line for each attack. The last line is `early-bytes: N cases, M wrong`; the status is 1 unless M is 0.
"""

import argparse
import base64
import concurrent.futures
import hashlib
import hmac
import json
import os
import pathlib
import random
import re
import ssl
import subprocess
import sys
import tempfile
import time

from peers import APP, KEY, PATIENCE, SECRET, Program, Scripted, Server, Wrong
from peers import await_bytes, cuts, early, frame, handshake, ping, signed, text

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHOLE_TIME = 58.0
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
DIALECTS = ("pusher", "reverb", "soketi")

# Attacks on servers.


def attack_splits(server, scripts):
    """Clients send early, each cut in its own way; each is served, is read on, and is forgotten when it goes."""
    for start in range(0, len(scripts), 64):
        batch = scripts[start : start + 64]
        clients = [server.dial() for _ in batch]
        # One piece from each client, then the next, so that most pieces are read alone.
        for turn in range(max(len(pieces) for pieces in batch)):
            for client, pieces in zip(clients, batch):
                if turn < len(pieces):
                    client.sendall(pieces[turn])
            time.sleep(0.01)
        for step, payload in (("served", b"early"), ("read on", b"late!")):
            if step == "read on":
                for client in clients:
                    client.sendall(ping(payload))
            lost = await_bytes(clients, payload)
            if lost:
                sizes = [len(pieces[0]) for client, pieces in zip(clients, batch) if client in lost]
                raise Wrong(f"{len(lost)} of {len(batch)} are not {step}, first pieces of {sizes[:5]} bytes")
        for client in clients:
            client.close()
    server.expect_deserted()
    return len(scripts)


def attack_places(server, rounds):
    """Clients open, send early and go; then a new one and a call are served at once."""
    for number in range(rounds):
        with server.dial() as client:
            client.sendall(early()[: len(handshake()) + 1 + number % 40])
            client.recv(65_536)
    begun = time.monotonic()
    with server.dial() as client:
        client.sendall(handshake())
        if await_bytes([client], b"connection_established"):
            raise Wrong("a new socket is not greeted")
    server.call(signed(f"/apps/{APP}/channels"))
    taken = time.monotonic() - begun
    if taken > 2:
        raise Wrong(f"a new socket and a call took {taken:.1f} s")
    server.expect_deserted()
    return rounds


def attack_requests(server, request, answer, draw):
    """Requests in a row, cut at random, are all answered."""
    count = 8
    data = request * count
    with server.dial() as client:
        client.settimeout(PATIENCE)
        for piece in cuts(data, draw.sample(range(1, len(data)), 6)):
            client.sendall(piece)
            time.sleep(0.002)
        got = b""
        while got.count(answer) < count:
            more = client.recv(65_536)
            if not more:
                raise Wrong(f"{got.count(answer)} of {count} requests are answered")
            got += more
    return 1


# Attacks on clients, by servers that say everything early.


def upgrade(wire, places, together):
    """The 101, the greeting and a ping, cut at the places."""
    request = wire.read_until(b"\r\n\r\n")
    key = re.search(rb"Sec-WebSocket-Key: *(\S+)", request, re.IGNORECASE).group(1)
    accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
    head = (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )
    data = json.dumps({"socket_id": "1.2", "activity_timeout": 120})
    greeting = text({"event": "pusher:connection_established", "data": data}, False)
    whole = head + greeting + frame(9, b"early", False)
    wire.write(cuts(whole, [len(head) if place is None else place % len(whole) for place in places]), together)


def attack_subscribe(context, places, together, secure):
    def script(wire):
        upgrade(wire, places, together)
        # The subscription and the pong: both are answers to what came early.
        frames = wire.read_frames(2)
        if frames.get(10) != b"early" or b"pusher:subscribe" not in frames.get(1, b""):
            raise Wrong(f"the client answers {frames}")
        succeeded = {"event": "pusher_internal:subscription_succeeded", "channel": "news", "data": "{}"}
        event = {"event": "e", "channel": "news", "data": "1"}
        wire.write([text(succeeded, False), text(event, False)], True)
        wire.read()

    server = Scripted(script, context.incoming if secure else None)
    place = ["--host", "localhost", "--port", str(server.port), "--scheme", "https" if secure else "http"]
    trust = ["--cacert", f"{context.folder}/root.pem"] if secure else []
    expect_event(context, server, ["subscribe", *place, *trust, "--ipv4", "news", "-n", "1"], '"event":"e"')


def attack_stream(context, places, together, secure):
    def script(wire):
        wire.read_until(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        whole = head + b"id: 1\nevent: e\ndata: 1\n\n"
        wire.write(cuts(whole, [len(head) if place is None else place % len(whole) for place in places]), together)
        wire.read()

    server = Scripted(script, context.incoming if secure else None)
    trust = ["--cacert", f"{context.folder}/root.pem"] if secure else []
    url = f"http{'s' if secure else ''}://localhost:{server.port}/"
    expect_event(context, server, ["sse", url, *trust, "--ipv4", "-n", "1"], '"event":"e"')


def attack_proxy(context, kind, places):
    """What is behind a proxy speaks right after the proxy's own answer."""

    def script(wire):
        if kind == "http":
            wire.read_until(b"\r\n\r\n")
            answer = b"HTTP/1.1 200 Connection established\r\n\r\n"
        else:
            wire.read()
            wire.write([b"\x05\x00"], True)
            wire.read()
            answer = b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"
        whole = answer + b"HTTP/1.1 418 Early\r\nContent-Length: 0\r\n\r\n"
        wire.write(cuts(whole, [len(answer) if place is None else place % len(whole) for place in places]), False)
        wire.read()

    server = Scripted(script)
    proxy = f"{'http' if kind == 'http' else 'socks5h'}://127.0.0.1:{server.port}"
    arguments = ["subscribe", "--host", "service.invalid", "--port", "80", "--scheme", "http", "--proxy", proxy]
    with Program(context.program, [*arguments, "news", "--reconnect", "never"]) as program:
        _, errors, status = program.result()
    if "418" not in errors or status == 0:
        raise Wrong(f"status {status}: {errors.strip()}; {server.failure}")


def expect_event(context, server, arguments, wanted):
    with Program(context.program, arguments) as program:
        output, errors, status = program.result()
    if status != 0 or wanted not in output:
        raise Wrong(f"status {status}: {output.strip()} {errors.strip()}; {server.failure}")


# All of them.


class Context:
    def __init__(self, program, seed, folder):
        self.program, self.folder = program, folder
        self.draw = random.Random(seed)
        self.cases = self.wrong = 0
        subprocess.run([ROOT / "Tests/certificates.sh", folder], check=True, capture_output=True)
        self.outgoing = ssl.create_default_context(cafile=f"{folder}/root.pem")
        self.incoming = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.incoming.load_cert_chain(f"{folder}/valid.pem", f"{folder}/valid.key")

    def attack(self, name, count, body):
        """Runs an attack that is so many cases, and prints its line."""
        try:
            body()
            verdict = "ok"
        except (Wrong, OSError, ssl.SSLError) as failure:
            verdict = f"WRONG: {failure}"
            self.wrong += 1
        self.cases += count
        print(f"{name}, {count} cases: {verdict}", flush=True)

    def serve(self, *arguments, tls=False, command=("serve",)):
        return Server(self.program, self.folder, [*command, *arguments], self.outgoing if tls else None)

    def places(self, limit):
        """One to four places to cut at; `None` is the end of the head."""
        return [None, *self.draw.sample(range(1, limit), self.draw.randrange(4))]


def attack_servers(context):
    data = early()
    every = [cuts(data, [place]) for place in range(len(data))]
    for dialect in DIALECTS:
        for secure in (False, True):
            drawn = [cuts(data, context.draw.sample(range(1, len(data)), context.draw.randrange(1, 6))) for _ in range(64)]
            with context.serve("--dialect", dialect, tls=secure) as server:
                name = f"serve as {dialect}{' over TLS' if secure else ''}"
                context.attack(f"{name}, cut once", len(every), lambda: attack_splits(server, every))
                context.attack(f"{name}, cut at random", len(drawn), lambda: attack_splits(server, drawn))
        with context.serve("--dialect", dialect, "--max-connections", "300") as server:
            context.attack(f"700 who come and go, {dialect}", 700, lambda: attack_places(server, 700))
    with context.serve() as server:
        request = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
        context.attack(
            "requests in a row", 20,
            lambda: [attack_requests(server, request, b"HTTP/1.1 404", context.draw) for _ in range(20)],
        )
    body = b'{"time_ms":1,"events":[{"name":"e","channel":"c"}]}'
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    request = (
        f"POST / HTTP/1.1\r\nHost: h\r\nX-Pusher-Key: {KEY}\r\nX-Pusher-Signature: {signature}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    with context.serve(command=("webhook", "listen")) as server:
        context.attack(
            "webhooks in a row", 20,
            lambda: [attack_requests(server, request, b"HTTP/1.1 200", context.draw) for _ in range(20)],
        )


def attack_clients(context):
    def several(body, scripts):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for outcome in [pool.submit(body, *script) for script in scripts]:
                outcome.result()

    for secure in (False, True):
        for together in (True, False):
            manner = f"{' over TLS' if secure else ''}, {'at once' if together else 'piece by piece'}"
            for name, body, limit in (("subscribe", attack_subscribe, 250), ("sse", attack_stream, 80)):
                scripts = [(context, [], together, secure), (context, [None], together, secure)]
                scripts += [(context, context.places(limit), together, secure) for _ in range(10)]
                context.attack(f"{name}{manner}", len(scripts), lambda: several(body, scripts))
    for kind in ("http", "socks"):
        scripts = [(context, kind, [])] + [(context, kind, context.places(80)) for _ in range(8)]
        context.attack(f"behind a proxy, {kind}", len(scripts), lambda: several(attack_proxy, scripts))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        context = Context(os.path.abspath(options.program), options.seed, folder)
        attack_servers(context)
        attack_clients(context)
    taken = time.monotonic() - begun
    if taken > WHOLE_TIME:
        context.wrong += 1
        print(f"WRONG: the attacks took {taken:.0f} s")
    print(f"early-bytes: {context.cases} cases, {context.wrong} wrong")
    return 1 if context.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
