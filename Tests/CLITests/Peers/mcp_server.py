"""A server of the Model Context Protocol over Streamable HTTP, without sessions.

Usage: mcp_server.py stream|json

Prints its port. Answers requests at /mcp by an event stream, or by one JSON text.
"""

import socket
import sys

import uvicorn
from mcp.server.fastmcp import Context, FastMCP

mcp = FastMCP("peer", stateless_http=True, json_response=sys.argv[1] == "json", log_level="ERROR")


@mcp.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@mcp.tool()
async def count(to: int, context: Context) -> str:
    """Counts, and sends a message for each number."""
    for number in range(1, to + 1):
        await context.info(f"at {number}")
    return "done"


# It listens before the port is printed, so no client comes too early.
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(mcp.streamable_http_app(), log_level="error")).run(sockets=[listener])
