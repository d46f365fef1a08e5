"""A server of the Model Context Protocol over Streamable HTTP.

Usage: mcp_server.py stream|json|session

Prints its port. Answers requests at /mcp by an event stream, or by one JSON text. With `session`, it
also keeps sessions and the events of their streams, and ends the stream of `slow` early.
"""

import socket
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventMessage, EventStore

mcp = MCPServer("peer", log_level="ERROR")
form = sys.argv[1]


class Events(EventStore):
    """Keeps the events of all streams; the ID of an event is its place."""

    def __init__(self):
        self.all = []

    async def store_event(self, stream_id, message):
        self.all.append((stream_id, message))
        return str(len(self.all))

    async def replay_events_after(self, last_event_id, send_callback):
        stream_id = self.all[int(last_event_id) - 1][0]
        for place, (stream, message) in enumerate(self.all, 1):
            if stream == stream_id and place > int(last_event_id) and message:
                await send_callback(EventMessage(message, str(place)))
        return stream_id


@mcp.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@mcp.tool()
async def count(to: int, context: Context) -> str:
    """Counts, and sends a message for each number."""
    for number in range(1, to + 1):
        await context.report_progress(number, to, f"at {number}")
    return "done"


@mcp.tool()
async def slow(context: Context) -> str:
    """Ends the stream of the request, so that the client asks for the result by GET."""
    await context.close_sse_stream()
    return "done"


# It listens before the port is printed, so no client comes too early.
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
app = mcp.streamable_http_app(
    stateless_http=form != "session",
    json_response=form == "json",
    event_store=Events() if form == "session" else None,
    retry_interval=10,
)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
