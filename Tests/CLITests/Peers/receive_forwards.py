"""Receives the requests of --forward, and misbehaves as requested.

Usage: receive_forwards.py [LANE=]BEHAVIOUR...

Prints the port, then each request as a line of JSON: connection number, method, path, fields and body. Applies
the behaviours in turn, and repeats the last one. A behaviour with a LANE applies to requests whose
Pusher-Channel, or else Pusher-Event, is LANE.

STATUS           answers it; STATUS+N adds Retry-After: N
gate             answers 200 after a line on standard input, one line per request
down             answers 503 until a line arrives, then 200
hang             never answers
reset, drop      breaks the connection without an answer, by a reset or an end
close            answers 200, then ends the connection
half             answers 200, and ends the connection inside the body
huge             answers 200 and a body of 1 GiB; huge500 the same with 500
head             sends fields without end
"""

import http.server
import itertools
import json
import socket
import struct
import sys
import threading

lines = threading.Semaphore(0)
came = threading.Event()
lock = threading.Lock()
connections = itertools.count(1)
plans = {}
for word in sys.argv[1:]:
    lane, _, behaviour = word.rpartition("=")
    plans.setdefault(lane, []).append(behaviour)


def next_behaviour(lane):
    plan = plans.get(lane) or plans.get("") or ["200"]
    return plan.pop(0) if len(plan) > 1 else plan[0]


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.number = next(connections)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        lane = self.headers["Pusher-Channel"] or self.headers["Pusher-Event"]
        with lock:
            behaviour = next_behaviour(lane)
            request = {
                "connection": self.number,
                "method": self.command,
                "path": self.path,
                "fields": {name.lower(): value for name, value in self.headers.items()},
                "body": body.decode(),
            }
            print(json.dumps(request), flush=True)
        word, _, wait = behaviour.partition("+")
        if word.isdigit():
            self.answer(int(word), {"Retry-After": wait} if wait else {})
        else:
            getattr(self, "do_" + word)()

    do_GET = do_POST

    def answer(self, status, fields={}, length=0):
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", "/elsewhere")
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def do_gate(self):
        lines.acquire()
        self.answer(200)

    def do_down(self):
        self.answer(200 if came.is_set() else 503)

    def do_hang(self):
        self.connection.recv(1)
        self.close_connection = True

    def do_drop(self):
        self.close_connection = True

    def do_reset(self):
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def do_close(self):
        self.answer(200)
        self.close_connection = True

    def do_half(self):
        self.answer(200, length=1000)
        self.wfile.write(b"0123456789")
        self.close_connection = True

    def do_huge(self, status=200):
        self.answer(status, length=1 << 30)
        self.pour(bytes(1 << 20))

    def do_huge500(self):
        self.do_huge(500)

    def do_head(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        self.pour(b"X-Field: value\r\n" * 4096)

    def pour(self, chunk):
        self.close_connection = True
        try:
            for _ in range(1024):
                self.wfile.write(chunk)
        except OSError:
            pass

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


with Server(("127.0.0.1", 0), Receiver) as server:
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for _ in sys.stdin:
        came.set()
        lines.release()
