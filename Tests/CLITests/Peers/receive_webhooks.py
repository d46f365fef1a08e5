"""Receives webhooks, validates them with the official server library and prints their events as JSON lines.

Usage: receive_webhooks.py KEY SECRET COUNT

The first line is the port. An invalid webhook ends the program with status 1.
"""

import http.server
import json
import sys

import pusher

key, secret, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
application = pusher.Pusher(app_id="1", key=key, secret=secret)
received = 0
failed = False


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        global received, failed
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        webhook = application.validate_webhook(
            key=self.headers["X-Pusher-Key"],
            signature=self.headers["X-Pusher-Signature"],
            body=body,
        )
        if webhook is None:
            failed = True
        for event in (webhook or {}).get("events", []):
            print(json.dumps(event), flush=True)
            received += 1
        self.send_response(401 if webhook is None else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.close_connection = failed or received >= count

    def log_message(self, *arguments):
        pass


with http.server.HTTPServer(("127.0.0.1", 0), Receiver) as server:
    server.timeout = 10
    print(server.server_address[1], flush=True)
    while not failed and received < count:
        server.handle_request()
sys.exit(1 if failed else 0)
