"""Gives the program numbers at their limits from every source, and says whether it crashed, hung or grew.

    limits.py --program PATH [--seed N] [--cases N]

Each source (an option, a variable, a file, an answer of a server, a request of a client) gets each number of a list and
some that the seed draws. A run must end by itself within ten seconds with a status of its own, by no crash, and with at
most 200 MB. Loopback only. The last line is `limits: N cases, M wrong`; the status is 1 where M is not 0.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import peers
from peers import Wrong, handshake

LIMITS = [
    "0", "-0", "-1", "1", "00000000000000000000001", "65535", "65536", "2147483647", "2147483648", "4294967296",
    "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551615", "18446744073709551616", "1e18", "1e400", "-1e400", "1e-400", "0.5", "NaN", "inf", "0x10",
    "9" * 400, "1." + "0" * 400, "+5", "", " 7 ", "\u0661\u0662",
]
CRASHES = {signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGSYS}
MEMORY_LIMIT = 200 << 10
PATIENCE = 10


def frame(payload, opcode=1):
    return peers.frame(opcode, payload.encode() if isinstance(payload, str) else payload, False)


def masked(payload, opcode=1):
    return peers.frame(opcode, payload.encode(), True)


def message(event, data, channel=None):
    value = {"event": event, "data": data}
    if channel:
        value["channel"] = channel
    return json.dumps(value)


class Scripted:
    """A server on a thread of its own that gives each connection to a script, and then closes it."""

    def __init__(self, script):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.script = script
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            client.settimeout(PATIENCE)
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        with client:
            try:
                head = b""
                while b"\r\n\r\n" not in head:
                    more = client.recv(65536)
                    if not more:
                        return
                    head += more
                self.script(client, head)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def upgrade(head, extensions=""):
    key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head).group(1)
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
    lines = [
        "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Accept: {accept}"
    ]
    return "\r\n".join(lines + ([extensions] if extensions else []) + ["", ""]).encode()


GREETING = message("pusher:connection_established", '{"socket_id":"1.1","activity_timeout":120}')


class Attack:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": folder, "SWIFT_BACKTRACE": "enable=no", "LC_ALL": "C"
        }

    # The runs.

    def run(self, arguments, environment=None, data=b"", stop=None):
        """Runs the program to its end; `stop` is called with the process once it runs and may stop it."""
        process = subprocess.Popen(
            [self.program, *arguments], env={**self.environment, **(environment or {})}, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder)
        said = []
        reader = threading.Thread(target=lambda: said.append(process.stderr.read()), daemon=True)
        reader.start()
        try:
            process.stdin.write(data)
            process.stdin.close()
        except OSError:
            pass
        try:
            if stop:
                stop(process)
        finally:
            status, usage = self.wait(process)
        reader.join(PATIENCE)
        text = (said[0] if said else b"").decode(errors="replace")
        if status < 0 and signal.Signals(-status) in CRASHES:
            raise Wrong(f"crashed by {signal.Signals(-status).name}: {text[-200:]!r}")
        if status == 1:
            raise Wrong(f"status 1, an error of its own: {text[-200:]!r}")
        if "Fatal error" in text:
            raise Wrong(f"said {text[-200:]!r}")
        if usage.ru_maxrss > MEMORY_LIMIT:
            raise Wrong(f"took {usage.ru_maxrss >> 10} MB")
        return status, text

    def wait(self, process):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return process.returncode, usage
            time.sleep(0.002)
        process.kill()
        process.wait()
        raise Wrong(f"still ran after {PATIENCE} s")

    def serve(self, arguments, talk, environment=None, data=b""):
        """Runs a server, talks to it, asks whether it still answers, and ends it."""
        port_file = os.path.join(self.folder, "port")

        def stop(process):
            end = time.monotonic() + PATIENCE
            while not (os.path.exists(port_file) and os.path.getsize(port_file)):
                if self.has_ended(process):
                    return
                if time.monotonic() > end:
                    raise Wrong("a server did not listen within 10 s")
                time.sleep(0.005)
            with open(port_file) as file:
                port = int(file.read())
            talk(port)
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as again:
                again.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                if not again.recv(9).startswith(b"HTTP/1.1"):
                    raise Wrong("the server gave no answer afterwards")
            process.terminate()

        if os.path.exists(port_file):
            os.remove(port_file)
        kind = ["serve"] if arguments[:1] != ["webhook"] else []
        self.run([*kind, *arguments, "--listen", "127.0.0.1:0", "--port-file", port_file], environment, data, stop)

    @staticmethod
    def has_ended(process):
        try:
            return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def subscribe(self, script, *more, environment=None, data=b""):
        with Scripted(script) as server:
            self.run([
                "subscribe", "--host", "127.0.0.1", "--port", str(server.port), "--scheme", "http", "--key", "k", "-n", "1",
                "--reconnect", "never", "-W", "1s", "a", *more
            ], environment, data)

    def stream(self, script, *more):
        with Scripted(script) as server:
            self.run(["sse", f"http://127.0.0.1:{server.port}/", "--reconnect", "never", "-n", "1", "-W", "1s", *more])

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    # Options, variables and files.

    def options(self, command):
        text, _ = subprocess.Popen(
            [self.program, command, "--help-all"], env=self.environment, stdout=subprocess.PIPE).communicate()
        return re.findall(r"(--[a-z0-9-]+) (?:N|TIME|SIZE|FACTOR|FD)\b", text.decode())

    def option(self, command, name):
        def greet(client, head):
            if b"pgrade" not in head:
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
                return
            client.sendall(upgrade(head) + frame(GREETING) + frame(message("pusher_internal:subscription_succeeded", "{}", "a")))
            client.sendall(frame(message("x", "1", "a")))

        def test(number):
            if command == "serve":
                self.serve([f"{name}={number}"], lambda port: None)
            elif command == "trigger":
                line = b'{"event":"x","channel":"a","data":1,"received_at":"2026-01-01T00:00:00.000Z"}\n'
                with Scripted(lambda client, head: client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")) as server:
                    self.run([
                        "trigger", "--host", "127.0.0.1", "--scheme", "http", "--port", str(server.port), "--key", "k",
                        "--app-id", "1", f"{name}={number}", "-"
                    ], {"PUSHER_APP_SECRET": "s"}, line)
            elif command == "sse":
                self.stream(greet, f"{name}={number}")
            else:
                self.subscribe(greet, f"{name}={number}")

        return test

    def variable(self, name, *arguments):
        def test(number):
            values = {name: number, "PUSHER_APP_KEY": "k", "PUSHER_HOST": "127.0.0.1", "REVERB_APP_KEY": "k"}
            if name.startswith("LISTEN"):
                values["LISTEN_PID"] = values.get("LISTEN_PID", "1")
            self.run(arguments or ["config"], values)

        return test

    def settings(self, name, text, *arguments):
        def test(number):
            path = self.file(name, text.replace("NUMBER", number))
            self.run([argument.replace("PATH", path) for argument in arguments], {"PUSHER_APP_SECRET": "s"})

        return test

    def apps(self, limit):
        def test(number):
            path = self.file("apps.json", '[{"id":"1","key":"k","secret":"s","limits":{"%s":%s}}]' % (limit, number or "null"))
            self.serve(["--apps", path], lambda port: self.chat(port, "k"))

        return test

    def chat(self, port, key="local"):
        """Connects, subscribes and says something."""
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
            client.sendall(handshake(f"/app/{key}?protocol=7"))
            client.sendall(masked(message("pusher:subscribe", {"channel": "a"})))
            client.sendall(masked("", 8))
            client.settimeout(PATIENCE)
            while client.recv(65536):
                pass

    # Answers of servers.

    def greeting(self, data):
        return lambda number: self.subscribe(
            lambda client, head: client.sendall(
                upgrade(head) + frame('{"event":"pusher:connection_established","data":"%s"}' % data.replace("NUMBER", number)) +
                frame(message("pusher_internal:subscription_succeeded", "{}", "a")) + frame(message("x", "1", "a"))))

    def message(self, text):
        def test(number):
            def script(client, head):
                client.sendall(upgrade(head) + frame(GREETING))
                client.sendall(frame(message("pusher_internal:subscription_succeeded", "{}", "a")))
                client.sendall(frame(text.replace("NUMBER", number).encode(errors="replace")))

            self.subscribe(script, "-L", "--stats", "10ms")

        return test

    def close_code(self, number):
        code = abs(int(number)) % 65536 if re.fullmatch(r"-?\d{1,30}", number, re.ASCII) else 1005
        self.subscribe(
            lambda client, head: client.sendall(upgrade(head) + frame(GREETING) + frame(struct.pack(">H", code), 8)))

    def frame_length(self, number):
        length = abs(int(number)) % (1 << 64) if re.fullmatch(r"-?\d{1,30}", number, re.ASCII) else (1 << 63)
        head_bytes = b"\x81\x7f" + struct.pack(">Q", length)
        self.subscribe(lambda client, head: client.sendall(upgrade(head) + head_bytes + b"xx"))
        with_mask = b"\x81\xff" + struct.pack(">Q", length) + bytes(4) + b"xx"
        self.serve([], lambda port: self.raw(port, handshake("/app/local?protocol=7") + with_mask))

    def window_bits(self, number):
        field = f"Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits={number}; client_max_window_bits={number}"
        self.subscribe(lambda client, head: client.sendall(upgrade(head, field.encode(errors="replace").decode()) + frame(GREETING)))

    def upgrade_answer(self, text):
        return lambda number: self.subscribe(
            lambda client, head: client.sendall(text.replace("NUMBER", number).encode()))

    def stream_answer(self, text):
        return lambda number: self.stream(lambda client, head: client.sendall(text.replace("NUMBER", number).encode()), "-L")

    def api_answer(self, command, text):
        def test(number):
            with Scripted(lambda client, head: client.sendall(text.replace("NUMBER", number).encode())) as server:
                self.run([
                    *command, "--host", "127.0.0.1", "--port", str(server.port), "--scheme", "http", "--key", "k", "--app-id", "1",
                    "--connect-timeout", "1s"
                ], {"PUSHER_APP_SECRET": "s"})

        return test

    def proxy_answer(self, text):
        def test(number):
            with Scripted(lambda client, head: client.sendall(text.replace("NUMBER", number).encode())) as proxy:
                self.run([
                    "subscribe", "--host", "host.invalid", "--key", "k", "--reconnect", "never", "-W", "1s", "a", "--proxy",
                    f"http://127.0.0.1:{proxy.port}"
                ])

        return test

    def retry_after(self, number):
        with Scripted(lambda client, head: client.sendall(
                f"HTTP/1.1 503 x\r\nRetry-After: {number}\r\nContent-Length: 0\r\n\r\n".encode())) as receiver:
            def script(client, head):
                client.sendall(upgrade(head) + frame(GREETING))
                client.sendall(frame(message("pusher_internal:subscription_succeeded", "{}", "a")) + frame(message("x", "1", "a")))

            self.subscribe(script, "--forward", f"http://127.0.0.1:{receiver.port}/", "--forward-timeout", "300ms")

    # Requests of clients.

    def raw(self, port, data):
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            client.settimeout(PATIENCE)
            try:
                while client.recv(65536):
                    pass
            except ConnectionResetError:
                pass

    def request(self, text, *arguments):
        return lambda number: self.serve(
            list(arguments), lambda port: self.raw(port, text.replace("NUMBER", number).replace("PORT", str(port)).encode()))

    def signed(self, body):
        """A signed call whose body and time have the number."""

        def test(number):
            def talk(port):
                data = body.replace("NUMBER", number).encode()
                for stamp in (number, str(int(time.time()))):
                    query = (
                        f"auth_key=local&auth_timestamp={stamp}&auth_version=1.0&body_md5=" + hashlib.md5(data).hexdigest())
                    text = "\n".join(["POST", "/apps/1/events", query])
                    signature = hmac.new(b"local", text.encode(), hashlib.sha256).hexdigest()
                    quoted = query.replace(" ", "%20").encode("ascii", "replace").decode()
                    self.raw(port, (
                        f"POST /apps/1/events?{quoted}&auth_signature={signature} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        f"Connection: close\r\nContent-Length: {len(data)}\r\n\r\n").encode() + data)

            self.serve([], talk)

        return test

    def client_message(self, text):
        return lambda number: self.serve(
            [], lambda port: self.raw(port, handshake("/app/local?protocol=7") + masked(text.replace("NUMBER", number)[:60000]) + masked("", 8)))

    def fault(self, text):
        def test(number):
            body = text.replace("NUMBER", number or "null").encode()
            head = f"POST /faults HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()

            def talk(port):
                self.raw(port, head + body)
                self.raw(port, b"DELETE /faults HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")

            self.serve([], talk)

        return test

    def webhook(self, number):
        body = ('{"time_ms":%s,"events":[{"name":"channel_occupied","channel":"a"}]}' % (number or "null")).encode()
        signature = hmac.new(b"s", body, hashlib.sha256).hexdigest()
        head = (
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Pusher-Key: k\r\nX-Pusher-Signature: {signature}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode()
        self.serve(
            ["webhook", "listen", "--key", "k"], lambda port: self.raw(port, head + body), {"PUSHER_APP_SECRET": "s"})

    def sources(self):
        for command in ("subscribe", "sse", "trigger", "serve"):
            for name in self.options(command):
                if name not in ("--ready-fd", "--port"):
                    yield f"{command} {name}", self.option(command, name)
        ready = lambda number: self.run(["subscribe", "--key", "k", "--host", "127.0.0.1", "-W", "100ms", "a", f"--ready-fd={number}"])
        yield "subscribe --ready-fd", ready
        yield "config --port", lambda number: self.run(["config", "--host", "127.0.0.1", "--key", "k", f"--port={number}"])
        yield "config --metrics", lambda number: self.run(["config", "--key", "k", f"--metrics=127.0.0.1:{number}"])
        yield "config --proxy", lambda number: self.run(["config", "--key", "k", f"--proxy=http://127.0.0.1:{number}"])
        yield "config --url", lambda number: self.run(["config", f"--url=http://k:s@127.0.0.1:{number}/apps/1"])
        yield "sse URL", lambda number: self.run(["sse", f"http://127.0.0.1:{number}/", "--reconnect", "never", "-W", "1s"])
        yield "serve --listen", lambda number: self.run(["serve", f"--listen=127.0.0.1:{number}"], None, b"", self.terminate)
        yield "serve --fault after", lambda number: self.serve([f"--fault=drop:after={number}"], self.chat)
        yield "serve --fault delay", lambda number: self.serve([f"--fault=delay:for={number}"], self.chat)
        for name in ("PUSHER_PORT", "REVERB_PORT", "SOKETI_PORT"):
            yield name, self.variable(name)
        serve = ["serve", "--listen", "127.0.0.1:0", "--on-ready", "kill $PPID"]
        for name in ("WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "COLUMNS"):
            yield name, self.variable(name, *serve)
        yield ".env", self.settings("a.env", "PUSHER_APP_KEY=k\nPUSHER_HOST=127.0.0.1\nPUSHER_PORT=NUMBER\n", "config", "--env-file", "PATH")
        yield "profile", self.settings("a.ini", "[profile a]\nkey = k\nport = NUMBER\nretry-max-delay = NUMBER\n", "config", "--config", "PATH", "-P", "a")
        yield "recording", self.settings(
            "a.jsonl", '{"received_at":"NUMBER","event":"x","channel":"a","data":NUMBER}\n', "trigger", "--dry-run", "--key", "k",
            "--app-id", "1", "--speed", "1", "-d", "@PATH", "-c", "a", "-e", "x")
        yield "state file", lambda number: self.stream(
            lambda client, head: client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 5\ndata: 1\n\n"),
            "--state-file", self.file("state", f"pusher-cli state {number}\nurl http://x/\nid {number}\n"))
        for limit in ("connections", "channels_per_connection", "channels_per_address", "presence_members", "event_bytes", "client_events_per_second",
                      "cached_channels", "events_per_second", "bytes_per_second"):
            yield f"apps {limit}", self.apps(limit)
        yield "activity_timeout", self.greeting(r'{\"socket_id\":\"1.1\",\"activity_timeout\":NUMBER}')
        yield "socket_id", self.greeting(r'{\"socket_id\":\"NUMBER.NUMBER\",\"activity_timeout\":120}')
        yield "pusher:error code", self.message('{"event":"pusher:error","data":{"code":NUMBER,"message":"m"}}')
        yield "event number", self.message('{"event":"x","channel":"a","data":NUMBER,"user_id":NUMBER}')
        yield "subscription_count", self.message('{"event":"pusher_internal:subscription_count","channel":"a","data":"{\\"subscription_count\\":NUMBER}"}')
        yield "presence count", self.message('{"event":"pusher_internal:subscription_succeeded","channel":"a","data":"{\\"presence\\":{\\"count\\":NUMBER,\\"ids\\":[NUMBER],\\"hash\\":{}}}"}')
        yield "close code", self.close_code
        yield "frame length", self.frame_length
        yield "window bits", self.window_bits
        yield "upgrade Content-Length", self.upgrade_answer("HTTP/1.1 400 x\r\nContent-Length: NUMBER\r\n\r\nxx")
        yield "upgrade status", self.upgrade_answer("HTTP/1.1 NUMBER x\r\nContent-Length: 0\r\n\r\n")
        yield "upgrade Retry-After", self.upgrade_answer("HTTP/1.1 429 x\r\nRetry-After: NUMBER\r\nContent-Length: 0\r\n\r\n")
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        yield "retry:", self.stream_answer(head + "\r\nretry: NUMBER\ndata: 1\n\n")
        yield "stream chunk", self.stream_answer(head + "Transfer-Encoding: chunked\r\n\r\nNUMBER\r\ndata: 1\n\n")
        yield "stream Content-Length", self.stream_answer(head + "Content-Length: NUMBER\r\n\r\ndata: 1\n\n")
        yield "stream Retry-After", self.stream_answer("HTTP/1.1 503 x\r\nRetry-After: NUMBER\r\nContent-Length: 0\r\n\r\n")
        yield "cookie Max-Age", lambda number: self.stream(lambda client, request: client.sendall(
            f"{head}Set-Cookie: a=b; Max-Age={number}\r\n\r\ndata: 1\n\n".encode()), "--cookies")
        body = '{"channels":{"a":{"user_count":NUMBER,"subscription_count":NUMBER}}}'
        yield "channels", self.api_answer(["channels"], "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
        yield "channel", self.api_answer(["channels", "a"], 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"occupied":true,"user_count":NUMBER}')
        yield "users", self.api_answer(["users", "presence-a"], 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"users":[{"id":NUMBER}]}')
        yield "trigger answer", self.api_answer(["trigger", "-c", "a", "-e", "x", "1"], "HTTP/1.1 200 OK\r\nContent-Length: NUMBER\r\n\r\n{}")
        yield "proxy Content-Length", self.proxy_answer("HTTP/1.1 407 x\r\nContent-Length: NUMBER\r\n\r\n")
        yield "forward Retry-After", self.retry_after
        post = "POST /apps/1/events HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"
        yield "request Content-Length", self.request(post + "Content-Length: NUMBER\r\n\r\n{}")
        yield "request chunk", self.request(post + "Transfer-Encoding: chunked\r\n\r\nNUMBER\r\n{}")
        yield "request Host", self.request("GET / HTTP/1.1\r\nHost: 127.0.0.1:NUMBER\r\n\r\n")
        yield "request version", self.request("GET /app/local?protocol=NUMBER HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nSec-WebSocket-Version: NUMBER\r\n\r\n")
        yield "signed call", self.signed('{"name":"x","channels":["a"],"data":"1","socket_id":"NUMBER.NUMBER"}')
        yield "client message", self.client_message('{"event":NUMBER,"data":NUMBER,"channel":NUMBER}')
        yield "client subscribe", self.client_message('{"event":"pusher:subscribe","data":{"channel":"presence-a","auth":"local:x","channel_data":"{\\"user_id\\":NUMBER}"}}')
        yield "fault call", self.fault('{"faults":[{"kind":"drop","after":NUMBER,"times":NUMBER}]}')
        yield "webhook time_ms", self.webhook

    @staticmethod
    def terminate(process):
        end = time.monotonic() + 0.3
        while time.monotonic() < end and not Attack.has_ended(process):
            time.sleep(0.01)
        if not Attack.has_ended(process):
            process.terminate()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=0, help="draw this number of cases; 0 runs all")
    parser.add_argument("--only", default="", help="only sources whose name has this text")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    numbers = LIMITS + [str(draw.randrange(1 << 63, 1 << 65)), str(-draw.randrange(1 << 62, 1 << 64)), f"{draw.random():.17g}e{draw.randrange(300, 320)}"]
    wrong = count = 0
    with tempfile.TemporaryDirectory(prefix="limits-") as folder:
        attack = Attack(os.path.abspath(arguments.program), folder)
        cases = [(name, test, number) for name, test in attack.sources() if arguments.only in name for number in numbers]
        if arguments.cases:
            cases = draw.sample(cases, min(arguments.cases, len(cases)))
        for name, test, number in cases:
            count += 1
            shown = number if len(number) < 60 else f"{number[:20]}... ({len(number)} characters)"
            try:
                test(number)
            except Wrong as problem:
                wrong += 1
                print(f"wrong: {name}, {shown!r}: {problem}", flush=True)
            except OSError as problem:
                wrong += 1
                print(f"wrong: {name}, {shown!r}: no answer ({problem})", flush=True)
        for name in dict.fromkeys(name for name, _, _ in cases):
            print(f"tried: {name}")
    print(f"limits: {count} cases, {wrong} wrong")
    sys.exit(1 if wrong or not count else 0)


if __name__ == "__main__":
    main()
