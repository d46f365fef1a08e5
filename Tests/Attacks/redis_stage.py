"""Redis, servers and clients for the attacks on `serve --redis`: all on 127.0.0.1, each ended by its own process."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import time

SECRET = "attack-secret"
APP, KEY = "17", "attack-key"
PASSWORD = "attack-password"


def wait(condition, limit):
    """Whether the condition holds within the limit, in seconds."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


class Redis:
    """A redis-server without a file, on a free port."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory()
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder.name]
        self.process = subprocess.Popen(
            ["redis-server", *options, "--save", "", "--appendonly", "no", "--databases", "64"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not wait(lambda: self.can_connect(), 10):
            raise SystemExit("redis-server does not answer")

    def can_connect(self):
        try:
            return self("PING") == "PONG"
        except OSError:
            return False

    def __call__(self, *words, database=0):
        """What Redis answers; an error is a text that begins with `-`."""
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            stream = connection.makefile("rwb")
            for command in (["SELECT", database], words):
                stream.write(b"*%d\r\n" % len(command))
                for word in command:
                    data = word if isinstance(word, bytes) else str(word).encode()
                    stream.write(b"$%d\r\n%s\r\n" % (len(data), data))
            stream.flush()
            self.reply(stream)
            return self.reply(stream)

    def reply(self, stream):
        line = stream.readline().decode("utf-8", "replace").rstrip("\r\n")
        kind, rest = line[:1], line[1:]
        if kind == "$":
            return None if rest == "-1" else stream.read(int(rest) + 2)[:-2].decode("utf-8", "replace")
        if kind == "*":
            return [self.reply(stream) for _ in range(int(rest))]
        return int(rest) if kind == ":" else rest if kind == "+" else line

    def close(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Server:
    """`serve --redis`, its standard error, its API and its /healthz."""

    def __init__(self, program, redis, database=0, user="", limits=None):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        app = {"id": APP, "key": KEY, "secret": SECRET, "client_events": True}
        (folder / "apps").write_text(json.dumps([{**app, "limits": limits or {}}]))
        (folder / "apps").chmod(0o600)
        place = f"127.0.0.1:{redis.port}/{database}"
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "SWIFT_BACKTRACE": "enable=no",
            "PUSHER_CLI_REDIS_URL": f"redis://{user}:{PASSWORD}@{place}" if user else f"redis://{place}"}
        self.process = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--port-file", folder / "port", "--apps", folder / "apps",
             "--metrics", "127.0.0.1:0"],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()
        self.prefix = f"pusher-cli:{database}:{APP}:"

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    @property
    def is_alive(self):
        return self.process.poll() is None

    def port(self, limit=10):
        """Where it listens; `None` when it does not say so in time."""
        file = pathlib.Path(self.folder.name) / "port"
        return int(file.read_text()) if wait(lambda: file.exists() and file.read_text().strip(), limit) else None

    def told(self, *texts, since=0):
        """Whether one line of standard error has all these texts."""
        return any(all(text in line for text in texts) for line in self.lines[since:])

    def health(self):
        """The status and the body of /healthz; 0 while nobody answers."""
        for line in self.lines:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/metrics", line):
                return self.ask(int(found[1]), "GET", "/healthz")
        return 0, ""

    def ask(self, port, method, target, body=None):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=8)
            connection.request(method, target, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def call(self, method, path, body=None):
        """The status of a call of the HTTP API; 0 for none."""
        path = f"/apps/{APP}{path}"
        parameters = {"auth_key": KEY, "auth_timestamp": int(time.time()), "auth_version": "1.0"}
        if body:
            parameters["body_md5"] = hashlib.md5(body).hexdigest()
        row = "&".join(f"{name}={parameters[name]}" for name in sorted(parameters))
        signature = sign(f"{method}\n{path}\n{row}")
        return self.ask(self.port(), method, f"{path}?{row}&auth_signature={signature}", body)[0]

    def publish(self, channel="news"):
        return self.call("POST", "/events", json.dumps({"name": "e", "channel": channel, "data": "1"}).encode())

    def is_well(self):
        return self.is_alive and self.health()[0] == 200 and self.publish() == 200

    def close(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


def sign(text):
    return hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()


class Client:
    """A socket that subscribes; what comes is collected."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port()), 10)
        self.socket.settimeout(None)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            f"GET /app/{KEY}?protocol=7 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.text = ""
        threading.Thread(target=self.read, daemon=True).start()
        wait(lambda: "connection_established" in self.text, 10)
        found = re.search(r'socket_id\\?":\\?"([0-9.]+)', self.text)
        self.id = found[1] if found else ""

    def read(self):
        try:
            while data := self.socket.recv(65536):
                self.text += data.decode("utf-8", "replace")
        except OSError:
            pass

    def send(self, event, data):
        payload = json.dumps({"event": event, "data": data}).encode()
        head = bytes([0x81, 0x80 | len(payload)]) if len(payload) < 126 else (
            b"\x81\xfe" + len(payload).to_bytes(2, "big"))
        # A mask of zeros leaves the payload as it is.
        self.socket.sendall(head + bytes(4) + payload)

    def subscribe(self, channel, user="ann"):
        data = {"channel": channel}
        if channel.startswith("presence-"):
            data["channel_data"] = json.dumps({"user_id": user})
            data["auth"] = f"{KEY}:{sign(self.id + ':' + channel + ':' + data['channel_data'])}"
        self.send("pusher:subscribe", data)

    def sign_in(self, user="ann"):
        data = json.dumps({"id": user})
        self.send("pusher:signin", {"auth": f"{KEY}:{sign(self.id + '::user::' + data)}", "user_data": data})

    def has(self, text, count=1):
        return self.text.count(text) >= count

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
