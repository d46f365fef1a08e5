"""The same job done with PyPI's httpx-sse: read each event of a stream, print it as one JSON line.

    httpx-sse-reader.py URL [CERTIFICATE]
"""

import json
import ssl
import sys

import httpx
import httpx_sse


def main(url, certificate):
    context = ssl.create_default_context(cafile=certificate) if certificate else False
    write = sys.stdout.write
    with httpx.Client(verify=context, trust_env=False, timeout=60) as client:
        with httpx_sse.connect_sse(client, "GET", url) as source:
            for event in source.iter_sse():
                line = {"event": event.event, "id": event.id, "data": json.loads(event.data)}
                write(json.dumps(line) + "\n")


main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
