"""The book of what was published and what arrived: events lost, doubled, in another order, and members told twice."""

import collections
import time


class Event:
    def __init__(self, number, channels):
        self.number, self.channels = number, channels
        self.begun = time.monotonic()
        self.ended = None
        self.status = None


class Settlement:
    """What became of the events of one part of a round."""

    def __init__(self):
        self.published = self.taken = self.lost = self.missing = self.deliveries = 0
        self.examples = []


class Book:
    def __init__(self, journal):
        self.journal = journal
        self.events = {}
        self.last = 0
        self.settled = 0
        self.twice = []
        self.doubled = []
        self.refusals = []
        self.problems = []

    def begin(self, channels):
        self.last += 1
        event = self.events[self.last] = Event(self.last, channels)
        return event

    def note_refusal(self, client, message):
        # A server that drains says so; what else it refuses is written down.
        self.refusals.append(f"{client.name} on {client.server.name}: {message}")
        self.journal.write("runner", f"refused: {self.refusals[-1]}")

    def note_twice(self, client, channel, what):
        self.twice.append(f"{client.name} on {client.server.name}, {channel}: {what}")
        self.journal.write("runner", f"told twice: {self.twice[-1]}")

    def note_received(self, client, subscription, number):
        received = subscription.received
        received[number] = received.get(number, 0) + 1
        if received[number] > 1 or number <= self.settled:
            how = "again" if received[number] > 1 else "after its round was settled"
            where = f"{client.name} on {client.server.name}, {subscription.channel}"
            self.doubled.append(f"{where}: event {number} came {how}")
            self.journal.write("runner", f"doubled: {self.doubled[-1]}")

    def take(self, name):
        """A list of findings so far, which begins anew."""
        found = getattr(self, name)
        setattr(self, name, [])
        return found

    def settle(self, clients, right_at):
        """Counts the events of a round, from before `right_at` and from after it, and forgets them."""
        fault, calm = Settlement(), Settlement()
        subscriptions = collections.defaultdict(list)
        for client in clients:
            for one in client.subscriptions.values():
                if one.confirmed:
                    subscriptions[one.channel].append((client, one))
        for event in self.events.values():
            part = fault if event.begun < right_at else calm
            part.published += 1
            if event.status != 200:
                continue
            part.taken += 1
            self.count(event, subscriptions, part)
        self.check_order(subscriptions)
        for pairs in subscriptions.values():
            for _, one in pairs:
                one.received = {}
        self.events, self.settled = {}, self.last
        return fault, calm

    def count(self, event, subscriptions, part):
        missing = []
        for channel in event.channels:
            for client, one in subscriptions[channel]:
                if one.confirmed < event.begun:
                    part.deliveries += 1
                    if event.number not in one.received:
                        missing.append(f"{client.name} on {client.server.name}, {channel}")
        part.missing += len(missing)
        if missing:
            part.lost += 1
            text = (f"event {event.number}, taken by {event.server} with 200, published at "
                    f"{event.begun - self.journal.begun:.3f}, did not reach {len(missing)}: {'; '.join(missing[:4])}")
            part.examples.append(text)
            self.journal.write("runner", f"lost: {text}")

    def check_order(self, subscriptions):
        """Each two subscribers of a channel must have had what both have in the same order."""
        for channel, pairs in subscriptions.items():
            after = collections.defaultdict(set)
            for _, one in pairs:
                numbers = list(one.received)
                for former, later in zip(numbers, numbers[1:]):
                    after[former].add(later)
            circle = find_circle(after)
            if circle:
                self.problems.append(
                    f"different orders: on {channel} somebody had each of {circle} before the next, and the last first")


def find_circle(after):
    """Numbers of which each came before the next for somebody, and the last before the first; else `None`."""
    state = {}
    for start in list(after):
        if start in state:
            continue
        path = [(start, iter(sorted(after[start])))]
        state[start] = "open"
        while path:
            number, rest = path[-1]
            following = next(rest, None)
            if following is None:
                state[number] = "done"
                path.pop()
            elif state.get(following) == "open":
                numbers = [one for one, _ in path]
                return numbers[numbers.index(following):]
            elif following not in state:
                state[following] = "open"
                path.append((following, iter(sorted(after.get(following, ())))))
    return None
