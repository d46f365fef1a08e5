"""Measures `pusher-cli serve` from outside, by /proc: fan-out of one publisher, and idle connections.

Usage: serve-load.py PROGRAM

For 1, 100 and 1,000 subscribers of one channel: the server's CPU time for each delivery of a text frame of 200 bytes,
API calls included, and its resident memory for each connection. Then the resident memory with 1,000 connections that
do nothing. Needs Linux and nothing but Python.
"""

import hashlib
import hmac
import http.client
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time

KEY = SECRET = "local"
TICK = os.sysconf("SC_CLK_TCK")


def start(program):
    path = os.path.join(tempfile.mkdtemp(), "port")
    server = subprocess.Popen(
        [program, "serve", "--listen", "127.0.0.1:0", "--port-file", path, "-q"]
    )
    deadline = time.monotonic() + 10
    while not os.path.exists(path):
        assert time.monotonic() < deadline, "serve did not start"
        time.sleep(0.01)
    return server, int(open(path).read())


def cpu(pid):
    """Seconds from schedstat, in nanoseconds there."""
    return int(open(f"/proc/{pid}/schedstat").read().split()[0]) / 1e9


def resident(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024


def frame(text):
    data = text.encode()
    assert len(data) < 126
    return bytes([0x81, 0x80 | len(data), 0, 0, 0, 0]) + data


def connect(port, channel=None):
    peer = socket.create_connection(("127.0.0.1", port))
    peer.sendall(
        f"GET /app/{KEY}?protocol=7 HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
    )
    wait(peer, b"connection_established")
    if channel:
        peer.sendall(
            frame(json.dumps({"event": "pusher:subscribe", "data": {"channel": channel}}))
        )
        wait(peer, b"subscription_succeeded")
    peer.setblocking(False)
    return peer


def wait(peer, mark):
    got = b""
    while mark not in got:
        part = peer.recv(65536)
        assert part, got
        got += part


def call(connection, events):
    body = json.dumps({"batch": events})
    query = (
        f"auth_key={KEY}&auth_timestamp={int(time.time())}&auth_version=1.0"
        f"&body_md5={hashlib.md5(body.encode()).hexdigest()}"
    )
    text = f"POST\n/apps/1/batch_events\n{query}"
    signature = hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()
    connection.request(
        "POST", f"/apps/1/batch_events?{query}&auth_signature={signature}", body,
        {"Content-Type": "application/json"},
    )
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    answer.read()


def fan_out(program, count, events):
    server, port = start(program)
    try:
        before = resident(server.pid)
        peers = [connect(port, "c") for _ in range(count)]
        memory = (resident(server.pid) - before) / count
        selector = selectors.DefaultSelector()
        for peer in peers:
            selector.register(peer, selectors.EVENT_READ)
        overhead = len('{"event":"e","channel":"c","data":""}')
        event = {"name": "e", "channel": "c", "data": "x" * (200 - overhead)}
        connection = http.client.HTTPConnection("127.0.0.1", port)
        # 200 bytes behind a head of 4.
        expected = 204 * 10 * count
        began = cpu(server.pid)
        for _ in range(events // 10):
            call(connection, [event] * 10)
            got = 0
            while got < expected:
                for key, _ in selector.select(10):
                    got += len(key.fileobj.recv(1 << 20))
        used = cpu(server.pid) - began
        print(
            f"{count:5} subscribers: {used / events / count * 1e6:7.2f} us CPU per delivery, "
            f"{memory / 1024:6.1f} KiB per connection, {resident(server.pid) / 1e6:.1f} MB at the end"
        )
        for peer in peers:
            peer.close()
    finally:
        server.terminate()
        server.wait()


def idle(program, count):
    server, port = start(program)
    try:
        peers = [connect(port) for _ in range(count)]
        print(f"{count:5} idle connections: {resident(server.pid) / 1e6:.1f} MB resident")
        for peer in peers:
            peer.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    for subscribers, events in [(1, 20_000), (100, 5_000), (1_000, 1_000)]:
        fan_out(sys.argv[1], subscribers, events)
    idle(sys.argv[1], 1_000)
