"""Triggers numbered events on channels with sockudo's server library.

Usage: sockudo_trigger.py PORT APP_ID KEY SECRET FIRST COUNT CHANNEL...
"""

import sys

from sockudo_http_python import Event, Sockudo, SockudoOptions


def main():
    port, app_id, key, secret, first, count = sys.argv[1:7]
    channels = sys.argv[7:]
    with Sockudo(app_id, key, secret, options=SockudoOptions(port=int(port))) as server:
        for number in range(int(first), int(first) + int(count)):
            if number % 2 == 0:
                result = server.trigger(channels, "tick", {"n": number})
            else:
                result = server.trigger_batch(
                    [Event(channel=name, name="tick", data={"n": number}) for name in channels])
            if not result.ok:
                sys.exit(f"{number}: {result}")


main()
