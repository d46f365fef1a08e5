#!/usr/bin/env python3
"""Asks `serve` for its development routes in every form that a proxy gives a request, directly and through nginx.

`proxied.py --program PATH --seed N` starts the program and nginx on 127.0.0.1, and ends with the line
`proxied: N cases, W wrong`; its status is 1 if W is not 0. A case is wrong if a request that did not begin on this machine
gets more than a refusal, or one that did gets less than its answer.
"""

import argparse
import atexit
import http.client
import os
import pathlib
import pty
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NGINX = "/usr/sbin/nginx"
PUBLIC = "ws.example.com"
KEY = "local"

ENDPOINTS = ["/pusher/auth", "/pusher/user-auth", "/broadcasting/auth", "/broadcasting/user-auth"]
CALLS = ["events", "channels", "channel", "connections", "faults", "disconnect", "terminate", "trigger", "webhook", "sign", "snippets"]
CONSOLE = ["/console", "/console/"] + [f"/console/{call}" for call in CALLS + ["check"]]

FIELDS = [
    "Forwarded", "Via", "CDN-Loop", "X-Real-IP", "X-Client-IP", "X-Cluster-Client-IP", "X-Original-Forwarded-For",
    "X-Original-Host", "X-Original-URL", "X-ProxyUser-IP", "X-Envoy-External-Address", "X-Amzn-Trace-Id",
    "X-Azure-ClientIP", "X-Azure-SocketIP", "True-Client-IP", "CF-Connecting-IP", "CF-Ray", "Fastly-Client-IP",
    "Fly-Client-IP", "Proxy-Client-IP", "WL-Proxy-Client-IP", "Front-End-Https", "X-Forwarded", "X-Forwarded-For",
    "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded-By",
    "X-Forwarded-Prefix", "X-Forwarded-Ssl", "X-Forwarded-Scheme",
]
VALUES = ["127.0.0.1", "::1", "localhost", "for=127.0.0.1;host=localhost", "1.1 localhost", "https", "on", "192.0.2.1, 127.0.0.1", ""]
LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]", "shop.test", "LOCALHOST.:80"]


STARTED = []


class Failure(Exception):
    """What keeps the run from going on."""


def wait(what, condition, limit=30):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"not within {limit} s: {what}")
        time.sleep(0.02)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def start(arguments, **options):
    """A process that ends with this one, or in `end_all`."""
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options)
    STARTED.append(process)
    return process


def end_all():
    while STARTED:
        process = STARTED.pop()
        if process.poll() is not None:
            continue
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


atexit.register(end_all)


class Server:
    """`serve` on a terminal, so that it has its console without being asked."""

    def __init__(self, program, folder, *options):
        port_file = folder / f"port-{free_port()}"
        terminal, own = pty.openpty()
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        self.process = start(
            [program, "serve", "--listen", "127.0.0.1:0", "--port-file", str(port_file), *options],
            stderr=own, env=environment,
        )
        os.close(own)
        self.text = ""
        threading.Thread(target=self.read, args=(terminal,), daemon=True).start()
        wait("serve listens", lambda: port_file.exists() and port_file.read_text().endswith("\n"))
        wait("serve has told its console", lambda: "console?token=" in self.text or "--no-console" in options)
        self.port = int(port_file.read_text())
        found = re.search(r"console\?token=([0-9a-f]+)", self.text)
        self.token = found.group(1) if found else ""

    def read(self, terminal):
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                return
            if not piece:
                return
            self.text += piece.decode(errors="replace")


class Door:
    """A port of 127.0.0.1 that requests go to: that of `serve`, or of an nginx before it."""

    def __init__(self, port, secure=False):
        self.port = port
        self.context = None
        if secure:
            self.context = ssl.create_default_context()
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE

    def connect(self):
        if self.context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def ask(self, method, target, host, fields=(), body=""):
        """The status of an answer, and the beginning of its body; an event stream has no end."""
        connection = self.connect()
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", host)
            for name, value in fields:
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body.encode())
            answer = connection.getresponse()
            isStream = (answer.getheader("Content-Type") or "").startswith("text/event-stream")
            return answer.status, "" if isStream else answer.read(2000).decode(errors="replace")
        finally:
            connection.close()

    def open_socket(self, host):
        """A WebSocket's stream and its socket id."""
        stream = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        if self.context:
            stream = self.context.wrap_socket(stream, server_hostname=PUBLIC)
        stream.sendall(
            f"GET /app/{KEY}?protocol=7 HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n\r\n".encode()
        )
        text = b""
        while b"socket_id" not in text or not text.rstrip().endswith(b"}"):
            piece = stream.recv(4096)
            if not piece:
                raise Failure(f"no greeting: {text[:200]!r}")
            text += piece
        return stream, re.search(rb"socket_id[\\\":]+([0-9.]+)", text).group(1).decode()


