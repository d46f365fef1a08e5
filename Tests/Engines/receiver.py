"""Takes what --forward sends: writes its key and body to a file, and answers what another file says, 200 unless it is there.

    receiver.py PORT STORE ANSWER
"""

import http.server
import json
import pathlib
import sys
import threading

port, store, answer = int(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
lock = threading.Lock()


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        status = int(answer.read_text()) if answer.exists() else 200
        if status == 200:
            with lock, open(store, "a") as file:
                file.write(json.dumps({"key": self.headers["Idempotency-Key"], "body": body}) + "\n")
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer.allow_reuse_address = True
http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()
