#!/usr/bin/env python3
"""Gives the program numbers at their limits from every source that has numbers, and sees that it does not crash.

    numbers.py --program PATH [--seed N] [--only WORD]

The sources: flags, variables, files of settings and state, answers and events of servers, calls and frames of clients.
A run is wrong if a fault ends it, or if it does not end within some seconds after SIGTERM. Prints a line for each source.
The last line is `numbers: N cases, M wrong`; the status is 1 unless M is 0.
"""

import argparse
import base64
import concurrent.futures
import hashlib
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

NUMBERS = """0 -1 1 2147483647 2147483648 4294967295 4294967296 9007199254740992 9007199254740993 9223372036854775807
-9223372036854775808 9223372036854775808 18446744073709551615 18446744073709551616 1e400 -1e400 1e19 NaN inf 0.5""".split()
NUMBERS.append("9" * 400)
HEX = ["0", "7fffffff", "80000000", "ffffffff", "100000000", "7fffffffffffffff", "8000000000000000", "ffffffffffffffff",
       "10000000000000000", "f" * 300]
# SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
FAULTS = (-4, -5, -6, -7, -8, -11)
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
# How long a run may do what the number makes it do, and how long it may take to end.
RUN, END = 0.7, 8


class Scripted:
    """A server that answers each connection with the same bytes, after the handshake where it speaks WebSocket."""

    def __init__(self, data, is_socket=False):
        self.data, self.is_socket = data, is_socket
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while len(self.connections) < 50:
                connection, _ = self.listener.accept()
                self.connections.append(connection)
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()
        except OSError:
            pass

    def answer(self, connection):
        try:
            connection.settimeout(3)
            head = connection.recv(65536)
            if self.is_socket:
                key = re.search(rb"sec-websocket-key: *(\S+)", head, re.I)
                digest = base64.b64encode(hashlib.sha1((key[1] if key else b"") + GUID).digest())
                connection.sendall(
                    b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                    + digest + b"\r\n\r\n")
            connection.sendall(self.data)
            while connection.recv(65536):
                pass
        except OSError:
            pass

    def close(self):
        for one in [self.listener, *self.connections]:
            one.close()


def frame(text):
    data = text.encode()
    return (bytes([0x81, len(data)]) if len(data) < 126 else b"\x81\x7e" + len(data).to_bytes(2, "big")) + data


def event(name, data, rest=""):
    quoted = data.replace("\\", "\\\\").replace('"', '\\"')
    return frame(f'{{"event":"{name}","data":"{quoted}"{rest}}}')


