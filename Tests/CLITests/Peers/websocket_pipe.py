"""Connects standard input and output to a WebSocket of the library websockets, one message per line.

Usage: websocket_pipe.py URL

The first output line is the accepted extension, or empty. The last has code and reason of the close. The input
line "ping" sends a ping frame and reports its pong; "close" ends the connection.
"""

import json
import sys
import threading

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect


def send_lines(socket):
    try:
        for line in map(str.strip, sys.stdin):
            if line == "ping":
                print("pong" if socket.ping().wait(10) else "no pong", flush=True)
            elif line == "close":
                socket.close()
            else:
                socket.send(line)
    except ConnectionClosed:
        pass


with connect(sys.argv[1], ping_interval=None, proxy=None) as socket:
    print(socket.response.headers.get("Sec-WebSocket-Extensions", ""), flush=True)
    threading.Thread(target=send_lines, args=[socket], daemon=True).start()
    try:
        while True:
            print(socket.recv(), flush=True)
    except ConnectionClosed as end:
        close = end.rcvd
        print(json.dumps([close.code, close.reason] if close else None), flush=True)
