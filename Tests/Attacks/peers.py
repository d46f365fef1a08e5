"""What the attacks are made of: frames, programs that listen, and servers that play a script."""

import hashlib
import hmac
import json
import os
import pathlib
import select
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

KEY, SECRET, APP = "early-key", "early-secret", "17"
PATIENCE = 5.0


class Wrong(Exception):
    """An attack has found something."""


def frame(opcode, payload, masked):
    assert len(payload) < 65_536
    head = bytes([0x80 | opcode])
    size = len(payload)
    bit = 0x80 if masked else 0
    head += bytes([bit | size]) if size < 126 else bytes([bit | 126]) + struct.pack("!H", size)
    if not masked:
        return head + payload
    mask = b"\x12\x34\x56\x78"
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def text(message, masked):
    return frame(1, json.dumps(message).encode(), masked)


def ping(payload):
    return frame(9, payload, True)


def handshake(target=f"/app/{KEY}?protocol=7"):
    return (
        f"GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n\r\n"
    ).encode()


def early():
    """A handshake, and what a client must not send yet."""
    subscribe = {"event": "pusher:subscribe", "data": {"channel": "news"}}
    return handshake() + text(subscribe, True) + ping(b"early")


def signed(target, method="GET"):
    query = f"auth_key={KEY}&auth_timestamp={int(time.time())}&auth_version=1.0"
    signature = hmac.new(SECRET.encode(), f"{method}\n{target}\n{query}".encode(), hashlib.sha256)
    return f"{target}?{query}&auth_signature={signature.hexdigest()}"


def cuts(data, places):
    """The pieces of the data between the places."""
    edges = [0, *sorted(places), len(data)]
    return [data[start:end] for start, end in zip(edges, edges[1:]) if start < end]


# Programs and their ends.


class Program:
    """A running program of ours; it ends with the block."""

    def __init__(self, path, arguments, stdin=subprocess.DEVNULL):
        environment = {"PATH": os.environ["PATH"], "PUSHER_APP_KEY": KEY, "PUSHER_APP_SECRET": SECRET}
        environment |= {"PUSHER_APP_ID": APP, "HOME": "/nonexistent"}
        self.process = subprocess.Popen(
            [path, *arguments], env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def result(self):
        """Output, standard error and status; `Wrong` when it does not end."""
        try:
            output, errors = self.process.communicate(timeout=2 * PATIENCE)
        except subprocess.TimeoutExpired:
            raise Wrong("the program does not end") from None
        return output.decode(), errors.decode(), self.process.returncode


class Server(Program):
    """A program that listens: `serve`, or another with `--listen`."""

    def __init__(self, path, folder, arguments, tls=None):
        port_file = pathlib.Path(tempfile.mktemp(dir=folder))
        secured = ["--tls-cert", f"{folder}/valid.pem", "--tls-key", f"{folder}/valid.key"] if tls else []
        super().__init__(path, [*arguments, "--listen", "127.0.0.1:0", "--port-file", str(port_file), *secured])
        self.tls = tls
        until("the port file", lambda: port_file.exists() and port_file.read_text().endswith("\n"))
        self.port = int(port_file.read_text())

    def dial(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.tls.wrap_socket(plain, server_hostname="localhost") if self.tls else plain

    def call(self, target, limit=PATIENCE):
        """The body of a call that is answered with 200."""
        with self.dial() as one:
            one.settimeout(limit)
            one.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: one.recv(65_536), b""))
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise Wrong(f"{target.split('?')[0]} is answered with {answer[:60]}")
        return answer.split(b"\r\n\r\n", 1)[1]

    def expect_deserted(self):
        path = f"/apps/{APP}/channels"
        until("no channel is occupied", lambda: json.loads(self.call(signed(path)))["channels"] in ({}, []))


def until(what, holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise Wrong(f"not within {PATIENCE:.0f} s: {what}")
        time.sleep(0.005)


def await_bytes(sockets, wanted):
    """Reads from all sockets until each has brought the bytes; answers those that have not."""
    got = {one: b"" for one in sockets}
    missing = set(sockets)
    end = time.monotonic() + PATIENCE
    while missing and time.monotonic() < end:
        ready, _, _ = select.select(list(missing), [], [], 0.2)
        for one in ready:
            one.settimeout(PATIENCE)
            data = one.recv(65_536)
            got[one] += data
            if wanted in got[one]:
                missing.discard(one)
            elif not data:
                return missing
    return missing


# Servers that play a script.


class Scripted:
    """Takes one connection, and plays a script on it in a thread of its own."""

    def __init__(self, script, tls=None):
        self.script, self.tls = script, tls
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(2 * PATIENCE)
        self.port = self.listener.getsockname()[1]
        self.failure = None
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()

    def play(self):
        try:
            with self.listener, self.listener.accept()[0] as plain:
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                plain.settimeout(2 * PATIENCE)
                self.script(Wire(plain, self.tls))
        except Exception as failure:  # noqa: BLE001, every one is told
            self.failure = failure


class Wire:
    """A server's side of a connection that decides which bytes share a record, and which records a segment."""

    def __init__(self, plain, tls):
        self.plain, self.tls = plain, None
        if tls:
            self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.tls = tls.wrap_bio(self.incoming, self.outgoing, server_side=True)
            self.step(self.tls.do_handshake)

    def step(self, action):
        while True:
            try:
                result = action()
            except ssl.SSLWantReadError:
                result = None
            if data := self.outgoing.read():
                self.plain.sendall(data)
            if result is not None or action == self.tls.do_handshake and self.tls.version() and not self.wants(action):
                return result
            data = self.plain.recv(65_536)
            if not data:
                raise Wrong("the client has gone")
            self.incoming.write(data)

    def wants(self, action):
        try:
            action()
        except ssl.SSLWantReadError:
            return True
        return False

    def read(self):
        return self.step(lambda: self.tls.read(65_536)) if self.tls else self.plain.recv(65_536)

    def read_until(self, wanted):
        got = b""
        while wanted not in got:
            data = self.read()
            if not data:
                raise Wrong(f"the client has gone before {wanted}")
            got += data
        return got

    def read_frames(self, count):
        """The payloads of the client's next frames, by their opcodes; what follows them is dropped."""
        frames, got = {}, b""
        while len(frames) < count:
            while len(got) >= 6 and len(got) >= (end := self.end_of_frame(got)):
                mask, payload = got[end - self.size(got) - 4 :][:4], got[end - self.size(got) : end]
                frames[got[0] & 15] = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
                got = got[end:]
            if len(frames) < count:
                data = self.read()
                if not data:
                    raise Wrong(f"the client has gone after frames {sorted(frames)}")
                got += data
        return frames

    @staticmethod
    def size(got):
        size = got[1] & 127
        return size if size < 126 else struct.unpack("!H", got[2:4])[0]

    def end_of_frame(self, got):
        return (6 if got[1] & 127 < 126 else 8) + self.size(got)

    def write(self, pieces, together):
        """With TLS each piece is a record; `together` sends all of them at once."""
        if self.tls:
            records = []
            for piece in pieces:
                self.tls.write(piece)
                records.append(self.outgoing.read())
            pieces = records
        if together:
            pieces = [b"".join(pieces)]
        for piece in pieces:
            self.plain.sendall(piece)
            time.sleep(0.003)


