#!/usr/bin/env python3
"""Serves five event streams to pusher-cli, curl, httpie and httpx-sse, and prints a table.

  Benchmarks/compare-sse.py PROGRAM

PROGRAM is a built pusher-cli. curl and httpie (`http`) must be on the path, or have no rows. httpx-sse
runs on this interpreter: use the one that scripts/python-peers.sh prints. A row shows how many of the
stream's events came, the beginning of the output, and the status. A program that still runs after five
seconds is ended.
"""

import http.server
import json
import shutil
import subprocess
import sys
import threading
import time

LIMIT = 5
# The data of each event contains one of these words, and no other text does.
WORDS = ["alpha", "beta", "gamma"]


def chat(word):
    return "data: " + json.dumps({"choices": [{"delta": {"content": word}}]}) + "\n\n"


def message(word):
    return "event: content_block_delta\ndata: " + json.dumps({"delta": {"text": word}}) + "\n\n"


class Streams(http.server.BaseHTTPRequestHandler):
    """Answers each path with one stream, in chunks."""

    protocol_version = "HTTP/1.1"

    def begin(self, kind="text/event-stream"):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def end(self):
        self.wfile.write(b"0\r\n\r\n")

    def resumed(self):
        """Ends after two events, and goes on for a client that asks for the rest."""
        self.begin()
        if self.headers.get("Last-Event-ID") == "2":
            self.chunk(f"id: 3\ndata: {WORDS[2]}\n\n")
            time.sleep(2 * LIMIT)
        else:
            self.chunk(f"retry: 100\n\nid: 1\ndata: {WORDS[0]}\n\nid: 2\ndata: {WORDS[1]}\n\n")
        self.end()

    def chat(self):
        """Stays open after the marker of the end, as behind some proxies."""
        self.begin()
        for word in WORDS:
            self.chunk(chat(word))
        self.chunk("data: [DONE]\n\n")
        time.sleep(2 * LIMIT)
        self.end()

    def error(self):
        """Reports a failure inside the stream, which then ends properly."""
        self.begin()
        for word in WORDS:
            self.chunk(message(word))
        self.chunk('event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n')
        self.end()

    def cut(self):
        """Breaks off inside the third event."""
        self.begin()
        for word in WORDS[:2]:
            self.chunk(f"data: {word}\n\n")
        self.chunk(f"data: {WORDS[2][:2]}")
        self.close_connection = True

    def lines(self):
        """Sends JSON lines."""
        self.begin("application/x-ndjson")
        for word in WORDS:
            self.chunk(json.dumps({"message": {"content": word}}) + "\n")
        self.end()

    def do_GET(self):
        try:
            getattr(self, self.path.strip("/"))()
        except (BrokenPipeError, ConnectionResetError):
            pass

    do_POST = do_GET

    def log_message(self, *_):
        pass


# Name, what is special, the options of pusher-cli, and whether the request is a POST.
CASES = [
    ("resumed", "ends after two events of three", ["-n", "3", "-o", "raw"], False),
    ("chat", "a model's answer, open after `[DONE]`",
     ["--until", "[DONE]", "--field", "choices.0.delta.content", "--join"], True),
    ("error", "`event: error` inside",
     ["--fail-event", "error", "--field", "delta.text", "--join"], True),
    ("cut", "breaks off inside the third event", ["--reconnect", "never", "-o", "raw"], False),
    ("lines", "JSON lines", ["--field", "message.content", "--join"], True),
]

HTTPX = """
import httpx, sys
from httpx_sse import connect_sse
method, url = sys.argv[1:3]
options = {"json": {}} if method == "POST" else {}
with httpx.Client(timeout=60) as client, connect_sse(client, method, url, **options) as source:
    for event in source.iter_sse():
        print(event.data, flush=True)
"""


def commands(program, url, options, is_post):
    """Returns the command of each program that is there."""
    data = ["-d", "{}"] if is_post else []
    method = "POST" if is_post else "GET"
    found = [("pusher-cli", [program, "sse", url] + data + options)]
    if shutil.which("curl"):
        found.append(("curl -N", ["curl", "-sSN", url] + data))
    if shutil.which("http"):
        body = ["--raw", "{}"] if is_post else []
        found.append(
            ("httpie", ["http", "--ignore-stdin", "--stream", "--print=b", "--pretty=none", method, url] + body))
    if subprocess.run([sys.executable, "-c", "import httpx_sse"], capture_output=True).returncode == 0:
        found.append(("httpx-sse", [sys.executable, "-c", HTTPX, method, url]))
    return found


def run(command):
    """Returns the output, and the status in words."""
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
        return result.stdout.decode(errors="replace"), str(result.returncode)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace"), f"runs on after {LIMIT} s"


def shown(text):
    """Returns the beginning of an output for a cell of the table."""
    line = text.replace("\n", "⏎")
    line = line if len(line) <= 40 else line[:39] + "…"
    return "nothing" if not line else "`" + line.replace("|", "\\|").replace("`", "'") + "`"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Streams)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("| stream | program | events | prints | status |\n| --- | --- | --- | --- | --- |")
    for name, what, options, is_post in CASES:
        url = f"http://127.0.0.1:{server.server_port}/{name}"
        for program, command in commands(sys.argv[1], url, options, is_post):
            text, status = run(command)
            count = sum(word in text for word in WORDS)
            print(f"| {what} | {program} | {count} of 3 | {shown(text)} | {status} |", flush=True)


main()