class Run:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.cases = 0
        self.wrong = 0

    def check(self, what, isRight, answer):
        self.cases += 1
        if not isRight:
            self.wrong += 1
            print(f"wrong: {what}: {answer[0]} {answer[1][:120]!r}")

    def questions(self, socket_id, token):
        """A request for each development route, as its user would send it."""
        for path in ENDPOINTS:
            yield "POST", path, f"socket_id={socket_id}&channel_name=private-a&user_id=ada"
            yield "OPTIONS", path, ""
        for method, body in (("GET", ""), ("POST", "drop"), ("DELETE", "")):
            yield method, "/faults", body
        for path in CONSOLE:
            yield "GET", f"{path}?token={token}", ""
        for path in CONSOLE[2:]:
            yield "POST", path, '{"app":"1","channel":"private-a","event":"e","data":"1","add":"drop"}'

    def spelled(self, name):
        return self.random.choice([name, name.lower(), name.upper()])

    def proxy_fields(self, first=None):
        names = ([first] if first else []) + self.random.sample(FIELDS, self.random.randint(0, 2))
        return [(self.spelled(name), self.random.choice(VALUES)) for name in names]

    # Requests that did not begin here

    def directly(self, door, socket_id, token):
        bearer = ("Authorization", f"Bearer {token}")
        for method, target, body in self.questions(socket_id, token):
            for name in FIELDS:
                host = self.random.choice([PUBLIC, f"{PUBLIC}:443"] + LOCAL_HOSTS)
                fields = self.proxy_fields(name) + [bearer]
                self.refused(door, method, target, host, fields, body, [403])
            for host in (PUBLIC, PUBLIC.upper(), f"{PUBLIC}:6001"):
                self.refused(door, method, target, host, [bearer], body, [403])

    def through(self, door, socket_id, token, hosts, statuses):
        for method, target, body in self.questions(socket_id, token):
            for host in hosts:
                for _ in range(3):
                    self.refused(door, method, target, host, self.proxy_fields(), body, statuses)

    def refused(self, door, method, target, host, fields, body, statuses):
        answer = door.ask(method, target, host, fields, body)
        isRight = answer[0] in statuses and '"auth"' not in answer[1] and '"faults"' not in answer[1]
        self.check(f"{method} {target.split('?')[0]} at {door.port}, Host {host}, {fields}", isRight, answer)

    # Requests that did, and what is for everybody

    def served(self, door, socket_id, token):
        for method, target, body in self.questions(socket_id, token):
            for host in LOCAL_HOSTS:
                if method == "OPTIONS" or target.startswith("/console/") or (method, target) == ("POST", "/faults"):
                    continue
                answer = door.ask(method, target, host, [], body)
                self.check(f"{method} {target.split('?')[0]} from here, Host {host}", answer[0] == 200, answer)

    def public(self, door, host, fields=()):
        answer = door.ask("GET", "/apps/1/channels", host, fields)
        self.check(f"the API at {door.port}", answer[0] == 401, answer)
        stream, _ = door.open_socket(host)
        stream.close()
        self.check(f"a socket at {door.port}", True, (101, ""))

    def no_faults(self, door):
        answer = door.ask("GET", "/faults", "localhost")
        self.check("no fault is staged", answer == (200, '{"faults":[]}'), answer)


def nginx(folder, name, block, server):
    """An nginx with the block of the page, changed for this machine alone."""
    port = free_port()
    home = folder / name
    home.mkdir()
    for shown, used in [
        ("server 10.0.0.1:6001", f"server 127.0.0.1:{server.port}"),
        ("    server 10.0.0.2:6001 max_fails=1 fail_timeout=5s;\n", ""),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/ws.example.com.pem", str(folder / "certificate.pem")),
        ("/etc/ssl/ws.example.com.key", str(folder / "key.pem")),
    ]:
        if shown not in block:
            raise Failure(f"the page has no {shown}")
        block = block.replace(shown, used)
    spools = "\n".join(f"{kind}_temp_path {home}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.getuid() == 0 else ""
    (home / "nginx.conf").write_text(
        f"daemon off;\n{user}\nworker_processes 1;\npid {home}/pid;\nerror_log stderr crit;\n"
        f"events {{ worker_connections 64; }}\nhttp {{\naccess_log off;\n{spools}\n{block}\n}}\n"
    )
    start([NGINX, "-e", "stderr", "-p", str(home), "-c", str(home / "nginx.conf")])
    wait("nginx listens", lambda: listens(port))
    return Door(port, secure=True)


def page_block():
    page = (ROOT / "docs" / "cluster.md").read_text()
    return page.split("```nginx\n")[1].split("\n```")[0]


def changed(block, *changes):
    for pattern, text in changes:
        block, count = re.subn(pattern, text, block)
        if count == 0:
            raise Failure(f"the page has no {pattern}")
    return block


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    run = Run(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={PUBLIC}",
             "-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")],
            check=True, stderr=subprocess.DEVNULL,
        )
        server = Server(options.program, folder, "--allow-host", PUBLIC)
        door = Door(server.port)
        stream, socket_id = door.open_socket("localhost")
        run.served(door, socket_id, server.token)
        run.directly(door, socket_id, server.token)
        run.public(door, PUBLIC, [("X-Forwarded-For", "192.0.2.1")])
        block = page_block()
        hosts = [PUBLIC, "localhost", "127.0.0.1", "shop.test"]
        # As the page has it: nginx passes on no development route.
        printed = nginx(folder, "printed", block, server)
        run.through(printed, socket_id, server.token, hosts, [404])
        run.public(printed, PUBLIC)
        # With all paths passed on, the fields that nginx adds close them.
        everything = changed(block, (r"location ~ \^/\S+ \{", "location ~ ^/ {"))
        opened = nginx(folder, "opened", everything, server)
        run.through(opened, socket_id, server.token, hosts, [403])
        run.public(opened, PUBLIC)
        # Without those fields the name closes them.
        bare = nginx(folder, "bare", changed(everything, (r"\n *proxy_set_header X-Forwarded-\S+ \S+;", "")), server)
        run.through(bare, socket_id, server.token, [PUBLIC], [403])
        run.no_faults(door)
        stream.close()
        end_all()
    print(f"proxied: {run.cases} cases, {run.wrong} wrong")
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
