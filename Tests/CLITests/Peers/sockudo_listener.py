"""Prints the events of channels as JSON lines, with sockudo's client library, until its input ends.

Usage: sockudo_listener.py PORT KEY SECRET REWIND CHANNEL...

Each line has the event, its data, and the position of the channel after it. REWIND is a number of
earlier events; 0 for none. The library's search for events that come twice is off.
"""

import asyncio
import json
import sys

from sockudo_http_python import Sockudo
from sockudo_python import (
    ChannelAuthorizationData, ChannelAuthorizationOptions, SockudoClient, SockudoOptions,
    SockudoTransport, SubscriptionOptions, SubscriptionRewind,
)


async def main():
    port, key, secret, rewind = sys.argv[1:5]
    signer = Sockudo("1", key, secret)

    async def authorize(request):
        # An endpoint takes its time, so the request to resume comes first.
        await asyncio.sleep(0.05)
        signed = json.loads(signer.authenticate(request.socket_id, request.channel_name))
        return ChannelAuthorizationData(auth=signed["auth"])

    client = SockudoClient(key, SockudoOptions(
        cluster="local", force_tls=False, enabled_transports=[SockudoTransport.WS],
        ws_host="127.0.0.1", ws_port=int(port), connection_recovery=True,
        message_deduplication=False,
        channel_authorization=ChannelAuthorizationOptions(custom_handler=authorize)))

    def tell(event, data, channel=None):
        position = client._channel_positions.get(channel)
        print(json.dumps({
            "event": event, "data": data, "channel": channel,
            "serial": position.serial if position else None,
        }), flush=True)

    for event in ["resume_success", "resume_failed"]:
        client.bind(f"sockudo:{event}", lambda data, _, event=event: tell(event, data))
    client.bind("error", lambda data, *_: tell("error", str(data)))
    for name in sys.argv[5:]:
        options = SubscriptionOptions(
            rewind=SubscriptionRewind(count=int(rewind)) if rewind != "0" else None)
        channel = client.subscribe(name, options)
        channel.bind_global(lambda event, data, name=name: tell(event, data, name))
    await client.connect()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await client.close()


asyncio.run(main())
