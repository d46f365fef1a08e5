"""Breaks a part of a run on purpose, so that one can see that the run finds it.

    database   the second server uses another database of Redis: it knows nothing of the others
    lose       one server does not get a fiftieth of the events from Redis
    double     one server gets a fiftieth of the events twice
    swap       one server gets a fiftieth of the events after the next event of the same channel
    deaf       one server does not hear that members come
    model      the runner forgets one socket
    webhook    the receiver forgets a fiftieth of the webhooks
"""

NAMES = ["database", "lose", "double", "swap", "deaf", "model", "webhook"]


class Messages:
    """Cuts what Redis sends into whole replies, and changes some messages to subscribers."""

    def __init__(self, name):
        self.name = name
        self.rest = b""
        self.count = 0
        self.held = {}

    def __call__(self, data):
        self.rest += data
        out = b""
        while reply := take_reply(self.rest):
            self.rest = self.rest[len(reply):]
            out += self.change(reply)
        return out

    def change(self, reply):
        if not reply.startswith((b"*3\r\n$7\r\nmessage", b">3\r\n$7\r\nmessage")):
            return reply
        if self.name == "deaf":
            return b"" if b"1:a" in reply and b"member_added" in reply else reply
        if b"numbered" not in reply:
            return reply
        channel = reply.split(b"\r\n", 5)[4]
        if channel in self.held:
            return reply + self.held.pop(channel)
        self.count += 1
        if self.count % 50:
            return reply
        match self.name:
            case "lose":
                return b""
            case "double":
                return reply + reply
            case "swap":
                self.held[channel] = reply
                return b""
        return reply


def take_reply(data):
    """The first whole reply of Redis, or nothing."""
    end = end_of_reply(data, 0)
    return data[:end] if end else b""


def end_of_reply(data, start):
    line = data.find(b"\r\n", start)
    if line < 0:
        return None
    kind, text, place = data[start:start + 1], data[start + 1:line], line + 2
    if kind in b"$=":
        place += int(text) + 2 if int(text) >= 0 else 0
        return place if place <= len(data) else None
    if kind in b"*>~%":
        for _ in range(int(text) * (2 if kind == b"%" else 1)):
            place = end_of_reply(data, place)
            if place is None:
                return None
    return place


def arm(stage, name):
    """Breaks what `name` says, before the servers begin."""
    if name in ("lose", "double", "swap", "deaf"):
        # Each connection has a stream of its own.
        stage.servers[1].proxy.tamper = lambda: Messages(name)
    elif name == "model":
        stage.comparison.clients = stage.comparison.clients[1:]
    elif name == "webhook":
        take, counter = stage.receiver.take, iter(range(1, 10**9))
        stage.receiver.take = lambda fields, body: next(counter) % 50 and take(fields, body)