class Runner:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def run(self, arguments, variables=None, limit=RUN, meanwhile=None):
        """What is wrong with a run; empty for nothing."""
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "SWIFT_BACKTRACE": "enable=no",
            "PUSHER_APP_KEY": "key", "PUSHER_APP_ID": "1", "PUSHER_APP_SECRET": "secret", **(variables or {})}
        process = subprocess.Popen(
            [self.program, *map(str, arguments)], env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if meanwhile:
            meanwhile(process)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                status = process.wait(END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return "goes on after SIGTERM"
        return f"ended by signal {-status}" if status in FAULTS else ""

    def with_server(self, data, arguments, is_socket=False, variables=None):
        server = Scripted(data, is_socket)
        try:
            place = ["--host", "127.0.0.1", "--port", server.port, "--scheme", "ws" if is_socket else "http"]
            filled = [str(one).replace("{port}", str(server.port)) for one in arguments]
            return self.run(filled if arguments[0] == "sse" else filled + place, variables)
        finally:
            server.close()


# MARK: Sources

def flags(runner):
    """Each flag that takes a number, of each command."""
    base = {
        "subscribe": ["subscribe", "-c", "x", "--host", "127.0.0.1", "--port", "1", "--reconnect", "never"],
        "sse": ["sse", "http://127.0.0.1:1/", "--reconnect", "never"], "serve": ["serve", "--listen", "127.0.0.1:0"],
        "trigger": ["trigger", "-c", "x", "-e", "e", "1", "--host", "127.0.0.1", "--port", "1"],
        "webhook": ["webhook", "listen", "--listen", "127.0.0.1:0"], "check": ["check", "--host", "127.0.0.1", "--port", "1"]}
    for command, arguments in base.items():
        help_text = subprocess.run([runner.program, command, "--help-all"], capture_output=True, text=True).stdout
        found = set(re.findall(r"--[a-z-]+(?=[ =](?:TIME|N|SIZE|PORT|FD)\b)", help_text))
        for flag in sorted(found):
            for number in NUMBERS:
                for unit in ("", "s", "h", "k", "g") if number.isdigit() and len(number) > 9 else ("",):
                    yield f"{command} {flag}", lambda a=arguments, f=flag, n=number + unit: runner.run([*a, f"{f}={n}"], limit=0.3)


def variables(runner):
    for number in NUMBERS:
        for name in ("WATCHDOG_USEC", "LISTEN_FDS", "COLUMNS", "PUSHER_PORT", "PUSHER_TIMEOUT"):
            more = {name: number, "LISTEN_PID": "1", "NOTIFY_SOCKET": "@none"}
            yield name, lambda m=more: runner.run(["serve", "--listen", "127.0.0.1:0"], m)
        # The process asks for its own number: a shell hands its own on.
        script = f'LISTEN_PID=$$ LISTEN_FDS={number} exec {runner.program} serve --listen 127.0.0.1:0'
        yield "LISTEN_FDS with LISTEN_PID", lambda s=script: shell(runner, s)
        yield ".env", lambda n=number: env_file(runner, n)


def shell(runner, script):
    outer = Runner("/bin/sh", runner.folder)
    return outer.run(["-c", script])


def env_file(runner, number):
    file = runner.folder / f"env-{abs(hash(number))}"
    file.write_text(
        f"REVERB_APP_KEY=k\nREVERB_APP_ID=1\nREVERB_APP_SECRET=s\nREVERB_HOST=127.0.0.1\nREVERB_PORT={number}\n"
        f"PUSHER_PORT={number}\nREVERB_SERVER_PORT={number}\n")
    file.chmod(0o600)
    return runner.run(["subscribe", "-c", "x", "--env-file", file, "--reconnect", "never"]) or runner.run(
        ["serve", "--env-file", file, "--listen", "127.0.0.1:0"])


def files(runner):
    for index, number in enumerate(NUMBERS):
        apps = runner.folder / f"apps-{index}"
        limits = "connections subscriptions presence_members event_data client_events_per_second cached_channels " \
            "events_per_second bytes_per_second".split()
        members = ",".join(f'"{name}":{number}' for name in limits)
        apps.write_text(f'[{{"id":"1","key":"k","secret":"s","limits":{{{members}}}}}]')
        apps.chmod(0o600)
        yield "apps file", lambda a=apps: runner.run(["serve", "--listen", "127.0.0.1:0", "--apps", a])
        state = runner.folder / f"state-{index}"
        state.write_text(f"pusher-cli state {number if index % 2 else 1}\nurl http://127.0.0.1:{number}/\nquery {number}\nid {number}\n")
        yield "state file", lambda s=state: runner.run(
            ["sse", "http://127.0.0.1:1/", "--reconnect", "never", "--state-file", s])
        yield "input orders", lambda n=number: orders(runner, n)


def orders(runner, number):
    recording = runner.folder / f"recording-{abs(hash(number))}"
    recording.write_text(f'{{"time":{number},"event":"e","channel":"c","data":{number}}}\n' * 3)
    return runner.run(["serve", "--listen", "127.0.0.1:0", "--console", "--open-recording", recording])


def greetings(runner):
    """Messages of a Pusher."""
    greeting = event("pusher:connection_established", '{"socket_id":"1.1","activity_timeout":120}')
    for number in NUMBERS:
        for shown in (number, f'"{number}"'):
            hostile = [
                event("pusher:connection_established", f'{{"socket_id":"{number}.{number}","activity_timeout":{shown}}}'),
                greeting + frame(f'{{"event":"pusher:error","data":{{"code":{shown},"message":"m"}}}}'),
                greeting + event("pusher_internal:subscription_count", f'{{"subscription_count":{shown}}}', ',"channel":"presence-x"'),
                greeting + event(
                    "pusher_internal:subscription_succeeded",
                    f'{{"presence":{{"count":{shown},"ids":[{shown}],"hash":{{"{number}":null}}}}}}', ',"channel":"presence-x"'),
                greeting + frame(f'{{"event":"e","channel":"presence-x","data":{shown},"user_id":{shown},"time_ms":{shown}}}'),
            ]
            for data in hostile:
                yield "messages to subscribe", lambda d=data: runner.with_server(
                    d, ["subscribe", "presence-x", "-L", "-vv", "--user-id", "u"], True)
            yield "pretty messages", lambda d=hostile[4]: runner.with_server(
                d, ["subscribe", "presence-x", "-o", "pretty"], True)
        for length in (0x7fff_ffff, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1):
            data = greeting + b"\x81\x7f" + length.to_bytes(8, "big") + b"abc"
            yield "frame lengths", lambda d=data: runner.with_server(d, ["subscribe", "x"], True)


def answers(runner):
    """Answers of HTTP servers."""
    ok = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    sse = ["sse", "http://127.0.0.1:{port}/", "-L", "--cookies"]
    for number in (one.encode() for one in NUMBERS):
        heads = {
            "Content-Length": ok + b"Content-Length: " + number + b"\r\n\r\ndata: 1\n\n",
            "Retry-After": b"HTTP/1.1 503 x\r\nRetry-After: " + number + b"\r\nContent-Length: 0\r\n\r\n",
            "status": b"HTTP/1.1 " + number + b" x\r\nContent-Length: 0\r\n\r\n",
            "version": b"HTTP/" + number + b"." + number + b" 200 OK\r\n\r\n",
            "Location": b"HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:" + number + b"/\r\nContent-Length: 0\r\n\r\n",
            "Max-Age": ok + b"Set-Cookie: a=b; Max-Age=" + number + b"\r\nSet-Cookie: c=d; Expires=Thu, " + number[:4]
            + b" Jan " + number + b" 00:00:00 GMT\r\n\r\ndata: 1\n\n",
            "rate limit": b"HTTP/1.1 429 x\r\nX-RateLimit-Reset: " + number + b"\r\nX-RateLimit-Remaining: " + number
            + b"\r\nRetry-After: " + number + b"\r\nContent-Length: 0\r\n\r\n",
            "Date": b"HTTP/1.1 503 x\r\nDate: " + number + b"\r\nRetry-After: Fri, 31 Dec " + number
            + b" 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n",
            "retry:": ok + b"\r\nretry: " + number + b"\nid: " + number + b"\ndata: " + number + b"\n\n",
        }
        for name, data in heads.items():
            yield f"{name} to sse", lambda d=data: runner.with_server(d, sse)
            yield f"{name} to trigger", lambda d=data: runner.with_server(d, ["trigger", "-c", "x", "-e", "e", "1"])
        body = b'{"channels":{"x":{"user_count":' + number + b',"subscription_count":' + number + b"}}}"
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
        yield "counts to channels", lambda d=answer: runner.with_server(d, ["channels"])
    for size in (one.encode() for one in HEX):
        data = ok + b"Transfer-Encoding: chunked\r\n\r\n" + size + b"\r\ndata: 1\n\n\r\n" + size + b";x=" + size + b"\r\n"
        yield "chunk sizes to sse", lambda d=data: runner.with_server(d, sse)


def clients(runner):
    """Calls and frames of clients, on one server each."""
    for number in NUMBERS:
        signature = f"auth_key=key&auth_timestamp={number}&auth_version=1.0&body_md5=x&auth_signature=x"
        calls = [
            f"POST /apps/1/events?{signature} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {number}\r\n\r\n{{}}",
            f"GET /apps/1/channels?{signature}&limit={number} HTTP/1.{number}\r\nHost: localhost:{number}\r\n\r\n",
            f"GET /app/key?protocol={number}&version={number} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: {number}\r\n\r\n",
            f"GET /app/key?protocol=7 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits={number}\r\n\r\n",
            f"GET /console/events?since={number}&limit={number} HTTP/1.1\r\nHost: localhost\r\nRange: bytes={number}-{number}\r\n\r\n",
            f"POST /faults HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\n"
            + f'{{"fault":"stall","after":{number}}}'.ljust(30)[:30]]
        calls += [
            f"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n{{}}\r\n" for size in HEX]
        messages = [
            f'{{"event":"pusher:subscribe","data":{{"channel":"presence-x","auth":"key:{number}","channel_data":"{{\\"user_id\\":{number}}}"}}}}',
            f'{{"event":{number},"channel":{number},"data":{number}}}', f'{{"event":"pusher:ping","data":{number}}}', number]
        for kind in (["serve", "--console"], ["serve", "--dialect", "reverb"], ["webhook", "listen"]):
            yield f"calls to {' '.join(kind)}", lambda k=kind, c=calls, m=messages: serve(runner, k, c, m)


def serve(runner, command, calls, messages):
    place = {}
    file = runner.folder / f"port-{time.monotonic_ns()}-{random.random()}"

    def attack(process):
        end = time.monotonic() + 10
        while not (file.exists() and file.read_text().strip()) and time.monotonic() < end and process.poll() is None:
            time.sleep(0.02)
        place["port"] = int(file.read_text()) if file.exists() else 1
        for call in calls:
            exchange(place["port"], call.encode())
        upgrade = calls[3].replace("client_max_window_bits=", "x=").encode()
        frames = b"".join(
            bytes([0x81, 0x80 | len(one)]) + bytes(4) + one.encode() for one in messages if len(one) < 126)
        exchange(place["port"], upgrade + frames)
        for length in (2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1):
            exchange(place["port"], upgrade + b"\x81\xff" + length.to_bytes(8, "big") + bytes(8))

    return runner.run([*command, "--listen", "127.0.0.1:0", "--port-file", file], meanwhile=attack)


def exchange(port, data):
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as connection:
            connection.settimeout(0.05)
            connection.sendall(data)
            connection.recv(65536)
    except OSError:
        pass


# MARK: The whole

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--share", type=int, default=4, help="run one of so many cases of a source; 1 for all")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    totals, wrong = {}, 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(6) as pool:
        runner = Runner(os.path.abspath(options.program), folder)
        tasks = []
        for source in (flags, variables, files, greetings, answers, clients):
            for name, case in source(runner):
                if options.only in name and rng.randrange(options.share) == 0:
                    tasks.append((name, pool.submit(case)))
        for name, task in tasks:
            problem = task.result()
            count, problems = totals.get(name, (0, []))
            totals[name] = (count + 1, problems + [problem] if problem else problems)
            wrong += bool(problem)
    for name, (count, problems) in totals.items():
        print("WRONG" if problems else "ok   ", f"{name}: {count}", *sorted(set(problems)))
    print(f"numbers: {len(tasks)} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
