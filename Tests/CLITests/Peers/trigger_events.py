"""Triggers COUNT events on two channels with the official server library.

Usage: trigger_events.py PORT APP_ID KEY SECRET COUNT CHANNEL CHANNEL
"""

import sys

import pusher


def main():
    port, app_id, key, secret, count = sys.argv[1:6]
    channels = sys.argv[6:]
    client = pusher.Pusher(
        app_id=app_id, key=key, secret=secret, ssl=False, host="127.0.0.1", port=int(port)
    )
    for number in range(int(count)):
        data = {"n": number, "text": "Grüße ✓", "total": 1.10}
        if number % 100 < 90:
            client.trigger(channels, "tick", data)
        elif number % 100 == 90:
            # Batches of the library: ten events of each channel, in as many calls as the API requires.
            for first in range(number, number + 10, 5):
                client.trigger_batch(
                    [
                        {"channel": channel, "name": "tick", "data": {**data, "n": n}}
                        for n in range(first, first + 5)
                        for channel in channels
                    ]
                )


main()
